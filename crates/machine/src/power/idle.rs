//! CPU idle states (Documentation/admin-guide/pm/cpuidle.rst, Documentation/ABI/testing/sysfs-devices-system-cpu).

use serde::{Deserialize, Serialize};

use crate::topology::kinds::CoreKind;
use crate::topology::{CPUS, numbered};
use crate::{CpuSet, Notes, ReadError, Root};

/// How idle CPUs sleep.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Idle {
    /// Driver: `intel_idle`, `acpi_idle`, `haltpoll`; `none` when the kernel says so.
    pub driver: Option<String>,
    /// Governor that chooses the state: `menu`, `teo`, `haltpoll`.
    pub governor: Option<String>,
    /// The CPU whose states these are: the lowest that has any.
    pub of_cpu: Option<u32>,
    /// The states, shallowest first.
    pub states: Vec<IdleState>,
    /// The states of those kinds of cores that have others; empty where all cores sleep alike.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_kinds: Vec<KindStates>,
}

/// The idle states of a kind of cores of a hybrid machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindStates {
    /// Name of the kind, as in `core_kinds`.
    pub kind: String,
    /// The CPU whose states these are: the lowest of that kind that has any.
    pub of_cpu: u32,
    /// The states, shallowest first.
    pub states: Vec<IdleState>,
}

/// One idle state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleState {
    /// Name: `POLL`, `C1E`, `C6`.
    pub name: String,
    /// Time to leave it, us.
    pub exit_latency_us: Option<u64>,
    /// Shortest stay that pays, us.
    pub target_residency_us: Option<u64>,
    /// Whether it is switched off on that CPU.
    pub disabled: Option<bool>,
    /// All online CPUs, of those that have these states, on which it is switched off.
    #[serde(default)]
    pub disabled_on: CpuSet,
}

impl Idle {
    /// The states that idle CPUs may use under a latency limit, as a row for each limit that changes anything.
    ///
    /// A limit of 0 leaves only the shallowest state; else a state stays allowed whose exit latency is not above the
    /// limit (drivers/cpuidle/governors/menu.c, teo.c). States that are switched off on the CPU that these are of, and
    /// states whose latency is not known, are left out.
    pub fn under_limits(&self) -> Vec<UnderLimit> {
        under_limits(&self.states)
    }

    /// The states of each kind of cores whose states differ.
    pub fn sets(&self) -> impl Iterator<Item = &[IdleState]> {
        [self.states.as_slice()].into_iter().chain(self.other_kinds.iter().map(|kind| kind.states.as_slice()))
    }
}

impl KindStates {
    /// See [`Idle::under_limits`].
    pub fn under_limits(&self) -> Vec<UnderLimit> {
        under_limits(&self.states)
    }
}

fn under_limits(states: &[IdleState]) -> Vec<UnderLimit> {
    let mut limits: Vec<u64> = states.iter().filter_map(|state| state.exit_latency_us).collect();
    limits.push(0);
    limits.sort_unstable();
    limits.dedup();
    let allowed = |limit_us: u64| {
        let good = |(n, state): &(usize, &IdleState)| {
            let off = state.disabled == Some(true);
            *n == 0 || (limit_us > 0 && !off && state.exit_latency_us.is_some_and(|us| us <= limit_us))
        };
        states.iter().enumerate().filter(good).map(|(_, state)| state.name.clone()).collect()
    };
    limits.into_iter().map(|limit_us| UnderLimit { limit_us, allowed: allowed(limit_us) }).collect()
}

/// What a limit on the exit latency (PM QoS) leaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnderLimit {
    /// The limit, us.
    pub limit_us: u64,
    /// Names of the states that stay allowed.
    pub allowed: Vec<String>,
}

