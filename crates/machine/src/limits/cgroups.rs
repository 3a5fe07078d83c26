//! The cgroups of this process and what they allow (cgroups(7), cpuset(7),
//! Documentation/admin-guide/cgroup-v2.rst, Documentation/admin-guide/cgroup-v1/cpusets.rst).

use serde::{Deserialize, Serialize};

use super::mounts::{Mount, Mounts};
use crate::{CpuSet, Notes, ReadError, Root};

/// The place of this process in one hierarchy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cgroup {
    /// 1 or 2; the cpuset file system of before cgroups counts as 1.
    pub version: u8,
    /// Controllers of a v1 hierarchy (`cpu`, `cpuset`, `name=systemd`); empty for v2.
    pub controllers: Vec<String>,
    /// Path within the hierarchy.
    pub path: String,
    /// Its directory; `None` when the hierarchy is not mounted or shows another part of it.
    pub directory: Option<String>,
    /// Where the hierarchy is mounted.
    pub mount: Option<String>,
    /// CPUs that its cpuset allows, where this hierarchy has the controller: v1 and v2 apart.
    #[serde(default)]
    pub cpus: Option<CpuSet>,
    /// Memory nodes that its cpuset allows.
    #[serde(default)]
    pub nodes: Option<CpuSet>,
}

/// A limit of memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryLimit {
    /// Most that may be used, bytes.
    pub bytes: u64,
    /// The file that says so.
    pub file: String,
}

/// A CPU bandwidth limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quota {
    /// How many CPUs' worth of time: quota by period.
    pub cpus: f64,
    /// The file that says so.
    pub file: String,
}

/// Reads /proc/`process`/cgroup, or its cpuset where there are no cgroups yet (before 2.6.24). `process` is a number or
/// `self`; `who` it is in words, for what is missing.
pub(crate) fn read(root: &Root, mounts: &Mounts, process: &str, who: &str, notes: &mut Notes) -> Vec<Cgroup> {
    let fact = format!("cgroups of {who}");
    let (places, by_cpuset): (Vec<Place>, bool) = match root.read(format!("/proc/{process}/cgroup")) {
        Ok(text) => (text.lines().filter_map(place).collect(), false),
        Err(e) => match notes.keep(&fact, root.line(format!("/proc/{process}/cpuset")).map_err(|_| e)) {
            // It is the path in the hierarchy of the cpuset controller, of whichever version.
            Some(path) => (vec![(1, vec!["cpuset".into()], path.clone()), (2, Vec::new(), path)], true),
            None => return Vec::new(),
        },
    };
    for (_, _, path) in places.iter().filter(|(_, _, path)| path.contains(char::REPLACEMENT_CHARACTER)) {
        notes.missing(&fact, format_args!("the name of {path} is not UTF-8 text: its limits are not read"));
    }
    let mounts = notes.keep("mounts of the cgroups", mounts.as_deref()).unwrap_or_default();
    let with_directory = |(version, controllers, path): Place| {
        let mount = mounts.iter().find(|mount| carries(mount, version, &controllers));
        let directory = mount.and_then(|mount| mount.directory(&path));
        Cgroup {
            version,
            controllers,
            path,
            directory,
            mount: mount.map(|mount| mount.point.clone()),
            cpus: None,
            nodes: None,
        }
    };
    let cgroups = places.into_iter().map(with_directory);
    match by_cpuset {
        true => cgroups.filter(|cgroup| cgroup.mount.is_some()).take(1).collect(),
        false => cgroups.collect(),
    }
}

/// The same path in every hierarchy that is mounted: where a manager (systemd, a container engine) puts one thing.
pub(crate) fn at(mounts: &[Mount], path: &str) -> Vec<Cgroup> {
    let mounts = mounts.iter().filter(|mount| mount.kind.starts_with("cgroup"));
    let place = |mount: &Mount| Cgroup {
        version: if mount.is_v2() { 2 } else { 1 },
        controllers: if mount.is_v2() { Vec::new() } else { mount.options.clone() },
        path: path.to_string(),
        directory: mount.directory(path),
        mount: Some(mount.point.clone()),
        cpus: None,
        nodes: None,
    };
    mounts.map(place).collect()
}

/// Version, controllers and path of one hierarchy.
pub(super) type Place = (u8, Vec<String>, String);

