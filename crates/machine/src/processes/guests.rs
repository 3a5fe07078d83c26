//! Virtual machines that run here: which host CPUs their vCPU, I/O, vhost and emulator threads may use.
//!
//! Thread names as QEMU (`CPU 0/KVM`, `IO iothread1`; system/cpus.c, iothread.c), the kernel (`vhost-PID`;
//! drivers/vhost/vhost.c), Firecracker (`fc_vcpu 0`) and Cloud Hypervisor (`vcpu0`) set them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::numbers;
use super::scan::{self, Scan, Seen};
use crate::procfs::escapes;
use crate::procfs::{pid_stat, pid_status};
use crate::root::GUEST_NAME;
use crate::{CpuSet, Notes, ReadError, Root};

/// One virtual machine: a process of a virtual machine monitor.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Guest {
    /// Process of the monitor.
    pub pid: u32,
    /// Name of that process: `qemu-system-x86`, `kvm`, `firecracker`.
    pub comm: String,
    /// Name of the guest: where its cgroup does not report it (libvirt, Proxmox), what it was started with (`-name` of QEMU).
    pub name: Option<String>,
    /// What executes its instructions: `kvm`, `tcg` (translation in software), ... as its vCPU threads say.
    pub accelerator: Option<String>,
    /// All its threads, those of the kernel that work for it too; vCPUs first.
    pub threads: Vec<GuestThread>,
}

/// One thread that works for a guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestThread {
    /// Number.
    pub tid: u32,
    /// Name.
    pub comm: String,
    /// What it does.
    #[serde(flatten)]
    pub role: Role,
    /// Host CPUs on which it may run.
    pub cpus: Option<CpuSet>,
    /// Host CPU that it last ran on.
    pub last_cpu: Option<u32>,
    /// Whether it is a thread of the kernel (vhost before Linux 6.4) rather than of the process.
    pub in_kernel: bool,
}

/// What a thread does for its guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "kebab-case")]
pub enum Role {
    /// Runs a virtual CPU.
    Vcpu {
        /// Its number in the guest; `None` where all share one thread (TCG), or where names of threads are off and only
        /// its guest time gives it away.
        vcpu: Option<u32>,
    },
    /// Serves virtual disks (`-object iothread`), or the monitor.
    Io,
    /// Moves packets between a virtual network card and the host.
    Vhost,
    /// Everything else: main loop, worker pool, VNC, migration.
    Emulator,
}

impl Guest {
    /// Host CPUs that the threads of one role may use together.
    pub fn cpus_of(&self, wanted: impl Fn(Role) -> bool) -> CpuSet {
        let threads = self.threads.iter().filter(|thread| wanted(thread.role));
        threads.filter_map(|thread| thread.cpus.as_ref()).flat_map(CpuSet::iter).collect()
    }
}

/// Finds the guests among the processes that were seen.
pub(super) fn read(root: &Root, scan: &Scan, notes: &mut Notes) -> Vec<Guest> {
    let vhost = kernel_helpers(scan);
    let mut candidates: BTreeSet<u32> = vhost.keys().copied().collect();
    candidates
        .extend(scan.seen.iter().filter(|seen| !seen.kernel && is_monitor(&seen.comm)).map(|seen| seen.pid));
    let known = candidates.into_iter().filter_map(|pid| scan.process(pid));
    let helpers = |seen: &Seen| vhost.get(&seen.pid).map(Vec::as_slice).unwrap_or_default().to_vec();
    known.filter_map(|seen| guest(root, seen, &helpers(seen), notes)).collect()
}

/// The guests that run, without what could not be read of them.
///
/// Errors: /proc cannot be listed.
pub(crate) fn find(root: &Root) -> Result<Vec<Guest>, ReadError> {
    match scan::read(root) {
        Ok(scan) => Ok(read(root, &scan, &mut Notes::new())),
        Err(e) if e.is_absent() => Ok(Vec::new()),
        Err(e) => Err(e),
    }
}

