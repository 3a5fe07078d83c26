//! Knobs that need somebody outside of a file: a running irqbalance, and a process that holds the kernel's limit. Of this machine,
//! put back as it was; needs root, and says so and skips what is not there.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use machine::processes::irqbalance_running;
use machine::root::irqbalance_socket;
use serde_json::Value;

/// A folder of state, plans, and pinwise run with them.
struct Pinwise(tempfile::TempDir);

impl Pinwise {
    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pinwise"));
        command.args(args).current_dir(self.0.path()).env("PINWISE_STATE_DIR", self.0.path().join("state"));
        command.stdin(Stdio::null()).output().unwrap()
    }

    /// What it prints; it has to succeed.
    fn says(&self, args: &[&str]) -> String {
        let out = self.run(args);
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(out.status.success(), "{args:?}: {text}{}", String::from_utf8_lossy(&out.stderr));
        text
    }

    fn plan(&self, knob: &str, target: &str, value: &str) {
        let text = format!("[[setting]]\nknob = \"{knob}\"\ntarget = \"{target}\"\nvalue = \"{value}\"\n");
        std::fs::write(self.0.path().join("plan.toml"), text).unwrap();
    }

    fn status(&self) -> Value {
        serde_json::from_str(&self.says(&["status", "--format", "json"])).unwrap()
    }
}

impl Drop for Pinwise {
    /// Also when an assertion failed.
    fn drop(&mut self) {
        self.run(&["undo", "--force"]);
    }
}

fn pinwise() -> Option<Pinwise> {
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    if !is_root {
        eprintln!("skipped: needs root");
    }
    is_root.then(|| Pinwise(tempfile::tempdir().unwrap()))
}

fn latency_us() -> Option<i32> {
    let mut bytes = [0; 4];
    std::fs::File::open("/dev/cpu_dma_latency").and_then(|mut device| device.read_exact(&mut bytes)).ok()?;
    Some(i32::from_ne_bytes(bytes))
}

#[test]
fn a_limit_is_held_after_apply_has_ended_and_until_undo() {
    let (Some(pinwise), Some(before)) = (pinwise(), latency_us()) else {
        eprintln!("skipped: no /dev/cpu_dma_latency");
        return;
    };
    if before <= 100_000 {
        eprintln!("skipped: somebody holds {before} us here");
        return;
    }
    pinwise.plan("cpu-dma-latency", "machine", "100000");
    pinwise.says(&["apply", "plan.toml"]);
    assert_eq!(latency_us(), Some(100_000));
    let status = pinwise.status();
    let act = &status["sessions"][0]["outstanding"][0];
    let reported = act["new"].as_str().unwrap();
    let holder: u32 = reported.strip_prefix("100000 us, held by process ").unwrap().parse().unwrap();
    // In a session of its own, and nobody's child: no hang-up and no end of apply reaches it.
    let stat = std::fs::read_to_string(format!("/proc/{holder}/stat")).unwrap();
    let behind: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    assert_eq!((behind[2], behind[3]), (&*holder.to_string(), &*holder.to_string()), "{stat}");
    assert_ne!(behind[1], std::process::id().to_string());
    let undone = pinwise.says(&["undo"]);
    assert!(undone.contains("exit latency of idle CPUs: restored (unlimited)"), "{undone}");
    assert_eq!(latency_us(), Some(before));
    assert!(!Path::new(&format!("/proc/{holder}")).exists() || stat_of(holder).contains(") Z "));
    // One that somebody has ended is reported as such, and undo has nothing to do.
    pinwise.says(&["apply", "plan.toml", "--confirm-within", "2s"]);
    assert_eq!(latency_us(), Some(100_000));
    until("the revert ends the holder", || latency_us() == Some(before));
}

fn stat_of(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default()
}

/// Waits for what comes by itself, for a minute at most.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end, "waited in vain: {what}");
        sleep(Duration::from_millis(100));
    }
}

/// An irqbalance of ours, started so that it leaves alone all lines but those that are idle. Ended, and all affinities
/// put back, when it goes.
struct Irqbalance {
    child: Child,
    before: BTreeMap<u32, String>,
    free: Vec<u32>,
    made_folder: bool,
}

fn affinity(irq: u32) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/irq/{irq}/smp_affinity_list")).ok()?;
    Some(text.trim().to_string())
}

/// Lines that no device has raised, but for a time or two.
fn idle_lines() -> Vec<u32> {
    let text = std::fs::read_to_string("/proc/interrupts").unwrap();
    let rows = text.lines().skip(1).filter_map(|row| {
        let (irq, rest) = row.trim().split_once(':')?;
        let counts = rest.split_whitespace().map_while(|word| word.parse::<u64>().ok());
        Some((irq.parse().ok()?, counts.sum::<u64>()))
    });
    rows.filter(|(_, count)| *count <= 1).map(|(irq, _)| irq).collect()
}