/// `4:memory:/a/b` (v1), `1:name=systemd:/`, `0::/a/b` (v2).
pub(super) fn place(line: &str) -> Option<Place> {
    let mut fields = line.splitn(3, ':');
    let (id, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let path = path.starts_with('/').then(|| path.to_string())?;
    let names: Vec<String> = controllers.split(',').filter(|c| !c.is_empty()).map(String::from).collect();
    match (id, names.is_empty()) {
        ("0", true) => Some((2, names, path)),
        (_, false) => Some((1, names, path)),
        _ => None,
    }
}

/// The path of a process in the version 1 hierarchy that says best where it belongs, by the text of its /proc/PID/cgroup: that of the CPU
/// controller, else (or where it is at the top of that) that of systemd. `None` where it is in neither, or the text is no such file's.
fn path_in_version_1(proc_cgroup: &str) -> Option<String> {
    let places: Vec<Place> = proc_cgroup.lines().filter_map(place).collect();
    let of = |wanted: &str| {
        let is_it = |controllers: &[String]| controllers.iter().any(|controller| controller == wanted);
        let found = places.iter().find(|(version, controllers, _)| *version == 1 && is_it(controllers));
        found.map(|(_, _, path)| path.clone())
    };
    let both = [of("cpu"), of("name=systemd")];
    both.iter().flatten().find(|path| *path != "/").or_else(|| both.iter().flatten().next()).cloned()
}

/// The path of a process by the text of its /proc/PID/cgroup: in version 2; where it is at the top of that, and version 1 says more,
/// there. `None` where the text is no such file's.
pub fn path_of_process(proc_cgroup: &str) -> Option<String> {
    let in_version_2 = proc_cgroup.lines().filter_map(place).find(|(version, ..)| *version == 2);
    let in_version_2 = in_version_2.map(|(_, _, path)| path);
    match in_version_2 {
        Some(path) if path != "/" => Some(path),
        top => path_in_version_1(proc_cgroup).or(top),
    }
}

/// Whether a mount is the hierarchy of these controllers; no controller is in two.
pub(super) fn carries(mount: &Mount, version: u8, controllers: &[String]) -> bool {
    match (version, mount.kind.as_str()) {
        (2, "cgroup2") => true,
        (1, "cgroup") => controllers.iter().any(|c| mount.is_v1_of(c)),
        (1, "cpuset") => controllers == ["cpuset"],
        _ => false,
    }
}

impl Cgroup {
    pub(crate) fn has(&self, controller: &str) -> bool {
        self.version == 2 || self.controllers.iter().any(|c| c == controller)
    }

    /// The directory with its path below the hierarchy, and those above it, up to the mount.
    pub(super) fn upwards_with_paths(&self) -> impl Iterator<Item = (String, String)> + use<> {
        let above = |path: &String| {
            let (above, _) = path.rsplit_once('/')?;
            (path != "/").then(|| if above.is_empty() { "/".to_string() } else { above.to_string() })
        };
        self.upwards().into_iter().zip(std::iter::successors(Some(self.path.clone()), above))
    }

    /// The directory and those above it, up to the mount.
    pub(crate) fn upwards(&self) -> Vec<String> {
        let (Some(directory), Some(mount)) = (&self.directory, &self.mount) else { return Vec::new() };
        let mut places = vec![directory.clone()];
        let mut here = directory.as_str();
        while here.len() > mount.len()
            && let Some(end) = here.rfind('/')
        {
            here = &here[..end];
            places.push(here.to_string());
        }
        places
    }
}

/// Reads into each cgroup what its own cpuset allows, and returns the CPUs and memory nodes that the cpuset in force
/// allows; `which` cpuset it is in words, for what is missing.
pub(crate) fn cpuset(
    root: &Root,
    cgroups: &mut [Cgroup],
    which: &str,
    notes: &mut Notes,
) -> (Option<CpuSet>, Option<CpuSet>) {
    let mut read = |files: &Files| {
        let own: Vec<Own> = cgroups.iter().map(|cgroup| files.of(root, cgroup)).collect();
        let in_force = files.in_force(root, cgroups, &own, which, notes);
        (own.into_iter().map(|own| own.and_then(Result::ok)).collect::<Vec<_>>(), in_force)
    };
    let ((cpus, cpus_in_force), (nodes, nodes_in_force)) = (read(&CPU_FILES), read(&NODE_FILES));
    for ((cgroup, cpus), nodes) in cgroups.iter_mut().zip(cpus).zip(nodes) {
        (cgroup.cpus, cgroup.nodes) = (cpus, nodes);
    }
    (cpus_in_force, nodes_in_force)
}

/// What a cgroup's own files say; `None` where it has none.
type Own = Option<Result<CpuSet, ReadError>>;

/// The files that hold a set, the one in force first.
struct Files {
    what: &'static str,
    v2: &'static str,
    v1: [&'static str; 3],
}

const CPU_FILES: Files =
    Files { what: "CPUs", v2: "cpuset.cpus.effective", v1: ["cpuset.effective_cpus", "cpuset.cpus", "cpus"] };
const NODE_FILES: Files = Files {
    what: "nodes",
    v2: "cpuset.mems.effective",
    v1: ["cpuset.effective_mems", "cpuset.mems", "mems"],
};

impl Files {
    fn of(&self, root: &Root, cgroup: &Cgroup) -> Own {
        let dir = cgroup.directory.as_ref()?;
        let names: &[&str] = match cgroup.version {
            2 => &[self.v2],
            _ if cgroup.has("cpuset") => &self.v1,
            _ => &[],
        };
        names.iter().find_map(|name| present(root.cpu_list(format!("{dir}/{name}"))))
    }

    fn in_force(
        &self,
        root: &Root,
        cgroups: &[Cgroup],
        own: &[Own],
        which: &str,
        notes: &mut Notes,
    ) -> Option<CpuSet> {
        let fact = format!("{} of {which}", self.what);
        // v1 first: where both are mounted, a controller that v1 has taken is not in v2.
        let own_of = |version: u8| {
            let of_version = cgroups.iter().zip(own).filter(move |(cgroup, _)| cgroup.version == version);
            of_version.filter_map(|(_, own)| own.clone())
        };
        // In v2 a cgroup whose parent does not hand the controller down has no file: the nearest above is in force.
        let above = || {
            let v2 = cgroups.iter().filter(|cgroup| cgroup.version == 2);
            let mut above = v2.flat_map(|cgroup| cgroup.upwards().into_iter().skip(1));
            above.find_map(|dir| present(root.cpu_list(format!("{dir}/{}", self.v2))))
        };
        if let Some(told) = own_of(1).chain(own_of(2)).next().or_else(above) {
            return notes.keep(fact, told);
        }
        let has_cpuset = || cgroups.iter().filter(|cgroup| cgroup.has("cpuset"));
        if has_cpuset().next().is_some() && has_cpuset().all(|cgroup| cgroup.directory.is_none()) {
            notes.missing(
                fact,
                "the hierarchy of the cpuset controller is not mounted where this process can see it",
            );
        }
        None
    }
}

/// Nothing for what is absent.
fn present<T>(answer: Result<T, ReadError>) -> Option<Result<T, ReadError>> {
    match answer {
        Err(e) if e.is_absent() => None,
        other => Some(other),
    }
}

/// From this on a memory limit is none: v1 prints the largest multiple of a page below 2^63.
pub(super) const NO_LIMIT: u64 = 1 << 62;

/// The tightest memory limit from the cgroup up to the mount.
pub(super) fn memory_limit(root: &Root, cgroups: &[Cgroup], notes: &mut Notes) -> Option<MemoryLimit> {
    let mut tightest: Option<MemoryLimit> = None;
    for cgroup in cgroups.iter().filter(|c| c.has("memory")) {
        let name = if cgroup.version == 2 { "memory.max" } else { "memory.limit_in_bytes" };
        for file in cgroup.upwards().iter().map(|dir| format!("{dir}/{name}")) {
            let bytes = notes.keep("memory limit", root.number_or_max(&file)).flatten();
            if let Some(bytes) = bytes.filter(|bytes| *bytes < NO_LIMIT)
                && tightest.as_ref().is_none_or(|t| bytes < t.bytes)
            {
                tightest = Some(MemoryLimit { bytes, file });
            }
        }
    }
    tightest
}

/// The tightest CPU bandwidth limit from the cgroup up to the mount; `fact` names it where it is missing.
pub(crate) fn cpu_quota(root: &Root, cgroups: &[Cgroup], fact: &str, notes: &mut Notes) -> Option<Quota> {
    let mut tightest: Option<Quota> = None;
    for cgroup in cgroups.iter().filter(|c| c.has("cpu")) {
        for dir in cgroup.upwards() {
            match quota_at(root, cgroup.version, &dir) {
                Err(e) if e.is_absent() => {}
                other => {
                    if let Some(Some(quota)) = notes.keep(fact, other)
                        && tightest.as_ref().is_none_or(|t| quota.cpus < t.cpus)
                    {
                        tightest = Some(quota);
                    }
                }
            }
        }
    }
    tightest
}

/// The quota of the cgroup with this directory; `None` where it has none.
pub(super) fn quota_at(root: &Root, version: u8, dir: &str) -> Result<Option<Quota>, ReadError> {
    match version {
        2 => quota_v2(root, dir),
        _ => quota_v1(root, dir),
    }
}

/// `max 100000` or `QUOTA PERIOD`, us.
fn quota_v2(root: &Root, dir: &str) -> Result<Option<Quota>, ReadError> {
    let file = format!("{dir}/cpu.max");
    let text = root.line(&file)?;
    let malformed = || ReadError::malformed(&file, format!("'{text}' is not QUOTA PERIOD"));
    let (quota, period) = text.split_once(' ').ok_or_else(malformed)?;
    if quota == "max" {
        return Ok(None);
    }
    let (quota, period): (u64, u64) =
        (quota.parse().map_err(|_| malformed())?, period.parse().map_err(|_| malformed())?);
    share(quota, period).map(|cpus| Some(Quota { cpus, file: file.clone() })).ok_or_else(malformed)
}

/// Two files, us; a quota of -1 means none.
fn quota_v1(root: &Root, dir: &str) -> Result<Option<Quota>, ReadError> {
    let file = format!("{dir}/cpu.cfs_quota_us");
    let quota: i64 = root.number(&file)?;
    let Ok(quota) = u64::try_from(quota) else { return Ok(None) };
    let period: u64 = root.number(format!("{dir}/cpu.cfs_period_us"))?;
    let malformed = || ReadError::malformed(&file, format!("{quota} of {period} us is no limit"));
    share(quota, period).map(|cpus| Some(Quota { cpus, file: file.clone() })).ok_or_else(malformed)
}

fn share(quota_us: u64, period_us: u64) -> Option<f64> {
    (quota_us > 0 && period_us > 0).then(|| quota_us as f64 / period_us as f64)
}

#[cfg(test)]
mod tests {
    use super::super::mounts;
    use super::*;
    use crate::Tree;

    fn of(tree: Tree) -> (Vec<Cgroup>, Option<CpuSet>, Option<Quota>, Vec<String>) {
        let root = Root::from_tree(tree);
        let mut notes = Notes::new();
        let mut cgroups = read(&root, &mounts::read(&root), "self", "this process", &mut notes);
        let (cpus, _) = cpuset(&root, &mut cgroups, "the cpuset", &mut notes);
        let quota = cpu_quota(&root, &cgroups, "CPU quota", &mut notes);
        (cgroups, cpus, quota, notes.into_vec().into_iter().map(|m| m.fact).collect())
    }

    #[test]
    fn the_path_in_version_1_is_that_of_the_cpu_controller_else_that_of_systemd() {
        let both = "9:name=systemd:/system.slice/x.service\n4:cpu,cpuacct:/docker/7\n3:cpuset:/\n0::/\n";
        assert_eq!(path_in_version_1(both).as_deref(), Some("/docker/7"));
        let named = "9:name=systemd:/system.slice/x.service\n3:cpuset:/a\n0::/\n";
        assert_eq!(path_in_version_1(named).as_deref(), Some("/system.slice/x.service"));
        let at_the_top = "9:name=systemd:/system.slice/x.service\n4:cpu,cpuacct:/\n0::/\n";
        assert_eq!(path_in_version_1(at_the_top).as_deref(), Some("/system.slice/x.service"));
        assert_eq!(path_in_version_1("9:name=systemd:/\n4:cpu:/\n").as_deref(), Some("/"));
        assert_eq!(path_in_version_1("4:cpu:/a:b\n").as_deref(), Some("/a:b"));
        for none in
            ["0::/system.slice/x.service\n", "3:cpuset:/a\n0::/\n", "", "cpu", "4:cpu", "4:cpu:x", ":cpu:"]
        {
            assert_eq!(path_in_version_1(none), None, "{none}");
        }
    }

    #[test]
    fn the_path_of_a_process_is_that_of_version_2_unless_it_is_at_its_top() {
        let path = |text| path_of_process(text);
        assert_eq!(path("4:cpu:/docker/7\n0::/x.slice/y.scope\n").as_deref(), Some("/x.slice/y.scope"));
        assert_eq!(path("4:cpu:/docker/7\n0::/\n").as_deref(), Some("/docker/7"));
        assert_eq!(path("3:cpuset:/a\n0::/\n").as_deref(), Some("/"));
        assert_eq!(path("4:cpu:/docker/7\n").as_deref(), Some("/docker/7"));
        assert_eq!((path(""), path("what is this"), path("3:cpuset:/a\n")), (None, None, None));
    }

    #[test]
    fn version_1_beside_an_empty_version_2() {
        let (cgroups, cpus, quota, missing) = of(Tree::new()
            .file("/proc/self/cgroup", "3:cpuset:/x\n2:cpu,cpuacct:/x/y\n0::/\n")
            .file(
                "/proc/self/mountinfo",
                "1 0 0:1 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
                 2 0 0:2 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                 3 0 0:3 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
            )
            .file("/sys/fs/cgroup/cpuset/x/cpuset.cpus", "0-1\n")
            .file("/sys/fs/cgroup/cpuset/x/cpuset.effective_cpus", "1\n")
            .file("/sys/fs/cgroup/cpu/x/y/cpu.cfs_quota_us", "-1\n")
            .file("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "50000\n")
            .file("/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n"));
        assert_eq!(cgroups.len(), 3);
        assert_eq!(cpus.unwrap().to_list(), "1");
        let quota = quota.unwrap();
        assert_eq!((quota.cpus, quota.file.as_str()), (0.5, "/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us"));
        assert_eq!(missing, Vec::<String>::new());
    }

    #[test]
    fn a_name_that_is_no_text_leads_to_no_limits_and_the_other_hierarchies_stay() {
        let (cgroups, _, quota, missing) = of(Tree::new()
            .file("/proc/self/cgroup", b"3:cpu:/a\xff\n2:memory:/m\n".as_slice())
            .file(
                "/proc/self/mountinfo",
                "1 0 0:1 / /cpu rw - cgroup cgroup rw,cpu\n2 0 0:2 / /memory rw - cgroup cgroup rw,memory\n",
            )
            .file("/cpu/a\u{fffd}/cpu.cfs_quota_us", "40000\n")
            .file("/cpu/a\u{fffd}/cpu.cfs_period_us", "100000\n"));
        let directories: Vec<_> = cgroups.iter().map(|cgroup| cgroup.directory.as_deref()).collect();
        assert_eq!((directories, quota), (vec![None, Some("/memory/m")], None));
        assert!(missing.contains(&"cgroups of this process".to_string()), "{missing:?}");
    }

    #[test]
    fn the_old_cpuset_file_system() {
        let (_, cpus, _, missing) = of(Tree::new()
            .file("/proc/self/cpuset", "/dummy\n")
            .file("/proc/mounts", "none /dev/cpuset cpuset rw 0 0\n")
            .file("/dev/cpuset/dummy/cpus", "0-3,5\n"));
        assert_eq!(cpus.unwrap().to_list(), "0-3,5");
        assert_eq!(missing, Vec::<String>::new());
    }

    #[test]
    fn a_container_shows_only_its_part_and_malformed_limits_are_missing() {
        let (cgroups, cpus, quota, missing) = of(Tree::new()
            .file("/proc/self/cgroup", "0::/docker/abc/in\nnonsense\n7::/x\n")
            .file("/proc/self/mountinfo", "1 0 0:1 /docker/abc /sys/fs/cgroup rw - cgroup2 c rw\n")
            .file("/sys/fs/cgroup/in/cpuset.cpus.effective", "0-?\n")
            .file("/sys/fs/cgroup/in/cpu.max", "100000 0\n"));
        assert_eq!(cgroups.len(), 1);
        assert_eq!(cgroups[0].directory.as_deref(), Some("/sys/fs/cgroup/in"));
        assert_eq!((cpus, quota), (None, None));
        assert_eq!(missing, ["CPUs of the cpuset", "CPU quota"]);
        let (cgroups, _, _, missing) = of(Tree::new()
            .file("/proc/self/cgroup", "0::/../other\n")
            .file("/proc/self/mountinfo", "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 c rw\n"));
        assert_eq!(cgroups[0].directory, None);
        assert_eq!(missing, ["CPUs of the cpuset", "nodes of the cpuset"]);
    }

    proptest::proptest! {
        #[test]
        fn no_line_makes_a_parser_panic(line in ".{0,40}", path in "[/.a]{0,12}", root in "[/.a]{1,6}") {
            let _ = place(&line);
            let mount = Mount { root, point: "/m".into(), kind: "cgroup2".into(), options: vec![] };
            let directory = mount.directory(&path);
            let cgroup = Cgroup { version: 2, controllers: vec![], path, directory, mount: Some("/m".into()), cpus: None, nodes: None };
            let _ = cgroup.upwards();
        }
    }
}
