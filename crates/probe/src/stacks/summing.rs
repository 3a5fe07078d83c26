//! Summing up that goes on in the kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;

use machine::Missing;

use super::frames::{Frames, without_the_switch};
use super::naming::{FunctionNames, Naming, UNKNOWN};
use super::time::{Doing, StackTime, TimeByStack};
use crate::account::Target;
use crate::account::target::{full, same_numbers};
use crate::bpf::{
    Loaded, Record, STACK_NO_CODE, StackControl, StackKey, StackSum, StackTables, load_stacks, stack_hash,
};
use crate::clock;

/// BPF_NOEXIST: an entry that is there stays as it is, and the kernel says so.
const NEW_ONLY: u64 = 1;

/// Programs in the kernel that sum up; they end with this.
pub struct Summing {
    loaded: Loaded,
    tables: StackTables,
    naming: Naming,
    began_ns: u64,
}

/// Frames as the kernel has them: addresses, the innermost first.
type Addresses = Result<Vec<u64>, Frames>;

impl Summing {
    /// Loads and attaches the programs (some 30 ms), and begins to sum up what the threads of `target` do, which is somebody.
    ///
    /// # Errors
    /// When there is no target, or the kernel has no such programs (trace points with types: 5.12 and later, with BTF), or does not permit
    /// them: what, why and the remedy.
    pub fn begin(target: &Target) -> Result<Self, Missing> {
        same_numbers(target)?;
        let mut loaded = load_stacks()?;
        let tables = StackTables::open(&mut loaded)?;
        let mut summing = Self { loaded, tables, naming: Naming::begin(), began_ns: 0 };
        let (named, meant) = target.numbers();
        for number in named {
            summing.tables.wanted.insert(number, meant, 0).map_err(full)?;
            summing.naming.remember(process_of(*number));
        }
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

    /// Takes in more processes: those that came to the target by another way than being started by it (moved into its cgroup).
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn add(&mut self, pids: &[u32]) -> Result<(), Missing> {
        let (_, meant) = Target::Processes(Vec::new()).numbers();
        let (mut fresh, mut refused) = (false, Ok(()));
        for pid in pids {
            self.naming.remember(*pid);
            match self.tables.wanted.insert(pid, meant, NEW_ONLY) {
                Ok(()) => fresh = true,
                Err(why) if self.tables.wanted.get(pid, 0).is_err() => refused = Err(full(why)),
                Err(_) => {}
            }
        }
        if fresh { self.loaded.walk_tasks().and(refused) } else { refused }
    }

    /// Ends it: what was summed up, with names.
    pub fn end(mut self) -> TimeByStack {
        let ended_ns = clock::monotonic_ns();
        self.tables.control.set_word(0, offset_of!(StackControl, ended_ns), ended_ns);
        let mut missing = self.loaded.missing.clone();
        // What they did last is summed up on this walk.
        missing.extend(self.loaded.walk_tasks().err());
        let (sums, failed) = self.sums();
        missing.extend(failed);
        missing.extend(self.not_counted());
        let mut stacks = Stacks::new();
        for (key, _) in &sums {
            for hash in [key.kernel_stack, key.user_stack] {
                stacks.entry(hash).or_insert_with(|| self.stack(hash));
            }
        }
        let (kernel, why) = names_of_kernel(&self.naming, &stacks, &sums);
        missing.extend(why);
        let (users, why) = names_of_processes(&mut self.naming, &stacks, &sums);
        missing.extend(why);
        let none = FunctionNames::new();
        let time = |key: &StackKey, sum: &StackSum| StackTime {
            pid: key.tgid,
            thread: thread_name(&key.comm),
            doing: Doing::of(key.state),
            user: named(&stacks, key.user_stack, users.get(&key.tgid).unwrap_or(&none), |all| all),
            kernel: named(&stacks, key.kernel_stack, &kernel, without_the_switch),
            count: sum.count,
            ns: sum.ns,
        };
        let times = sums.iter().flat_map(|(key, sum)| apart(time(key, sum), sum.waited_ns)).collect();
        TimeByStack { began_ns: self.began_ns, ended_ns, times, missing }
    }

    /// All sums that can be read.
    fn sums(&self) -> (Vec<(StackKey, StackSum)>, Option<Missing>) {
        let (mut sums, mut failed) = (Vec::new(), None);
        for entry in self.tables.sums.iter() {
            match entry {
                Ok(entry) => sums.push(entry),
                Err(e) => {
                    failed = Some(Missing::new("times by stack", format_args!("the table of sums: {e}")))
                }
            }
        }
        (sums, failed)
    }

    fn stack(&self, hash: u64) -> Addresses {
        match hash {
            stack_hash::NOT_TAKEN => Err(Frames::NotTaken),
            // A thread of the kernel has no frames in user space.
            stack_hash::NONE => Ok(Vec::new()),
            stack_hash::LOST => Err(Frames::Lost),
            _ => self
                .tables
                .stacks
                .get(&hash, 0)
                .map(|frames| up_to_the_last(&frames.at))
                .map_err(|_| Frames::Lost),
        }
    }

    /// What the programs could not count, and why.
    fn not_counted(&self) -> Vec<Missing> {
        let control = self.control();
        let said = |count: u64, fact: &str, why: String| (count > 0).then(|| Missing::new(fact, why));
        let lost =
            format!("a table was full, or the kernel did not tell them: {} times", control.lost_stacks);
        let full = format!(
            "a table was full: {} of them, {} ms, are left out",
            control.lost_sums,
            control.lost_ns / 1_000_000
        );
        let untold = format!(
            "the kernel did not tell of {}: what is told there may be of another state",
            control.untold
        );
        let threads = format!("a table was full: {} are left out", control.lost_threads);
        let said = [
            said(control.lost_threads, "threads", threads),
            said(control.lost_stacks, "some stacks", lost),
            said(control.lost_sums, "some times by stack", full),
            said(control.untold, "some switches", untold),
        ];
        let misses = self.loaded.misses().into_iter().map(|(program, count)| {
            Missing::new(
                format_args!("{count} events of {program}"),
                "the same program was running already on that CPU",
            )
        });
        said.into_iter().flatten().chain(misses).collect()
    }
}

/// The process of a thread: Tgid of /proc/TID/status.
fn process_of(tid: u32) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{tid}/status")).unwrap_or_default();
    let told = status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok());
    told.unwrap_or(tid)
}

