//! Samples of stacks held against threads whose functions and their shares are known. Root is needed; without it, and on kernels that do not report it
//! their types, the tests say so and pass.

// clippy knows only functions marked #[test] as tests; these helpers serve them.
#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::hint::black_box;
use std::io::Read as _;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use pinwise_probe::stacks::{Profile, Profiling, Sampled};
use rustix::time::{ClockId, clock_gettime};

/// CPU time that is spent while samples are taken: 200 to 570 of them.
const CPU_TIME: Duration = Duration::from_secs(2);

/// Ends the child whatever happens.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[inline(never)]
fn grinds_much(until: Duration) -> u64 {
    let mut sum = 1u64;
    while cpu_time() < until {
        for step in 0..200_000u64 {
            sum = black_box(sum.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step));
        }
    }
    sum
}

#[inline(never)]
fn grinds_little(until: Duration) -> u64 {
    let mut sum = 2u64;
    while cpu_time() < until {
        for step in 0..200_000u64 {
            sum = black_box(sum.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(step));
        }
    }
    sum
}

/// Spends CPU time, seven tenths of it in one function and three in the other.
fn grinds() {
    let (begun, tenth) = (cpu_time(), CPU_TIME / 40);
    for round in 0..4 {
        let from = begun + tenth * 10 * round;
        black_box(grinds_much(from + tenth * 7));
        black_box(grinds_little(from + tenth * 10));
    }
}

/// What is sampled of these processes meanwhile; `None` where nothing can be.
fn sampled_of(pids: &[u32], meanwhile: impl FnOnce()) -> Option<Profile> {
    let mut profiling = match Profiling::prepare(pids) {
        Ok(profiling) => profiling,
        Err(missing) => {
            eprintln!("skipped: {}: {}", missing.fact, missing.why);
            return None;
        }
    };
    profiling.start();
    meanwhile();
    profiling.stop();
    Some(profiling.end())
}

fn sampled(meanwhile: impl FnOnce()) -> Option<Profile> {
    sampled_of(&[std::process::id()], meanwhile)
}

/// Samples of the function whose name has this in it.
fn samples(functions: &[Sampled], name: &str) -> u64 {
    functions.iter().filter(|function| function.name.contains(name)).map(|function| function.samples).sum()
}

/// Whether a share of so many samples is that of the truth, give or take four standard deviations.
fn is_share(count: u64, of: u64, truth: f64) -> bool {
    let spread = 4.0 * (truth * (1.0 - truth) / of as f64).sqrt();
    (count as f64 / of as f64 - truth).abs() <= spread
}

#[test]
fn functions_have_the_shares_that_they_have() {
    let Some(profile) = sampled(grinds) else { return };
    // One in 3.5 ms at most; a kernel with 100 ticks a second gives one in 10.
    let most = CPU_TIME.as_nanos() as u64 / 3_500_000;
    assert!(profile.samples <= most && profile.samples >= most / 4, "{} of {most}", profile.samples);
    let own = profile.own();
    let (much, little) = (samples(&profile.user, "grinds_much"), samples(&profile.user, "grinds_little"));
    assert!(
        is_share(much, own, 0.7) && is_share(little, own, 0.3),
        "{much} and {little} of {own}: {profile:?}"
    );
    assert!(profile.in_kernel < own / 5, "{profile:?}");
}

#[test]
fn work_of_the_kernel_is_known_by_the_call_that_asked_for_it() {
    let reads = || {
        let (mut file, mut bytes) = (File::open("/dev/zero").unwrap(), vec![0; 1 << 20]);
        let begun = cpu_time();
        while cpu_time() < begun + CPU_TIME {
            file.read_exact(&mut bytes).unwrap();
        }
    };
    let Some(profile) = sampled(reads) else { return };
    let own = profile.own();
    assert!(profile.in_kernel > own - own / 5, "{profile:?}");
    assert!(samples(&profile.calls, "read") > own - own / 5, "{profile:?}");
    assert!(!profile.kernel.is_empty() && !profile.kernel[0].name.starts_with('['), "{profile:?}");
}

#[test]
fn a_thread_that_is_born_meanwhile_is_sampled_too() {
    let Some(profile) = sampled(|| std::thread::spawn(grinds).join().unwrap()) else { return };
    let own = profile.own();
    assert!(is_share(samples(&profile.user, "grinds_much"), own, 0.7), "{profile:?}");
}

#[test]
fn who_sleeps_has_no_samples_and_who_is_busy_beside_it_is_not_asked() {
    let sleeper = Ended(Command::new("sleep").arg("60").spawn().unwrap());
    let busy = Ended(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap());
    let rests = || std::thread::sleep(Duration::from_millis(500));
    let Some(profile) = sampled_of(&[sleeper.0.id()], rests) else { return };
    assert_eq!((profile.samples, profile.user.len()), (0, 0), "{profile:?}");
    drop(busy);
}

#[test]
fn a_process_that_is_gone_is_no_failure() {
    let Some(profile) = sampled_of(&[u32::MAX], || ()) else { return };
    assert_eq!(profile.samples, 0);
}

#[test]
fn nothing_counts_before_it_starts_nor_after_it_stops() {
    let Ok(mut profiling) = Profiling::prepare(&[std::process::id()]) else { return };
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(200) {}
    profiling.start();
    profiling.stop();
    while begun.elapsed() < Duration::from_millis(400) {}
    assert!(profiling.end().samples <= 1);
}
