//! A drop-in for kubelet's configuration. kubelet chooses the CPUs of pods itself: what it takes is which policy it does that by, and which
//! CPUs it keeps for the system.

use machine::{CpuSet, MemoryMode, MemoryPolicy, PlannedActs};

use super::page::{Body, Comment, Page, is_of_server};

/// Knobs whose CPUs are those of the system's own work.
const OF_SYSTEM: [&str; 5] =
    ["irq-default-affinity", "workqueue-cpus", "watchdog-cpus", "writeback-cpus", "kernel-thread-affinity"];

const ELSEWHERE: &str =
    "kubelet has no setting for it; the node's own files do (--as systemd, --as tuned-profile)";

pub(super) fn write(settings: &[&PlannedActs], page: &mut Page) {
    let mut is_static = false;
    let mut is_one_node = false;
    for one in settings.iter().filter(|one| !is_of_system(one)) {
        let planned = &one.planned;
        match planned.knob.as_str() {
            "process-affinity" if is_of_server(planned) => match CpuSet::from_list(&planned.value) {
                Ok(cpus) if !cpus.is_empty() => {
                    is_static = true;
                    page.leave_in_part(
                        planned,
                        format!(
                            "kubelet chooses which CPUs; give the container whole CPUs, requests = limits = {}, in a Guaranteed pod",
                            cpus.len()
                        ),
                    );
                }
                _ => page.leave(planned, "it names no CPU"),
            },
            "memory-policy" if is_of_server(planned) && is_bound_to_one(&planned.value) => {
                is_one_node = true;
                page.leave_in_part(
                    planned,
                    "kubelet chooses which node; it gives a pod CPUs and devices of one node",
                );
            }
            _ => page.leave(planned, ELSEWHERE),
        }
    }
    let why = Why {
        in_part: "kubelet keeps pods off these CPUs, and moves nothing onto them",
        not: "the plan puts the system's own work on several sets of CPUs, and kubelet reserves only one",
    };
    let reserved = reserved(settings, why, page);
    let mut text = String::new();
    if is_static {
        text += "cpuManagerPolicy: static\n";
    }
    if is_one_node {
        text += "topologyManagerPolicy: single-numa-node\n";
    }
    if let Some(cpus) = reserved {
        text += &format!("reservedSystemCPUs: \"{}\"\n", cpus.to_list());
    } else if is_static {
        text += "# static needs CPUs for the system as well, and the plan names none: reservedSystemCPUs, or cpu in kubeReserved or systemReserved\n";
    }
    if text.is_empty() {
        return;
    }
    page.files.push(Body {
        path: "etc/kubernetes/kubelet.conf.d/90-pinwise.conf".into(),
        first: "",
        comment: Comment::Hash,
        advice: vec![
            "For kubelet --config-dir; otherwise add its lines to the file of --config.",
            "Drain the node, stop kubelet, remove /var/lib/kubelet/cpu_manager_state, start kubelet.",
        ],
        text: format!("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n{text}"),
    });
}

/// Why CPUs of the system's own work are said in part, or not at all.
pub(super) struct Why {
    pub(super) in_part: &'static str,
    pub(super) not: &'static str,
}

pub(super) fn is_of_system(one: &PlannedActs) -> bool {
    OF_SYSTEM.contains(&one.planned.knob.as_str())
}

/// The CPUs on which the plan has the system's own work, if it says the same everywhere.
pub(super) fn reserved(settings: &[&PlannedActs], why: Why, page: &mut Page) -> Option<CpuSet> {
    let of_system: Vec<&&PlannedActs> = settings.iter().filter(|one| is_of_system(one)).collect();
    let sets: Vec<Option<CpuSet>> = of_system
        .iter()
        .map(|one| CpuSet::from_list(&one.planned.value).ok().filter(|set| !set.is_empty()))
        .collect();
    let first = sets.first()?.clone();
    let agreed = first.filter(|first| sets.iter().all(|set| set.as_ref() == Some(first)));
    for one in of_system {
        match agreed {
            Some(_) => page.leave_in_part(&one.planned, why.in_part),
            None => page.leave(&one.planned, why.not),
        }
    }
    agreed
}

fn is_bound_to_one(value: &str) -> bool {
    only_node(value).is_some()
}

/// The node, where memory is to come from one alone.
pub(super) fn only_node(value: &str) -> Option<u32> {
    let policy = value.trim().parse::<MemoryPolicy>().ok()?;
    policy.nodes.first().filter(|_| policy.mode == MemoryMode::Bind && policy.nodes.len() == 1)
}
