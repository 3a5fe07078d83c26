//! What happened between two accounts of the same counting, and intervals that follow each other added together again.
//!
//! Counts, times and lengths by step are differences; so quantiles are those of the interval. How extremes are reported:
//! [`Stretches`](crate::account::rows::stretches::Stretches). Each row says in one place what it has more than before and what two make together,
//! by naming every field: one that comes anew cannot be forgotten.

mod cpus;
mod functions;
mod interrupts;
mod routes;
mod row;
mod tasks;
#[cfg(test)]
mod tests;
mod threads;

pub(in crate::account) use row::{Row, sorted};

use super::detail::Detail;
use crate::account::collect::paging::Paging;
use crate::account::rows::changed_cpu::changed;
use crate::account::rows::takers::{Measured, takers};
use crate::account::time_account::Account;
use row::since;

impl Account {
    /// What this account has more than an earlier one.
    pub fn since(&self, earlier: &Self) -> Self {
        let Self {
            window_s,
            from_ns: _,
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
        } = self;
        let mut account = Self {
            window_s: window_s - earlier.window_s,
            from_ns: earlier.to_ns,
            to_ns: *to_ns,
            threads: since(threads, &earlier.threads),
            together: None,
            takers: Vec::new(),
            cpus: since(cpus, &earlier.cpus),
            changed_cpus: Vec::new(),
            tasks: since(tasks, &earlier.tasks),
            lines: since(lines, &earlier.lines),
            functions: since(functions, &earlier.functions),
            routes: since(routes, &earlier.routes),
            taken_by_unknown_ns: taken_by_unknown_ns.saturating_sub(earlier.taken_by_unknown_ns),
            nearness: nearness.clone(),
            paging: paging.zip(earlier.paging).map(|(now, before)| now.since(&before)),
            counted_only: since(counted_only, &earlier.counted_only),
            detail_of: Some(Detail { from_ns: earlier.detail().to_ns, to_ns: self.detail().to_ns }),
            missing: missing.clone(),
        };
        Paging::keep_reasons(&mut account.missing, &earlier.missing);
        if let Some((now, before)) = paging.zip(earlier.paging) {
            Paging::keep_reasons(&mut account.missing, &now.went_back_since(&before));
        }
        cpus::cut_to_interval(&mut account.cpus, &earlier.cpus, to_ns.saturating_sub(earlier.to_ns));
        account.sum_up();
        account
    }

    /// Makes anew what follows from the rest: the sum of the threads, who took, which CPUs changed, and what is of another time.
    pub(in crate::account) fn sum_up(&mut self) {
        self.note_detail();
        self.together = self.threads.iter().cloned().reduce(|sum, thread| sum.plus(&thread));
        self.changed_cpus = changed(&self.cpus);
        self.takers = takers(&Measured {
            together: self.together.as_ref(),
            cpus: &self.cpus,
            tasks: &self.tasks,
            lines: &self.lines,
            taken_by_unknown_ns: self.taken_by_unknown_ns,
        });
    }

    /// The same without what [`Account::filled_up`] makes of the rows again: for keeping.
    pub fn rows_alone(mut self) -> Self {
        (self.together, self.takers, self.changed_cpus) = (None, Vec::new(), Vec::new());
        self
    }

    /// The same with the sum of its threads and with who took.
    pub fn filled_up(mut self) -> Self {
        self.sum_up();
        self
    }
}
