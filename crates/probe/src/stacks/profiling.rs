//! Samples of the stacks of threads on a CPU, while they are taken.

use std::mem::offset_of;

use machine::Missing;

use super::named_sums::NamedSums;
use super::profile::Profile;
use super::sampled::{SampledStack, SampledStacks};
use super::symbolization::Naming;
use super::target::{want, want_too};
use crate::account::collect::target::same_numbers;
use crate::account::{Target, task_name};
use crate::bpf::{Loaded, Record as _, StackControl, StackKey, StackSum, StackTables, load_profile};
use crate::clock;

/// The fact that is missing where nothing can be sampled.
const FACT: &str = "what the server does on CPUs, by function";

/// Samples the threads of a server at interrupts of the timers of CPUs; ends with this.
pub struct Profiling {
    tables: StackTables,
    naming: Naming,
    /// Taken off when it is dropped.
    _loaded: Loaded,
}

impl Profiling {
    /// Gets ready to sample all threads of these processes, and of those that they start.
    ///
    /// # Errors
    /// The kernel does not report its types (BTF), has no trace point of timer interrupts (x86 alone has), does not permit it, or the processes are
    /// too many: which, and the remedy.
    pub fn prepare(pids: &[u32]) -> Result<Self, Missing> {
        let because = |missing: Missing| Missing::new(FACT, missing.why);
        let target = Target::Processes(pids.to_vec());
        same_numbers(&target).map_err(because)?;
        let mut loaded = load_profile().map_err(because)?;
        let mut tables = StackTables::open(&mut loaded).map_err(because)?;
        let mut naming = Naming::begin();
        want(&mut tables.wanted, &target, &mut naming).map_err(because)?;
        Ok(Self { tables, naming, _loaded: loaded })
    }

    /// Takes in more processes: those that came to the target by another way than being started by it (moved into its cgroup).
    ///
    /// # Errors
    /// There is no room for one.
    pub fn add(&mut self, pids: &[u32]) -> Result<(), Missing> {
        let mut refused = Ok(());
        for pid in pids {
            match want_too(&mut self.tables.wanted, *pid) {
                Ok(true) => self.naming.remember(*pid),
                Ok(false) => {}
                Err(missing) => refused = Err(Missing::new(FACT, missing.why)),
            }
        }
        refused
    }

    /// Samples from now on.
    pub fn start(&mut self) {
        self.tables.control.set_word(0, offset_of!(StackControl, began_ns), clock::monotonic_ns());
    }

    /// Samples no longer.
    pub fn stop(&mut self) {
        self.tables.control.set_word(0, offset_of!(StackControl, ended_ns), clock::monotonic_ns());
    }

    /// What was seen between the two, with names. The processes should still be there: files that have no symbols are named by their
    /// mappings.
    pub fn end(mut self) -> Profile {
        let (sums, missing) = self.sums();
        let stacks = sums.all().map(|(key, sum)| (sums.kernel(key, |all| all), sums.user(key), sum.count));
        let profile = Profile::of(stacks);
        Profile { missing: missing.into_iter().chain(profile.missing).collect(), ..profile }
    }

    /// The same as whole stacks, by process and name of the threads.
    pub fn stacks(mut self) -> SampledStacks {
        let (sums, missing) = self.sums();
        let stack = |(key, sum): (&StackKey, &StackSum)| {
            let kernel = sums.kernel(key, |all| all);
            SampledStack::of(key.tgid, task_name(&key.comm), sums.user(key), &kernel, sum.count)
        };
        SampledStacks { stacks: sums.all().map(stack).collect(), missing }
    }

    /// Samples by stack, with names; what is not in them, and why.
    fn sums(&mut self) -> (NamedSums, Vec<Missing>) {
        let (sums, mut missing) = NamedSums::of(&self.tables, &mut self.naming);
        let control = self.tables.control.get(0).unwrap_or_else(StackControl::zeroed);
        let lost = control.lost_sums.saturating_add(control.lost_stacks).saturating_add(control.lost_threads);
        if lost > 0 {
            missing.push(Missing::new("some samples", format_args!("a table was full: {lost} times")));
        }
        (sums, missing)
    }
}