/// Reads driver, governor and the states of the lowest online CPU that has any, and of each kind of cores that has others.
pub(crate) fn read(root: &Root, online: &CpuSet, kinds: &[CoreKind], notes: &mut Notes) -> Idle {
    let dir = format!("{CPUS}/cpuidle");
    let driver = root.line(format!("{dir}/current_driver"));
    let governor = match root.line(format!("{dir}/current_governor")) {
        // Before 5.8 only the read-only name was there by default.
        Err(e) if e.is_absent() => root.line(format!("{dir}/current_governor_ro")),
        other => other,
    };
    // Both files come with the code that gives CPUs their folders (drivers/cpuidle/sysfs.c): a kernel has all or none.
    let is_absent = |file: &Result<String, ReadError>| file.as_ref().is_err_and(ReadError::is_absent);
    let is_built_in = !(is_absent(&driver) && is_absent(&governor));
    let (driver, governor) = (notes.keep("idle driver", driver), notes.keep("idle governor", governor));
    let Some(first) = is_built_in.then(|| Sleeper::first(root, online)).flatten() else {
        notes.missing("idle states", format!("no online CPU has a folder {CPUS}/cpu*/cpuidle/state0"));
        return Idle { driver, governor, ..Idle::default() };
    };
    let (mut alike, mut other_kinds) = (online.clone(), Vec::new());
    let signature = first.signature(root);
    for kind in kinds.iter().filter(|kind| !kind.cpus.contains(first.cpu)) {
        let of_kind = kind.cpus.intersection(online);
        let other = Sleeper::first(root, &of_kind).filter(|other| other.signature(root) != signature);
        let Some(other) = other else { continue };
        alike = alike.difference(&of_kind);
        let states = other.states(root, &of_kind, notes);
        other_kinds.push(KindStates { kind: kind.name.clone(), of_cpu: other.cpu, states });
    }
    let states = first.states(root, &alike, notes);
    Idle { driver, governor, of_cpu: Some(first.cpu), states, other_kinds }
}

/// A CPU with the numbers of its idle states.
struct Sleeper {
    cpu: u32,
    indexes: CpuSet,
}

impl Sleeper {
    /// The lowest of these that has any.
    fn first(root: &Root, cpus: &CpuSet) -> Option<Self> {
        cpus.iter().find_map(|cpu| {
            let names = root.list(format!("{CPUS}/cpu{cpu}/cpuidle")).ok()?;
            let indexes = numbered(&names, "state");
            (!indexes.is_empty()).then_some(Self { cpu, indexes })
        })
    }

    fn folder(&self, index: u32) -> String {
        format!("{CPUS}/cpu{}/cpuidle/state{index}", self.cpu)
    }

    /// What distinguishes its states from those of other cores; whether they are switched off does not.
    fn signature(&self, root: &Root) -> Vec<[Option<String>; 3]> {
        let file = |index, name: &str| root.line(format!("{}/{name}", self.folder(index))).ok();
        self.indexes
            .iter()
            .map(|index| ["name", "latency", "residency"].map(|name| file(index, name)))
            .collect()
    }

    /// Its states; `alike` are the CPUs that have the same.
    fn states(&self, root: &Root, alike: &CpuSet, notes: &mut Notes) -> Vec<IdleState> {
        let mut states = Vec::new();
        for index in self.indexes.iter() {
            let dir = self.folder(index);
            let Some(name) = notes.keep("an idle state", root.line(format!("{dir}/name"))) else { continue };
            let latency = root.number(format!("{dir}/latency"));
            let disabled = root.number::<u32>(format!("{dir}/disable")).ok().map(|n| n != 0);
            let others = alike.iter().filter(|other| *other != self.cpu);
            let mut disabled_on = disabled_on(root, others, index, &name);
            if disabled == Some(true) {
                disabled_on.insert(self.cpu);
            }
            states.push(IdleState {
                exit_latency_us: notes.keep(format!("exit latency of idle state {name}"), latency),
                target_residency_us: root.number(format!("{dir}/residency")).ok(),
                disabled,
                disabled_on,
                name,
            });
        }
        states
    }
}