/// Whether the cgroup of a guest's process is one that libvirt makes.
pub(crate) fn is_of_libvirt(root: &Root, pid: u32) -> bool {
    let text = root.read(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    text.lines().flat_map(|line| line.split('/')).any(|folder| name_of_folder(folder).is_some())
}

/// Names of monitors; the kernel keeps 15 characters.
fn is_monitor(comm: &str) -> bool {
    let starts = ["qemu-system-", "qemu-kvm", "firecracker", "cloud-hyperviso"];
    // `kvm` is what Proxmox and old Debian call it.
    comm == "kvm" || starts.iter().any(|start| comm.starts_with(start))
}

/// Kernel threads `vhost-PID` by the process that they work for; they also find guests whose process was renamed.
fn kernel_helpers(scan: &Scan) -> BTreeMap<u32, Vec<u32>> {
    let mut by_owner: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for seen in scan.seen.iter().filter(|seen| seen.kernel) {
        if let Some(owner) = seen.comm.strip_prefix("vhost-").and_then(|pid| pid.parse().ok()) {
            by_owner.entry(owner).or_default().push(seen.pid);
        }
    }
    by_owner
}

/// A guest, if the process is one: a process with vCPU threads, or one whose name says so.
fn guest(root: &Root, seen: &Seen, vhost: &[u32], notes: &mut Notes) -> Option<Guest> {
    let pid = seen.pid;
    let fact = format!("threads of guest {pid} ({})", seen.comm);
    let names = match root.list(format!("/proc/{pid}/task")) {
        Err(e) if e.is_absent() => return None,
        names => notes.keep(&fact, names)?,
    };
    let own = numbers(&names).into_iter().map(|tid| (format!("/proc/{pid}/task/{tid}"), false));
    let helpers = vhost.iter().map(|tid| (format!("/proc/{tid}"), true));
    let mut threads = Vec::new();
    let mut accelerator = None;
    for (dir, in_kernel) in own.chain(helpers) {
        match thread(root, &dir, in_kernel) {
            Ok((thread, by)) => {
                accelerator = accelerator.or(by);
                threads.push(thread);
            }
            Err(e) if e.is_absent() => {}
            Err(e) => notes.missing(&fact, e),
        }
    }
    threads.sort_by_key(|thread| (thread.role, thread.tid));
    let has_vcpus = threads.iter().any(|thread| matches!(thread.role, Role::Vcpu { .. }));
    if !has_vcpus && !is_monitor(&seen.comm) {
        return None;
    }
    if !has_vcpus && !threads.is_empty() {
        let why = "its threads have no names and have not run a virtual CPU; QEMU names them with -name ...,debug-threads=on";
        notes.missing(format!("vCPU threads of guest {pid} ({})", seen.comm), why);
    }
    Some(Guest { pid, comm: seen.comm.clone(), name: name(root, pid), accelerator, threads })
}

/// One thread, and the accelerator if its name shows it.
fn thread(root: &Root, dir: &str, in_kernel: bool) -> Result<(GuestThread, Option<String>), ReadError> {
    let path = format!("{dir}/stat");
    let stat = root.read(&path)?;
    let stat = pid_stat::parse(&stat).map_err(|why| ReadError::malformed(&path, why))?;
    let path = format!("{dir}/status");
    let status = root.read(&path)?;
    let status = pid_status::parse(&status).map_err(|why| ReadError::malformed(&path, why))?;
    let guest_time = stat.guest_ticks.is_some_and(|ticks| ticks > 0);
    let (role, accelerator) = role(stat.comm, guest_time);
    let thread = GuestThread {
        tid: stat.pid,
        comm: stat.comm.to_string(),
        role,
        cpus: status.cpus_allowed(),
        last_cpu: stat.processor,
        in_kernel,
    };
    Ok((thread, accelerator))
}

/// The role that a name shows. The kernel books guest time to threads that run virtual CPUs in hardware, so these are
/// known without a name too.
fn role(comm: &str, guest_time: bool) -> (Role, Option<String>) {
    if let Some((cpu, accelerator)) = comm.strip_prefix("CPU ").and_then(|rest| rest.split_once('/'))
        && let Ok(vcpu) = cpu.parse()
    {
        return (Role::Vcpu { vcpu: Some(vcpu) }, Some(accelerator.to_lowercase()));
    }
    if let Some(accelerator) = comm.strip_prefix("ALL CPUs/") {
        return (Role::Vcpu { vcpu: None }, Some(accelerator.to_lowercase()));
    }
    let bare = comm.strip_prefix("fc_vcpu ").or_else(|| comm.strip_prefix("vcpu"));
    if let Some(vcpu) = bare.and_then(|number| number.parse().ok()) {
        return (Role::Vcpu { vcpu: Some(vcpu) }, Some("kvm".into()));
    }
    match comm {
        _ if guest_time => (Role::Vcpu { vcpu: None }, Some("kvm".into())),
        // Since Linux 6.13 or so KVM keeps its helper in the process.
        _ if comm.starts_with("kvm-nx-lpage-re") => (Role::Emulator, Some("kvm".into())),
        _ if comm.starts_with("IO ") => (Role::Io, None),
        _ if comm.starts_with("vhost-") => (Role::Vhost, None),
        _ => (Role::Emulator, None),
    }
}

/// The guest's name, from the cgroups of its process or by its own word.
fn name(root: &Root, pid: u32) -> Option<String> {
    of_cgroups(root, pid).or_else(|| root.fact(&format!("{GUEST_NAME}{pid}")).ok())
}

fn of_cgroups(root: &Root, pid: u32) -> Option<String> {
    let text = root.read(format!("/proc/{pid}/cgroup")).ok()?;
    let paths = text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    paths
        .flat_map(|path| path.split('/'))
        .find_map(|folder| name_of_folder(folder).or_else(|| of_proxmox(&text, folder)))
}

/// `machine-qemu\x2d1\x2dNAME.scope` (libvirt with systemd), `qemu-1-NAME.libvirt-qemu` (without).
fn name_of_folder(folder: &str) -> Option<String> {
    let machine = match folder.strip_prefix("machine-").and_then(|rest| rest.strip_suffix(".scope")) {
        Some(escaped) => unescape(escaped),
        None => folder.strip_suffix(".libvirt-qemu")?.to_string(),
    };
    let (number, name) = machine.strip_prefix("qemu-")?.split_once('-')?;
    let counts = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (counts && !name.is_empty()).then(|| name.to_string())
}

/// `/qemu.slice/101.scope`: Proxmox names guests by number.
fn of_proxmox(cgroups: &str, folder: &str) -> Option<String> {
    let number =
        folder.strip_suffix(".scope").filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))?;
    (!number.is_empty() && cgroups.contains("/qemu.slice/")).then(|| number.to_string())
}

