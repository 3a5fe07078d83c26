//! Which CPUs kubelet has given to containers for themselves: the checkpoint of its CPU manager
//! (pkg/kubelet/cm/cpumanager/state of Kubernetes).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Owner, OwnerSetting};
use crate::{Notes, ReadError, Root};

const FILE: &str = "/var/lib/kubelet/cpu_manager_state";

/// Most containers that are listed: a node runs some hundred pods, and few of them have CPUs of their own.
const MOST_CONTAINERS: usize = 512;

/// The file, as far as it is used.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct State {
    policy_name: String,
    #[serde(default)]
    default_cpu_set: String,
    #[serde(default)]
    entries: BTreeMap<String, Entry>,
}

/// The CPUs of a pod's containers by name; before Kubernetes 1.18 those of one container, by its id.
#[derive(Deserialize)]
#[serde(untagged)]
enum Entry {
    Pod(BTreeMap<String, String>),
    Container(String),
}

/// The CPU manager's state: with the policy `static`, containers of whole CPUs get them for themselves.
pub(super) fn configure(root: &Root, owner: &mut Owner, notes: &mut Notes) {
    let Ok(text) = root.read(FILE) else { return };
    let state = serde_json::from_str::<State>(&text).map_err(|e| ReadError::malformed(FILE, e));
    let Some(state) = notes.keep("CPU manager of kubelet", state) else { return };
    let setting = |key: &str, value: String| OwnerSetting { key: key.into(), value, file: FILE.into() };
    owner.settings.push(setting("CPU manager policy", state.policy_name));
    if !state.default_cpu_set.is_empty() {
        owner.settings.push(setting("CPUs of containers without CPUs of their own", state.default_cpu_set));
    }
    let assigned = assigned(state.entries);
    let more = assigned.len().saturating_sub(MOST_CONTAINERS);
    owner.settings.extend(assigned.into_iter().take(MOST_CONTAINERS).map(|(key, cpus)| setting(&key, cpus)));
    if more > 0 {
        notes.missing("all containers with CPUs of their own", format!("{FILE} has {more} more"));
    }
}

/// The key and the CPUs of each container, by pod.
fn assigned(entries: BTreeMap<String, Entry>) -> Vec<(String, String)> {
    let of_entry = |(id, entry): (String, Entry)| match entry {
        Entry::Pod(containers) => {
            let key = |name: &str| format!("CPUs of container {name} of pod {id}");
            containers.into_iter().map(|(name, cpus)| (key(&name), cpus)).collect::<Vec<_>>()
        }
        Entry::Container(cpus) => vec![(format!("CPUs of container {id}"), cpus)],
    };
    entries.into_iter().flat_map(of_entry).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::of;
    use super::*;
    use crate::Tree;

    fn noted(state: &str) -> Vec<String> {
        let (owners, missing) = of(Tree::new().file(FILE, state));
        assert_eq!(missing, []);
        let settings = owners.iter().flat_map(|owner| &owner.settings);
        settings.map(|setting| format!("{}={}", setting.key, setting.value)).collect()
    }

    #[test]
    fn each_container_with_cpus_of_its_own_is_listed() {
        let pods = r#"{"policyName":"static","defaultCpuSet":"0-1,6-7","entries":
            {"0f2c4a7e-91d2":{"db":"2-3","sidecar":"4"},"77aa4a7e-91d2":{"web":"5"}},"checksum":1}"#;
        assert_eq!(
            noted(pods),
            [
                "CPU manager policy=static",
                "CPUs of containers without CPUs of their own=0-1,6-7",
                "CPUs of container db of pod 0f2c4a7e-91d2=2-3",
                "CPUs of container sidecar of pod 0f2c4a7e-91d2=4",
                "CPUs of container web of pod 77aa4a7e-91d2=5",
            ]
        );
        let by_id =
            r#"{"policyName":"static","defaultCpuSet":"0","entries":{"4f2c0de9":"1-2"},"checksum":1}"#;
        assert_eq!(noted(by_id)[2], "CPUs of container 4f2c0de9=1-2");
        assert_eq!(noted(r#"{"policyName":"none","checksum":1}"#), ["CPU manager policy=none"]);
    }

    #[test]
    fn a_state_of_another_form_is_missing_and_a_long_one_is_cut() {
        for state in ["{", r#"{"policyName":"static","entries":{"a":7}}"#, r#"{"policyName":1}"#] {
            let (owners, missing) = of(Tree::new().file(FILE, state));
            assert!(owners.is_empty() && missing[0].fact == "CPU manager of kubelet", "{state}");
        }
        let entries: Vec<String> =
            (0..MOST_CONTAINERS + 3).map(|n| format!(r#""pod{n}":{{"c":"1"}}"#)).collect();
        let state = format!(r#"{{"policyName":"static","entries":{{{}}}}}"#, entries.join(","));
        let (owners, missing) = of(Tree::new().file(FILE, state));
        assert_eq!(owners[0].settings.len(), 1 + MOST_CONTAINERS);
        assert!(missing[0].why.contains("3 more"), "{missing:?}");
    }
}
