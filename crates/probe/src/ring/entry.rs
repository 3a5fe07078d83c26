//! One interval as it is written.
//!
//! A thread that slept for the whole interval did nothing else: its row is that of a thread that is known to the segment, with the
//! interval's length. Of thousands of threads most do that most of the time.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::account::{Account, ThreadAccount};

/// A line of a segment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// What was counted, without the threads that slept all the time.
    pub(super) account: Account,
    /// Those threads, by number among those known to the segment: the first of some in a row, and how many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) asleep: Vec<(u32, u32)>,
    /// Threads that are known from now on; numbers are given in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) known: Vec<ThreadAccount>,
}

/// The threads that are known to a segment, for its writer.
#[derive(Debug, Default)]
pub(super) struct Known {
    numbers: BTreeMap<(u32, u64), (u32, ThreadAccount)>,
    next: u32,
}

impl Entry {
    /// What is to be written of this interval.
    pub(super) fn of(account: &Account, known: &mut Known) -> Self {
        let interval_ns = account.to_ns.saturating_sub(account.from_ns);
        let mut entry = Self {
            account: Account { threads: Vec::new(), ..account.clone() }.rows_alone(),
            asleep: Vec::new(),
            known: Vec::new(),
        };
        let mut numbers = Vec::new();
        for thread in &account.threads {
            match slept(thread, interval_ns) {
                Some(thread) => numbers.push(known.number(thread, &mut entry.known)),
                None => entry.account.threads.push(thread.clone()),
            }
        }
        numbers.sort_unstable();
        for number in numbers {
            match entry.asleep.last_mut() {
                Some((first, length)) if *first + *length == number => *length += 1,
                _ => entry.asleep.push((number, 1)),
            }
        }
        entry
    }
}

impl Known {
    fn number(&mut self, thread: ThreadAccount, fresh: &mut Vec<ThreadAccount>) -> u32 {
        let key = (thread.tid, thread.began_ns);
        if let Some((number, known)) = self.numbers.get(&key)
            && *known == thread
        {
            return *number;
        }
        let number = self.next;
        self.next += 1;
        fresh.push(thread.clone());
        self.numbers.insert(key, (number, thread));
        number
    }
}

/// The row of a thread that slept for the whole interval, without its time.
fn slept(thread: &ThreadAccount, interval_ns: u64) -> Option<ThreadAccount> {
    let all = thread.wall_ns == interval_ns && thread.asleep.total_ns == interval_ns;
    if !all || thread.asleep.count > 0 || thread.ended {
        return None;
    }
    let mut still = thread.clone();
    set_asleep(&mut still, 0);
    Some(still)
}

/// Which of so many known threads `asleep` of an entry names, by number. The writer names each once, in ascending order; where an entry
/// names threads again, or more than there are, these are passed over: they could keep us for years, or take all memory.
pub(super) fn sleepers(asleep: &[(u32, u32)], known: usize) -> impl Iterator<Item = Range<usize>> {
    let mut next = 0;
    asleep.iter().map(move |(first, length)| {
        let end = (first.saturating_add(*length) as usize).min(known);
        let new = (*first as usize).max(next).min(end)..end;
        next = next.max(end);
        new
    })
}

/// The row again.
pub(super) fn asleep_for(known: &ThreadAccount, ns: u64) -> ThreadAccount {
    let mut thread = known.clone();
    set_asleep(&mut thread, ns);
    thread
}

/// It slept all the time, in one stretch and so for one reason.
fn set_asleep(thread: &mut ThreadAccount, ns: u64) {
    (thread.wall_ns, thread.asleep.total_ns) = (ns, ns);
    thread.asleep_for.values_mut().for_each(|part| part.total_ns = ns);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::{Part, SleepReason, Stretches};

    fn thread(tid: u32, asleep_ns: u64) -> ThreadAccount {
        let asleep = Stretches { total_ns: asleep_ns, ..Stretches::default() };
        ThreadAccount { tid, wall_ns: 1_000, asleep, page_faults: Some(0), ..ThreadAccount::default() }
    }

    fn account(threads: Vec<ThreadAccount>) -> Account {
        Account { from_ns: 5_000, to_ns: 6_000, threads, ..Account::default() }
    }

    #[test]
    fn who_slept_all_the_time_is_a_number() {
        let mut known = Known::default();
        let threads = vec![thread(1, 1_000), thread(2, 999), thread(3, 1_000), thread(4, 1_000)];
        let first = Entry::of(&account(threads.clone()), &mut known);
        assert_eq!(first.account.threads, [threads[1].clone()]);
        assert_eq!((first.asleep.as_slice(), first.known.len()), (&[(0, 3)][..], 3));
        assert_eq!(asleep_for(&first.known[1], 1_000), threads[2]);
        let woken = vec![thread(1, 1_000), thread(2, 999), thread(3, 7), thread(4, 1_000)];
        let second = Entry::of(&account(woken), &mut known);
        assert_eq!((second.asleep.as_slice(), second.known.len()), (&[(0, 1), (2, 1)][..], 0));
    }

    #[test]
    fn what_it_slept_for_comes_back_and_another_reason_is_made_known_anew() {
        let mut known = Known::default();
        let sleeps = |reason| {
            let part = Part { count: 0, total_ns: 1_000 };
            ThreadAccount { asleep_for: [(reason, part)].into(), ..thread(1, 1_000) }
        };
        let first = Entry::of(&account(vec![sleeps(SleepReason::Input)]), &mut known);
        assert_eq!(asleep_for(&first.known[0], 1_000), sleeps(SleepReason::Input));
        let second = Entry::of(&account(vec![sleeps(SleepReason::Stopped)]), &mut known);
        assert_eq!((second.asleep.as_slice(), second.known.len()), (&[(1, 1)][..], 1));
        assert_eq!(asleep_for(&second.known[0], 1_000), sleeps(SleepReason::Stopped));
    }

    #[test]
    fn a_thread_with_another_name_is_made_known_anew() {
        let mut known = Known::default();
        Entry::of(&account(vec![thread(1, 1_000)]), &mut known);
        let renamed = ThreadAccount { comm: "other".into(), ..thread(1, 1_000) };
        let entry = Entry::of(&account(vec![renamed]), &mut known);
        assert_eq!((entry.asleep.as_slice(), entry.known.len()), (&[(1, 1)][..], 1));
    }
}
