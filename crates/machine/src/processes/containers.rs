//! Containers: whether this process is in one, and which run here, with what their cgroups allow them.

use serde::{Deserialize, Serialize};

use super::cgroup_tree;
use super::guests::unescape;
use super::unit_name::is_slice;
use crate::limits::cgroups::{self, Cgroup, Quota};
use crate::limits::mounts::{Mount, Mounts};
use crate::{CpuSet, Notes, ReadError, Root};

/// Larger than any memory: v1 prints the largest number of whole pages where no limit is set.
const NO_LIMIT: u64 = 1 << 60;

/// Containers as far as cgroups and well-known files show them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Containers {
    /// Whether this process is in a container itself; `None` when nothing shows.
    pub inside: Option<Inside>,
    /// Running containers, by path of their cgroup.
    pub running: Vec<Container>,
}

/// Whether this process is in a container, and what says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inside {
    /// Whether it is.
    pub container: bool,
    /// The file and what it says.
    pub because: String,
}

/// One running container.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Container {
    /// Who runs it: `docker`, `containerd` (Kubernetes), `cri-o`, `podman`, `lxc`, `systemd-nspawn`, `kubernetes`.
    pub runtime: String,
    /// Its id or name, as the cgroup is called; long ids are cut to 12 digits, as the engines print them.
    pub id: String,
    /// Kubernetes pod, by its uid.
    pub pod: Option<String>,
    /// Path of its cgroup within the hierarchy.
    pub cgroup: String,
    /// CPUs that its cpuset allows.
    pub cpus: Option<CpuSet>,
    /// Memory nodes that its cpuset allows.
    pub nodes: Option<CpuSet>,
    /// Tightest CPU bandwidth limit of its cgroup and those above it; `None` without one.
    pub cpu_quota: Option<Quota>,
    /// Tightest memory limit, bytes; `None` without one.
    pub memory_limit_bytes: Option<u64>,
}

/// Reads both; the names are those of cgroup folders, so no process is looked at.
pub(super) fn read(root: &Root, mounts: Mounts, notes: &mut Notes) -> Containers {
    let inside = inside(root);
    if inside.is_none() {
        notes.missing(
            "whether this is a container",
            "neither /proc/1/cgroup nor /proc/self/ns nor /run shows it",
        );
    }
    let mounts = mounts.map(cgroup_tree::trees).and_then(|mounts| match mounts.is_empty() {
        true => Err(ReadError::absent("/proc/self/mountinfo", "no cgroup hierarchy is mounted")),
        false => Ok(mounts),
    });
    let running = notes.keep("running containers", mounts).map(|mounts| running(root, &mounts, notes));
    Containers { inside, running: running.unwrap_or_default() }
}

/// The first namespaces of their kinds have fixed numbers (include/linux/proc_ns.h).
const FIRST_NAMESPACES: [(&str, &str); 4] = [
    ("pid", "pid:[4026531836]"),
    ("cgroup", "cgroup:[4026531835]"),
    ("uts", "uts:[4026531838]"),
    ("ipc", "ipc:[4026531839]"),
];

/// What shows that this is a container, the surest first: the name of a cgroup, systemd in the container, namespaces,
/// files that engines leave.
fn inside(root: &Root) -> Option<Inside> {
    let told = |container, because: String| Some(Inside { container, because });
    for file in ["/proc/self/cgroup", "/proc/1/cgroup"] {
        let Ok(text) = root.read(file) else { continue };
        let mut paths = text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
        if let Some(path) = paths.find(|path| path.split('/').any(|folder| known(folder, path).is_some())) {
            return told(true, format!("{file} says {path}"));
        }
    }
    if let Ok(manager) = root.line("/run/systemd/container")
        && !manager.is_empty()
    {
        return told(true, format!("/run/systemd/container says {manager}"));
    }
    let mut first = 0;
    for (kind, name) in FIRST_NAMESPACES {
        let Ok(namespace) = root.link(format!("/proc/self/ns/{kind}")) else { continue };
        match namespace.as_os_str() == name {
            true => first += 1,
            // Services with ProtectHostname= or PrivateIPC= have those of their own, and are no containers.
            false if matches!(kind, "uts" | "ipc") => {}
            false => {
                return told(true, format!("/proc/self/ns/{kind} is {}, not the first", namespace.display()));
            }
        }
    }
    let left = ["/run/.containerenv", "/.dockerenv"].into_iter().find(|file| root.exists(file));
    match left {
        // An image of a container can be started as a machine of its own, with the files that the engine left.
        Some(file) if first == FIRST_NAMESPACES.len() => {
            told(false, format!("its namespaces are the first ones, although {file} is there"))
        }
        Some(file) => told(true, format!("{file} is there")),
        None if first > 0 => told(false, "its namespaces are the first ones".into()),
        // A cgroup called `/` is that of the host, or of a container with a cgroup namespace.
        None => None,
    }
}

