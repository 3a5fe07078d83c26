//! The kernel's own threads, by what they do: which of them may come to a CPU that should be quiet, and which can be
//! moved (kernel/rcu, kernel/softirq.c, kernel/workqueue.c, kernel/irq/manage.c, mm/vmscan.c, mm/compaction.c).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::process::{policy_name, realtime_priority};
use super::scan::{Scan, Seen};
use crate::procfs::pid_status;
use crate::{CpuSet, Notes, ReadError, Root};

/// What a kernel thread does, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Handler of an interrupt line (`irq/NN-name`).
    Irq,
    /// RCU grace periods (`rcu_preempt`, `rcu_sched`, `rcu_tasks...`, `rcu_exp_...`).
    Rcu,
    /// RCU callbacks that were taken off a CPU with rcu_nocbs (`rcuop/N`, `rcuos/N`, `rcuob/N`).
    RcuOffloaded,
    /// Grace periods for a group of such CPUs (`rcuog/N`).
    RcuOffloadGroup,
    /// RCU callbacks of one CPU on a real-time kernel (`rcuc/N`), and priority boosting (`rcub/N`).
    RcuPerCpu,
    /// Soft interrupts that are too many for their interrupt (`ksoftirqd/N`).
    SoftIrqs,
    /// Timers that a real-time kernel runs outside of the timer interrupt, of one CPU (`ktimers/N`, kernel/softirq.c).
    Timers,
    /// Work that interrupts left, of one CPU on a real-time kernel (`irq_work/N`, kernel/irq_work.c).
    IrqWork,
    /// Polls one queue of a network card in place of a soft interrupt, where that was asked for (`napi/NAME-N`,
    /// net/core/dev.c; /sys/class/net/NAME/threaded).
    Napi,
    /// Packets that were passed to another CPU (RPS), of one CPU (`backlog_napi/N`, net/core/dev.c, from Linux 6.10 on).
    NapiBacklog,
    /// Moves tasks between CPUs and stops them (`migration/N`).
    Migration,
    /// Brings CPUs up and down (`cpuhp/N`).
    CpuHotplug,
    /// Workers of one CPU (`kworker/N:...`).
    WorkersPerCpu,
    /// Workers of any CPU; /sys/devices/virtual/workqueue/cpumask says which (`kworker/u...`).
    WorkersUnbound,
    /// Workers for when memory is short (`kworker/R-...`).
    WorkersRescue,
    /// Reclaims memory of a node (`kswapdN`).
    Reclaim,
    /// Compacts memory of a node (`kcompactdN`).
    Compaction,
    /// Merges equal pages (`ksmd`), makes huge pages (`khugepaged`), watches accesses (`kdamond`).
    MemoryScan,
    /// Moves packets for a guest (`vhost-PID`, a kernel thread before Linux 6.4).
    Vhost,
    /// Everything else.
    Other,
}

/// All threads of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelThreads {
    /// What they do.
    pub kind: Kind,
    /// How many there are.
    pub count: usize,
    /// CPUs on which any of them may run; `None` for kinds that are not looked at one by one, and when refused.
    pub cpus: Option<CpuSet>,
    /// How many of them may run on one CPU only.
    pub pinned: usize,
    /// How many of them the kernel does not let anybody move (PF_NO_SETAFFINITY).
    pub immovable: usize,
    /// Scheduling policies with real-time priority: `other`, `fifo 50`.
    pub policies: BTreeSet<String>,
    /// CPU time of all of them since boot, us.
    pub cpu_us: Option<u64>,
    /// Handlers of interrupt lines one by one; empty for other kinds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub irqs: Vec<IrqThread>,
}

/// The thread that handles an interrupt line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IrqThread {
    /// The line.
    pub irq: u32,
    /// Number of the thread.
    pub tid: u32,
    /// Name of the thread.
    pub name: String,
    /// CPUs on which it may run: it follows the line's affinity when the line is moved.
    pub cpus: Option<CpuSet>,
    /// Real-time priority (50 unless changed).
    pub realtime_priority: Option<u32>,
}

