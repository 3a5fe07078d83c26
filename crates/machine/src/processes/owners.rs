//! Who else sets affinities on this machine: daemons that would put back what somebody changes, and managers whose
//! settings a change must go through.

mod environment_file;
mod id;
pub mod irqbalance;
pub mod irqbalance_running;
mod kubelet;
mod owner;
mod sched_ext;
mod systemd;

use super::scan::{self, Scan};
use crate::{Notes, Root};
use environment_file::assignments;
pub use id::OwnerId;
use owner::one_line;
pub use owner::{Owner, OwnerSetting};

/// Id, name, name of the process (the kernel keeps 15 characters), what it sets.
const PROGRAMS: [(OwnerId, &str, &str, &str); 23] = [
    (OwnerId::Irqbalance, "irqbalance", "irqbalance", "affinity of interrupt lines, every 10 seconds"),
    (
        OwnerId::Tuned,
        "tuned",
        "tuned",
        "sysctls, idle states, affinities of threads and interrupts, by its profile",
    ),
    (
        OwnerId::NetworkManager,
        "NetworkManager",
        "NetworkManager",
        "queues, offloads and rings of network cards",
    ),
    (OwnerId::Libvirtd, "libvirtd", "libvirtd", "affinity, cpuset and memory nodes of guests"),
    (OwnerId::Virtqemud, "virtqemud", "virtqemud", "affinity, cpuset and memory nodes of guests"),
    (OwnerId::Kubelet, "kubelet", "kubelet", "cpusets and CPU quotas of containers"),
    // Its plugins balloons and topology-aware have names that begin with the same 15 characters.
    (
        OwnerId::NriResourcePolicy,
        "NRI resource policy",
        "nri-resource-po",
        "cpusets and memory nodes of containers (balloons, topology-aware), when one starts or ends",
    ),
    (
        OwnerId::KatalystAgent,
        "katalyst-agent",
        "katalyst-agent",
        "cpusets and memory nodes of containers, again and again",
    ),
    (OwnerId::Koordlet, "koordlet", "koordlet", "cpusets and CPU quotas of containers, by their class"),
    (OwnerId::Docker, "docker", "dockerd", "cpusets and CPU quotas of containers"),
    (OwnerId::Containerd, "containerd", "containerd", "cpusets and CPU quotas of containers"),
    (OwnerId::CriO, "cri-o", "crio", "cpusets and CPU quotas of containers"),
    (OwnerId::Slurmd, "slurmd", "slurmd", "cpusets and affinity of jobs"),
    (OwnerId::Tuna, "tuna", "tuna", "affinity and priority of threads and interrupts"),
    (OwnerId::Numad, "numad", "numad", "cpusets and memory nodes of large processes"),
    (OwnerId::Ksmtuned, "ksmtuned", "ksmtuned", "how fast equal pages are merged"),
    (
        OwnerId::PowerProfilesDaemon,
        "power-profiles-daemon",
        "power-profiles-",
        "frequency governor and energy preference",
    ),
    (OwnerId::Thermald, "thermald", "thermald", "CPU frequency and idle injection when hot"),
    (OwnerId::AutoCpufreq, "auto-cpufreq", "auto-cpufreq", "frequency governor"),
    (OwnerId::IntelLpmd, "intel-lpmd", "intel_lpmd", "which CPUs stay in use when load is low"),
    (OwnerId::Ananicy, "ananicy", "ananicy-cpp", "nice values and cgroups of processes"),
    (OwnerId::Rtkit, "rtkit", "rtkit-daemon", "real-time priority of threads that ask for it"),
    (OwnerId::OpenVSwitch, "Open vSwitch", "ovs-vswitchd", "affinity of its polling threads"),
];

/// The programs of `root` that run or have settings, as far as they can be seen; what irqbalance is about to move is not worked out.
pub fn that_run(root: &Root) -> Vec<Owner> {
    read(root, scan::read(root).ok().as_ref(), &mut Notes::new())
}

/// Finds the programs that run, and reads the settings also of some that do not.
pub(super) fn read(root: &Root, scan: Option<&Scan>, notes: &mut Notes) -> Vec<Owner> {
    let running = |comm: &str| {
        let seen = &scan?.seen;
        seen.iter().find(|seen| seen.comm == comm && !seen.kernel).map(|seen| seen.pid)
    };
    let mut owners = vec![systemd::read(root, scan, notes)];
    for (id, name, comm, sets) in PROGRAMS {
        let mut owner = Owner {
            id: Some(id),
            name: name.into(),
            sets: sets.into(),
            pid: running(comm),
            ..Owner::default()
        };
        match id {
            OwnerId::Irqbalance => irqbalance::configure(root, &mut owner, notes),
            OwnerId::Tuned => tuned(root, &mut owner),
            OwnerId::Kubelet => kubelet::configure(root, &mut owner, notes),
            _ => {}
        }
        owners.push(owner);
    }
    owners.push(sched_ext::read(root));
    // One that neither runs nor has settings is not there.
    owners.retain(|owner| owner.pid.is_some() || !owner.settings.is_empty());
    owners
}

