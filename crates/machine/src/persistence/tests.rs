use super::*;
use crate::Tree;

const SESSION: &str = "1763700000-4711";

/// A machine with systemd, a network card, a service and a user's process.
fn tree() -> Tree {
    Tree::new()
        .file("/run/systemd/system/.keep", "")
        .file("/etc/sysctl.d/99-sysctl.conf", "")
        .file("/etc/udev/rules.d/70-x.rules", "")
        .file("/etc/tuned/active_profile", "")
        .file("/sys/devices/system/cpu/online", "0-3\n")
        .file("/proc/sys/vm/swappiness", "60\n")
        .file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
        .file("/sys/class/net/eth0/queues/rx-0/rps_cpus", "0\n")
        .file("/proc/irq/38/smp_affinity_list", "0-3\n")
        .file("/proc/irq/38/smp_affinity", "f\n")
        .file("/proc/700/stat", stat(700))
        .file("/proc/700/task/700/stat", stat(700))
        .file("/proc/700/task/700/status", "Cpus_allowed_list:\t0-3\n")
        .file("/proc/700/cgroup", "0::/system.slice/nginx.service\n")
        .file("/proc/700/status", "Tgid:\t700\n")
        .file("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
        .file("/sys/fs/cgroup/system.slice/nginx.service/cgroup.procs", "700\n")
        .file("/sys/fs/cgroup/system.slice/two.service/cgroup.procs", "702\n703\n")
        .file("/proc/702/stat", stat(702))
        .file("/proc/702/task/702/stat", stat(702))
        .file("/proc/702/cgroup", "0::/system.slice/two.service\n")
        .file("/proc/704/stat", stat(704))
        .file("/proc/704/task/704/stat", stat(704))
        .file("/proc/704/cgroup", "0::/machine.slice/c.service/payload/system.slice/nginx.service\n")
        .file("/proc/701/stat", stat(701))
        .file("/proc/701/task/701/stat", stat(701))
        .file("/proc/701/task/701/status", "Cpus_allowed_list:\t0-3\n")
        .file("/proc/701/cgroup", "0::/user.slice/user-1000.slice/session-3.scope\n")
}

fn stat(pid: u32) -> String {
    format!(
        "{pid} (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0\n"
    )
}

fn setting(knob: &str, target: &str, value: &str) -> Setting {
    Setting { knob: knob.into(), target: target.into(), value: value.into() }
}

fn keeping(settings: &[Setting], manner: Manner) -> Keeping {
    kept(&Root::from_tree(tree()), SESSION, "a\nplan", settings, manner)
}

/// Paths and texts.
fn files(keeping: &Keeping) -> Vec<(String, String)> {
    let file = |act: &Act| match act {
        Act::PlaceFile { file, content, .. } => (file.path().unwrap().display().to_string(), content.clone()),
        other => panic!("{other:?}"),
    };
    keeping.acts.iter().map(file).collect()
}

#[test]
fn each_kind_goes_into_the_file_of_its_kind() {
    let settings = [
        setting("swappiness", "machine", "10"),
        setting("transparent-huge-pages", "machine", "never"),
        setting("rps-cpus", "eth0/rx-0", "1-2"),
        setting("process-affinity", "700", "2-3"),
        setting("scheduling-policy", "700", "fifo:5"),
    ];
    let keeping = keeping(&settings, Manner::Platform);
    assert_eq!(keeping.not_kept, []);
    let files = files(&keeping);
    let lines = [
        ("/etc/sysctl.d/99-zz-pinwise-1763700000-4711.conf", "vm/swappiness = 10\n"),
        (
            "/etc/tmpfiles.d/00-pinwise-1763700000-4711.conf",
            "w /sys/kernel/mm/transparent_hugepage/enabled - - - - never\n",
        ),
        (
            "/etc/udev/rules.d/99-zz-pinwise-1763700000-4711.rules",
            "KERNEL==\"eth0\", ATTR{queues/rx-0/rps_cpus}=\"6\"\n",
        ),
        (
            "/etc/systemd/system/nginx.service.d/zz-pinwise-1763700000-4711.conf",
            "[Service]\nCPUAffinity=\nCPUAffinity=2-3\nCPUSchedulingPolicy=fifo\nCPUSchedulingPriority=5\n",
        ),
    ];
    assert_eq!(files.len(), lines.len(), "{files:?}");
    for (path, line) in lines {
        let (_, content) =
            files.iter().find(|(file, _)| file == path).unwrap_or_else(|| panic!("{path} in {files:?}"));
        assert!(content.ends_with(line), "{content}");
        assert!(content.starts_with("# Placed by pinwise, session 1763700000-4711: a plan\n"), "{content}");
    }
    let keeps = |act: &Act| match act {
        Act::PlaceFile { keeps, .. } => keeps.len(),
        _ => 0,
    };
    assert_eq!(keeping.acts.iter().map(keeps).sum::<usize>(), settings.len());
}

#[test]
fn what_ends_with_the_boot_is_reported_with_the_reason() {
    let settings = [
        setting("irq-affinity", "38", "1"),
        setting("process-affinity", "701", "1"),
        setting("process-affinity", "99", "1"),
        setting("process-affinity", "702", "1"),
        setting("process-affinity", "704", "1"),
        setting("nonsense", "x", "1"),
    ];
    let keeping = keeping(&settings, Manner::Platform);
    assert_eq!(keeping.acts, []);
    let why: Vec<&str> = keeping.not_kept.iter().map(|not_kept| not_kept.why.as_str()).collect();
    for (why, word) in why.iter().zip([
        "new numbers",
        "session-3.scope is a scope, not a service",
        "99",
        "process 703 is not set to this value",
        "is in a container",
        "no such knob",
    ]) {
        assert!(why.contains(word), "{why}");
    }
}

#[test]
fn a_machine_without_systemd_keeps_what_it_can() {
    let root = Root::from_tree(
        Tree::new()
            .file("/etc/sysctl.d/x.conf", "")
            .file("/proc/sys/vm/swappiness", "60\n")
            .file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
    );
    let settings =
        [setting("swappiness", "machine", "1"), setting("transparent-huge-pages", "machine", "never")];
    let keeping = kept(&root, SESSION, "", &settings, Manner::Platform);
    assert_eq!(files(&keeping).len(), 1);
    assert!(keeping.not_kept[0].why.contains("systemd"), "{:?}", keeping.not_kept);
}

#[test]
fn a_profile_of_tuned_has_the_machines_settings() {
    let settings = [
        setting("swappiness", "machine", "10"),
        setting("transparent-huge-pages", "machine", "never"),
        setting("process-affinity", "700", "2-3"),
    ];
    let keeping = keeping(&settings, Manner::TunedProfile);
    let files = files(&keeping);
    assert_eq!(files[0].0, "/etc/tuned/pinwise-1763700000-4711/tuned.conf");
    assert!(
        files[0].1.ends_with(
            "[main]\nsummary=pinwise session 1763700000-4711\n\n[sysctl]\nvm.swappiness=10\n\n\
             [sysfs]\n/sys/kernel/mm/transparent_hugepage/enabled=never\n"
        ),
        "{}",
        files[0].1
    );
    assert_eq!(keeping.not_kept.len(), 1);
}
