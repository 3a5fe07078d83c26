//! CPU idle states (Documentation/admin-guide/pm/cpuidle.rst, Documentation/ABI/testing/sysfs-devices-system-cpu).

use serde::{Deserialize, Serialize};

use crate::topology::{CPUS, numbered};
use crate::{CpuSet, Notes, Root};

/// How idle CPUs sleep.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Idle {
    /// Driver: `intel_idle`, `acpi_idle`, `haltpoll`; `none` when the kernel says so.
    pub driver: Option<String>,
    /// Governor that chooses the state: `menu`, `teo`, `haltpoll`.
    pub governor: Option<String>,
    /// The CPU whose states these are: the lowest that has any. Hybrid machines have others on other cores.
    pub of_cpu: Option<u32>,
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
}

/// Reads driver, governor and the states of the lowest online CPU that has any.
pub(crate) fn read(root: &Root, online: &CpuSet, notes: &mut Notes) -> Idle {
    let dir = format!("{CPUS}/cpuidle");
    let driver = notes.keep("idle driver", root.line(format!("{dir}/current_driver")));
    let governor = match root.line(format!("{dir}/current_governor")) {
        // Before 5.8 only the read-only name was there by default.
        Err(e) if e.is_absent() => root.line(format!("{dir}/current_governor_ro")),
        other => other,
    };
    let governor = notes.keep("idle governor", governor);
    let first = online.iter().find_map(|cpu| {
        let names = root.list(format!("{CPUS}/cpu{cpu}/cpuidle")).ok()?;
        Some((cpu, numbered(&names, "state"))).filter(|(_, states)| !states.is_empty())
    });
    let Some((cpu, indexes)) = first else {
        notes.missing("idle states", format!("no online CPU has a folder {CPUS}/cpu*/cpuidle/state0"));
        return Idle { driver, governor, ..Idle::default() };
    };
    let mut states = Vec::new();
    for index in indexes.iter() {
        let dir = format!("{CPUS}/cpu{cpu}/cpuidle/state{index}");
        let Some(name) = notes.keep("an idle state", root.line(format!("{dir}/name"))) else { continue };
        let latency = root.number(format!("{dir}/latency"));
        states.push(IdleState {
            exit_latency_us: notes.keep(format!("exit latency of idle state {name}"), latency),
            target_residency_us: root.number(format!("{dir}/residency")).ok(),
            disabled: root.number::<u32>(format!("{dir}/disable")).ok().map(|n| n != 0),
            name,
        });
    }
    Idle { driver, governor, of_cpu: Some(cpu), states }
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
        let idle = read(&Root::from_tree(tree), &(0..2).collect(), &mut notes);
        assert_eq!((idle.driver.as_deref(), idle.governor.as_deref()), (Some("intel_idle"), Some("menu")));
        assert_eq!((idle.of_cpu, idle.states.len()), (Some(1), 2));
        assert_eq!((idle.states[0].exit_latency_us, idle.states[0].disabled), (Some(0), Some(false)));
        assert_eq!((idle.states[1].exit_latency_us, idle.states[1].disabled), (None, None));
        assert_eq!(notes.into_vec()[0].fact, "exit latency of idle state C6");
    }

    #[test]
    fn a_machine_without_cpuidle_says_so() {
        let mut notes = Notes::new();
        let idle = read(&Root::from_tree(Tree::new()), &CpuSet::single(0), &mut notes);
        assert_eq!(idle, Idle::default());
        let facts: Vec<_> = notes.into_vec().into_iter().map(|m| m.fact).collect();
        assert_eq!(facts, ["idle driver", "idle governor", "idle states"]);
    }
}
