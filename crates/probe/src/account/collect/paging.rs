//! Swapping and moving of pages on the whole machine.

use machine::procfs::{Malformed, vmstat};
use machine::{FactId, Missing, Root};
use serde::{Deserialize, Serialize};

use crate::handles::Handles;

/// What the kernel counted in the window, for the whole machine: it does not say whose pages they were. `None` where this
/// kernel has no such counter; and where it is no number or went backwards, which the account names as missing by
/// [`FactId::VmstatCounter`]. Source: /proc/vmstat.
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
    /// The counters since boot, and those of them that are there and cannot be read.
    fn parse(text: &str) -> Result<(Self, Vec<Missing>), Malformed> {
        let (mut paging, mut stalls) = (Self::default(), None);
        let (mut found, mut first_odd, mut missing) = (false, None, Vec::new());
        for counter in vmstat::counters(text) {
            let counter = match counter {
                Ok(counter) => counter,
                Err(odd) => {
                    first_odd.get_or_insert(odd);
                    continue;
                }
            };
            found = true;
            let mut value = || {
                let value = counter.value();
                value.map_err(|odd| add(&mut missing, not_known(kernel_name(counter.name), odd))).ok()
            };
            if counter.name.starts_with(STALLS) {
                // A sum of which a part is not known is not known.
                let before = stalls.unwrap_or(Some(0u64));
                stalls = Some(value().and_then(|value| before?.checked_add(value)));
            } else if let Some(field) = paging.field(counter.name) {
                *field = value();
            }
        }
        paging.allocation_stalls = stalls.flatten();
        if let Some(odd) = first_odd {
            if !found {
                return Err(odd);
            }
            // The line that cannot be read may be that of any counter that is not there.
            let absent = paging.by_name().into_iter().filter(|(_, value)| value.is_none());
            absent.for_each(|(name, _)| add(&mut missing, not_known(name, &odd)));
        }
        Ok((paging, missing))
    }

    /// All of them by the kernel's names.
    fn by_name(&self) -> [(&'static str, Option<u64>); 6] {
        [
            ("pswpin", self.swapped_in_pages),
            ("pswpout", self.swapped_out_pages),
            ("numa_hint_faults", self.numa_hint_faults),
            ("numa_hint_faults_local", self.numa_hint_faults_local),
            ("numa_pages_migrated", self.numa_migrated_pages),
            (STALLS, self.allocation_stalls),
        ]
    }

    /// Those that went backwards since an earlier reading.
    pub(in crate::account) fn went_back_since(&self, earlier: &Self) -> Vec<Missing> {
        let both = self.by_name().into_iter().zip(earlier.by_name());
        let back =
            both.filter(|((_, now), (_, before))| now.zip(*before).is_some_and(|(now, before)| now < before));
        back.map(|((name, _), _)| not_known(name, "it went backwards")).collect()
    }

    /// Takes over from the facts that are missing at another time why counters are not known then: of both times together they
    /// are not known either.
    pub(in crate::account) fn keep_reasons(missing: &mut Vec<Missing>, other: &[Missing]) {
        let of_counters = other.iter().filter(|other| matches!(other.id, Some(FactId::VmstatCounter(_))));
        of_counters.for_each(|other| add(missing, other.clone()));
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
        self.each(earlier, u64::checked_sub)
    }

    /// These and those of the time that follows.
    pub(in crate::account) fn plus(&self, later: &Self) -> Self {
        self.each(later, u64::checked_add)
    }

    fn each(&self, other: &Self, of: impl Fn(u64, u64) -> Option<u64>) -> Self {
        let both = |mine: Option<u64>, theirs: Option<u64>| of(mine?, theirs?);
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
    before: Reading,
}

/// The counters at one moment, with those of them that are not known, or why there are none.
pub(in crate::account) type Reading = Result<(Paging, Vec<Missing>), Missing>;

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
    pub(in crate::account) fn read(&mut self, root: &Root) -> Reading {
        let (before, not_known_before) = self.before.clone()?;
        let (now, mut missing) = self.so_far(root)?;
        Paging::keep_reasons(&mut missing, &not_known_before);
        Paging::keep_reasons(&mut missing, &now.went_back_since(&before));
        Ok((now.since(&before), missing))
    }

    fn so_far(&mut self, root: &Root) -> Reading {
        self.handles.read(root, VMSTAT, &mut self.text).map_err(|e| Missing::new(FACT, e))?;
        let text = String::from_utf8_lossy(&self.text);
        Paging::parse(&text).map_err(|e| Missing::new(FACT, format_args!("{VMSTAT}: {e}")))
    }
}