/// What a thread did, and that it waited for a CPU after that.
fn apart(time: StackTime, waited_ns: u64) -> impl Iterator<Item = StackTime> {
    let waited =
        (waited_ns > 0).then(|| StackTime { doing: Doing::InRunQueue, ns: waited_ns, ..time.clone() });
    std::iter::once(time).chain(waited)
}

/// Sums by key, and stacks by hash.
type Sums = [(StackKey, StackSum)];
type Stacks = BTreeMap<u64, Addresses>;

fn addresses(stacks: &Stacks, hashes: impl Iterator<Item = u64>) -> BTreeSet<u64> {
    let of = |hash| stacks.get(&hash)?.as_ref().ok();
    hashes.filter_map(of).flat_map(|stack| within_calls(stack)).collect()
}

/// Names of the kernel's functions; why there are none.
fn names_of_kernel(naming: &Naming, stacks: &Stacks, sums: &Sums) -> (FunctionNames, Option<Missing>) {
    let addresses = addresses(stacks, sums.iter().map(|(key, _)| key.kernel_stack));
    if addresses.is_empty() {
        return (FunctionNames::new(), None);
    }
    match naming.of_kernel(&addresses) {
        Ok(names) => (names, None),
        Err(why) => (FunctionNames::new(), Some(Missing::new("names of functions of the kernel", why))),
    }
}

/// Names of each process's functions, and of which there are none, and why.
fn names_of_processes(
    naming: &mut Naming,
    stacks: &Stacks,
    sums: &Sums,
) -> (BTreeMap<u32, FunctionNames>, Option<Missing>) {
    let pids: BTreeSet<u32> = sums.iter().map(|(key, _)| key.tgid).collect();
    let (mut names, mut failed) = (BTreeMap::new(), Vec::new());
    for pid in pids {
        let of_it = sums.iter().filter(|(key, _)| key.tgid == pid);
        let addresses = addresses(stacks, of_it.map(|(key, _)| key.user_stack));
        if addresses.is_empty() {
            continue;
        }
        match naming.of_process(pid, &addresses) {
            Ok(found) => drop(names.insert(pid, found)),
            Err(why) => failed.push((pid, why)),
        }
    }
    (names, nameless(&failed))
}