/// The profile that tuned-adm(8) chose, and whether a person or tuned itself chose it.
fn tuned(root: &Root, owner: &mut Owner) {
    let files =
        [("active profile", "/etc/tuned/active_profile"), ("profile mode", "/etc/tuned/profile_mode")];
    let profile = one_line(root, files[0].0, files[0].1);
    // The mode alone says nothing: the package brings the file.
    let mode = profile.as_ref().and_then(|_| one_line(root, files[1].0, files[1].1));
    owner.settings.extend([profile, mode].into_iter().flatten());
}

#[cfg(test)]
mod tests {
    use super::super::scan::{self, tests::stat};
    use super::*;
    use crate::{Missing, Tree};

    pub(super) fn of(tree: Tree) -> (Vec<Owner>, Vec<Missing>) {
        let root = Root::from_tree(tree);
        let mut notes = Notes::new();
        let owners = read(&root, scan::read(&root).ok().as_ref(), &mut notes);
        (owners, notes.into_vec())
    }

    #[test]
    fn who_runs_and_who_left_settings() {
        let (owners, missing) = of(Tree::new()
            .file("/proc/1/stat", stat(1, "systemd", 0, 0))
            .file("/proc/300/stat", stat(300, "power-profiles-", 1, 0))
            .file("/proc/301/stat", stat(301, "tuned", 1, 0))
            .file("/proc/302/stat", stat(302, "kubelet", 1, 0))
            .file("/etc/tuned/active_profile", "cpu-partitioning\n")
            .file("/etc/tuned/profile_mode", "manual\n")
            .file(
                "/var/lib/kubelet/cpu_manager_state",
                r#"{"policyName":"static","defaultCpuSet":"0-1","entries":{"12-34":{"c":"2-3"}},"checksum":1}"#,
            ));
        let names: Vec<_> = owners.iter().map(|owner| (owner.name.as_str(), owner.pid)).collect();
        assert_eq!(
            names,
            [
                ("systemd", Some(1)),
                ("tuned", Some(301)),
                ("kubelet", Some(302)),
                ("power-profiles-daemon", Some(300))
            ]
        );
        let told = |index: usize| {
            let settings = &owners[index].settings;
            settings.iter().map(|s| format!("{}={}", s.key, s.value)).collect::<Vec<_>>()
        };
        assert_eq!(told(1), ["active profile=cpu-partitioning", "profile mode=manual"]);
        assert_eq!(told(2)[0], "CPU manager policy=static");
        assert_eq!(missing, []);
        assert!(PROGRAMS.iter().all(|(_, _, comm, _)| comm.len() <= 15));
    }

    #[test]
    fn nothing_there_is_nobody_and_malformed_state_is_missing() {
        assert_eq!(of(Tree::new()), (vec![], vec![]));
        let (owners, missing) = of(Tree::new().file("/var/lib/kubelet/cpu_manager_state", "{"));
        assert!(owners.is_empty());
        assert_eq!(missing[0].fact, "CPU manager of kubelet");
        assert!(of(Tree::new().file("/etc/tuned/profile_mode", "manual\n")).0.is_empty());
    }

    /// How the words about a knob call a program.
    fn in_words(id: OwnerId, name: &str) -> String {
        let called = match id {
            OwnerId::Libvirtd | OwnerId::Virtqemud => "libvirt",
            OwnerId::Docker | OwnerId::Containerd => "container engines",
            OwnerId::Slurmd => "slurm",
            OwnerId::NriResourcePolicy => "nri",
            OwnerId::KatalystAgent => "katalyst",
            OwnerId::Koordlet => "koordinator",
            _ => name,
        };
        called.to_lowercase()
    }

    #[test]
    fn every_program_sets_a_knob_whose_words_name_it() {
        for (id, name, _, _) in PROGRAMS.into_iter().filter(|(id, ..)| *id != OwnerId::Ksmtuned) {
            let knobs = crate::knobs::ALL.iter().map(|knob| knob.about());
            let knobs: Vec<_> = knobs.filter(|about| about.owners.contains(&id)).collect();
            assert!(!knobs.is_empty(), "{name}");
            for about in knobs {
                let words = about.owner.to_lowercase();
                let named = words.contains(&in_words(id, name))
                    || id == OwnerId::CriO && words.contains("container engines");
                assert!(named, "{}: {words:?} does not name {name}", about.id);
            }
        }
    }
}
