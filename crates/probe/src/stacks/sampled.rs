//! Time on a CPU, split by samples of stacks.

use std::collections::{BTreeMap, BTreeSet};

use machine::Missing;

use super::frames::Frames;
use super::profile::interrupted;
use super::time::{Doing, StackTime, TimeByStack};

/// Threads of one name with fewer samples than this keep their time on a CPU in one piece: shares would be off by more than 20 in a
/// hundred.
const FEWEST: u128 = 20;

/// Samples of one stack of the threads of one name in one process, while they had a CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampledStack {
    /// The process, by the number that the kernel has for it.
    pub pid: u32,
    /// Name of the threads when they were sampled (comm of /proc/PID/task/TID).
    pub thread: String,
    /// Frames in user space.
    pub user: Frames,
    /// Frames in the kernel, up to the one that the sampling interrupt came into; none where the thread was in user space.
    pub kernel: Frames,
    /// Samples.
    pub samples: u64,
}

impl SampledStack {
    /// `kernel` is the whole stack in the kernel, the sampling interrupt included.
    pub(super) fn of(pid: u32, thread: String, user: Frames, kernel: &Frames, samples: u64) -> Self {
        let outside = match kernel {
            Frames::Known(names) => interrupted(names),
            Frames::NotTaken | Frames::Lost => None,
        };
        let kernel = outside.map_or(Frames::Lost, |names| Frames::Known(names.to_vec()));
        Self { pid, thread, user, kernel, samples }
    }
}

/// Samples of stacks in a window.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SampledStacks {
    /// By process, name and stack.
    pub stacks: Vec<SampledStack>,
    /// What is not in them, and why.
    pub missing: Vec<Missing>,
}

/// What threads of one name have of time on a CPU, and samples.
#[derive(Default)]
struct OfName<'a> {
    ns: u64,
    pids: BTreeSet<u32>,
    stacks: Vec<&'a SampledStack>,
}

impl OfName<'_> {
    fn samples(&self) -> u128 {
        self.stacks.iter().map(|stack| u128::from(stack.samples)).sum()
    }

    /// Its time in proportion to its samples. Each part ends where its last sample is in the whole, so that they add up exactly.
    fn parts(&self) -> Vec<StackTime> {
        let all = self.samples().max(1);
        // Of more samples than there can be, only the upper digits count: the product has room for 64 bits and 63.
        let shift = (u128::BITS - all.leading_zeros()).saturating_sub(63);
        let (mut seen, mut given) = (0_u128, 0_u64);
        let part = |stack: &&SampledStack| {
            seen += u128::from(stack.samples);
            let up_to = u128::from(self.ns) * (seen >> shift) / (all >> shift);
            let up_to = u64::try_from(up_to).unwrap_or(self.ns);
            let ns = up_to - given;
            given = up_to;
            let SampledStack { pid, thread, user, kernel, samples } = (*stack).clone();
            StackTime { pid, thread, doing: Doing::OnCpu, user, kernel, count: samples, ns }
        };
        self.stacks.iter().map(part).collect()
    }
}

impl TimeByStack {
    /// Splits the time that threads had a CPU by the stacks that were sampled meanwhile; how many samples that took. Threads of one name
    /// are taken together. Their time stays in one piece where there are fewer than 20 samples, and where `is_whole` denies that all threads
    /// of that name in a process are of the target: samples know no more than the name.
    pub fn split_on_cpu(&mut self, sampled: &SampledStacks, is_whole: impl Fn(u32, &str) -> bool) -> u64 {
        let mut by_name: BTreeMap<String, OfName<'_>> = BTreeMap::new();
        for time in self.times.iter().filter(|time| has_no_stack(time)) {
            let of_name = by_name.entry(time.thread.clone()).or_default();
            of_name.ns = of_name.ns.saturating_add(time.ns);
            of_name.pids.insert(time.pid);
        }
        for stack in &sampled.stacks {
            if let Some(of_name) = by_name.get_mut(&stack.thread).filter(|of| of.pids.contains(&stack.pid)) {
                of_name.stacks.push(stack);
            }
        }
        by_name.retain(|name, of| of.samples() >= FEWEST && of.pids.iter().all(|pid| is_whole(*pid, name)));
        self.times.retain(|time| !(has_no_stack(time) && by_name.contains_key(&time.thread)));
        self.times.extend(by_name.values().flat_map(OfName::parts).filter(|time| time.ns > 0));
        u64::try_from(by_name.values().map(OfName::samples).sum::<u128>()).unwrap_or(u64::MAX)
    }
}