/// Containers by the names of cgroups, each once although v1 has a tree for each controller.
fn running(root: &Root, mounts: &[Mount], notes: &mut Notes) -> Vec<Container> {
    let mut found: Vec<Container> = Vec::new();
    for place in places(root, mounts) {
        if found.iter().all(|other| other.cgroup != place.cgroup) {
            found.push(Container {
                runtime: place.runtime.into(),
                id: cut(&place.id),
                pod: pod(&place.cgroup),
                cgroup: place.cgroup,
                ..Container::default()
            });
        }
    }
    for container in &mut found {
        limits(root, &mut cgroups::at(mounts, &container.cgroup), container, notes);
    }
    found.sort_by(|a, b| a.cgroup.cmp(&b.cgroup));
    found
}

/// A cgroup that is a container's.
pub(super) struct Place {
    /// As [`Container::runtime`].
    pub(super) runtime: &'static str,
    /// The whole id, or the name.
    pub(super) id: String,
    /// Path within the hierarchy.
    pub(super) cgroup: String,
    /// Its directory.
    pub(super) directory: String,
}

impl Place {
    /// Whether it is called by an id of hexadecimal digits rather than by a name.
    pub(super) fn has_id(&self) -> bool {
        is_id(&self.id)
    }
}

/// The cgroups of containers, in each hierarchy in which their managers keep them.
pub(super) fn places(root: &Root, mounts: &[Mount]) -> Vec<Place> {
    let mut found = Vec::new();
    for mount in cgroup_tree::managed(mounts) {
        cgroup_tree::walk(root, mount, |path, name| {
            let container = known(name, path);
            let is_container = container.is_some();
            found.extend(container.map(|(runtime, id)| Place {
                runtime,
                id,
                cgroup: path.to_string(),
                directory: cgroup_tree::directory(mount, path),
            }));
            // What a container makes below its cgroup is its own, and other units hold no containers.
            !is_container && may_hold_containers(name)
        });
    }
    found
}

/// Slices, the manager of a user (rootless engines), and whatever is no unit of systemd (`/docker`, `/kubepods`).
pub(super) fn may_hold_containers(name: &str) -> bool {
    let units = [".service", ".scope", ".mount", ".socket", ".swap", ".timer"];
    is_slice(name) || !units.iter().any(|kind| name.ends_with(kind))
}

