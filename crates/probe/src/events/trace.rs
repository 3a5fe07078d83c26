//! What was taken, and what is missing in it.

use std::collections::{BTreeMap, BTreeSet};

use machine::Missing;

use super::event::{Event, Task, What};

/// Events of a window.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trace {
    /// When the window began and ended, ns of CLOCK_MONOTONIC.
    pub began_ns: u64,
    /// See `began_ns`.
    pub ended_ns: u64,
    /// CLOCK_BOOTTIME less CLOCK_MONOTONIC, ns: the time that the machine was suspended.
    pub suspended_ns: u64,
    /// In the order of their beginning; of two that began together, the longer one first.
    pub events: Vec<Event>,
    /// Whether nobody in particular was watched.
    pub everything: bool,
    /// By which means: `tp_btf`, `raw_tp`.
    pub means: &'static str,
    /// CPUs of which events were asked for.
    pub cpus: Vec<u32>,
    /// Events that found no room in the ring, by CPU; those without any are left out.
    pub dropped: BTreeMap<u32, u64>,
    /// What is not in it, and why.
    pub missing: Vec<Missing>,
}

impl Trace {
    /// Brings events into their order.
    pub(super) fn sort(events: &mut [Event]) {
        events.sort_by_key(|event| (event.at_ns, u64::MAX - event.what.ns()));
    }

    /// All tasks that are named, by number, as they were named last.
    pub fn tasks(&self) -> BTreeMap<u32, Task> {
        let mut tasks = BTreeMap::new();
        for event in &self.events {
            if let What::Switch { next: task, .. }
            | What::Unreported { next: task, .. }
            | What::Came(task)
            | What::Met(task)
            | What::Born { task, .. } = event.what
            {
                tasks.insert(task.tid, task);
            }
        }
        tasks
    }

    /// Numbers of the tasks that were born within the window.
    pub fn born(&self) -> BTreeSet<u32> {
        let born = self.events.iter().filter_map(|event| match event.what {
            What::Born { task, .. } => Some(task.tid),
            _ => None,
        });
        born.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Source;
    use crate::events::Comm;

    fn task(tid: u32, name: &str) -> Task {
        let comm = Comm::from(name);
        Task { tid, pid: 1, comm, priority: 120, of_kernel: false, of_target: false }
    }

    fn at(at_ns: u64, what: What) -> Event {
        Event { at_ns, cpu: 0, what }
    }

    #[test]
    fn what_lies_within_comes_after_what_it_lies_in() {
        let softirq = What::Interrupt { source: Source::SoftirqTimer, line: None, handled: true, ns: 50 };
        let tick = What::Interrupt { source: Source::Tick, line: None, handled: true, ns: 10 };
        let mut events = [at(20, tick), at(20, softirq), at(5, What::Met(task(7, "a")))];
        Trace::sort(&mut events);
        assert_eq!(events.map(|event| (event.at_ns, event.what.ns())), [(5, 0), (20, 50), (20, 10)]);
    }

    #[test]
    fn a_task_has_the_name_that_it_had_last() {
        let born = What::Born { parent: 1, task: task(7, "sh") };
        let events = vec![at(1, born), at(2, What::Met(task(7, "ls"))), at(3, What::Came(task(8, "b")))];
        let trace = Trace { events, ..Trace::default() };
        let tasks = trace.tasks();
        let names: Vec<_> = tasks.values().map(|task| task.comm.as_str()).collect();
        assert_eq!((names, trace.born()), (vec!["ls".into(), "b".into()], BTreeSet::from([7])));
    }
}