/// A counter whose movement is not known.
fn not_known(name: &str, why: impl std::fmt::Display) -> Missing {
    Missing::new(format_args!("{VMSTAT} {name}"), why).identified(FactId::VmstatCounter(name.to_string()))
}

/// Adds what is missing unless the same fact is there with another reason.
fn add(missing: &mut Vec<Missing>, more: Missing) {
    if !missing.iter().any(|known| known.id == more.id) {
        missing.push(more);
    }
}

/// The counters of each zone go by one name.
fn kernel_name(name: &str) -> &str {
    if name.starts_with(STALLS) { STALLS } else { name }
}

const STALLS: &str = "allocstall";
const FACT: &str = "swapping and NUMA faults";
const VMSTAT: &str = "/proc/vmstat";

#[cfg(test)]
mod tests {
    use machine::Tree;

    use super::*;

    fn at(text: &str) -> Paging {
        Paging::parse(text).unwrap().0
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
        let tree = Tree::new().file(VMSTAT, "pswpin");
        let root = Root::from_tree(tree);
        let reported = PagingSince::now(&root).read(&root).unwrap_err();
        assert!(reported.why.contains(VMSTAT), "{reported:?}");
    }

    #[test]
    fn an_odd_counter_is_missing_by_itself() {
        let odd = at("pswpin 5\npswpout -5\nallocstall_dma 1\nallocstall_normal x\nnr_free_pages -5\npswp");
        assert_eq!(odd, Paging { swapped_in_pages: Some(5), ..Paging::default() });
    }

    #[test]
    fn what_is_odd_has_a_reason_and_what_the_kernel_does_not_count_has_none() {
        let reasons = |before: &[u8], now: &[u8]| {
            let root = |text: &[u8]| Root::from_tree(Tree::new().file(VMSTAT, text));
            let mut since = PagingSince::now(&root(before));
            let (_, missing) = since.read(&root(now)).unwrap();
            missing.into_iter().map(|missing| missing.fact).collect::<Vec<_>>()
        };
        let fact = |name: &str| format!("{VMSTAT} {name}");
        assert_eq!(reasons(b"pswpin 5\n", b"pswpin 9\n"), Vec::<String>::new());
        assert_eq!(reasons(b"pswpin x\n", b"pswpin 9\n"), [fact("pswpin")]);
        assert_eq!(reasons(b"pswpin 5\n", b"pswpin \xff\n"), [fact("pswpin")]);
        assert_eq!(reasons(b"pswpin 5\n", b"pswpin 4\n"), [fact("pswpin")]);
        assert_eq!(
            reasons(b"pswpin 5\n", b"pswpin 6\nallocstall_dma -1\nallocstall_high x\n"),
            [fact(STALLS)]
        );
        // The line whose name is not known may have been that of any other.
        assert_eq!(reasons(b"pswpin 5\n", b"pswpin 6\nnuma_hint_\xffaults 7\n").len(), 5);
        assert_eq!(reasons(b"pswpin 5\n", b"pswpin 6\nnuma_hin").len(), 5);
    }

    #[test]
    fn a_counter_that_went_backwards_is_not_known() {
        let between = at("pswpin 4\npswpout 9\n").since(&at("pswpin 5\npswpout 2\n"));
        assert_eq!((between.swapped_in_pages, between.swapped_out_pages), (None, Some(7)));
    }
}
