//! Who else sets affinities on this machine: daemons that would put back what somebody changes, and managers whose
//! settings a change must go through.

pub mod irqbalance;
pub mod irqbalance_running;
mod sched_ext;
mod systemd;

use serde::{Deserialize, Serialize};

use super::scan::{self, Scan};
use crate::{Notes, Root};
use irqbalance::Irqbalance;

/// A program that sets where things run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Owner {
    /// Name, as its project calls it.
    pub name: String,
    /// What it sets.
    pub sets: String,
    /// Its process, if it runs; `None` when it was not seen.
    pub pid: Option<u32>,
    /// What its configuration says that bears on placement, each with its file.
    ///
    /// Files tell what the next start will take: a daemon that was not restarted since may hold something else.
    pub settings: Vec<OwnerSetting>,
    /// The same decoded, for irqbalance.
    pub irqbalance: Option<Irqbalance>,
}

/// One setting of an owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerSetting {
    /// The key, as the file has it.
    pub key: String,
    /// The value, as the file has it.
    pub value: String,
    /// The file.
    pub file: String,
}

/// Name, name of the process (the kernel keeps 15 characters), what it sets.
const PROGRAMS: [(&str, &str, &str); 20] = [
    ("irqbalance", "irqbalance", "affinity of interrupt lines, every 10 seconds"),
    ("tuned", "tuned", "sysctls, idle states, affinities of threads and interrupts, by its profile"),
    ("NetworkManager", "NetworkManager", "queues, offloads and rings of network cards"),
    ("libvirtd", "libvirtd", "affinity, cpuset and memory nodes of guests"),
    ("virtqemud", "virtqemud", "affinity, cpuset and memory nodes of guests"),
    ("kubelet", "kubelet", "cpusets and CPU quotas of containers"),
    ("docker", "dockerd", "cpusets and CPU quotas of containers"),
    ("containerd", "containerd", "cpusets and CPU quotas of containers"),
    ("cri-o", "crio", "cpusets and CPU quotas of containers"),
    ("slurmd", "slurmd", "cpusets and affinity of jobs"),
    ("tuna", "tuna", "affinity and priority of threads and interrupts"),
    ("numad", "numad", "cpusets and memory nodes of large processes"),
    ("ksmtuned", "ksmtuned", "how fast equal pages are merged"),
    ("power-profiles-daemon", "power-profiles-", "frequency governor and energy preference"),
    ("thermald", "thermald", "CPU frequency and idle injection when hot"),
    ("auto-cpufreq", "auto-cpufreq", "frequency governor"),
    ("intel-lpmd", "intel_lpmd", "which CPUs stay in use when load is low"),
    ("ananicy", "ananicy-cpp", "nice values and cgroups of processes"),
    ("rtkit", "rtkit-daemon", "real-time priority of threads that ask for it"),
    ("Open vSwitch", "ovs-vswitchd", "affinity of its polling threads"),
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
    for (name, comm, sets) in PROGRAMS {
        let mut owner =
            Owner { name: name.into(), sets: sets.into(), pid: running(comm), ..Owner::default() };
        match name {
            "irqbalance" => irqbalance::configure(root, &mut owner, notes),
            "tuned" => tuned(root, &mut owner),
            "kubelet" => kubelet(root, &mut owner, notes),
            _ => {}
        }
        owners.push(owner);
    }
    owners.push(sched_ext::read(root));
    // One that neither runs nor has settings is not there.
    owners.retain(|owner| owner.pid.is_some() || !owner.settings.is_empty());
    owners
}

/// A file of one line, where it is there.
fn one_line(root: &Root, key: &str, file: &str) -> Option<OwnerSetting> {
    let value = root.line(file).ok().filter(|value| !value.is_empty())?;
    Some(OwnerSetting { key: key.into(), value, file: file.into() })
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

/// The CPU manager's state: with the policy `static`, containers of whole CPUs get them for themselves.
fn kubelet(root: &Root, owner: &mut Owner, notes: &mut Notes) {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct State {
        policy_name: String,
        #[serde(default)]
        default_cpu_set: String,
    }
    let file = "/var/lib/kubelet/cpu_manager_state";
    let Ok(text) = root.read(file) else { return };
    let fact = "CPU manager of kubelet";
    let state = serde_json::from_str::<State>(&text).map_err(|e| crate::ReadError::malformed(file, e));
    let Some(state) = notes.keep(fact, state) else { return };
    let setting = |key: &str, value: String| OwnerSetting { key: key.into(), value, file: file.into() };
    owner.settings.push(setting("CPU manager policy", state.policy_name));
    if !state.default_cpu_set.is_empty() {
        owner.settings.push(setting("CPUs of containers without CPUs of their own", state.default_cpu_set));
    }
}

/// `KEY=VALUE` lines as systemd's EnvironmentFile= and its configuration files take them: blanks around are left out,
/// lines that begin with `#` or `;` are comments, a final backslash joins the next line, quotes are taken off.
fn assignments(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut whole = String::new();
    for line in text.lines() {
        let start = whole.is_empty();
        let line = line.trim();
        if start && (line.starts_with('#') || line.starts_with(';')) {
            continue;
        }
        if let Some(more) = line.strip_suffix('\\') {
            whole.push_str(more);
            whole.push(' ');
            continue;
        }
        whole.push_str(line);
        if let Some((key, value)) = std::mem::take(&mut whole).split_once('=') {
            // /etc/sysconfig files are shell in spirit, and some begin their lines with `export`.
            let key = key.trim().trim_start_matches("export ").trim();
            found.push((key.to_string(), unquoted(value.trim()).to_string()));
        }
    }
    found
}

fn unquoted(value: &str) -> &str {
    let inside = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inside('"').or_else(|| inside('\'')).unwrap_or(value)
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
                r#"{"policyName":"static","defaultCpuSet":"0-1","entries":{"secret":{"c":"2-3"}},"checksum":1}"#,
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
        assert!(!format!("{owners:?}").contains("secret"));
        assert_eq!(missing, []);
        assert!(PROGRAMS.iter().all(|(_, comm, _)| comm.len() <= 15));
    }

    #[test]
    fn nothing_there_is_nobody_and_malformed_state_is_missing() {
        assert_eq!(of(Tree::new()), (vec![], vec![]));
        let (owners, missing) = of(Tree::new().file("/var/lib/kubelet/cpu_manager_state", "{"));
        assert!(owners.is_empty());
        assert_eq!(missing[0].fact, "CPU manager of kubelet");
        assert!(of(Tree::new().file("/etc/tuned/profile_mode", "manual\n")).0.is_empty());
    }

    #[test]
    fn environment_files_as_they_are_written() {
        let text = "# A=0\n; B=1\nC=\"x y\"\n D = '1' \nexport E=5\nF=a\\\n b\nnothing\n=\nG=\n";
        let told = assignments(text);
        let told: Vec<_> = told.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(told, [("C", "x y"), ("D", "1"), ("E", "5"), ("F", "a b"), ("", ""), ("G", "")]);
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "(?s)([A-Z=\"'#\\\\\n ]|.){0,40}") {
            let _ = assignments(&text);
        }
    }
}
