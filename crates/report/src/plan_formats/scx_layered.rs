//! Layers of scx_layered (sched_ext), as of August 2026: each holds the threads of a unit, a cgroup or a process on so many CPUs. The
//! scheduler chooses the CPUs of a layer itself, within the nodes that it is given. By cache (`llcs`) it numbers on its own, so that these
//! cannot be named from here.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use machine::{CpuSet, Planned, PlannedActs};

use super::by_cpu;
use super::page::{Body, Comment, Page, json_text};
use super::systemd::{unit_of_cgroup, unit_of_target};

/// As many as scx_layered takes, but for the one of all others.
const MOST_LAYERS: usize = 15;

/// Whose threads a layer holds. The first layer that a thread fits counts, so that the narrower ones come first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Whose {
    Process(u32),
    /// A cgroup that is no slice, longer paths first: it may lie within a unit, and no unit of the system within it.
    Cgroup(Reverse<usize>, String),
    Unit(String),
    /// A slice, longer paths first; units lie in it.
    Slice(Reverse<usize>, String),
}

impl Whose {
    /// The layer's name, and the condition by which it is found.
    fn words(&self) -> (String, String) {
        match self {
            Self::Unit(unit) => {
                (unit.clone(), format!("{{\"CgroupRegex\": {}}}", json_text(&pattern_of_unit(unit))))
            }
            Self::Process(pid) => (format!("process {pid}"), format!("{{\"TGIDEquals\": {pid}}}")),
            // Paths have no slash in front, and one behind.
            Self::Cgroup(_, path) | Self::Slice(_, path) => {
                (path.clone(), format!("{{\"CgroupPrefix\": {}}}", json_text(&format!("{path}/"))))
            }
        }
    }
}

/// The cgroups of a unit of the system and those within it, as an expression of the crate `regex` over whole paths, which CgroupRegex takes.
/// A unit lies in slices alone, of any depth. CgroupContains `/UNIT/` would take users' units of the same name, those within containers, too.
fn pattern_of_unit(unit: &str) -> String {
    // Of the letters that a unit's name may have, these two alone mean something in an expression.
    let name = unit.replace('\\', r"\\").replace('.', r"\.");
    // systemd puts `_` before names that could be taken for control files, and before those that begin with it.
    let escape = if unit.starts_with('_') { "_" } else { "_?" };
    format!("^/sys/fs/cgroup/(?:[^/]+\\.slice/)*{escape}{name}(?:/|$)")
}

pub(super) fn write(settings: &[&PlannedActs], unit: Option<&str>, all: &[(u32, CpuSet)], page: &mut Page) {
    let mut layers: BTreeMap<Whose, CpuSet> = BTreeMap::new();
    let mut rest: Vec<&Planned> = Vec::new();
    for one in settings {
        let planned = &one.planned;
        match whose(planned, unit) {
            None => rest.push(planned),
            Some(Err(why)) => page.leave(planned, why),
            Some(Ok((whose, _))) if layers.len() == MOST_LAYERS && !layers.contains_key(&whose) => {
                page.leave(planned, format!("scx_layered takes {} layers", MOST_LAYERS + 1));
            }
            Some(Ok((whose, _))) if layers.contains_key(&whose) => {
                page.leave(planned, "an earlier setting of the plan gives the same threads their CPUs");
            }
            Some(Ok((whose, cpus))) => {
                page.leave_in_part(planned, in_part(&whose, &cpus, all));
                layers.insert(whose, cpus);
            }
        }
    }
    let wake_us = |cpus: &CpuSet| -> Option<u32> {
        let value = by_cpu::alike(settings, "cpu-resume-latency", "cpu", cpus)?;
        value.parse().ok().filter(|us| *us > 0)
    };
    let awake: Vec<&CpuSet> = layers.values().filter(|cpus| wake_us(cpus).is_some()).collect();
    for planned in rest {
        match awake.iter().any(|cpus| by_cpu::is_about(planned, "cpu-resume-latency", "cpu", cpus)) {
            true => page.leave_in_part(planned, "it applies to the CPUs that the layer gets"),
            false => page.leave(planned, why_not(&planned.knob)),
        }
    }
    if layers.is_empty() {
        return;
    }
    let layers: Vec<String> =
        layers.iter().map(|(whose, cpus)| layer(whose, cpus, wake_us(cpus), all)).collect();
    page.files.push(Body {
        path: "etc/scx_layered/pinwise.json".into(),
        first: "[\n  {\n",
        comment: Comment::JsonKey,
        advice: vec![
            "In force while it runs: scx_layered f:/etc/scx_layered/pinwise.json (with SMT: whole cores, but for --allow-partial-core)",
        ],
        text: layers.join("  {\n") + "  {\n    \"name\": \"others\",\n    \"matches\": [[]],\n    \"kind\": {\"Open\": {}}\n  }\n]\n",
    });
}

