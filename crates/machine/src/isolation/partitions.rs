//! Partitions of cpusets in cgroup v2 (Documentation/admin-guide/cgroup-v2.rst, "Cpuset Interface Files";
//! kernel/cgroup/cpuset.c, generate_sched_domains).
//!
//! A partition has its CPUs for itself. One of kind `root` is a scheduling domain, balanced within; one of kind `isolated` is
//! not balanced at all. A `member` is neither.
//!
//! A partition that is in force is a child of the top, of another partition, or of a member that passes exclusive CPUs on
//! (`cpuset.cpus.exclusive.effective`, since Linux 6.7: remote partitions). Below any other member are none but invalid ones, which
//! are not looked for: the tree of a node of Kubernetes would be read for nothing.

use super::residents;
use super::set_apart::{Domain, InvalidPartition, PartitionKind, SetApart, SetBy};
use crate::limits::mounts::Mount;
use crate::processes::cgroup_tree;
use crate::{CpuSet, Notes, ReadError, Root};

/// Most cgroups that are looked at.
const MOST: usize = 4096;

/// Most characters of the kernel's reason that are kept.
const LONGEST_REASON: usize = 200;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Partitions {
    pub(super) isolated: Vec<SetApart>,
    pub(super) domains: Vec<Domain>,
    pub(super) invalid: Vec<InvalidPartition>,
    /// CPUs that the kernel lists as isolated (`cpuset.cpus.isolated` of the top, since Linux 6.7).
    pub(super) listed: CpuSet,
    /// All CPUs that isolated partitions hold, offline ones too.
    pub(super) held: CpuSet,
}

/// Reads the partitions below the mount of cgroup v2; `fact` names them where they cannot be read.
pub(super) fn read(root: &Root, mount: &Mount, fact: &str, notes: &mut Notes) -> Partitions {
    let mut found = Partitions::default();
    let top = &mount.point;
    let Some(below) = notes.keep(fact, hands_down(root, top)) else { return found };
    // Only a cgroup that is not the top has a type.
    let is_part = mount.root != "/" || root.exists(format!("{top}/cgroup.type"));
    let below = match is_part {
        true => {
            notes.missing(
                format_args!("{fact} outside of this container"),
                "it sees its own part of the cgroups only - run outside of it",
            );
            found.enter(root, &mount.root, top, notes)
        }
        false => {
            found.listed = listed(root, top, fact, notes);
            below
        }
    };
    if !below {
        return found;
    }
    let mut entered = 0usize;
    cgroup_tree::walk(root, mount, |path, _| {
        entered += 1;
        entered <= MOST && found.enter(root, path, &cgroup_tree::directory(mount, path), notes)
    });
    if entered > MOST {
        notes.missing(
            fact,
            format!("there are more than {MOST} cgroups with cpusets: the others were not read"),
        );
    }
    found
}

fn listed(root: &Root, top: &str, fact: &str, notes: &mut Notes) -> CpuSet {
    match root.cpu_list(format!("{top}/cpuset.cpus.isolated")) {
        Err(e) if e.is_absent() => CpuSet::new(),
        answer => notes.keep(fact, answer).unwrap_or_default(),
    }
}

/// Whether the cgroups below have cpusets of their own.
fn hands_down(root: &Root, directory: &str) -> Result<bool, ReadError> {
    let text = root.read(format!("{directory}/cgroup.subtree_control"))?;
    Ok(text.split_whitespace().any(|controller| controller == "cpuset"))
}

/// Whether the cgroups below a member may have exclusive CPUs, and so be partitions; also where the file that says so is there and
/// cannot be read.
fn passes_exclusive_cpus(root: &Root, directory: &str) -> bool {
    match root.cpu_list(format!("{directory}/cpuset.cpus.exclusive.effective")) {
        Ok(cpus) => !cpus.is_empty(),
        Err(e) => !e.is_absent(),
    }
}

