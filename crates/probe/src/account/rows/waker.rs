//! Who woke the threads of the target.

use serde::{Deserialize, Serialize};

use crate::account::name::names::Names;
use crate::bpf::{ThreadSeen, waker_bits};

/// In what a waker ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WakerContext {
    /// A task, by a system call of its own.
    #[default]
    Task,
    /// A softirq while the task was on the CPU: on the loopback interface that of the sender, with a card whoever happened to be there.
    Softirq,
    /// An interrupt: a timer, a device.
    Interrupt,
}

/// Wake-ups of a thread by one process, or by interrupts. Source: trace point sched_waking.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Waker {
    /// In what it ran.
    pub context: WakerContext,
    /// The process that was on the CPU; `None` for interrupts, an idle CPU, and where numbers are those of another PID namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Its name; `None` where it had ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comm: Option<String>,
    /// Whether it ran on another CPU than the one that the thread was woken onto.
    pub elsewhere: bool,
    /// How often.
    pub count: u64,
}

impl Waker {
    /// Whether both are the same one.
    fn is(&self, other: &Self) -> bool {
        (self.context, self.pid, self.elsewhere) == (other.context, other.pid, other.elsewhere)
    }
}

/// The wakers in the kernel's record of a thread.
pub(in crate::account) fn wakers(seen: &ThreadSeen, names: &Names) -> Vec<Waker> {
    let known = seen.wakers.iter().filter(|waker| waker.count > 0);
    let wakers = known.map(|waker| {
        let has = |bit: u32| waker.who & bit != 0;
        let context = match (has(waker_bits::INTERRUPT), has(waker_bits::SOFTIRQ)) {
            (true, _) => WakerContext::Interrupt,
            (false, true) => WakerContext::Softirq,
            (false, false) => WakerContext::Task,
        };
        let pid = process(waker.who).filter(|_| !names.foreign_numbers);
        let comm = pid.and_then(|pid| names.tasks.get(&pid)).map(|(comm, _)| comm.clone());
        Waker { context, pid, comm, elsewhere: has(waker_bits::ELSEWHERE), count: u64::from(waker.count) }
    });
    plus(Vec::new(), wakers)
}

/// Processes that woke a thread.
pub(in crate::account) fn processes(seen: &ThreadSeen) -> impl Iterator<Item = u32> {
    seen.wakers.iter().filter_map(|waker| process(waker.who))
}

fn process(who: u32) -> Option<u32> {
    Some(who & waker_bits::PROCESS).filter(|pid| *pid > 0)
}

/// Wake-ups since an earlier reading.
pub(in crate::account) fn since(now: &[Waker], earlier: &[Waker]) -> Vec<Waker> {
    let more = now.iter().map(|waker| {
        let before = earlier.iter().find(|earlier| earlier.is(waker)).map_or(0, |earlier| earlier.count);
        Waker { count: waker.count.saturating_sub(before), ..waker.clone() }
    });
    more.filter(|waker| waker.count > 0).collect()
}

/// Both together, the most frequent first.
pub(in crate::account) fn plus(mut mine: Vec<Waker>, theirs: impl IntoIterator<Item = Waker>) -> Vec<Waker> {
    for waker in theirs {
        match mine.iter_mut().find(|mine| mine.is(&waker)) {
            Some(mine) => mine.count = mine.count.saturating_add(waker.count),
            None => mine.push(waker),
        }
    }
    mine.sort_by(|a, b| {
        (b.count, a.context, a.pid, a.elsewhere).cmp(&(a.count, b.context, b.pid, b.elsewhere))
    });
    mine
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::{Record as _, WakerSeen};

    fn seen(wakers: [(u32, u32); 3]) -> ThreadSeen {
        let wakers = wakers.map(|(who, count)| WakerSeen { who, count });
        ThreadSeen { wakers, ..ThreadSeen::zeroed() }
    }

    fn waker(context: WakerContext, pid: Option<u32>, elsewhere: bool, count: u64) -> Waker {
        Waker { context, pid, comm: None, elsewhere, count }
    }

    #[test]
    fn bits_of_the_kernels_record_say_who_in_what_and_where() {
        use waker_bits::{ELSEWHERE, INTERRUPT, KNOWN, SOFTIRQ};
        let record =
            seen([(KNOWN | SOFTIRQ | ELSEWHERE | 77, 5), (KNOWN | 7, 9), (KNOWN | INTERRUPT | SOFTIRQ, 1)]);
        let mut names = Names::default();
        names.tasks.insert(77, ("client".into(), 77));
        let client = Waker { comm: Some("client".into()), ..waker(WakerContext::Softirq, Some(77), true, 5) };
        let expected = [
            waker(WakerContext::Task, Some(7), false, 9),
            client,
            waker(WakerContext::Interrupt, None, false, 1),
        ];
        assert_eq!(wakers(&record, &names), expected);
        assert_eq!(processes(&record).collect::<Vec<_>>(), [77, 7]);
        names.foreign_numbers = true;
        assert!(wakers(&record, &names).iter().all(|waker| waker.pid.is_none() && waker.comm.is_none()));
        assert_eq!(wakers(&ThreadSeen::zeroed(), &Names::default()), []);
    }

    #[test]
    fn readings_are_subtracted_and_threads_added_up_waker_by_waker() {
        let first = [waker(WakerContext::Task, Some(7), false, 9)];
        let last =
            [waker(WakerContext::Task, Some(7), false, 9), waker(WakerContext::Task, Some(7), true, 4)];
        assert_eq!(since(&last, &first), [waker(WakerContext::Task, Some(7), true, 4)]);
        let both = plus(first.to_vec(), last.to_vec());
        assert_eq!(both, [waker(WakerContext::Task, Some(7), false, 18), last[1].clone()]);
        let huge = plus(
            vec![waker(WakerContext::Task, None, false, u64::MAX)],
            [waker(WakerContext::Task, None, false, 2)],
        );
        assert_eq!(huge[0].count, u64::MAX);
    }
}