/// Whether it is time on a CPU that nothing split yet.
fn has_no_stack(time: &StackTime) -> bool {
    time.doing == Doing::OnCpu && time.user == Frames::NotTaken && time.kernel == Frames::NotTaken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(names: &[&str]) -> Frames {
        Frames::Known(names.iter().map(|name| name.to_string()).collect())
    }

    fn time(pid: u32, thread: &str, doing: Doing, ns: u64) -> StackTime {
        let (user, kernel) = (Frames::NotTaken, Frames::NotTaken);
        StackTime { pid, thread: thread.into(), doing, user, kernel, count: 3, ns }
    }

    fn seen(times: Vec<StackTime>) -> TimeByStack {
        TimeByStack { began_ns: 0, ended_ns: 100, times, changed_cpus: Vec::new(), missing: Vec::new() }
    }

    fn sample(pid: u32, thread: &str, user: &[&str], samples: u64) -> SampledStack {
        SampledStack { pid, thread: thread.into(), user: known(user), kernel: known(&[]), samples }
    }

    fn sampled(stacks: Vec<SampledStack>) -> SampledStacks {
        SampledStacks { stacks, missing: Vec::new() }
    }

    fn on_cpu(seen: &TimeByStack, thread: &str) -> Vec<(Frames, u64)> {
        let meant = seen.times.iter().filter(|time| time.doing == Doing::OnCpu && time.thread == thread);
        meant.map(|time| (time.user.clone(), time.ns)).collect()
    }

    #[test]
    fn time_on_a_cpu_goes_to_its_stacks_by_their_samples_and_adds_up_exactly() {
        let mut all = seen(vec![
            time(7, "worker", Doing::OnCpu, 60),
            time(8, "worker", Doing::OnCpu, 40),
            time(7, "worker", Doing::Preempted, 9),
            time(7, "main", Doing::OnCpu, 1),
        ]);
        let stacks = sampled(vec![
            sample(7, "worker", &["main", "parse"], 10),
            sample(8, "worker", &["main", "send"], 10),
            sample(8, "worker", &["main", "copy"], 10),
            sample(9, "worker", &["of", "another"], 500),
            sample(7, "main", &["main"], 19),
        ]);
        assert_eq!(all.split_on_cpu(&stacks, |_, _| true), 30);
        let expected = [("parse", 33), ("send", 33), ("copy", 34)];
        assert_eq!(on_cpu(&all, "worker"), expected.map(|(name, ns)| (known(&["main", name]), ns)));
        assert_eq!(on_cpu(&all, "main"), [(Frames::NotTaken, 1)], "19 samples are too few");
        assert_eq!(all.times.iter().map(|time| time.ns).sum::<u64>(), 110);
    }

    #[test]
    fn a_name_that_others_have_too_stays_in_one_piece() {
        let mut all = seen(vec![time(7, "worker", Doing::OnCpu, 60), time(8, "worker", Doing::OnCpu, 40)]);
        let before = all.clone();
        let stacks = sampled(vec![sample(7, "worker", &["main"], 90), sample(8, "worker", &["main"], 90)]);
        assert_eq!(all.split_on_cpu(&stacks, |pid, _| pid != 8), 0);
        assert_eq!(all, before);
        assert_eq!(all.split_on_cpu(&SampledStacks::default(), |_, _| true), 0);
        assert_eq!(all, before);
    }

    #[test]
    fn forged_sums_lose_no_time() {
        let mut all = seen(vec![time(7, "worker", Doing::OnCpu, u64::MAX)]);
        let many = ["a", "b", "c"].map(|name| sample(7, "worker", &[name], u64::MAX));
        assert_eq!(all.split_on_cpu(&sampled(many.to_vec()), |_, _| true), u64::MAX);
        assert_eq!(all.times.iter().map(|time| u128::from(time.ns)).sum::<u128>(), u128::from(u64::MAX));
    }

    #[test]
    fn the_sampling_interrupt_is_no_part_of_a_stack() {
        let stack =
            |names: &[&str]| SampledStack::of(7, "x".into(), known(&["main"]), &known(names), 1).kernel;
        let interrupt = ["asm_sysvec_apic_timer_interrupt", "sysvec_apic_timer_interrupt", "bpf_prog_1"];
        assert_eq!(
            stack(&[&["do_syscall_64", "copy"][..], &interrupt].concat()),
            known(&["do_syscall_64", "copy"])
        );
        assert_eq!(stack(&interrupt), known(&[]));
        assert_eq!(stack(&["do_syscall_64"]), Frames::Lost, "it does not show what was interrupted");
        assert_eq!(SampledStack::of(7, "x".into(), Frames::Lost, &Frames::NotTaken, 1).kernel, Frames::Lost);
    }
}
