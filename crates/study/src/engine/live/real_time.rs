//! Arms that give a running server a real-time policy, under which it comes before all ordinary threads, those of pinwise included.
//!
//! A server that does not sleep under such a policy leaves its CPU 50 ms of each second (sched(7), sched_rt_runtime_us; the fair server of
//! Linux 6.12 and later), and nothing at all where that is switched off. Whoever watches it there sees a breach late or never, and cannot
//! take the arm back. A policy for pinwise that comes before the server's would only turn the tables: pinwise would take the server's CPU,
//! in that arm alone. So such an arm has to leave pinwise a CPU, on which study and watch then run, and the kernel has to keep something
//! for its own threads on the others.

use machine::knobs::guest::is_of_server;
use machine::plan::{PIN, SERVER};
use machine::{Class, CpuSet, Fault, Placement, Root, Setting, knobs};

use crate::arm::Arm;

/// The knobs that matter here.
const POLICY: &str = "scheduling-policy";
const RT_RUNTIME: &str = "rt-runtime";

/// Where the kernel says how much of a period real-time threads may have of a CPU, and how long a period is, us.
const RUNTIME: &str = "/proc/sys/kernel/sched_rt_runtime_us";
const PERIOD: &str = "/proc/sys/kernel/sched_rt_period_us";

/// Whether the arm gives the server, or some of its threads, a real-time policy.
pub(super) fn is_asked(placement: &Placement) -> bool {
    let is_real_time = |set: &Setting| matches!(set.value.trim().split(':').next(), Some("fifo" | "rr"));
    placement.settings.iter().any(|set| set.knob == POLICY && is_of_server(&set.target) && is_real_time(set))
}

/// The CPUs that the server has in an arm: those that it is given, else those that it `has` anyway; `None` where that is not known.
pub(super) fn cpus(placement: &Placement, has: Option<&CpuSet>) -> Option<CpuSet> {
    let pinned = placement.settings.iter().rev().find(|set| set.knob == PIN && set.target == SERVER);
    match pinned {
        Some(pinned) => CpuSet::from_list(&pinned.value).ok(),
        None => placement.server_cpus.as_ref().or(has).cloned(),
    }
}

/// The CPUs on which any thread of these processes may run; `None` where one of them does not say.
pub(super) fn allowed(root: &Root, pids: &[u32]) -> Option<CpuSet> {
    let knob = knobs::find(PIN)?;
    let mut all = CpuSet::new();
    for pid in pids {
        // One that has ended meanwhile has none.
        let Ok(lists) = knob.read(root, &pid.to_string()) else { continue };
        for list in lists.split(" | ") {
            all = all.union(&CpuSet::from_list(list).ok()?);
        }
    }
    (!all.is_empty()).then_some(all)
}

/// Whether the kernel keeps something of each CPU from real-time threads; `None` where it does not say.
pub(super) fn is_throttled(root: &Root) -> Option<bool> {
    let number = |path: &str| root.line(path).ok()?.parse::<i64>().ok();
    let (runtime_us, period_us) = (number(RUNTIME)?, number(PERIOD)?);
    Some((0..period_us).contains(&runtime_us))
}

/// What is known of the machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ground<'a> {
    /// CPUs that pinwise may use.
    pub ours: &'a CpuSet,
    /// CPUs that the server has where an arm gives it none; `None` where that is not known.
    pub has: Option<&'a CpuSet>,
    /// As [`is_throttled`].
    pub throttled: Option<bool>,
}

/// Holds an arm of a running server to leaving pinwise a CPU.
///
/// # Errors
/// It gives the server a real-time policy, and leaves pinwise none; or real-time threads are not throttled.
pub(super) fn check(arm: &Arm, ground: Ground<'_>) -> Result<(), Fault> {
    if !is_asked(&arm.placement) {
        return Ok(());
    }
    let refused = |cause: String, remedy: &str| {
        Err(Fault::new(Class::MachineLacks, format!("arm {}: {POLICY}", arm.name), cause, remedy))
    };
    let sets_off = |set: &Setting| set.knob == RT_RUNTIME && set.value.trim().starts_with('-');
    if ground.throttled != Some(true) || arm.placement.settings.iter().any(sets_off) {
        let cause = format!("real-time threads are not throttled ({RUNTIME}): one could keep a CPU for good");
        return refused(cause, "sysctl kernel.sched_rt_runtime_us=950000, or give it another policy");
    }
    let remedy = "give the server fewer CPUs in this arm (server = \"2-3\"; in a search, search.server = [2]), or an ordinary policy";
    let Some(cpus) = cpus(&arm.placement, ground.has) else {
        let cause = "where the server would run is not known, so that it may starve pinwise";
        return refused(cause.into(), remedy);
    };
    match ground.ours.difference(&cpus).is_empty() {
        false => Ok(()),
        true => {
            let cause =
                format!("on CPUs {cpus} it comes before pinwise, which has no other CPU to watch it from");
            refused(cause, remedy)
        }
    }
}