/// Undoes the escapes of unit names, `\x2d` for `-` (systemd-escape(1)). What is no escape stays.
pub(super) fn unescape(text: &str) -> String {
    escapes::unescape(text, |code| u8::from_str_radix(code.strip_prefix('x')?, 16).ok())
}

#[cfg(test)]
mod tests {
    use super::super::scan::{self, tests::KERNEL, tests::stat};
    use super::*;
    use crate::{Missing, Tree};

    fn task(tree: Tree, dir: &str, tid: u32, comm: &str, cpus: &str) -> Tree {
        tree.file(&format!("{dir}/stat"), stat(tid, comm, 1, 0))
            .file(&format!("{dir}/status"), format!("Name:\t{comm}\nCpus_allowed_list:\t{cpus}\n"))
    }

    fn qemu(cgroup: &str) -> Tree {
        let mut tree = Tree::new()
            .file("/proc/1/stat", stat(1, "systemd", 0, 0))
            .file("/proc/700/stat", stat(700, "qemu-system-x86", 1, 0))
            .file("/proc/700/cgroup", cgroup);
        let threads = [
            (700, "qemu-system-x86", "0-1"),
            (701, "call_rcu", "0-1"),
            (702, "IO iothread1", "1"),
            (703, "IO mon_iothread", "0-1"),
            (704, "CPU 0/KVM", "4"),
            (705, "CPU 1/KVM", "5"),
            (706, "worker", "0-1"),
        ];
        for (tid, comm, cpus) in threads {
            tree = task(tree, &format!("/proc/700/task/{tid}"), tid, comm, cpus);
        }
        tree
    }

