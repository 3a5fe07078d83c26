//! Summing up that goes on in the kernel.

use std::mem::offset_of;

use machine::{Machine, Missing, Root};

use super::frames::without_the_switch;
use super::named_sums::NamedSums;
use super::offline;
use super::symbolization::Naming;
use super::target::{want, want_too};
use super::time::{Doing, StackTime, TimeByStack};
use crate::account::collect::target::{all_cpus, same_numbers};
use crate::account::{Target, task_name};
use crate::bpf::{Loaded, Record, StackControl, StackKey, StackSum, StackTables, load_stacks, missed_events};
use crate::clock;
use crate::online::OnlineLooks;

/// Programs in the kernel that sum up; they end with this.
pub struct Summing {
    loaded: Loaded,
    tables: StackTables,
    naming: Naming,
    began_ns: u64,
    root: Root,
    looks: OnlineLooks,
}

impl Summing {
    /// Loads and attaches the programs (some 30 ms), and begins to sum up what the threads of `target` do, which is somebody.
    ///
    /// # Errors
    /// When there is no target, or the kernel has no such programs (trace points with types: 5.12 and later, with BTF), or does not permit
    /// them: what, why and the remedy.
    pub fn begin(target: &Target, machine: &Machine) -> Result<Self, Missing> {
        same_numbers(target)?;
        let mut loaded = load_stacks()?;
        let tables = StackTables::open(&mut loaded)?;
        let root = Root::live();
        let looks = OnlineLooks::begin(&root, all_cpus(machine, u32::MAX));
        let mut summing = Self { loaded, tables, naming: Naming::begin(), began_ns: 0, root, looks };
        want(&mut summing.tables.wanted, target, &mut summing.naming)?;
        summing.loaded.walk_tasks()?;
        summing.loaded.walk_tasks()?;
        summing.began_ns = clock::monotonic_ns();
        summing.tables.control.set_word(0, offset_of!(StackControl, began_ns), summing.began_ns);
        summing.loaded.walk_tasks()?;
        Ok(summing)
    }

    fn control(&self) -> StackControl {
        self.tables.control.get(0).unwrap_or_else(StackControl::zeroed)
    }

    /// Looks which CPUs are online; to be called some ten times a second.
    pub fn look(&mut self) {
        self.looks.look(&self.root);
    }

    /// Takes in more processes: those that came to the target by another way than being started by it (moved into its cgroup).
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn add(&mut self, pids: &[u32]) -> Result<(), Missing> {
        let (mut fresh, mut refused) = (false, Ok(()));
        for pid in pids {
            self.naming.remember(*pid);
            match want_too(&mut self.tables.wanted, *pid) {
                Ok(is_new) => fresh |= is_new,
                Err(missing) => refused = Err(missing),
            }
        }
        if fresh { self.loaded.walk_tasks().and(refused) } else { refused }
    }

    /// Ends it: what was summed up, with names.
    pub fn end(mut self) -> TimeByStack {
        self.look();
        let ended_ns = clock::monotonic_ns();
        self.tables.control.set_word(0, offset_of!(StackControl, ended_ns), ended_ns);
        let mut missing = self.loaded.missing.clone();
        // What they did last is summed up on this walk.
        missing.extend(self.loaded.walk_tasks().err());
        let (sums, failed) = NamedSums::of(&self.tables, &mut self.naming);
        missing.extend(failed);
        missing.extend(self.not_counted());
        let time = |key: &StackKey, sum: &StackSum| StackTime {
            pid: key.tgid,
            thread: task_name(&key.comm),
            doing: Doing::of(key.state),
            user: sums.user(key),
            kernel: sums.kernel(key, without_the_switch),
            count: sum.count,
            ns: sum.ns,
        };
        let parts = |(key, sum): (&StackKey, &StackSum)| apart(time(key, sum), sum.waited_ns);
        let offline_ns = |cpu| self.looks.longest_offline_ns(cpu, ended_ns);
        let is_of_kernel = |pid| offline::is_of_kernel(&self.root, pid);
        let times = sums.all().flat_map(parts);
        let times = times.flat_map(|time| offline::not_known(time, is_of_kernel, offline_ns)).collect();
        missing.extend(self.looks.missing().cloned());
        let changed_cpus = self.looks.changed(ended_ns);
        TimeByStack { began_ns: self.began_ns, ended_ns, times, changed_cpus, missing }
    }

    /// What the programs could not count, and why.
    fn not_counted(&self) -> Vec<Missing> {
        let control = self.control();
        let said = |count: u64, fact: &str, why: String| (count > 0).then(|| Missing::new(fact, why));
        let lost =
            format!("a table was full, or the kernel did not report them: {} times", control.lost_stacks);
        let full = format!(
            "a table was full: {} of them, {} ms, are left out",
            control.lost_sums,
            control.lost_ns / 1_000_000
        );
        let unreported = format!(
            "the kernel did not report {}: what is shown there may be of another state",
            control.unreported
        );
        let threads = format!("a table was full: {} are left out", control.lost_threads);
        let said = [
            said(control.lost_threads, "threads", threads),
            said(control.lost_stacks, "some stacks", lost),
            said(control.lost_sums, "some times by stack", full),
            said(control.unreported, "some switches", unreported),
        ];
        said.into_iter().flatten().chain(missed_events(&self.loaded.misses())).collect()
    }
}

/// What a thread did, and that it waited for a CPU after that.
fn apart(time: StackTime, waited_ns: u64) -> impl Iterator<Item = StackTime> {
    let waited =
        (waited_ns > 0).then(|| StackTime { doing: Doing::InRunQueue, ns: waited_ns, ..time.clone() });
    std::iter::once(time).chain(waited)
}