/// Runtime and id of a cgroup that is a container's, by its name and its path.
fn known(name: &str, path: &str) -> Option<(&'static str, String)> {
    let scope = name.strip_suffix(".scope");
    for (start, runtime) in
        [("docker-", "docker"), ("cri-containerd-", "containerd"), ("crio-", "cri-o"), ("libpod-", "podman")]
    {
        let id = scope.unwrap_or(name).strip_prefix(start);
        if let Some(id) = id.filter(|id| is_id(id)) {
            return Some((runtime, id.to_string()));
        }
    }
    if let Some(container) =
        name.strip_prefix("lxc.payload.").or(path.strip_prefix("/lxc/").filter(|rest| *rest == name))
    {
        return Some(("lxc", container.to_string())).filter(|(_, name)| !name.is_empty());
    }
    if let Some(machine) = scope.and_then(|scope| scope.strip_prefix("machine-")) {
        let machine = unescape(machine);
        let lxc = machine
            .strip_prefix("lxc-")
            .and_then(|rest| rest.split_once('-'))
            .map(|(_, name)| name.to_string());
        return match (lxc, machine.starts_with("qemu-")) {
            (Some(name), _) => Some(("lxc", name)),
            (None, false) => Some(("systemd-nspawn", machine)),
            (None, true) => None,
        };
    }
    if let Some(machine) = name.strip_prefix("systemd-nspawn@").and_then(|rest| rest.strip_suffix(".service"))
    {
        return Some(("systemd-nspawn", unescape(machine)));
    }
    // The cgroupfs driver: /docker/ID, /kubepods/burstable/podUID/ID.
    let parent = path.strip_suffix(name)?.trim_end_matches('/');
    match is_id(name) && name.len() == 64 {
        true if parent.ends_with("/docker") => Some(("docker", name.to_string())),
        true if parent.contains("/kubepods") => Some(("kubernetes", name.to_string())),
        _ => None,
    }
}