impl Partitions {
    /// Takes in one cgroup; returns whether to look below it.
    fn enter(&mut self, root: &Root, path: &str, directory: &str, notes: &mut Notes) -> bool {
        let file = format!("{directory}/cpuset.cpus.partition");
        let state = match root.line(&file) {
            // It has no cpuset, or is gone.
            Err(e) if e.is_absent() => return false,
            answer => answer.and_then(|text| state(&text).map_err(|why| ReadError::malformed(&file, why))),
        };
        match notes.keep(format_args!("partition of cgroup {path}"), state) {
            Some(State::Member) if !passes_exclusive_cpus(root, directory) => return false,
            None | Some(State::Member) => {}
            Some(State::Valid(kind)) => self.valid(root, kind, path, directory, notes),
            Some(State::Invalid(asked, why)) => {
                self.invalid.push(InvalidPartition { cgroup: path.to_string(), asked, why });
            }
        }
        match hands_down(root, directory) {
            Err(e) if e.is_absent() => false,
            answer => notes.keep(format_args!("partitions below cgroup {path}"), answer).unwrap_or(false),
        }
    }

    fn valid(&mut self, root: &Root, kind: PartitionKind, path: &str, directory: &str, notes: &mut Notes) {
        let cpus = root.cpu_list(format!("{directory}/cpuset.cpus.effective"));
        let Some(cpus) = notes.keep(format_args!("CPUs of the partition {path}"), cpus) else { return };
        let cgroup = path.to_string();
        match kind {
            PartitionKind::Root => self.domains.push(Domain { cgroup, cpus }),
            PartitionKind::Isolated => {
                let exclusive = root.cpu_list(format!("{directory}/cpuset.cpus.exclusive.effective"));
                self.held = self.held.union(&cpus).union(&exclusive.unwrap_or_default());
                let residents = residents::of(root, path, directory, notes);
                self.isolated.push(SetApart { by: SetBy::Partition { cgroup }, cpus, residents });
            }
        }
    }
}

/// What `cpuset.cpus.partition` says.
#[derive(Debug, PartialEq, Eq)]
enum State {
    Member,
    Valid(PartitionKind),
    /// Asked for, and not in force; with the reason where there is one.
    Invalid(PartitionKind, Option<String>),
}

/// `member`, `root`, `isolated`, `isolated invalid (REASON)`; older kernels give no reason.
fn state(text: &str) -> Result<State, String> {
    let text = text.trim();
    let malformed = || {
        let start: String = text.chars().take(LONGEST_REASON).collect();
        format!("'{start}' is not a state of a partition")
    };
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let kind = match (word, rest) {
        ("member", "") => return Ok(State::Member),
        ("root", _) => PartitionKind::Root,
        ("isolated", _) => PartitionKind::Isolated,
        _ => return Err(malformed()),
    };
    if rest.is_empty() {
        return Ok(State::Valid(kind));
    }
    let reason = rest.strip_prefix("invalid").ok_or_else(malformed)?;
    let reason: String = reason.trim().trim_matches(['(', ')']).chars().take(LONGEST_REASON).collect();
    Ok(State::Invalid(kind, (!reason.is_empty()).then_some(reason)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_and_what_is_none() {
        assert_eq!(state("member\n"), Ok(State::Member));
        assert_eq!(state("root"), Ok(State::Valid(PartitionKind::Root)));
        assert_eq!(state("isolated\n"), Ok(State::Valid(PartitionKind::Isolated)));
        assert_eq!(state("root invalid"), Ok(State::Invalid(PartitionKind::Root, None)));
        let why = Some("Cpu list in cpuset.cpus not exclusive".to_string());
        assert_eq!(
            state("isolated invalid (Cpu list in cpuset.cpus not exclusive)"),
            Ok(State::Invalid(PartitionKind::Isolated, why))
        );
        for text in ["", "members", "member invalid", "isolated x", "0-3", "invalid"] {
            assert!(state(text).is_err(), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic_and_a_reason_is_bounded(text in ".{0,40}", long in ".{0,400}") {
            let _ = state(&text);
            if let Ok(State::Invalid(_, Some(why))) = state(&format!("isolated invalid {long}")) {
                proptest::prop_assert!(why.chars().count() <= LONGEST_REASON);
            }
        }
    }
}
