//! The last readings of a counting that goes on, for those who look on.

use std::collections::VecDeque;

use super::difference::{Row as _, sorted};
use crate::account::rows::taker::TaskAccount;
use crate::account::rows::thread::ThreadAccount;
use crate::account::time_account::Account;

/// Threads that have ended and are reported one by one; of those that ended before them the sum is reported.
const MOST_ENDED: usize = 500;

/// The last readings, and what ended before them.
///
/// Each reading has the threads that live and those that ended since the reading before: the counting forgets these
/// ([`Counting::forget_ended`](crate::account::Counting::forget_ended)), so that it takes no more memory the longer it goes on.
pub struct LookBack {
    /// How many readings are looked back.
    readings: usize,
    /// Number of the last reading.
    last: u64,
    /// The last readings since the start, the newest last.
    accounts: VecDeque<Account>,
    /// Those that ended last, the newest last.
    ended: VecDeque<Ended>,
    /// Those that ended before: how many, and their sum.
    before: Option<(u64, Ended)>,
}

/// A thread that ended.
struct Ended {
    thread: ThreadAccount,
    /// As one that took from other threads of the target, where it did.
    task: Option<TaskAccount>,
    /// The reading in which it came to be ended.
    reading: u64,
}

impl LookBack {
    /// For differences to the reading so many readings ago.
    pub fn over(readings: usize) -> Self {
        Self { readings, last: 0, accounts: VecDeque::new(), ended: VecDeque::new(), before: None }
    }

    /// Takes in the next reading since the start, with the threads that ended since the one before.
    pub fn add(&mut self, account: Account) {
        self.last += 1;
        for thread in account.threads.iter().filter(|thread| thread.ended) {
            let task = account.tasks.iter().find(|task| task.of_target && task.tid == thread.tid);
            self.ended.push_back(Ended { thread: thread.clone(), task: task.cloned(), reading: self.last });
        }
        self.accounts.push_back(account);
        if self.accounts.len() > self.readings + 1 {
            self.accounts.pop_front();
        }
        let first = self.first();
        while self.ended.len() > MOST_ENDED && self.ended.front().is_some_and(|ended| ended.reading <= first)
        {
            self.sum_up_oldest();
        }
    }

    /// Number of the reading to which differences are taken.
    fn first(&self) -> u64 {
        self.last + 1 - self.accounts.len() as u64
    }

    fn sum_up_oldest(&mut self) {
        let Some(oldest) = self.ended.pop_front() else { return };
        let (count, Ended { thread, task, reading }) = match self.before.take() {
            None => (1, oldest),
            Some((count, sum)) => (count + 1, sum.and(oldest)),
        };
        let comm = format!("{count} threads");
        let thread = ThreadAccount { tid: 0, comm: comm.clone(), cgroup: None, ..thread };
        let task = task.map(|task| TaskAccount { tid: 0, comm, cgroup: None, ..task });
        self.before = Some((count, Ended { thread, task, reading }));
    }

    /// What happened in the last readings; all since the start where there is one only.
    pub fn now(&self) -> Account {
        match self.accounts.front() {
            Some(first) if self.accounts.len() > 1 => {
                let from = self.first();
                self.with(self.ended.iter().filter(|ended| ended.reading > from)).since(first)
            }
            _ => self.total(),
        }
    }

    /// Everything since the start. Threads that ended long ago are one row, whose thread has the number 0.
    pub fn total(&self) -> Account {
        let before = self.before.iter().map(|(_, sum)| sum);
        let mut total = self.with(self.ended.iter().chain(before));
        total.threads = sorted(total.threads);
        total.tasks = sorted(total.tasks);
        total.filled_up()
    }

    /// The last reading, with those of these that ended before it.
    fn with<'a>(&'a self, ended: impl Iterator<Item = &'a Ended>) -> Account {
        let mut account = self.accounts.back().cloned().unwrap_or_default();
        for ended in ended.filter(|ended| ended.reading < self.last) {
            account.threads.push(ended.thread.clone());
            account.tasks.extend(ended.task.clone());
        }
        account
    }
}

