//! Settings of the running kernel that bear on where and how evenly a server runs
//! (Documentation/admin-guide/sysctl/{kernel,vm,net}.rst, mm/transhuge.rst, core-api/workqueue.rst).

use std::collections::BTreeMap;

use crate::{Notes, Root};

/// What is read below /proc/sys, named as sysctl(8) names it.
const SYSCTLS: [&str; 36] = [
    "kernel.numa_balancing",
    "kernel.sched_autogroup_enabled",
    "kernel.sched_rt_period_us",
    "kernel.sched_rt_runtime_us",
    "kernel.sched_schedstats",
    "kernel.timer_migration",
    "kernel.watchdog",
    "kernel.nmi_watchdog",
    "kernel.soft_watchdog",
    "kernel.watchdog_thresh",
    "kernel.watchdog_cpumask",
    "kernel.hung_task_timeout_secs",
    "kernel.perf_event_paranoid",
    "kernel.perf_event_max_sample_rate",
    "kernel.unprivileged_bpf_disabled",
    "kernel.task_delayacct",
    "vm.compaction_proactiveness",
    "vm.dirty_background_bytes",
    "vm.dirty_background_ratio",
    "vm.dirty_bytes",
    "vm.dirty_ratio",
    "vm.dirty_expire_centisecs",
    "vm.dirty_writeback_centisecs",
    "vm.min_free_kbytes",
    "vm.nr_hugepages",
    "vm.overcommit_memory",
    "vm.stat_interval",
    "vm.swappiness",
    "vm.zone_reclaim_mode",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.dev_weight",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.core.rps_sock_flow_entries",
];

/// What is read elsewhere: name here, file.
const FILES: [(&str, &str); 19] = [
    ("irq.default_smp_affinity", "/proc/irq/default_smp_affinity"),
    ("ksm.run", "/sys/kernel/mm/ksm/run"),
    ("numa.demotion_enabled", "/sys/kernel/mm/numa/demotion_enabled"),
    ("swap.zswap", "/sys/module/zswap/parameters/enabled"),
    ("transparent_hugepage.enabled", "/sys/kernel/mm/transparent_hugepage/enabled"),
    ("transparent_hugepage.defrag", "/sys/kernel/mm/transparent_hugepage/defrag"),
    ("transparent_hugepage.khugepaged_defrag", "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag"),
    ("workqueue.cpumask", "/sys/devices/virtual/workqueue/cpumask"),
    ("workqueue.cpumask_isolated", "/sys/devices/virtual/workqueue/cpumask_isolated"),
    ("writeback.cpumask", "/sys/devices/virtual/workqueue/writeback/cpumask"),
    ("writeback.numa", "/sys/devices/virtual/workqueue/writeback/numa"),
    ("kvm.halt_poll_ns", "/sys/module/kvm/parameters/halt_poll_ns"),
    ("haltpoll.guest_halt_poll_ns", "/sys/module/haltpoll/parameters/guest_halt_poll_ns"),
    ("intel_idle.max_cstate", "/sys/module/intel_idle/parameters/max_cstate"),
    ("processor.max_cstate", "/sys/module/processor/parameters/max_cstate"),
    ("nvme.poll_queues", "/sys/module/nvme/parameters/poll_queues"),
    ("rcupdate.rcu_expedited", "/sys/kernel/rcu_expedited"),
    ("rcupdate.rcu_normal", "/sys/kernel/rcu_normal"),
    ("sched.itmt_enabled", "/proc/sys/kernel/sched_itmt_enabled"),
];

/// Folder of the weaknesses of the CPU and what is done against them, by file.
const VULNERABILITIES: &str = "/sys/devices/system/cpu/vulnerabilities";

/// Reads the settings that this kernel has, by name, as it prints them. One that is absent says only that the kernel
/// was built without it; one that cannot be read is missing.
pub(super) fn read(root: &Root, notes: &mut Notes) -> BTreeMap<String, String> {
    let sysctls = SYSCTLS.iter().map(|name| (*name, format!("/proc/sys/{}", name.replace('.', "/"))));
    let files = FILES.iter().map(|(name, file)| (*name, file.to_string()));
    let mut tunables = BTreeMap::new();
    for (name, file) in sysctls.chain(files) {
        match root.line(&file) {
            Err(e) if e.is_absent() => {}
            other => {
                tunables.extend(notes.keep(name, other).map(|value| (name.to_string(), value)));
            }
        }
    }
    tunables
}

/// Reads what the kernel does against weaknesses of the CPU: its remedies cost time at each entry of the kernel.
pub(super) fn mitigations(root: &Root) -> BTreeMap<String, String> {
    let names = root.list(VULNERABILITIES).unwrap_or_default();
    let told = |name: String| Some((name.clone(), root.line(format!("{VULNERABILITIES}/{name}")).ok()?));
    names.into_iter().filter_map(told).collect()
}

/// The choice in force of a file that lists all: `always [madvise] never` is `madvise`; any other text as it is.
pub fn chosen(text: &str) -> &str {
    let inside = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(choice, _)| choice);
    inside.unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    #[test]
    fn present_absent_and_denied_settings() {
        let tree = Tree::new()
            .file("/proc/sys/vm/swappiness", "60\n")
            .denied("/proc/sys/kernel/numa_balancing")
            .file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
            .file(&format!("{VULNERABILITIES}/meltdown"), "Mitigation: PTI\n");
        let root = Root::from_tree(tree);
        let mut notes = Notes::new();
        let tunables = read(&root, &mut notes);
        assert_eq!(tunables["vm.swappiness"], "60");
        assert_eq!(chosen(&tunables["transparent_hugepage.enabled"]), "madvise");
        assert_eq!(tunables.len(), 2);
        let missing = notes.into_vec();
        assert_eq!(missing.len(), 1);
        assert_eq!(missing[0].fact, "kernel.numa_balancing");
        assert_eq!(mitigations(&root)["meltdown"], "Mitigation: PTI");
        assert_eq!((chosen("60"), chosen("a [b"), chosen("]x[")), ("60", "a [b", "]x["));
    }
}
