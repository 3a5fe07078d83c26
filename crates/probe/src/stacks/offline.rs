//! Time by stack of a CPU that was offline.
//!
//! A CPU that is offline reports no event (include/linux/tracepoint.h). So the thread that stopped it seems to have it until the end. All other
//! threads have been moved to other CPUs by then, which was reported.

use machine::Root;
use machine::procfs::pid_stat;

use super::time::{Doing, StackTime};

/// Splits the time of a thread that stopped its CPU: what it did is not known for as long as that CPU can have been offline (`offline_ns`, by
/// number).
pub(super) fn not_known(
    time: StackTime,
    is_of_kernel: impl Fn(u32) -> bool,
    offline_ns: impl Fn(u32) -> u64,
) -> impl Iterator<Item = StackTime> {
    let cpu = Some(&time).filter(|time| time.doing == Doing::OnCpu).and_then(|time| stops(&time.thread));
    let most_ns = cpu.map_or(0, offline_ns).min(time.ns);
    // Asked last: it reads a file.
    let ns = if most_ns > 0 && is_of_kernel(time.pid) { most_ns } else { 0 };
    let not_known = StackTime { doing: Doing::NotTold, count: 1, ns, ..time.clone() };
    let rest = StackTime { ns: time.ns - ns, ..time };
    let parts = match (ns, rest.ns) {
        (0, _) => [Some(rest), None],
        (_, 0) => [None, Some(not_known)],
        _ => [Some(rest), Some(not_known)],
    };
    parts.into_iter().flatten()
}

/// The CPU that a thread of this name stops (kernel/stop_machine.c).
fn stops(thread: &str) -> Option<u32> {
    thread.strip_prefix("migration/")?.parse().ok()
}

/// Whether a process is a thread of the kernel. Any process may call itself as one.
pub(super) fn is_of_kernel(root: &Root, pid: u32) -> bool {
    let text = root.read(format!("/proc/{pid}/stat")).unwrap_or_default();
    pid_stat::parse(&text).is_ok_and(|stat| stat.is_kernel_thread())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::Frames;

    fn parts(thread: &str, doing: Doing, ns: u64, offline_ns: u64) -> Vec<(Doing, u64)> {
        let (user, kernel) = (Frames::NotTaken, Frames::NotTaken);
        let time = StackTime { pid: 21, thread: thread.into(), doing, user, kernel, count: 3, ns };
        let of_cpu_3 = |cpu: u32| if cpu == 3 { offline_ns } else { 0 };
        not_known(time, |pid| pid == 21, of_cpu_3).map(|time| (time.doing, time.ns)).collect()
    }

    #[test]
    fn what_the_thread_that_stopped_a_cpu_did_is_not_known_while_that_was_offline() {
        assert_eq!(
            parts("migration/3", Doing::OnCpu, 4_100, 4_000),
            [(Doing::OnCpu, 100), (Doing::NotTold, 4_000)]
        );
        assert_eq!(parts("migration/3", Doing::OnCpu, 3_950, 4_000), [(Doing::NotTold, 3_950)]);
    }

    #[test]
    fn a_cpu_that_stayed_another_thread_and_one_that_slept_keep_their_time() {
        assert_eq!(parts("migration/3", Doing::OnCpu, 50, 0), [(Doing::OnCpu, 50)]);
        assert_eq!(parts("migration/2", Doing::OnCpu, 50, 4_000), [(Doing::OnCpu, 50)]);
        assert_eq!(parts("migration/3", Doing::Asleep, 50, 4_000), [(Doing::Asleep, 50)]);
        assert_eq!(parts("worker", Doing::OnCpu, 50, 4_000), [(Doing::OnCpu, 50)]);
        assert_eq!(parts("migration/99999999999", Doing::OnCpu, 50, 4_000), [(Doing::OnCpu, 50)]);
    }

    #[test]
    fn a_process_that_calls_itself_so_is_none_of_the_kernel() {
        let tail = "S 1 1 1 0 -1";
        let zeros = " 0".repeat(43);
        let tree = machine::Tree::new()
            .file("/proc/21/stat", format!("21 (migration/3) {tail} 69238848{zeros}\n"))
            .file("/proc/22/stat", format!("22 (migration/3) {tail} 4194304{zeros}\n"));
        let root = Root::from_tree(tree);
        assert_eq!([21, 22, 23].map(|pid| is_of_kernel(&root, pid)), [true, false, false]);
    }
}