/// Whose threads a setting places, and on which CPUs; `None` where it places none. Errors: why it cannot be a layer.
fn whose(planned: &Planned, unit: Option<&str>) -> Option<Result<(Whose, CpuSet), String>> {
    let whose = match planned.knob.as_str() {
        "process-affinity" => match planned.target.parse::<u32>() {
            Ok(pid) => Ok(Whose::Process(pid)),
            Err(_) => unit_of_target(&planned.target, unit).map(Whose::Unit),
        },
        "cpuset" => of_cgroup(&planned.target),
        _ => return None,
    };
    let cpus = match CpuSet::from_list(&planned.value) {
        Ok(cpus) if cpus.is_empty() => Err("it names no CPU".to_string()),
        cpus => cpus.map_err(|e| e.to_string()),
    };
    Some(whose.and_then(|whose| Ok((whose, cpus?))))
}

fn of_cgroup(path: &str) -> Result<Whose, String> {
    if let Ok((unit, "[Service]\n")) = unit_of_cgroup(path) {
        return Ok(Whose::Unit(unit));
    }
    let below = path.strip_prefix("/sys/fs/cgroup/").unwrap_or_default().trim_end_matches('/');
    match below.is_empty() {
        true => Err(format!("{path} is not a cgroup of version 2 below the root")),
        false => {
            let is_slice = below.split('/').all(|name| name.ends_with(".slice"));
            let whose = if is_slice { Whose::Slice } else { Whose::Cgroup };
            Ok(whose(Reverse(below.len()), below.to_string()))
        }
    }
}

/// The nodes that the CPUs are on; none where there is only one node, or where they are not known.
fn nodes(cpus: &CpuSet, nodes: &[(u32, CpuSet)]) -> Vec<u32> {
    if nodes.len() < 2 {
        return Vec::new();
    }
    nodes.iter().filter(|(_, own)| !own.intersection(cpus).is_empty()).map(|(node, _)| *node).collect()
}

fn in_part(whose: &Whose, cpus: &CpuSet, all: &[(u32, CpuSet)]) -> String {
    let n = cpus.len();
    let within = match &nodes(cpus, all)[..] {
        [] => String::new(),
        nodes => format!(" of node {}", nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    };
    let ends = match whose {
        Whose::Process(_) => "; the process number is only valid while the process runs",
        _ => "",
    };
    format!("scx_layered chooses which {n} of the CPUs{within}{ends}")
}

/// A layer behind its opening brace. `Confined` needs a range of utilization, which nothing depends on where the number of CPUs is given.
fn layer(whose: &Whose, cpus: &CpuSet, wake_us: Option<u32>, all: &[(u32, CpuSet)]) -> String {
    let (name, condition) = whose.words();
    // A name has 127 letters at most; the end of a path says the most.
    let name: String = name.chars().skip(name.chars().count().saturating_sub(120)).collect();
    let n = cpus.len();
    let mut kind = format!("\"util_range\": [0.8, 0.9], \"cpus_range\": [{n}, {n}]");
    let nodes = nodes(cpus, all);
    if !nodes.is_empty() {
        kind += &format!(", \"nodes\": {nodes:?}");
    }
    if let Some(us) = wake_us {
        kind += &format!(", \"idle_resume_us\": {us}");
    }
    format!(
        "    \"name\": {},\n    \"matches\": [[{condition}]],\n    \"kind\": {{\"Confined\": {{{kind}}}}}\n  }},\n",
        json_text(&name)
    )
}

fn why_not(knob: &str) -> &'static str {
    match knob {
        "memory-policy" | "cpuset-mems" | "process-memory-nodes" => {
            "a scheduler does not choose where memory comes from; --as systemd"
        }
        "scheduling-policy" => {
            "a layer has no policy or nice value, and real-time threads are not scheduled by it; --as systemd"
        }
        "vcpu-affinity" | "emulator-affinity" | "iothread-affinity" => {
            "libvirt places the threads of its guests: --as libvirt"
        }
        "cpu-resume-latency" => {
            "scx_layered sets it per layer, and no layer has CPUs that all have this value"
        }
        _ => "scx_layered has no setting for it; --as systemd, --as tuned-profile",
    }
}