/// Of which processes no names were found: mostly of those that were started and ended in the window.
fn nameless(failed: &[(u32, String)]) -> Option<Missing> {
    let (pid, why) = failed.first()?;
    let fact = match failed.len() {
        1 => format!("names of functions of process {pid}"),
        more => format!("names of functions of {more} processes, of {pid} first"),
    };
    Some(Missing::new(fact, why))
}

/// The frames that there are, and what shows that there are more.
fn up_to_the_last(frames: &[u64]) -> Vec<u64> {
    let known = frames.iter().take_while(|address| **address != 0 && **address != STACK_NO_CODE);
    // As many as are kept, and perhaps more; or a caller that cannot be one.
    let ends = frames.iter().find(|address| **address <= STACK_NO_CODE).copied().unwrap_or(STACK_NO_CODE);
    known.copied().chain((ends != 0).then_some(ends)).collect()
}

/// Addresses that lie within what was running: of a caller the kernel tells where it will go on, which can be the next function already.
fn within_calls(innermost_first: &[u64]) -> impl Iterator<Item = u64> {
    innermost_first.iter().enumerate().map(|(depth, address)| address - u64::from(depth > 0))
}

/// The frames of a stack by name, of which `keep` (the innermost first) are told.
fn named(stacks: &Stacks, hash: u64, names: &FunctionNames, keep: impl Fn(&[String]) -> &[String]) -> Frames {
    match stacks.get(&hash) {
        Some(Ok(stack)) => {
            let mut all: Vec<String> = within_calls(stack).map_while(|at| names.get(&at).cloned()).collect();
            // Who called is told by something else than code: from here on the kernel has lost its way.
            if all.len() < stack.len() {
                all.push(UNKNOWN.into());
            }
            Frames::Known(keep(&all).iter().rev().cloned().collect())
        }
        Some(Err(frames)) => frames.clone(),
        None => Frames::Lost,
    }
}

fn thread_name(comm: &[u8; 16]) -> String {
    let end = comm.iter().position(|byte| *byte == 0).unwrap_or(comm.len());
    String::from_utf8_lossy(&comm[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_are_looked_up_where_they_called() {
        assert_eq!(within_calls(&[100, 200, 300]).collect::<Vec<_>>(), [100, 199, 299]);
    }

    #[test]
    fn frames_are_told_from_the_outside_and_what_has_none_says_why() {
        let stacks =
            BTreeMap::from([(3, Ok(vec![10, 21, 31, 11])), (4, Ok(Vec::new())), (0, Err(Frames::NotTaken))]);
        let names = FunctionNames::from([(10, "__schedule".into()), (20, "schedule".into())]);
        let told = |number| named(&stacks, number, &names, without_the_switch);
        assert_eq!(told(3), Frames::Known(vec!["[unknown]".into(), "schedule".into()]));
        assert_eq!([told(4), told(0), told(9)], [Frames::Known(vec![]), Frames::NotTaken, Frames::Lost]);
    }

    #[test]
    fn a_stack_ends_where_there_is_nothing_or_no_code() {
        assert_eq!(up_to_the_last(&[70, 80, 0, 90]), [70, 80]);
        assert_eq!(up_to_the_last(&[70, STACK_NO_CODE, 90, 0]), [70, STACK_NO_CODE]);
        assert!(up_to_the_last(&[0, 70]).is_empty());
        assert_eq!(up_to_the_last(&[70, 80]), [70, 80, STACK_NO_CODE], "deeper than is kept");
    }

    #[test]
    fn names_of_threads_end_where_the_kernel_ends_them() {
        assert_eq!(thread_name(b"worker\0garbage!!"), "worker");
        assert_eq!(thread_name(b"sixteen bytes!!!"), "sixteen bytes!!!");
    }
}
