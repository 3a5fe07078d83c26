//! Stacks as the kernel's programs keep them, by the hash of their frames, with names of functions.

use std::collections::{BTreeMap, BTreeSet};

use aya::maps::{HashMap, MapData};
use machine::Missing;

use super::frames::Frames;
use super::symbolization::{FunctionNames, Naming, UNKNOWN};
use crate::bpf::{STACK_NO_CODE, StackFrames, stack_hash};

/// Frames as the kernel has them: addresses, the innermost first.
type Addresses = Result<Vec<u64>, Frames>;

/// Stacks by hash.
type Stacks = BTreeMap<u64, Addresses>;

/// The table of stacks.
type Table = HashMap<MapData, u64, StackFrames>;

/// Stacks, and the names of what lies there.
pub(crate) struct NamedStacks {
    stacks: Stacks,
    of_kernel: FunctionNames,
    of_processes: BTreeMap<u32, FunctionNames>,
}

impl NamedStacks {
    /// Reads stacks in user space, each of a process, and stacks in the kernel, all by their hashes, and looks names up; what has no names, and why.
    pub(crate) fn of(
        table: &Table,
        in_user: BTreeSet<(u32, u64)>,
        in_kernel: &[u64],
        naming: &mut Naming,
    ) -> (Self, Vec<Missing>) {
        let mut stacks = Stacks::new();
        for hash in in_user.iter().map(|(_, hash)| hash).chain(in_kernel) {
            stacks.entry(*hash).or_insert_with(|| stack(table, *hash));
        }
        let (of_kernel, kernel_nameless) = names_of_kernel(naming, &stacks, in_kernel);
        let (of_processes, nameless) = names_of_processes(naming, &stacks, &in_user);
        let missing = kernel_nameless.into_iter().chain(nameless).collect();
        (Self { stacks, of_kernel, of_processes }, missing)
    }

    /// Frames of a stack of a process in user space.
    pub(crate) fn user(&self, pid: u32, hash: u64) -> Frames {
        let none = FunctionNames::new();
        let names = self.of_processes.get(&pid).unwrap_or(&none);
        named(&self.stacks, hash, names, |all| all)
    }

    /// Frames of a stack in the kernel, of which `keep` (given the innermost first) chooses.
    pub(super) fn kernel(&self, hash: u64, keep: impl Fn(&[String]) -> &[String]) -> Frames {
        named(&self.stacks, hash, &self.of_kernel, keep)
    }
}

fn stack(table: &Table, hash: u64) -> Addresses {
    match hash {
        stack_hash::NOT_TAKEN => Err(Frames::NotTaken),
        // A thread of the kernel has no frames in user space.
        stack_hash::NONE => Ok(Vec::new()),
        stack_hash::LOST => Err(Frames::Lost),
        _ => table.get(&hash, 0).map(|frames| up_to_the_last(&frames.at)).map_err(|_| Frames::Lost),
    }
}

fn addresses(stacks: &Stacks, hashes: impl Iterator<Item = u64>) -> BTreeSet<u64> {
    let of = |hash| stacks.get(&hash)?.as_ref().ok();
    hashes.filter_map(of).flat_map(|stack| within_calls(stack)).collect()
}

/// Names of the kernel's functions; why there are none.
fn names_of_kernel(naming: &Naming, stacks: &Stacks, hashes: &[u64]) -> (FunctionNames, Option<Missing>) {
    let addresses = addresses(stacks, hashes.iter().copied());
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
    wanted: &BTreeSet<(u32, u64)>,
) -> (BTreeMap<u32, FunctionNames>, Option<Missing>) {
    let pids: BTreeSet<u32> = wanted.iter().map(|(pid, _)| *pid).collect();
    let (mut names, mut failed) = (BTreeMap::new(), Vec::new());
    for pid in pids {
        let of_it = wanted.iter().filter(|(of, _)| *of == pid);
        let addresses = addresses(stacks, of_it.map(|(_, hash)| *hash));
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

/// Addresses that lie within what was running: of a caller the kernel reports where it will go on, which can be the next function already.
fn within_calls(innermost_first: &[u64]) -> impl Iterator<Item = u64> {
    innermost_first.iter().enumerate().map(|(depth, address)| address - u64::from(depth > 0))
}

/// The frames of a stack by name, of which `keep` (given the innermost first) chooses.
fn named(stacks: &Stacks, hash: u64, names: &FunctionNames, keep: impl Fn(&[String]) -> &[String]) -> Frames {
    match stacks.get(&hash) {
        Some(Ok(stack)) => {
            let mut all: Vec<String> = within_calls(stack).map_while(|at| names.get(&at).cloned()).collect();
            // The next return address is not in code: the unwinder has gone astray from here on.
            if all.len() < stack.len() {
                all.push(UNKNOWN.into());
            }
            Frames::Known(keep(&all).iter().rev().cloned().collect())
        }
        Some(Err(frames)) => frames.clone(),
        None => Frames::Lost,
    }
}

#[cfg(test)]
mod tests {
    use super::super::frames::without_the_switch;
    use super::*;

    #[test]
    fn callers_are_looked_up_where_they_called() {
        assert_eq!(within_calls(&[100, 200, 300]).collect::<Vec<_>>(), [100, 199, 299]);
    }

    #[test]
    fn frames_begin_at_the_outside_and_what_has_none_says_why() {
        let stacks =
            BTreeMap::from([(3, Ok(vec![10, 21, 31, 11])), (4, Ok(Vec::new())), (0, Err(Frames::NotTaken))]);
        let names = FunctionNames::from([(10, "__schedule".into()), (20, "schedule".into())]);
        let frames = |number| named(&stacks, number, &names, without_the_switch);
        assert_eq!(frames(3), Frames::Known(vec!["[unknown]".into(), "schedule".into()]));
        assert_eq!(
            [frames(4), frames(0), frames(9)],
            [Frames::Known(vec![]), Frames::NotTaken, Frames::Lost]
        );
    }

    #[test]
    fn a_stack_ends_where_there_is_nothing_or_no_code() {
        assert_eq!(up_to_the_last(&[70, 80, 0, 90]), [70, 80]);
        assert_eq!(up_to_the_last(&[70, STACK_NO_CODE, 90, 0]), [70, STACK_NO_CODE]);
        assert!(up_to_the_last(&[0, 70]).is_empty());
        assert_eq!(up_to_the_last(&[70, 80]), [70, 80, STACK_NO_CODE], "deeper than is kept");
    }
}