/// Ids of engines are hexadecimal: `libpod-conmon-...` is the container's supervisor.
fn is_id(text: &str) -> bool {
    text.len() >= 12 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The pod's uid in `kubepods-burstable-podUID.slice` (with `_` for `-`) or `podUID`.
pub(super) fn pod(path: &str) -> Option<String> {
    let uid = path.split('/').filter(|_| path.contains("kubepods")).find_map(|folder| {
        let folder = folder.strip_suffix(".slice").unwrap_or(folder);
        folder
            .strip_prefix("pod")
            .or_else(|| folder.rsplit_once("-pod").map(|(_, uid)| uid))
            .filter(|uid| !uid.is_empty())
    })?;
    Some(uid.replace('_', "-"))
}

/// Ids of 64 digits as the engines print them.
fn cut(id: &str) -> String {
    match is_id(id) {
        true => id[..12].to_string(),
        false => id.to_string(),
    }
}

fn limits(root: &Root, places: &mut [Cgroup], container: &mut Container, notes: &mut Notes) {
    let who = format!("container {}", container.id);
    (container.cpus, container.nodes) = cgroups::cpuset(root, places, &format!("the cpuset of {who}"), notes);
    container.cpu_quota = cgroups::cpu_quota(root, places, &format!("CPU quota of {who}"), notes);
    container.memory_limit_bytes =
        notes.keep(format!("memory limit of {who}"), memory_limit(root, places)).flatten();
}

/// The tightest memory limit from the cgroup up to the mount; `None` where none is set.
fn memory_limit(root: &Root, places: &[Cgroup]) -> Result<Option<u64>, ReadError> {
    let mut tightest: Option<u64> = None;
    for place in places.iter().filter(|place| place.has("memory")) {
        for dir in place.upwards() {
            let name = if place.version == 2 { "memory.max" } else { "memory.limit_in_bytes" };
            let path = format!("{dir}/{name}");
            let text = match root.line(&path) {
                Err(e) if e.is_absent() => continue,
                text => text?,
            };
            if text == "max" {
                continue;
            }
            let bytes: u64 = text
                .parse()
                .map_err(|_| ReadError::malformed(&path, format!("'{text}' is not a number of bytes")))?;
            if bytes < NO_LIMIT {
                tightest = Some(tightest.map_or(bytes, |other| other.min(bytes)));
            }
        }
    }
    Ok(tightest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;
    use crate::limits::mounts;

    const ID: &str = "4f2c0de9a1b24f2c0de9a1b24f2c0de9a1b24f2c0de9a1b24f2c0de9a1b2c3d4";

    fn of(tree: Tree) -> (Containers, Vec<String>) {
        let mut notes = Notes::new();
        let root = Root::from_tree(tree);
        let containers = read(&root, mounts::read(&root), &mut notes);
        (containers, notes.into_vec().into_iter().map(|m| m.fact).collect())
    }

    fn v2() -> Tree {
        Tree::new()
            .file("/proc/self/mountinfo", "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
            .file("/proc/1/cgroup", "0::/init.scope\n")
            .link("/proc/self/ns/cgroup", "cgroup:[4026531835]")
            .file("/sys/fs/cgroup/cpuset.cpus.effective", "0-7\n")
            .file("/sys/fs/cgroup/cpuset.mems.effective", "0\n")
    }

    #[test]
    fn docker_with_limits_and_a_pod_below_a_limited_slice() {
        let docker = format!("/sys/fs/cgroup/system.slice/docker-{ID}.scope");
        let pods = "/sys/fs/cgroup/kubepods.slice/kubepods-pod12_34.slice";
        let (containers, missing) = of(v2()
            .file(&format!("{docker}/cpuset.cpus.effective"), "2-3\n")
            .file(&format!("{docker}/cpu.max"), "50000 100000\n")
            .file(&format!("{docker}/memory.max"), "1073741824\n")
            .file(&format!("{docker}/init.scope/docker-{ID}.scope/cpu.max"), "1 1\n")
            .file(&format!("{pods}/memory.max"), "2048\n")
            .file(&format!("{pods}/cri-containerd-{ID}.scope/memory.max"), "max\n")
            .dir("/sys/fs/cgroup/machine.slice/libpod-conmon-4f2c0de9a1b2.scope")
            .dir("/sys/fs/cgroup/machine.slice/machine-qemu\\x2d1\\x2dvm.scope")
            .dir("/sys/fs/cgroup/machine.slice/machine-tree.scope")
            .dir(&format!(
                "/sys/fs/cgroup/user.slice/user-1.slice/user@1.service/user.slice/libpod-{ID}.scope"
            )));
        assert_eq!(missing, Vec::<String>::new());
        let told: Vec<(&str, &str)> =
            containers.running.iter().map(|c| (c.runtime.as_str(), c.id.as_str())).collect();
        let short = &ID[..12];
        assert_eq!(
            told,
            [("containerd", short), ("systemd-nspawn", "tree"), ("docker", short), ("podman", short)]
        );
        let pod = &containers.running[0];
        assert_eq!((pod.pod.as_deref(), pod.memory_limit_bytes), (Some("12-34"), Some(2048)));
        assert_eq!((pod.cpus.as_ref().unwrap().to_list().as_str(), &pod.cpu_quota), ("0-7", &None));
        let docker = &containers.running[2];
        assert_eq!(docker.cpus.as_ref().unwrap().to_list(), "2-3");
        assert_eq!(
            (docker.cpu_quota.as_ref().unwrap().cpus, docker.memory_limit_bytes),
            (0.5, Some(1 << 30))
        );
        assert!(!containers.inside.unwrap().container);
    }

    #[test]
    fn version_1_has_a_tree_for_each_controller_and_the_container_counts_once() {
        let mounts = "1 0 0:1 / /c/systemd rw - cgroup c rw,name=systemd\n2 0 0:2 / /c/cpu rw - cgroup c rw,cpu,cpuacct\n\
            3 0 0:3 / /c/memory rw - cgroup c rw,memory\n4 0 0:4 / /c/cpuset rw - cgroup c rw,cpuset\n5 0 0:5 / /c/u rw - cgroup2 c rw\n";
        let at = |controller: &str, file: &str| format!("/c/{controller}/docker/{ID}/{file}");
        let (containers, missing) = of(Tree::new()
            .file("/proc/self/mountinfo", mounts)
            .dir(&at("systemd", ""))
            .dir(&at("u", ""))
            .file(&at("cpu", "cpu.cfs_quota_us"), "150000\n")
            .file(&at("cpu", "cpu.cfs_period_us"), "100000\n")
            .file(&at("memory", "memory.limit_in_bytes"), "9223372036854771712\n")
            .file(&at("cpuset", "cpuset.cpus"), "1\n")
            .file(&at("cpuset", "cpuset.mems"), "0\n"));
        let [container] = containers.running.try_into().unwrap();
        assert_eq!((container.runtime.as_str(), container.cgroup), ("docker", format!("/docker/{ID}")));
        assert_eq!((container.cpu_quota.unwrap().cpus, container.memory_limit_bytes), (1.5, None));
        assert_eq!(container.cpus, Some(CpuSet::single(1)));
        assert_eq!(missing, ["whether this is a container"]);
    }

    #[test]
    fn each_sign_of_being_inside() {
        let inside = |tree: Tree| of(tree).0.inside.unwrap();
        assert!(inside(v2().file("/.dockerenv", "")).because.contains(".dockerenv"));
        assert!(inside(v2().file("/run/.containerenv", "")).container);
        assert!(inside(v2().file("/run/systemd/container", "lxc\n")).because.contains("lxc"));
        for file in ["/proc/1/cgroup", "/proc/self/cgroup"] {
            let named = inside(v2().file(file, format!("0::/system.slice/docker-{ID}.scope\n")));
            assert!(named.container && named.because.contains(file), "{named:?}");
        }
        assert!(inside(v2().link("/proc/self/ns/cgroup", "cgroup:[4026532000]")).container);
        assert!(inside(v2().link("/proc/self/ns/pid", "pid:[4026532001]")).container);
        assert!(!inside(v2().link("/proc/self/ns/uts", "uts:[4026532001]")).container, "ProtectHostname=");
        let old = Tree::new().file("/proc/1/cgroup", "1:cpu:/\n");
        assert_eq!(of(old).0.inside, None, "it may have a cgroup namespace");
        assert_eq!(of(Tree::new()).0.inside, None);
    }

    #[test]
    fn a_machine_started_from_an_image_is_no_container_although_its_files_say_so() {
        let mut tree = v2().file("/.dockerenv", "");
        for (kind, name) in FIRST_NAMESPACES {
            tree = tree.link(&format!("/proc/self/ns/{kind}"), name);
        }
        let inside = |tree: Tree| of(tree).0.inside.unwrap();
        assert!(!inside(tree.clone()).container);
        // With --pid=host and the like a container keeps a namespace of its own, at least for its host name.
        assert!(inside(tree.link("/proc/self/ns/uts", "uts:[4026532001]")).container);
    }

    #[test]
    fn names_and_their_malformed_twins() {
        let of = |path: &str| {
            known(path.rsplit('/').next().unwrap(), path).map(|(runtime, id)| format!("{runtime} {id}"))
        };
        assert_eq!(of("/lxc/web").as_deref(), Some("lxc web"));
        assert_eq!(of("/lxc.payload.web").as_deref(), Some("lxc web"));
        assert_eq!(of("/machine.slice/machine-lxc\\x2d77\\x2dweb.scope").as_deref(), Some("lxc web"));
        assert_eq!(of("/machine.slice/systemd-nspawn@a.service").as_deref(), Some("systemd-nspawn a"));
        assert!(of(&format!("/kubepods/besteffort/pod1-2/{ID}")).unwrap().starts_with("kubernetes"));
        for other in [
            "/docker",
            "/docker/buildx",
            "/system.slice/docker.service",
            "/system.slice/docker-.scope",
            "/lxc.payload.",
            "/system.slice/docker-xyz.scope",
            "/kubepods/burstable",
            "/lxc/web/below",
            "",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn malformed_limits_are_missing() {
        let docker = format!("/sys/fs/cgroup/system.slice/docker-{ID}.scope");
        let (containers, missing) = of(v2()
            .file(&format!("{docker}/memory.max"), "lots\n")
            .file(&format!("{docker}/cpu.max"), "x\n"));
        assert_eq!((containers.running.len(), missing.len()), (1, 2), "{missing:?}");
    }

    proptest::proptest! {
        #[test]
        fn no_name_panics(path in "(/|docker|kubepods|-pod|machine-|\\\\x2d|.scope|[0-9a-f]{1,13}|é|.){0,12}") {
            let name = path.rsplit('/').next().unwrap_or_default();
            let _ = (known(name, &path), pod(&path), cut(&path));
        }
    }
}