/// Those of the CPUs on which state number `index` is switched off; where the kinds of cores are not reported, the number can be
/// another state elsewhere.
fn disabled_on(root: &Root, cpus: impl Iterator<Item = u32>, index: u32, name: &str) -> CpuSet {
    let is_off = |cpu: &u32| {
        let dir = format!("{CPUS}/cpu{cpu}/cpuidle/state{index}");
        root.number::<u32>(format!("{dir}/disable")).is_ok_and(|n| n != 0)
            && root.line(format!("{dir}/name")).is_ok_and(|own| own == name)
    };
    cpus.filter(is_off).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    #[test]
    fn states_of_the_lowest_cpu_that_has_any_and_a_malformed_latency() {
        let state = format!("{CPUS}/cpu1/cpuidle/state");
        let tree = Tree::new()
            .file(&format!("{CPUS}/cpuidle/current_driver"), "intel_idle\n")
            .file(&format!("{CPUS}/cpuidle/current_governor_ro"), "menu\n")
            .file(&format!("{state}0/name"), "POLL\n")
            .file(&format!("{state}0/latency"), "0\n")
            .file(&format!("{state}0/disable"), "0\n")
            .file(&format!("{state}10/name"), "C6\n")
            .file(&format!("{state}10/latency"), "soon\n");
        let mut notes = Notes::new();
        let idle = read(&Root::from_tree(tree), &(0..2).collect(), &[], &mut notes);
        assert_eq!((idle.driver.as_deref(), idle.governor.as_deref()), (Some("intel_idle"), Some("menu")));
        assert_eq!((idle.of_cpu, idle.states.len()), (Some(1), 2));
        assert_eq!((idle.states[0].exit_latency_us, idle.states[0].disabled), (Some(0), Some(false)));
        assert_eq!((idle.states[1].exit_latency_us, idle.states[1].disabled), (None, None));
        assert_eq!(notes.into_vec()[0].fact, "exit latency of idle state C6");
    }

    #[test]
    fn limits_leave_fewer_states_and_switched_off_ones_are_named() {
        let mut tree = Tree::new().file(&format!("{CPUS}/cpuidle/current_driver"), "intel_idle\n");
        for (cpu, off) in [(0, "0"), (1, "1")] {
            for (index, name, latency) in [(0, "POLL", "0"), (1, "C1", "2"), (2, "C6", "133")] {
                let dir = format!("{CPUS}/cpu{cpu}/cpuidle/state{index}");
                let off = if index == 2 { off } else { "0" };
                tree = tree
                    .file(&format!("{dir}/name"), name)
                    .file(&format!("{dir}/latency"), latency)
                    .file(&format!("{dir}/disable"), off);
            }
        }
        let idle = read(&Root::from_tree(tree), &(0..2).collect(), &[], &mut Notes::new());
        assert_eq!(idle.states[2].disabled_on, CpuSet::single(1));
        assert_eq!(idle.states[2].disabled, Some(false));
        let rows: Vec<_> =
            idle.under_limits().into_iter().map(|row| (row.limit_us, row.allowed.join(" "))).collect();
        let expected = [(0, "POLL"), (2, "POLL C1"), (133, "POLL C1 C6")];
        assert_eq!(rows, expected.map(|(us, names)| (us, names.to_string())));
    }

    #[test]
    fn kinds_of_cores_that_sleep_otherwise_are_listed_apart() {
        // Four cores of kinds A, A, B and C; B sleeps otherwise, C as A does.
        let mut tree = Tree::new().file(&format!("{CPUS}/cpuidle/current_driver"), "intel_idle\n");
        for (cpu, latency) in [(0, "133"), (1, "133"), (2, "250"), (3, "133")] {
            let dir = format!("{CPUS}/cpu{cpu}/cpuidle/state0");
            let off = if cpu == 2 || cpu == 1 { "1" } else { "0" };
            tree = tree
                .file(&format!("{dir}/name"), "C6")
                .file(&format!("{dir}/latency"), latency)
                .file(&format!("{dir}/disable"), off);
        }
        let kind = |name: &str, cpus: &str| CoreKind { name: name.into(), cpus: cpus.parse().unwrap() };
        let kinds = [kind("A", "0-1"), kind("B", "2"), kind("C", "3")];
        let root = Root::from_tree(tree);
        let idle = read(&root, &(0..4).collect(), &kinds, &mut Notes::new());
        assert_eq!((idle.of_cpu, idle.states[0].exit_latency_us), (Some(0), Some(133)));
        assert_eq!(idle.states[0].disabled_on, CpuSet::single(1), "CPU 2 has another C6");
        assert_eq!(idle.other_kinds.len(), 1);
        let other = &idle.other_kinds[0];
        assert_eq!((other.kind.as_str(), other.of_cpu), ("B", 2));
        assert_eq!(other.states[0].exit_latency_us, Some(250));
        assert_eq!(
            (other.states[0].disabled, &other.states[0].disabled_on),
            (Some(true), &CpuSet::single(2))
        );
        assert_eq!(idle.sets().count(), 2);
        let alike = read(&root, &[0, 1, 3].into_iter().collect(), &kinds, &mut Notes::new());
        assert_eq!(alike.other_kinds, []);
    }

    #[test]
    fn a_machine_without_cpuidle_says_so() {
        let mut notes = Notes::new();
        let idle = read(&Root::from_tree(Tree::new()), &CpuSet::single(0), &[], &mut notes);
        assert_eq!(idle, Idle::default());
        let facts: Vec<_> = notes.into_vec().into_iter().map(|m| m.fact).collect();
        assert_eq!(facts, ["idle driver", "idle governor", "idle states"]);
    }
}
