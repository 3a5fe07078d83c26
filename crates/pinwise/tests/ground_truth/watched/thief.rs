//! A thief of known period and slice beside a thread that always wants to run, and one that sleeps.

use super::actor::{Actor, Slice, Until, cpu_time_ns, now_ns, sleep_until, spin, switches};
use super::figures::{assert_near, number};
use super::watching::{Sheet, Stage, retried_where_switches_are_missed};

const PERIOD_NS: u64 = 10_000_000;
/// How long it has the CPU at a time.
pub const SLICE_NS: u64 = 2_000_000;

/// The kernel takes 50 ms of each second from real-time threads (sched_rt_runtime_us, and the fair server in favour of the tasks that
/// they starve): the thief does not count such a gap as its own.
const NOT_RUNNING_NS: u64 = 10_000_000;

/// A slice that began so late did not come in the place of the target: somebody else had taken the CPU from both.
const LATE_NS: u64 = 1_000_000;

pub struct Stolen {
    pub slice: Slice,
    away_ns: u64,
    late: bool,
    /// How often the thief itself lost the CPU, up to the end of this slice: then one slice of its own is two of the kernel's.
    pub lost_the_cpu: u64,
    /// CPU time of the thief up to the end of this slice, by the kernel.
    pub cpu_ns: u64,
}

/// Involuntary switches of the calling thread.
fn lost_the_cpu() -> u64 {
    switches("nonvoluntary_ctxt_switches")
}

/// What of the time between two readings of the clock was no time of its own.
fn not_running_ns(from_ns: u64, to_ns: u64) -> u64 {
    if to_ns - from_ns > NOT_RUNNING_NS { to_ns - from_ns } else { 0 }
}

/// The job of a thief.
pub fn steal(until: &Until) -> Vec<Stolen> {
    let mut stolen = Vec::with_capacity(10_000);
    let mut due_ns = now_ns() + PERIOD_NS;
    while until.goes_on() {
        sleep_until(due_ns);
        let from_ns = now_ns();
        let (mut last_ns, mut away_ns) = (from_ns, 0);
        while last_ns - from_ns - away_ns < SLICE_NS {
            let at_ns = now_ns();
            away_ns += not_running_ns(last_ns, at_ns);
            last_ns = at_ns;
        }
        let (lost_the_cpu, cpu_ns) = (lost_the_cpu(), cpu_time_ns());
        let slice = Slice { from_ns, to_ns: now_ns() };
        // The system calls above are where the kernel likes to take the CPU away.
        away_ns += not_running_ns(last_ns, slice.to_ns);
        stolen.push(Stolen { slice, away_ns, late: from_ns - due_ns > LATE_NS, lost_the_cpu, cpu_ns });
        while due_ns <= now_ns() {
            due_ns += PERIOD_NS;
        }
    }
    stolen
}

fn the_thief_is_named_with_what_it_took(more: &[&str], how: &str) {
    let Some(stage) = Stage::new() else { return };
    let victim = Actor::start_fifo("victim", stage.cpu, 5, spin);
    let thief = Actor::start_fifo("thief", stage.cpu, 20, steal);
    let tid = victim.tid.to_string();
    let sheet = stage.watch(&[&["--thread", &tid, "--for", "3s"], more].concat());
    let stolen = thief.stop();
    victim.stop();
    assert_eq!(sheet.json["how"], how);
    compare(&sheet, &stolen);
    idle_is_no_thief(&sheet);
}

/// Compares what watch reported about the thief with what the thief recorded.
pub fn compare(sheet: &Sheet, stolen: &[Stolen]) {
    let window = sheet.window();
    let stolen: Vec<&Stolen> = stolen.iter().filter(|stolen| stolen.slice.within(window) > 0).collect();
    let time_ns: u64 = stolen.iter().map(|stolen| stolen.slice.within(window) - stolen.away_ns).sum();
    let lost = stolen[stolen.len() - 1].lost_the_cpu - stolen[0].lost_the_cpu;
    let in_time = stolen.iter().filter(|stolen| !stolen.late).count() as u64;
    let first = &sheet.json["takers"][0];
    let own = std::process::id();
    assert_eq!(first["name"], format!("thief (process {own})"), "{:#}", sheet.json["takers"]);
    assert_eq!(first["kind"], "process");
    let row = sheet.rows("tasks").iter().find(|task| task["comm"] == "thief").unwrap();
    eprintln!("the thief lost the CPU itself {lost} times");
    assert_near("slices of the thief", number(&row["took"]["count"]), stolen.len() as u64 + lost, 0.02, 1);
    assert_near("time of the thief, ns", number(&row["took"]["total_ns"]), time_ns, 0.02, 0);
    assert_near("preemptions by the thief", number(&row["preempted"]), in_time, 0.02, 2 + lost);
    assert_eq!(first["took_ns"], row["took"]["total_ns"]);
    let victim = &sheet.rows("threads")[0];
    assert!(number(&victim["preempted"]["total_ns"]) >= number(&row["took"]["total_ns"]), "{victim:#}");
    assert_eq!((number(&victim["asleep"]["count"]), number(&victim["blocked"]["count"])), (0, 0));
}

/// The CPU can be idle while the kernel keeps real-time threads off it: that has a name of its own.
fn idle_is_no_thief(sheet: &Sheet) {
    let idle = |row: &&serde_json::Value| {
        row["tid"] == 0 || row["comm"].as_str().is_some_and(|comm| comm.starts_with("swapper"))
    };
    assert_eq!(sheet.rows("tasks").iter().find(idle), None);
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn a_thief_is_named_with_its_slices_and_its_time() {
    retried_where_switches_are_missed(|| {
        the_thief_is_named_with_what_it_took(&[], "tp_btf");
    });
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn raw_trace_points_show_the_same_thief() {
    retried_where_switches_are_missed(|| {
        the_thief_is_named_with_what_it_took(&["--raw"], "raw_tp");
    });
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn what_a_thread_sleeps_by_its_own_will_is_no_theft() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let sleeper = Actor::start_fifo("sleeper", stage.cpu, 30, |until| {
            let mut slept = Vec::new();
            while until.goes_on() {
                let from_ns = now_ns();
                sleep_until(from_ns + 5_000_000);
                slept.push(Slice { from_ns, to_ns: from_ns + 5_000_000 });
                let begun = now_ns();
                while now_ns() - begun < 1_000_000 {}
            }
            slept
        });
        // Somebody runs whenever it sleeps, and none of that is theft.
        let busy = Actor::start("busy", stage.cpu, spin);
        let sheet = stage.watch(&["--thread", &sleeper.tid.to_string(), "--for", "2s"]);
        busy.stop();
        let tid = sleeper.tid;
        let slept: Vec<Slice> = sleeper.stop();
        let slept: Vec<u64> =
            slept.iter().map(|slept| slept.within(sheet.window())).filter(|ns| *ns > 0).collect();
        let row = sheet.thread(tid);
        assert_near("asleep, ns", number(&row["asleep"]["total_ns"]), slept.iter().sum(), 0.02, 0);
        assert_near("times asleep", number(&row["asleep"]["count"]), slept.len() as u64, 0.02, 1);
        let kept_off = number(&row["preempted"]["total_ns"]) + number(&row["run_queue"]["total_ns"]);
        let took = |task: &serde_json::Value| number(&task["took"]["total_ns"]);
        let by_busy: u64 = sheet.rows("tasks").iter().filter(|task| task["comm"] == "busy").map(took).sum();
        assert!(by_busy <= kept_off, "{by_busy} ns were taken by the other, of {kept_off} ns that it waited");
        idle_is_no_thief(&sheet);
    });
}