#[cfg(test)]
mod tests {
    use machine::Tree;

    use super::*;
    use crate::arm::Role;

    fn set(list: &str) -> CpuSet {
        CpuSet::from_list(list).unwrap()
    }

    fn setting(knob: &str, target: &str, value: &str) -> Setting {
        Setting { knob: knob.into(), target: target.into(), value: value.into() }
    }

    fn arm(server: Option<&str>, settings: Vec<Setting>) -> Arm {
        let server_cpus = server.map(set);
        let placement = Placement { server_cpus, settings, ..Placement::default() };
        Arm::new("tried", Role::Candidate, placement)
    }

    fn fifo() -> Setting {
        setting(POLICY, SERVER, "fifo:10")
    }

    #[test]
    fn a_real_time_arm_has_to_leave_pinwise_a_cpu_and_another_need_not() {
        let (ours, all) = (set("0-3"), set("0-7"));
        let ground = Ground { ours: &ours, has: Some(&all), throttled: Some(true) };
        check(&arm(Some("2-3"), vec![fifo()]), ground).unwrap();
        let fault = check(&arm(Some("0-3"), vec![fifo()]), ground).unwrap_err();
        assert!(fault.cause.contains("CPUs 0-3") && fault.object.contains(POLICY), "{fault}");
        check(&arm(None, vec![fifo()]), ground).unwrap_err();
        check(&arm(None, vec![fifo(), setting(PIN, SERVER, "1")]), ground).unwrap();
        let some = set("1,5");
        check(&arm(None, vec![fifo()]), Ground { has: Some(&some), ..ground }).unwrap();
        check(&arm(None, vec![fifo()]), Ground { has: None, ..ground }).unwrap_err();
        check(&arm(Some("0-3"), vec![setting(POLICY, SERVER, "rr:1")]), ground).unwrap_err();
        check(&arm(Some("0-3"), vec![setting(POLICY, "server/vcpu/0", "fifo:1")]), ground).unwrap_err();
        check(&arm(Some("0-3"), vec![setting(POLICY, SERVER, "batch:0")]), ground).unwrap();
        check(&arm(Some("0-3"), vec![setting(POLICY, "4711", "fifo:10")]), ground).unwrap();
        check(&arm(None, Vec::new()), Ground { has: None, throttled: None, ..ground }).unwrap();
    }

    #[test]
    fn without_throttling_no_real_time_arm_is_in_force() {
        let ours = set("0-3");
        let ground = Ground { ours: &ours, has: None, throttled: Some(true) };
        for throttled in [Some(false), None] {
            let fault = check(&arm(Some("3"), vec![fifo()]), Ground { throttled, ..ground }).unwrap_err();
            assert!(fault.cause.contains("not throttled") && fault.remedy.contains("950000"), "{fault}");
        }
        let off = setting(RT_RUNTIME, "machine", "-1");
        check(&arm(Some("3"), vec![fifo(), off.clone()]), ground).unwrap_err();
        check(&arm(Some("3"), vec![off]), ground).unwrap();
    }

    #[test]
    fn what_the_kernel_says_of_throttling_and_of_affinities() {
        let throttled = |runtime: &str| {
            let tree = Tree::new().file(RUNTIME, runtime).file(PERIOD, "1000000\n");
            is_throttled(&Root::from_tree(tree))
        };
        assert_eq!(throttled("950000\n"), Some(true));
        assert_eq!((throttled("-1\n"), throttled("1000000\n")), (Some(false), Some(false)));
        assert_eq!((throttled("many\n"), is_throttled(&Root::from_tree(Tree::new()))), (None, None));
        let tree = Tree::new()
            .file("/proc/7/stat", "7 (s) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 2 0 100 0 0\n")
            .file("/proc/7/task/7/stat", "7 (s) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 2 0 100 0 0\n")
            .file("/proc/7/task/7/status", "Name:\ts\nCpus_allowed_list:\t0-1\n")
            .file("/proc/7/task/9/stat", "9 (s) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 2 0 100 0 0\n")
            .file("/proc/7/task/9/status", "Name:\ts\nCpus_allowed_list:\t3\n");
        let root = Root::from_tree(tree);
        assert_eq!(allowed(&root, &[7]), Some(set("0-1,3")));
        assert_eq!(allowed(&root, &[8]), None, "it has ended");
    }
}
