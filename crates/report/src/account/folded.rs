//! Times by stack as folded stacks: a line a stack, which flamegraph.pl, inferno and speedscope draw, and [`super::flamegraph`].

use std::collections::BTreeMap;
use std::fmt::Write as _;

use probe::stacks::{Doing, Frames, StackTime, TimeByStack};

/// What those who draw know functions of the kernel by.
pub(super) const OF_KERNEL: &str = "_[k]";

/// Each line has the name of a thread, what it did, its functions in user space and in the kernel from the outermost in, separated by
/// semicolons, and ns behind a space. Stacks that read alike, as of two threads of one name, are one line. In the order of the alphabet.
pub fn render(seen: &TimeByStack) -> String {
    stacks(seen).iter().fold(String::new(), |mut text, (stack, ns)| {
        let _ = writeln!(text, "{stack} {ns}");
        text
    })
}

/// The stacks by what their lines have before the blank, and their ns.
pub(super) fn stacks(seen: &TimeByStack) -> BTreeMap<String, u64> {
    let mut stacks: BTreeMap<String, u64> = BTreeMap::new();
    for time in &seen.times {
        let sum = stacks.entry(frames(time).join(";")).or_default();
        *sum = sum.saturating_add(time.ns);
    }
    stacks
}

fn frames(time: &StackTime) -> Vec<String> {
    let mut frames = vec![plain(&time.thread), time.doing.words().to_string()];
    if matches!(time.doing, Doing::Asleep | Doing::Blocked) && time.kernel == Frames::NotTaken {
        frames.push("[stack not seen]".into());
    }
    frames.extend(of_side(&time.user, "", "[user stack lost]"));
    frames.extend(of_side(&time.kernel, OF_KERNEL, "[kernel stack lost]"));
    frames
}

fn of_side(side: &Frames, suffix: &str, lost: &str) -> Vec<String> {
    match side {
        Frames::Known(names) => names.iter().map(|name| format!("{}{suffix}", plain(name))).collect(),
        Frames::NotTaken => Vec::new(),
        Frames::Lost => vec![lost.to_string()],
    }
}

/// A name without what separates frames and lines.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c == ';' || c.is_control() { '_' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(names: &[&str]) -> Frames {
        Frames::Known(names.iter().map(|name| (*name).to_string()).collect())
    }

    fn time(thread: &str, doing: Doing, user: Frames, kernel: Frames, ns: u64) -> StackTime {
        StackTime { pid: 7, thread: thread.into(), doing, user, kernel, count: 1, ns }
    }

    #[test]
    fn a_line_has_its_thread_what_it_did_both_sides_and_ns() {
        let waits = time(
            "worker",
            Doing::Asleep,
            known(&["main", "f<a; b>"]),
            known(&["do_epoll_wait", "schedule"]),
            40,
        );
        let also = StackTime { pid: 8, ..waits.clone() };
        let runs = time("worker", Doing::OnCpu, Frames::NotTaken, Frames::NotTaken, 5);
        let before = time("a;b", Doing::Blocked, Frames::NotTaken, Frames::NotTaken, 6);
        let lost = time("worker", Doing::Asleep, Frames::Lost, known(&[]), 9);
        let preempted = time("worker", Doing::Preempted, Frames::NotTaken, Frames::NotTaken, 2);
        let kernel = time("kworker/0:1", Doing::Asleep, known(&[]), known(&["worker_thread"]), 3);
        let sampled = time("worker", Doing::OnCpu, known(&["main", "read"]), known(&["vfs_read"]), 30);
        let unplaced = time("worker", Doing::OnCpu, known(&["main"]), Frames::Lost, 4);
        let times = vec![waits, runs, also, before, lost, kernel, preempted, sampled, unplaced];
        let seen =
            TimeByStack { began_ns: 0, ended_ns: 100, times, changed_cpus: Vec::new(), missing: Vec::new() };
        assert_eq!(
            render(&seen),
            "a_b;blocked;[stack not seen] 6\n\
             kworker/0:1;asleep;worker_thread_[k] 3\n\
             worker;asleep;[user stack lost] 9\n\
             worker;asleep;main;f<a_ b>;do_epoll_wait_[k];schedule_[k] 80\n\
             worker;on a CPU 5\n\
             worker;on a CPU;main;[kernel stack lost] 4\n\
             worker;on a CPU;main;read;vfs_read_[k] 30\n\
             worker;preempted 2\n"
        );
    }
}
