//! Sums by stack, as the kernel's programs keep them, with names of functions.

use machine::Missing;

use super::frames::Frames;
use super::named_stacks::NamedStacks;
use super::symbolization::Naming;
use crate::bpf::{StackKey, StackSum, StackTables};

/// All sums, and their stacks by name.
pub(super) struct NamedSums {
    sums: Vec<(StackKey, StackSum)>,
    stacks: NamedStacks,
}

impl NamedSums {
    /// Reads the tables, and looks names up; what could not be read or has no names, and why.
    pub(super) fn of(tables: &StackTables, naming: &mut Naming) -> (Self, Vec<Missing>) {
        let (sums, failed) = sums(tables);
        let in_user = sums.iter().map(|(key, _)| (key.tgid, key.user_stack)).collect();
        let in_kernel: Vec<u64> = sums.iter().map(|(key, _)| key.kernel_stack).collect();
        let (stacks, nameless) = NamedStacks::of(&tables.stacks, in_user, &in_kernel, naming);
        let missing = failed.into_iter().chain(nameless).collect();
        (Self { sums, stacks }, missing)
    }

    /// The sums.
    pub(super) fn all(&self) -> impl Iterator<Item = (&StackKey, &StackSum)> {
        self.sums.iter().map(|(key, sum)| (key, sum))
    }

    /// Frames of a sum in user space.
    pub(super) fn user(&self, key: &StackKey) -> Frames {
        self.stacks.user(key.tgid, key.user_stack)
    }

    /// Its frames in the kernel, of which `keep` (given the innermost first) chooses.
    pub(super) fn kernel(&self, key: &StackKey, keep: impl Fn(&[String]) -> &[String]) -> Frames {
        self.stacks.kernel(key.kernel_stack, keep)
    }
}

/// All sums that can be read.
fn sums(tables: &StackTables) -> (Vec<(StackKey, StackSum)>, Option<Missing>) {
    let (mut sums, mut failed) = (Vec::new(), None);
    for entry in tables.sums.iter() {
        match entry {
            Ok(entry) => sums.push(entry),
            Err(e) => failed = Some(Missing::new("times by stack", format_args!("the table of sums: {e}"))),
        }
    }
    (sums, failed)
}
