//! Which CPUs a thread of the kernel may use.

use std::collections::BTreeMap;

use crate::knobs::file::names;
use crate::knobs::process::process_affinity::threads;
use crate::knobs::{About, Knob, MaySet, OwnerId, Target, cpus, no_such};
use crate::procfs::{pid_stat, pid_status};
use crate::{Act, Class, Fault, Root};

/// The knob.
#[derive(Debug)]
pub struct KernelThreadAffinity;

static ABOUT: About = About {
    id: "kernel-thread-affinity",
    title: "CPUs that a thread of the kernel may use",
    docs: "Keeps RCU's, the memory scanners' and other threads of the kernel off the CPUs of a server: rcu_preempt, \
           rcuop/N, kcompactdN, kswapdN, khugepaged, ksmd, napi/NAME-N.",
    unit: "CPU list",
    scope: "one movable thread of the kernel by its name; NAME:PID where several have it",
    owner: "tuned (isolated_cores moves them at start), tuna, the boot parameters isolcpus=, nohz_full= and rcu_nocbs=; the \
            kernel itself for kswapd and kcompactd at CPU hotplug",
    owners: &[OwnerId::Tuned, OwnerId::Tuna],
    risk: "kswapd away from its node reclaims more slowly. Threads that are bound to a CPU (PF_NO_SETAFFINITY) are not \
           offered; kworkers follow workqueue-cpus, and handlers of interrupts irq-affinity.",
    may_set: MaySet::Root,
    source: "Documentation/admin-guide/kernel-per-CPU-kthreads.rst; sched_setaffinity(2)",
};

/// Kernel threads that can be moved and are: name, process number.
fn movable(root: &Root) -> Result<BTreeMap<String, Vec<u32>>, Fault> {
    let mut threads: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for pid in names(root, "/proc")?.iter().filter_map(|name| name.parse::<u32>().ok()) {
        let Ok(text) = root.read(format!("/proc/{pid}/stat")) else { continue };
        let Ok(stat) = pid_stat::parse(&text) else { continue };
        // What kthreadd is allowed, later threads inherit.
        let left_out = ["kworker/", "irq/"].iter().any(|start| stat.comm.starts_with(start));
        if stat.is_kernel_thread()
            && stat.no_setaffinity() == Some(false)
            && !left_out
            && stat.comm != "kthreadd"
        {
            threads.entry(stat.comm.to_string()).or_default().push(pid);
        }
    }
    Ok(threads)
}

/// The names of targets with their process numbers.
fn named(root: &Root) -> Result<BTreeMap<String, u32>, Fault> {
    let named = movable(root)?.into_iter().flat_map(|(name, pids)| {
        let several = pids.len() > 1;
        pids.into_iter().map(move |pid| match several {
            true => (format!("{name}:{pid}"), pid),
            false => (name.clone(), pid),
        })
    });
    Ok(named.collect())
}

fn pid(root: &Root, target: &str) -> Result<u32, Fault> {
    let none = || no_such(&ABOUT, target, "no thread of the kernel that can be moved has this name");
    named(root)?.get(target).copied().ok_or_else(none)
}

impl Knob for KernelThreadAffinity {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn targets(&self, root: &Root) -> Result<Vec<Target>, Fault> {
        let named = named(root)?.into_iter();
        Ok(named.map(|(id, pid)| Target { id, what: format!("kernel thread {pid}") }).collect())
    }

    fn read(&self, root: &Root, target: &str) -> Result<String, Fault> {
        let path = format!("/proc/{}/status", pid(root, target)?);
        let text = root.read(&path)?;
        let allowed = pid_status::parse(&text).ok().and_then(|status| status.cpus_allowed());
        let malformed = || Fault::new(Class::Storage, &path, "has no Cpus_allowed_list", "mount /proc anew");
        Ok(allowed.ok_or_else(malformed)?.to_list())
    }

    fn change(&self, root: &Root, target: &str, value: &str) -> Result<Vec<Act>, Fault> {
        let pid = pid(root, target)?;
        let cpus = cpus(root, &ABOUT, target, value)?;
        if cpus.is_empty() {
            let object = format!("{} of {target}", ABOUT.id);
            return Err(Fault::new(Class::Usage, object, "the set is empty", "name at least one CPU"));
        }
        let threads = threads(root, &ABOUT, &pid.to_string())?.into_iter();
        Ok(threads.map(|thread| Act::SetAffinity { thread, cpus: cpus.clone() }).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    #[test]
    fn only_what_the_kernel_lets_move_is_offered() {
        let mut tree = Tree::new().file("/sys/devices/system/cpu/online", "0-3\n").dir("/proc/sys");
        let threads = [
            (2, "kthreadd", 0x0020_8040),
            (14, "ksoftirqd/0", 0x0420_8040),
            (15, "rcu_preempt", 0x0020_8040),
            (16, "kworker/u8:1", 0x0020_8040),
            (17, "irq/24-eth0", 0x0020_8040),
            (18, "kdamond.0", 0x0020_8040),
            (19, "kdamond.0", 0x0020_8040),
            (90, "server", 0x0040_0000),
        ];
        for (pid, name, flags) in threads {
            let stat = format!("{pid} ({name}) S 2 0 0 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 1 0 {pid} 0 0\n");
            tree = tree.file(&format!("/proc/{pid}/stat"), stat.clone());
            tree = tree.file(&format!("/proc/{pid}/task/{pid}/stat"), stat);
            tree = tree.file(&format!("/proc/{pid}/status"), "Cpus_allowed_list:\t0-3\n");
        }
        let root = Root::from_tree(tree);
        let knob = KernelThreadAffinity;
        let ids: Vec<String> = knob.targets(&root).unwrap().into_iter().map(|target| target.id).collect();
        assert_eq!(ids, ["kdamond.0:18", "kdamond.0:19", "rcu_preempt"]);
        assert_eq!(knob.read(&root, "rcu_preempt").unwrap(), "0-3");
        let acts = knob.change(&root, "rcu_preempt", "1").unwrap();
        assert!(
            matches!(&acts[..], [Act::SetAffinity { thread, .. }] if thread.start_time_ticks == 15),
            "{acts:?}"
        );
        for (target, value) in
            [("ksoftirqd/0", "1"), ("server", "1"), ("rcu_preempt", ""), ("rcu_preempt", "9")]
        {
            assert!(knob.change(&root, target, value).is_err(), "{target} {value}");
        }
    }
}
