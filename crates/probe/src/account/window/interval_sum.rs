//! Intervals that follow each other, added together again: the inverse of [`Account::since`].

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use super::detail::Detail;
use super::difference::{Row, sorted};
use crate::account::collect::interrupt_counts::CountedInterrupts;
use crate::account::collect::paging::Paging;
use crate::account::rows::cpu::CpuAccount;
use crate::account::rows::taker::TaskAccount;
use crate::account::rows::thread::ThreadAccount;
use crate::account::time_account::{Account, FunctionAccount, LineAccount, Route};

/// What was added up so far. Extremes can be known better than by one difference over the whole time, never worse.
#[derive(Default)]
pub struct IntervalSum {
    /// Everything but the tables.
    about: Account,
    threads: Table<ThreadAccount>,
    cpus: Table<CpuAccount>,
    tasks: Table<TaskAccount>,
    lines: Table<LineAccount>,
    functions: Table<FunctionAccount>,
    routes: Table<Route>,
    counted_only: Table<CountedInterrupts>,
    intervals: u64,
}

impl IntervalSum {
    /// Adds the interval that follows. What is missing is taken from it: within one counting it grows only (but for what
    /// [`Account::note_detail`] reports, which is made anew).
    pub fn add(&mut self, later: Account) {
        let detail = later.detail();
        let first = if self.intervals == 0 { detail } else { self.about.detail() };
        self.about.detail_of = Some(Detail { from_ns: first.from_ns, to_ns: detail.to_ns });
        let Account {
            window_s,
            from_ns,
            to_ns,
            threads,
            together: _,
            takers: _,
            cpus,
            changed_cpus: _,
            tasks,
            lines,
            functions,
            routes,
            taken_by_unknown_ns,
            nearness,
            paging,
            counted_only,
            detail_of: _,
            missing,
        } = later;
        if self.intervals == 0 {
            self.about.from_ns = from_ns;
        }
        self.intervals += 1;
        self.about.to_ns = to_ns;
        self.about.window_s += window_s;
        self.about.taken_by_unknown_ns = self.about.taken_by_unknown_ns.saturating_add(taken_by_unknown_ns);
        self.about.nearness = nearness.or(self.about.nearness.take());
        self.about.paging = match self.intervals {
            1 => paging,
            _ => self.about.paging.zip(paging).map(|(before, more)| before.plus(&more)),
        };
        let before = std::mem::replace(&mut self.about.missing, missing);
        Paging::keep_reasons(&mut self.about.missing, &before);
        self.threads.add(threads);
        self.cpus.add(cpus);
        self.tasks.add(tasks);
        self.lines.add(lines);
        self.functions.add(functions);
        self.routes.add(routes);
        self.counted_only.add(counted_only);
    }

    /// Adds what a thread did before what was added of it so far, or in between: of names, those that are there stay.
    pub fn add_before(&mut self, thread: ThreadAccount) {
        let sum = match self.threads.0.remove(&thread.key()) {
            Some(later) => thread.then(&later),
            None => thread,
        };
        self.threads.0.insert(sum.key(), sum);
    }

    /// How long the tables are, written as JSON: shows when they become too large for memory, which is some times as much.
    pub(crate) fn bytes(&self) -> u64 {
        let tables = [
            self.threads.bytes(),
            self.cpus.bytes(),
            self.tasks.bytes(),
            self.lines.bytes(),
            self.functions.bytes(),
            self.routes.bytes(),
            self.counted_only.bytes(),
        ];
        tables.iter().sum()
    }

    /// All of it.
    pub fn account(self) -> Account {
        Account {
            threads: self.threads.rows(),
            cpus: self.cpus.rows(),
            tasks: self.tasks.rows(),
            lines: self.lines.rows(),
            functions: self.functions.rows(),
            routes: self.routes.rows(),
            counted_only: self.counted_only.rows(),
            ..self.about
        }
        .filled_up()
    }
}

/// Counts what is written.
struct Length(u64);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Table<R: Row>(BTreeMap<R::Key, R>);

impl<R: Row> Default for Table<R> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<R: Row> Table<R> {
    fn add(&mut self, rows: Vec<R>) {
        for row in rows {
            match self.0.get_mut(&row.key()) {
                Some(sum) => *sum = sum.then(&row),
                None => {
                    self.0.insert(row.key(), row);
                }
            }
        }
    }

    fn bytes(&self) -> u64
    where
        R: Serialize,
    {
        let mut length = Length(0);
        // Nothing of ours fails to be written, and no row is longer than what was read.
        self.0.values().for_each(|row| drop(serde_json::to_writer(&mut length, row)));
        length.0
    }

    fn rows(self) -> Vec<R> {
        sorted(self.0.into_values().collect())
    }
}