    fn of(tree: Tree) -> (Vec<Guest>, Vec<Missing>) {
        let root = Root::from_tree(tree);
        let mut notes = Notes::new();
        let guests = read(&root, &scan::read(&root).unwrap(), &mut notes);
        (guests, notes.into_vec())
    }

    const LIBVIRT: &str = "0::/machine.slice/machine-qemu\\x2d3\\x2ddb\\x2d1.scope/libvirt/emulator\n";

    #[test]
    fn roles_host_cpus_and_a_vhost_thread_of_the_kernel() {
        let tree = task(qemu(LIBVIRT), "/proc/90", 90, "vhost-700", "2-3");
        let tree = tree.file("/proc/90/stat", stat(90, "vhost-700", 2, KERNEL));
        let (guests, missing) = of(tree);
        assert_eq!(missing, []);
        let [guest] = guests.try_into().unwrap();
        assert_eq!(
            (guest.pid, guest.name.as_deref(), guest.accelerator.as_deref()),
            (700, Some("db-1"), Some("kvm"))
        );
        let role = |role: Role| {
            let threads = guest.threads.iter().filter(move |thread| thread.role == role);
            threads.map(|thread| (thread.tid, thread.cpus.as_ref().unwrap().to_list())).collect::<Vec<_>>()
        };
        assert_eq!(role(Role::Vcpu { vcpu: Some(0) }), [(704, "4".to_string())]);
        assert_eq!(role(Role::Vcpu { vcpu: Some(1) }), [(705, "5".to_string())]);
        assert_eq!(role(Role::Io), [(702, "1".to_string()), (703, "0-1".to_string())]);
        assert_eq!(role(Role::Vhost), [(90, "2-3".to_string())]);
        assert_eq!(role(Role::Emulator).len(), 3);
        assert_eq!(guest.threads[0].role, Role::Vcpu { vcpu: Some(0) });
        assert_eq!(guest.cpus_of(|role| matches!(role, Role::Vcpu { .. })).to_list(), "4-5");
        assert!(guest.threads.iter().all(|thread| thread.in_kernel == (thread.tid == 90)));
        let json = serde_json::to_string(&guest).unwrap();
        assert!(json.contains(r#""role":"vcpu","vcpu":0"#), "{json}");
        assert_eq!(serde_json::from_str::<Guest>(&json).unwrap(), guest);
    }

    #[test]
    fn since_6_4_vhost_is_a_thread_of_the_process() {
        let (guests, _) = of(task(qemu("0::/\n"), "/proc/700/task/707", 707, "vhost-700", "2"));
        let vhost: Vec<_> = guests[0].threads.iter().filter(|thread| thread.role == Role::Vhost).collect();
        assert_eq!((vhost.len(), vhost[0].in_kernel, guests[0].name.as_deref()), (1, false, None));
    }

    #[test]
    fn a_renamed_process_is_found_by_its_vhost_thread_and_a_user_of_vhost_is_no_guest() {
        let renamed = |threads: &[(u32, &str)]| {
            let mut tree = Tree::new()
                .file("/proc/90/stat", stat(90, "vhost-700", 2, KERNEL))
                .file("/proc/90/status", "Cpus_allowed_list:\t0-3\n")
                .file("/proc/700/stat", stat(700, "db-1", 1, 0));
            for (tid, comm) in threads {
                tree = task(tree, &format!("/proc/700/task/{tid}"), *tid, comm, "0");
            }
            of(tree).0
        };
        assert_eq!(renamed(&[(700, "db-1"), (701, "CPU 0/KVM")])[0].pid, 700);
        assert!(renamed(&[(700, "ovs-vswitchd")]).is_empty());
    }

    #[test]
    fn threads_without_names_are_known_by_their_guest_time() {
        let with_time = |ticks: &str| {
            let line = stat(701, "qemu-system-x86", 1, 0).replace(" 0 0 0\n", &format!(" 0 {ticks} 0\n"));
            let tree = task(Tree::new(), "/proc/700/task/701", 701, "qemu-system-x86", "0");
            of(tree
                .file("/proc/700/task/701/stat", line)
                .file("/proc/700/stat", stat(700, "qemu-system-x86", 1, 0)))
        };
        let (guests, missing) = with_time("77");
        assert_eq!((guests[0].threads[0].role, missing.len()), (Role::Vcpu { vcpu: None }, 0));
        let (guests, missing) = with_time("0");
        assert_eq!((guests[0].threads[0].role, &guests[0].accelerator), (Role::Emulator, &None));
        assert!(missing[0].why.contains("debug-threads=on"), "{missing:?}");
    }

    #[test]
    fn refused_and_vanished_threads() {
        let (guests, missing) =
            of(qemu(LIBVIRT).denied("/proc/700/task/704/status").dir("/proc/700/task/708"));
        assert_eq!((guests[0].threads.len(), missing.len()), (6, 1));
        assert!(missing[0].why.contains("permission denied"));
    }

    #[test]
    fn names_of_threads_and_folders_and_their_malformed_twins() {
        let kind = |comm| role(comm, false);
        assert_eq!(kind("CPU 12/TCG"), (Role::Vcpu { vcpu: Some(12) }, Some("tcg".into())));
        assert_eq!(kind("ALL CPUs/TCG").0, Role::Vcpu { vcpu: None });
        assert_eq!(kind("fc_vcpu 3").0, Role::Vcpu { vcpu: Some(3) });
        assert_eq!(kind("kvm-nx-lpage-re"), (Role::Emulator, Some("kvm".into())));
        assert_eq!(kind("vcpu7").0, Role::Vcpu { vcpu: Some(7) });
        for other in ["CPU x/KVM", "CPU 1", "CPU ", "vcpu", "vcpuX", "fc_vcpu", "", "IO"] {
            assert_eq!(kind(other).0, Role::Emulator, "{other}");
        }
        assert_eq!(name_of_folder("machine-qemu\\x2d12\\x2dweb.scope").as_deref(), Some("web"));
        assert_eq!(name_of_folder("qemu-1-web.libvirt-qemu").as_deref(), Some("web"));
        for other in [
            "machine-lxc\\x2d1\\x2dx.scope",
            "machine-qemu\\x2dx.scope",
            "machine-qemu\\x2d1\\x2d.scope",
            "machine-.scope",
            "",
        ] {
            assert_eq!(name_of_folder(other), None, "{other}");
        }
        let proxmox = of(qemu("0::/qemu.slice/101.scope\n")).0;
        assert_eq!(proxmox[0].name.as_deref(), Some("101"));
        assert_eq!(unescape("a\\x2db\\x\\x2"), "a-b\\x\\x2");
    }

    proptest::proptest! {
        #[test]
        fn no_name_panics(text in "(machine-|qemu-|CPU |\\\\x|[0-9a-f]|/|.scope|.){0,20}") {
            let _ = (role(&text, true), name_of_folder(&text), unescape(&text), of_proxmox(&text, &text));
        }
    }
}