impl Kind {
    /// The kind of a name, and the CPU in it for threads that belong to one.
    fn of(comm: &str) -> (Self, Option<u32>) {
        let (start, rest) = comm.split_once('/').unwrap_or((comm, ""));
        let cpu = rest.split(':').next().and_then(|number| number.parse().ok());
        let numbered = |start: &str| {
            comm.strip_prefix(start)
                .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
        };
        match start {
            "irq" if irq(comm).is_some() => (Self::Irq, None),
            "rcuop" | "rcuos" | "rcuob" => (Self::RcuOffloaded, None),
            "rcuog" => (Self::RcuOffloadGroup, None),
            "rcuc" | "rcub" => (Self::RcuPerCpu, cpu.filter(|_| start == "rcuc")),
            "ksoftirqd" => (Self::SoftIrqs, cpu),
            "ktimers" if cpu.is_some() => (Self::Timers, cpu),
            "irq_work" if cpu.is_some() => (Self::IrqWork, cpu),
            "backlog_napi" if cpu.is_some() => (Self::NapiBacklog, cpu),
            "napi" if !rest.is_empty() => (Self::Napi, None),
            "migration" => (Self::Migration, cpu),
            "cpuhp" => (Self::CpuHotplug, cpu),
            "kworker" if rest.starts_with('u') => (Self::WorkersUnbound, None),
            "kworker" if rest.starts_with("R-") => (Self::WorkersRescue, None),
            "kworker" if cpu.is_some() => (Self::WorkersPerCpu, cpu),
            _ if comm.starts_with("rcu_") => (Self::Rcu, None),
            _ if numbered("kswapd") => (Self::Reclaim, None),
            _ if numbered("kcompactd") => (Self::Compaction, None),
            "ksmd" | "khugepaged" => (Self::MemoryScan, None),
            _ if comm.starts_with("kdamond") => (Self::MemoryScan, None),
            _ if numbered("vhost-") => (Self::Vhost, None),
            _ => (Self::Other, None),
        }
    }

    /// Whether threads of this kind are looked at one by one. The others belong to one CPU each, as their names say, or
    /// do too little to matter.
    fn is_looked_at(self) -> bool {
        !matches!(
            self,
            Self::SoftIrqs
                | Self::Timers
                | Self::IrqWork
                | Self::NapiBacklog
                | Self::Migration
                | Self::CpuHotplug
                | Self::WorkersPerCpu
                | Self::WorkersRescue
                | Self::RcuPerCpu
                | Self::Other
        )
    }
}

/// `irq/24-ACPI:Ged`, `irq/24-s-name`.
fn irq(comm: &str) -> Option<u32> {
    comm.strip_prefix("irq/")?.split_once('-')?.0.parse().ok()
}

/// Sums up the kernel threads that were seen, by kind.
pub(super) fn read(root: &Root, scan: &Scan, notes: &mut Notes) -> Vec<KernelThreads> {
    let ticks = root.ticks_per_s();
    let mut kinds: BTreeMap<Kind, KernelThreads> = BTreeMap::new();
    let mut refused: Option<(usize, ReadError)> = None;
    for seen in scan.seen.iter().filter(|seen| seen.kernel) {
        let (kind, of_cpu) = Kind::of(&seen.comm);
        let cpus = match kind.is_looked_at() {
            true => match allowed(root, seen.pid) {
                Err(e) if e.is_absent() => continue,
                Err(e) => {
                    refused = Some((refused.map_or(1, |(n, _)| n + 1), e));
                    None
                }
                Ok(cpus) => cpus,
            },
            // Bound by the kernel when it was made, and nobody can have changed that.
            false => of_cpu.filter(|_| seen.no_setaffinity == Some(true)).map(CpuSet::single),
        };
        kinds.entry(kind).or_insert_with(|| none_of(kind)).add(seen, cpus, ticks);
    }
    if let Some((count, why)) = refused {
        notes.missing(format!("affinity of {count} kernel threads"), why);
    }
    if kinds.is_empty() && scan.hidden.is_none() {
        notes.missing("kernel threads", "none is shown");
    }
    kinds.into_values().collect()
}

