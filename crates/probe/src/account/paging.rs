//! Swapping and moving of pages on the whole machine.

use machine::procfs::vmstat;
use machine::{Missing, Root};
use serde::{Deserialize, Serialize};

/// What the kernel counted in the window, for the whole machine: it does not tell whose pages they were. `None` where this
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
    ///
    /// # Errors
    /// When /proc/vmstat cannot be read or makes no sense.
    pub(super) fn read(root: &Root) -> Result<Self, Missing> {
        let told = |why: &dyn std::fmt::Display| Missing::new("swapping and NUMA faults", why);
        let text = root.read("/proc/vmstat").map_err(|e| told(&e))?;
        let counters = vmstat::parse(&text).map_err(|e| told(&format_args!("/proc/vmstat: {e}")))?;
        let of = |name: &str| counters.get(name).copied();
        let stalls = counters.iter().filter(|(name, _)| name.starts_with("allocstall"));
        Ok(Self {
            swapped_in_pages: of("pswpin"),
            swapped_out_pages: of("pswpout"),
            numa_hint_faults: of("numa_hint_faults"),
            numa_hint_faults_local: of("numa_hint_faults_local"),
            numa_migrated_pages: of("numa_pages_migrated"),
            allocation_stalls: stalls.map(|(_, count)| *count).reduce(|sum, count| sum + count),
        })
    }

    /// What came since an earlier reading.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        self.each(earlier, u64::saturating_sub)
    }

    /// These and those of the time that follows.
    pub(super) fn plus(&self, later: &Self) -> Self {
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

#[cfg(test)]
mod tests {
    use machine::{Root, Tree};

    use super::*;

    fn at(text: &str) -> Paging {
        let tree = Tree::new().file("/proc/vmstat", text);
        Paging::read(&Root::from_tree(tree)).unwrap()
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
        let tree = Tree::new().file("/proc/vmstat", "pswpin 5\npswp");
        assert!(Paging::read(&Root::from_tree(tree)).unwrap_err().why.contains("/proc/vmstat"));
    }
}