impl Irqbalance {
    fn start() -> Option<Self> {
        let folder = Path::new("/run/irqbalance");
        if folder.exists() && std::fs::read_dir(folder).unwrap().next().is_some() {
            eprintln!("skipped: an irqbalance runs here already");
            return None;
        }
        let irqs = std::fs::read_dir("/proc/irq").unwrap();
        let irqs = irqs.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
        let before: BTreeMap<u32, String> = irqs.filter_map(|irq| Some((irq, affinity(irq)?))).collect();
        let free = idle_lines();
        let banned = before.keys().filter(|irq| !free.contains(irq)).map(|irq| format!("--banirq={irq}"));
        let made_folder = std::fs::create_dir(folder).is_ok();
        let mut command = Command::new("irqbalance");
        command
            .args(["--foreground", "--interval=1"])
            .args(banned)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        match command.spawn() {
            Ok(child) => Some(Self { child, before, free, made_folder }),
            Err(error) => {
                eprintln!("skipped: irqbalance: {error}");
                if made_folder {
                    std::fs::remove_dir(folder).unwrap();
                }
                None
            }
        }
    }

    fn banned(&self) -> Vec<u32> {
        let answer = irqbalance_socket::exchange(self.child.id(), b"setup").unwrap();
        irqbalance_running::banned(&answer).unwrap().into_iter().collect()
    }

    /// It places all lines anew, as when a CPU or a device comes.
    fn place_anew(&self) {
        // SAFETY: a signal to a child of ours that has not been waited for.
        assert_eq!(unsafe { libc::kill(self.child.id() as libc::pid_t, libc::SIGHUP) }, 0);
    }

    /// A line that it has given a CPU of its own.
    fn placed(&self) -> Option<(u32, u32)> {
        let of = |irq: &u32| Some((*irq, affinity(*irq)?.parse().ok()?));
        self.free.iter().filter(|irq| affinity(**irq).as_ref() != self.before.get(irq)).find_map(of)
    }
}

impl Drop for Irqbalance {
    fn drop(&mut self) {
        // SAFETY: as above. It removes its socket.
        unsafe { libc::kill(self.child.id() as libc::pid_t, libc::SIGTERM) };
        let _ = self.child.wait();
        for (irq, was) in &self.before {
            if affinity(*irq).as_ref() != Some(was) {
                let _ = std::fs::write(format!("/proc/irq/{irq}/smp_affinity_list"), was);
            }
        }
        if self.made_folder {
            let _ = std::fs::remove_dir("/run/irqbalance");
        }
    }
}

#[test]
fn a_running_irqbalance_leaves_a_line_alone_until_undo() {
    let Some(pinwise) = pinwise() else { return };
    let Some(irqbalance) = Irqbalance::start() else { return };
    let listens = format!("/run/irqbalance/irqbalance{}.sock", irqbalance.child.id());
    until("irqbalance listens", || Path::new(&listens).exists());
    let end = Instant::now() + Duration::from_secs(10);
    while irqbalance.placed().is_none() && Instant::now() < end {
        sleep(Duration::from_millis(100));
    }
    let Some((irq, cpu)) = irqbalance.placed() else {
        eprintln!("skipped: irqbalance gives no idle line of this machine a CPU of its own");
        return;
    };
    let told_at_start = irqbalance.banned();
    assert!(!told_at_start.contains(&irq));
    let other = if cpu == 0 { 1 } else { 0 };
    pinwise.plan("irq-affinity", &irq.to_string(), &other.to_string());
    let foreseen = pinwise.says(&["apply", "plan.toml", "--dry-run"]);
    let reported = format!("ask irqbalance (process {}) to leave IRQ {irq} alone", irqbalance.child.id());
    assert!(foreseen.contains(&reported) && !foreseen.contains("RUNS HERE"), "{foreseen}");
    assert_eq!(irqbalance.banned(), told_at_start, "a dry run touches nothing");

    pinwise.says(&["apply", "plan.toml"]);
    let now = irqbalance.banned();
    assert!(now.contains(&irq) && told_at_start.iter().all(|irq| now.contains(irq)), "{now:?}");
    assert_eq!(now.len(), told_at_start.len() + 1);
    irqbalance.place_anew();
    sleep(Duration::from_secs(4));
    assert_eq!(affinity(irq), Some(other.to_string()), "irqbalance has moved it");
    assert_eq!(pinwise.status()["sessions"][0]["outstanding"][0]["changed_since"], false);

    let undone = pinwise.says(&["undo"]);
    assert_eq!(irqbalance.banned(), told_at_start);
    // Right after, irqbalance may place it anew.
    let restored = format!("/proc/irq/{irq}/smp_affinity_list: restored ({cpu})");
    assert!(undone.contains(&restored), "{undone}");
}