fn allowed(root: &Root, pid: u32) -> Result<Option<CpuSet>, ReadError> {
    let path = format!("/proc/{pid}/status");
    let status = root.read(&path)?;
    let status = pid_status::parse(&status).map_err(|why| ReadError::malformed(&path, why))?;
    Ok(status.cpus_allowed())
}

fn none_of(kind: Kind) -> KernelThreads {
    KernelThreads {
        kind,
        count: 0,
        cpus: None,
        pinned: 0,
        immovable: 0,
        policies: BTreeSet::new(),
        cpu_us: None,
        irqs: Vec::new(),
    }
}

impl KernelThreads {
    fn add(&mut self, seen: &Seen, cpus: Option<CpuSet>, ticks: Option<u64>) {
        self.count += 1;
        self.immovable += usize::from(seen.no_setaffinity == Some(true));
        self.pinned += usize::from(cpus.as_ref().is_some_and(|cpus| cpus.len() == 1));
        let realtime_priority = realtime_priority(seen.realtime_priority);
        self.policies.extend(seen.policy.map(|policy| match realtime_priority {
            Some(priority) => format!("{} {priority}", policy_name(policy)),
            None => policy_name(policy),
        }));
        let us = ticks.zip(seen.cpu_ticks);
        let us = us.map(|(ticks, spent)| (u128::from(spent) * 1_000_000 / u128::from(ticks)) as u64);
        // Where one of them is not known, their sum is not.
        self.cpu_us = match self.count {
            1 => us,
            _ => self.cpu_us.zip(us).map(|(sum, us)| sum.saturating_add(us)),
        };
        if let (Kind::Irq, Some(irq)) = (self.kind, irq(&seen.comm)) {
            let (tid, name) = (seen.pid, seen.comm.clone());
            self.irqs.push(IrqThread { irq, tid, name, cpus: cpus.clone(), realtime_priority });
        }
        if let Some(cpus) = cpus {
            let all = self.cpus.get_or_insert_default();
            // Most threads of a kind may run on the same CPUs: thousands of equal masks are not merged one by one.
            if !cpus.is_subset(all) {
                all.extend(cpus.iter());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scan::{self, tests::BOUND, tests::KERNEL, tests::stat};
    use super::*;
    use crate::{Missing, Tree};

    fn of(tree: Tree) -> (Vec<KernelThreads>, Vec<Missing>) {
        let root = Root::from_tree(tree.file("/proc/1/stat", stat(1, "systemd", 0, 0)));
        let mut notes = Notes::new();
        let threads = read(&root, &scan::read(&root).unwrap(), &mut notes);
        (threads, notes.into_vec())
    }

    fn thread(tree: Tree, pid: u32, comm: &str, flags: u64, cpus: Option<&str>) -> Tree {
        let tree = tree.file(&format!("/proc/{pid}/stat"), stat(pid, comm, 2, flags));
        match cpus {
            Some(cpus) => tree.file(&format!("/proc/{pid}/status"), format!("Cpus_allowed_list:\t{cpus}\n")),
            None => tree.denied(&format!("/proc/{pid}/status")),
        }
    }

    #[test]
    fn each_kind_with_its_cpus() {
        let mut tree = Tree::new();
        for (pid, comm, flags, cpus) in [
            (14, "ksoftirqd/0", BOUND, None),
            (15, "ksoftirqd/5", BOUND, None),
            (16, "rcu_preempt", KERNEL, Some("0-7")),
            (17, "rcuop/3", KERNEL, Some("0-1")),
            (18, "rcuop/4", KERNEL, Some("2")),
            (19, "kworker/u16:2-flush", BOUND, Some("0-7")),
            (20, "kworker/3:1H-kblockd", BOUND, None),
            (21, "irq/38-eth0-rx-0", KERNEL, Some("3")),
            (22, "kswapd0", KERNEL, Some("0-3")),
            (23, "kswapd1", KERNEL, Some("4-7")),
            (24, "kauditd", KERNEL, None),
            (25, "ktimers/1", BOUND, None),
            (26, "irq_work/1", BOUND, None),
            (27, "backlog_napi/12", BOUND, None),
            (28, "napi/eth0-8193", KERNEL, Some("0-7")),
            (29, "napi/eth0-8194", KERNEL, Some("2")),
        ] {
            tree = thread(tree, pid, comm, flags, cpus);
        }
        let fifo = stat(21, "irq/38-eth0-rx-0", 2, KERNEL).replace(" 17 1 0 0 ", " 17 1 50 1 ");
        let (threads, missing) = of(tree.file("/proc/21/stat", fifo));
        assert_eq!(missing, []);
        let told: Vec<_> = threads
            .iter()
            .map(|t| {
                (
                    t.kind,
                    t.count,
                    t.cpus.as_ref().map(CpuSet::to_list).unwrap_or_default(),
                    t.pinned,
                    t.immovable,
                )
            })
            .collect();
        let row =
            |kind, count, cpus: &str, pinned, immovable| (kind, count, cpus.to_string(), pinned, immovable);
        assert_eq!(
            told,
            [
                row(Kind::Irq, 1, "3", 1, 0),
                row(Kind::Rcu, 1, "0-7", 0, 0),
                row(Kind::RcuOffloaded, 2, "0-2", 1, 0),
                row(Kind::SoftIrqs, 2, "0,5", 2, 2),
                row(Kind::Timers, 1, "1", 1, 1),
                row(Kind::IrqWork, 1, "1", 1, 1),
                row(Kind::Napi, 2, "0-7", 1, 0),
                row(Kind::NapiBacklog, 1, "12", 1, 1),
                row(Kind::WorkersPerCpu, 1, "3", 1, 1),
                row(Kind::WorkersUnbound, 1, "0-7", 0, 1),
                row(Kind::Reclaim, 2, "0-7", 0, 0),
                row(Kind::Other, 1, "", 0, 0),
            ]
        );
        let irq = &threads[0];
        assert_eq!((irq.irqs[0].irq, irq.irqs[0].realtime_priority), (38, Some(50)));
        assert!(irq.policies.contains("fifo 50") && irq.cpu_us.is_none());
    }

    #[test]
    fn refused_threads_are_missing_in_one_line_and_no_threads_too() {
        let tree =
            thread(thread(Tree::new(), 16, "rcu_preempt", KERNEL, None), 17, "rcu_sched", KERNEL, None);
        let (threads, missing) = of(tree);
        assert_eq!((threads[0].count, &threads[0].cpus, missing.len()), (2, &None, 1));
        assert_eq!(missing[0].fact, "affinity of 2 kernel threads");
        assert_eq!(of(Tree::new()).1[0].fact, "kernel threads");
    }

    #[test]
    fn names_and_their_malformed_twins() {
        assert_eq!(Kind::of("kworker/0:0H-events"), (Kind::WorkersPerCpu, Some(0)));
        assert_eq!(Kind::of("kworker/R-netns"), (Kind::WorkersRescue, None));
        assert_eq!(Kind::of("irq/24-s-mlx5"), (Kind::Irq, None));
        assert_eq!(Kind::of("kdamond.0"), (Kind::MemoryScan, None));
        assert_eq!(Kind::of("rcuc/1"), (Kind::RcuPerCpu, Some(1)));
        // Names of interfaces can hold nearly anything.
        assert_eq!(Kind::of("napi/br-1a/x-64"), (Kind::Napi, None));
        for other in [
            "irq/x-eth0",
            "irq/24",
            "kswapd",
            "kswapdx",
            "kworker/",
            "kworker/dying",
            "vhost-",
            "ktimers/",
            "ktimersd",
            "irq_work/x",
            "backlog_napi",
            "napi/",
            "",
            "/",
        ] {
            assert_eq!(Kind::of(other).0, Kind::Other, "{other}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_name_panics(comm in "(irq/|napi/|ktimers/|kworker/|u|rcuo|[0-9]|:|-|/|.){0,15}") {
            let _ = Kind::of(&comm);
        }
    }
}