impl Ended {
    /// The sum of both.
    fn and(self, other: Self) -> Self {
        let task = match (self.task, other.task) {
            (Some(one), Some(other)) => Some(one.then(&other)),
            (one, other) => one.or(other),
        };
        Self { thread: self.thread.plus(&other.thread), task, reading: self.reading }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Stretches;

    fn stretches(total_ns: u64) -> Stretches {
        Stretches { count: 1, total_ns, ..Stretches::default() }
    }

    fn thread(tid: u32, on_ns: u64, ended: bool) -> ThreadAccount {
        let comm = format!("worker-{tid}");
        let on_cpu = stretches(on_ns);
        ThreadAccount { tid, comm, ended, wall_ns: on_ns, on_cpu, ..ThreadAccount::default() }
    }

    fn reading(threads: Vec<ThreadAccount>) -> Account {
        let own = threads.iter().map(|thread| TaskAccount {
            tid: thread.tid,
            of_target: true,
            slices: 1,
            took: stretches(1),
            ..TaskAccount::default()
        });
        Account { tasks: own.collect(), threads, ..Account::default() }
    }

    fn on_cpu_ns(account: &Account) -> Vec<(u32, u64)> {
        let mut rows: Vec<_> = account.threads.iter().map(|row| (row.tid, row.on_cpu.total_ns)).collect();
        rows.sort_unstable();
        rows
    }

    #[test]
    fn a_thread_that_was_forgotten_is_told_in_the_readings_around_its_end_and_in_all() {
        let mut seen = LookBack::over(2);
        seen.add(reading(vec![thread(1, 10, false), thread(2, 10, false)]));
        assert_eq!(on_cpu_ns(&seen.now()), [(1, 10), (2, 10)]);
        seen.add(reading(vec![thread(1, 20, false), thread(2, 15, true)]));
        assert_eq!(on_cpu_ns(&seen.now()), [(1, 10), (2, 5)]);
        seen.add(reading(vec![thread(1, 30, false)]));
        assert_eq!(on_cpu_ns(&seen.now()), [(1, 20), (2, 5)]);
        seen.add(reading(vec![thread(1, 40, false)]));
        assert_eq!(on_cpu_ns(&seen.now()), [(1, 20)], "it had ended when these readings began");
        let total = seen.total();
        assert_eq!(on_cpu_ns(&total), [(1, 40), (2, 15)]);
        assert_eq!(total.together.map(|all| all.on_cpu.total_ns), Some(55));
        assert_eq!(total.tasks.len(), 2);
    }

    #[test]
    fn one_reading_is_all_there_is() {
        let mut seen = LookBack::over(3);
        assert!(seen.now().threads.is_empty());
        seen.add(reading(vec![thread(1, 10, true)]));
        assert_eq!((on_cpu_ns(&seen.now()), on_cpu_ns(&seen.total())), (vec![(1, 10)], vec![(1, 10)]));
    }

    #[test]
    fn threads_that_ended_long_ago_are_one_row_and_take_no_more_memory() {
        let (mut seen, mut tid) = (LookBack::over(3), 0);
        for _ in 0..40 {
            let mut threads = vec![thread(u32::MAX, 5, false)];
            threads.extend((0..100).map(|_| {
                tid += 1;
                thread(tid, 2, true)
            }));
            seen.add(reading(threads));
        }
        assert!(seen.ended.len() <= MOST_ENDED, "{} are kept", seen.ended.len());
        let total = seen.total();
        assert_eq!(total.together.as_ref().map(|all| all.on_cpu.total_ns), Some(5 + 2 * 4_000));
        let old = total.threads.iter().find(|row| row.tid == 0).unwrap();
        assert_eq!((old.comm.as_str(), old.on_cpu.count), ("3500 threads", 3_500));
        let took: u64 = total.tasks.iter().map(|task| task.took.total_ns).sum();
        assert_eq!(took, 4_001);
        assert_eq!(seen.now().threads.len(), 301, "those of the last three readings, and the one that lives");
    }
}
