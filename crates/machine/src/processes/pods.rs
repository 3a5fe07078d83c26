//! Pods of Kubernetes, as a node shows them without its API: by their cgroups, which kubelet calls by the pod's UID
//! (pkg/kubelet/cm/pod_container_manager_linux.go), and by the folders of their logs, `NAMESPACE_NAME_UID`
//! (BuildPodLogsDirectory of pkg/kubelet/kuberuntime/helpers.go).

use std::collections::BTreeMap;

use super::{cgroup_tree, containers};
use crate::limits::mounts::Mount;
use crate::{ReadError, Root};

/// Where kubelet keeps the logs of pods, unless its setting `podLogsDir` says otherwise.
const LOGS: &str = "/var/log/pods";
/// Name of the process that holds a pod's namespaces (build/pause of Kubernetes): it sleeps until it is ended.
const HOLDER: &str = "pause";

/// A pod that runs on this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pod {
    /// UID: a UUID, or of a static pod the 32 digits of its configuration's hash.
    pub(super) uid: String,
    /// Namespace and name; `None` where no folder of logs has them.
    pub(super) name: Option<(String, String)>,
    /// Directory of its cgroup in each hierarchy in which managers keep theirs.
    pub(super) directories: Vec<String>,
}

/// The pods that have a cgroup, by UID.
pub(super) fn running(root: &Root, mounts: &[Mount]) -> Vec<Pod> {
    let mut directories: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for mount in cgroup_tree::managed(mounts) {
        cgroup_tree::walk(root, mount, |path, name| {
            let uid = containers::pod(path);
            let is_below = uid.is_none() && containers::may_hold_containers(name);
            if let Some(uid) = uid {
                directories.entry(uid).or_default().push(cgroup_tree::directory(mount, path));
            }
            is_below
        });
    }
    if directories.is_empty() {
        return Vec::new();
    }
    let mut names = names(root);
    let pod = |(uid, directories): (String, Vec<String>)| Pod { name: names.remove(&uid), uid, directories };
    directories.into_iter().map(pod).collect()
}

/// Namespace and name by UID, of all pods that have logs here, also of those that have ended.
fn names(root: &Root) -> BTreeMap<String, (String, String)> {
    let folders = root.list(LOGS).unwrap_or_default();
    // Neither namespaces nor names of objects may hold an underscore (RFC 1123).
    let parts = folders.iter().filter_map(|folder| {
        let (namespace, rest) = folder.split_once('_')?;
        let (name, uid) = rest.split_once('_')?;
        let is_named = !namespace.is_empty() && !name.is_empty() && !uid.is_empty() && !uid.contains('_');
        is_named.then(|| (uid.to_string(), (namespace.to_string(), name.to_string())))
    });
    parts.collect()
}

impl Pod {
    /// Whether it is meant by `asked`: its UID or the first 8 characters of it at least, its name, or `NAMESPACE/NAME`.
    pub(super) fn is_called(&self, asked: &str) -> bool {
        /// Fewer could be a word.
        const FEWEST: usize = 8;
        let is_uid = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        let asked_uid = asked.to_ascii_lowercase().replace('_', "-");
        let begins = asked.len() >= FEWEST && is_uid(&asked_uid) && self.uid.starts_with(&asked_uid);
        begins
            || self.name.as_ref().is_some_and(|(namespace, name)| match asked.split_once('/') {
                Some(parts) => parts == (namespace.as_str(), name.as_str()),
                None => asked == name,
            })
    }

    /// `pod NAMESPACE/NAME (UID)`.
    pub(super) fn words(&self) -> String {
        match &self.name {
            Some((namespace, name)) => format!("pod {namespace}/{name} ({})", self.uid),
            None => format!("pod {}", self.uid),
        }
    }

    /// The processes of all its containers, and the directory of the cgroup that holds them. The one that only holds the namespaces
    /// comes last: whoever looks at one process of a server looks at the first.
    pub(super) fn processes(&self, root: &Root) -> Result<(Vec<u32>, String), ReadError> {
        let (mut pids, directory) = cgroup_tree::first_with_processes(root, &self.directories)?;
        let is_holder =
            |pid: &u32| root.read(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim_end() == HOLDER);
        pids.sort_by_key(is_holder);
        Ok((pids, directory))
    }
}
