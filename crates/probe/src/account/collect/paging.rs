//! Swapping and moving of pages on the whole machine.

use machine::procfs::{Malformed, vmstat};
use machine::{Missing, Root};
use serde::{Deserialize, Serialize};

use crate::handles::Handles;

/// What the kernel counted in the window, for the whole machine: it does not say whose pages they were. `None` where this
/// kernel has no such counter. Source: /proc/vmstat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Paging {
    /// Pages read from swap (`pswpin`).
    pub swapped_in_pages: Option<u64>,
    /// Pages written to swap (`pswpout`).
    pub swapped_out_pages: Option<u64>,
    /// Faults that NUMA balancing provoked to see who uses a page (`numa_hint_faults`).
    pub numa_hint_faults: Option<u64>,
    /// Of them those by a CPU of the page's own node (`numa_hint_faults_local`); the others were remote.
    pub numa_hint_faults_local: Option<u64>,
    /// Pages that NUMA balancing moved to another node (`numa_pages_migrated`).
    pub numa_migrated_pages: Option<u64>,
    /// How often an allocation had to free memory first (`allocstall_*`).
    pub allocation_stalls: Option<u64>,
}

impl Paging {
    /// The counters since boot.
    fn parse(text: &str) -> Result<Self, Malformed> {
        let mut paging = Self::default();
        for counter in vmstat::counters(text) {
            let counter = counter?;
            if counter.name.starts_with("allocstall") {
                let before = paging.allocation_stalls.unwrap_or(0);
                paging.allocation_stalls = Some(before + counter.value()?);
            } else if let Some(field) = paging.field(counter.name) {
                *field = Some(counter.value()?);
            }
        }
        Ok(paging)
    }

    /// What the kernel calls by this name.
    fn field(&mut self, name: &str) -> Option<&mut Option<u64>> {
        Some(match name {
            "pswpin" => &mut self.swapped_in_pages,
            "pswpout" => &mut self.swapped_out_pages,
            "numa_hint_faults" => &mut self.numa_hint_faults,
            "numa_hint_faults_local" => &mut self.numa_hint_faults_local,
            "numa_pages_migrated" => &mut self.numa_migrated_pages,
            _ => return None,
        })
    }

    /// What came since an earlier reading.
    pub(in crate::account) fn since(&self, earlier: &Self) -> Self {
        self.each(earlier, u64::saturating_sub)
    }

    /// These and those of the time that follows.
    pub(in crate::account) fn plus(&self, later: &Self) -> Self {
        self.each(later, u64::saturating_add)
    }

    fn each(&self, other: &Self, of: impl Fn(u64, u64) -> u64) -> Self {
        let both =
            |mine: Option<u64>, theirs: Option<u64>| mine.zip(theirs).map(|(mine, theirs)| of(mine, theirs));
        Self {
            swapped_in_pages: both(self.swapped_in_pages, other.swapped_in_pages),
            swapped_out_pages: both(self.swapped_out_pages, other.swapped_out_pages),
            numa_hint_faults: both(self.numa_hint_faults, other.numa_hint_faults),
            numa_hint_faults_local: both(self.numa_hint_faults_local, other.numa_hint_faults_local),
            numa_migrated_pages: both(self.numa_migrated_pages, other.numa_migrated_pages),
            allocation_stalls: both(self.allocation_stalls, other.allocation_stalls),
        }
    }
}

/// What the counters of a machine moved by since this was made. The file stays open.
pub(in crate::account) struct PagingSince {
    handles: Handles,
    text: Vec<u8>,
    before: Result<Paging, Missing>,
}

impl PagingSince {
    /// From now on.
    pub(in crate::account) fn now(root: &Root) -> Self {
        let before = Err(Missing::new(FACT, "was not read yet"));
        let mut since = Self { handles: Handles::default(), text: Vec::new(), before };
        since.before = since.so_far(root);
        since
    }

    /// What came since.
    ///
    /// # Errors
    /// When /proc/vmstat cannot be read or makes no sense, or did so at the beginning.
    pub(in crate::account) fn read(&mut self, root: &Root) -> Result<Paging, Missing> {
        let before = self.before.clone()?;
        Ok(self.so_far(root)?.since(&before))
    }

    fn so_far(&mut self, root: &Root) -> Result<Paging, Missing> {
        self.handles.read(root, VMSTAT, &mut self.text).map_err(|e| Missing::new(FACT, e))?;
        let makes_no_sense = |e: &dyn std::fmt::Display| Missing::new(FACT, format_args!("{VMSTAT}: {e}"));
        let text = std::str::from_utf8(&self.text).map_err(|e| makes_no_sense(&e))?;
        Paging::parse(text).map_err(|e| makes_no_sense(&e))
    }
}

const FACT: &str = "swapping and NUMA faults";
const VMSTAT: &str = "/proc/vmstat";

#[cfg(test)]
mod tests {
    use machine::Tree;

    use super::*;

    fn at(text: &str) -> Paging {
        Paging::parse(text).unwrap()
    }

    #[test]
    fn the_difference_of_two_readings() {
        let before = at("pswpin 5\nallocstall_normal 1\nallocstall_movable 2\nnuma_hint_faults 7\n");
        let after = at("pswpin 9\nallocstall_normal 4\nallocstall_movable 2\nnuma_hint_faults 8\n");
        let between = after.since(&before);
        assert_eq!(between.swapped_in_pages, Some(4));
        assert_eq!(between.allocation_stalls, Some(3));
        assert_eq!(between.numa_hint_faults, Some(1));
        assert_eq!(
            between.numa_hint_faults_local, None,
            "a kernel without NUMA balancing has no such counter"
        );
    }

    #[test]
    fn a_torn_file_is_told() {
        let tree = Tree::new().file(VMSTAT, "pswpin 5\npswp");
        let root = Root::from_tree(tree);
        let reported = PagingSince::now(&root).read(&root).unwrap_err();
        assert!(reported.why.contains(VMSTAT), "{reported:?}");
        assert!(Paging::parse("pswpin -5\n").is_err());
        // Nobody asked for this one.
        assert_eq!(Paging::parse("nr_free_pages -5\n").unwrap(), Paging::default());
    }
}
