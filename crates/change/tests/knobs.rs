//! Every knob, on every machine that offers it: what it asks for is performed and taken back.
//!
//! The machines are made up here, recorded in fixtures/machines, and the one that the test runs on - of which only
//! the files are read: the acts are performed on the emulated kernel.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use another_value::another_value;
use machine::ethtool::{ChannelKind, EthtoolState, Feature, Figure, Report, Topic};
use machine::knobs;
use machine::processes::numa_memory::NumaMemory;
use machine::{Act, GuestPart, GuestPin, PinScope, ProcessRef, Root, Scheduling, ThreadRef, Tree};
use pinwise_change::emulated_kernel::{EmulatedState, EmulatedThread};
use pinwise_change::{EmulatedKernel, Hand};

mod another_value;

/// What the emulated machine looks like to a reader.
fn root_of(state: &EmulatedState) -> Root {
    let mut tree = Tree::new();
    let mut facts = Vec::new();
    for ((_, path), content) in &state.files {
        tree = tree.file(path.to_str().unwrap(), content.clone());
    }
    for (tid, thread) in &state.threads {
        let (policy, priority) = match thread.scheduling.scheduling {
            Scheduling::Other { .. } => (0, 0),
            Scheduling::Fifo { priority } => (1, priority),
            Scheduling::RoundRobin { priority } => (2, priority),
            Scheduling::Batch { .. } => (3, 0),
            Scheduling::Idle => (5, 0),
        };
        let (pid, nice, start) = (thread.pid, thread.scheduling.nice, thread.start_time_ticks);
        facts.push((format!("io_priority {tid}"), thread.io_priority.to_string()));
        let zeros = "0 ".repeat(17);
        let (name, flags) = match (pid, tid - pid) {
            (KERNEL_THREAD, _) => ("rcu_preempt", 0x0020_8040),
            (IRQBALANCE, _) => ("irqbalance", 0),
            (GUEST | LIBVIRT_GUEST, 1) => ("CPU 0/KVM", 0),
            (GUEST | LIBVIRT_GUEST, 2) => ("IO iothread1", 0),
            (GUEST, 3) => ("vhost-70", 0),
            (GUEST | LIBVIRT_GUEST, _) => ("qemu-system-x86", 0),
            _ => ("server", 0),
        };
        let clamp = thread.util_clamp;
        let sched = format!("uclamp.min  :  {}\nuclamp.max  :  {}\n", clamp.min, clamp.max);
        let stat = format!(
            "{tid} ({name}) S 1 {pid} {pid} 0 -1 {flags} 0 0 0 0 0 0 0 0 20 {nice} 2 0 {start} {zeros}{priority} {policy} 0\n"
        );
        let folder = format!("/proc/{pid}/task/{tid}");
        tree = tree
            .file(&format!("{folder}/status"), format!("Cpus_allowed_list:\t{}\n", thread.affinity))
            .file(&format!("{folder}/sched"), sched)
            .file(&format!("{folder}/stat"), stat.clone());
        if *tid == pid {
            tree = tree.file(&format!("/proc/{pid}/stat"), stat);
            tree = tree
                .file(&format!("/proc/{pid}/status"), format!("Cpus_allowed_list:\t{}\n", thread.affinity));
        }
    }
    for (pid, bytes) in &state.memory {
        let pages: String = bytes.iter().map(|(node, bytes)| format!(" N{node}={}", bytes / 4096)).collect();
        tree = tree.file(
            &format!("/proc/{pid}/numa_maps"),
            format!("1000 default anon=1{pages} kernelpagesize_kB=4\n"),
        );
    }
    tree = tree.link("/sys/class/net/eth0/device", "../../../devices/pci0000:00/0000:00:05.0");
    facts.extend(ethtool_facts(state));
    facts.push(("pm_qos_cpu_latency_us".into(), state.cpu_latency_us().to_string()));
    for (pid, irqs) in &state.irq_bans {
        let irqs: String = irqs.iter().map(|irq| format!("IRQ {irq} LOAD 0 DIFF 0 CLASS 0 ")).collect();
        facts.push((format!("irqbalance {pid}"), format!("SLEEP 10 {irqs}BANNED 00000000")));
    }
    facts.into_iter().fold(Root::from_tree(tree), |root, (name, value)| root.with_fact(name, value))
}

/// What the drivers report, each card with twice as many channels as it uses.
fn ethtool_facts(state: &EmulatedState) -> Vec<(String, String)> {
    let mut reported: BTreeMap<&str, BTreeMap<String, BTreeMap<String, u32>>> = BTreeMap::new();
    for ((_, device, topic), state) in &state.ethtool {
        let groups = reported.entry(device).or_default();
        let mut keep = |group: &str, name: String, value: u32| {
            groups.entry(group.into()).or_default().insert(name, value);
        };
        match (topic, state) {
            (_, EthtoolState::Channels { counts }) => counts.iter().for_each(|(kind, count)| {
                keep("channels", kind.name().into(), *count);
                keep("channels", format!("{}_max", kind.name()), 4);
            }),
            (_, EthtoolState::Coalescing { figures }) => {
                figures.iter().for_each(|(figure, n)| keep("coalesce", figure.name().replace('-', "_"), *n));
            }
            (Topic::Feature(feature), EthtoolState::Feature { wanted, active }) => {
                keep("features_changeable", feature.name().into(), 1);
                keep("features_wanted", feature.name().into(), (*wanted).into());
                keep("features", feature.name().into(), (*active).into());
            }
            other => panic!("{other:?}"),
        }
    }
    let json = |reported: &BTreeMap<_, _>| serde_json::to_string(reported).unwrap();
    reported.iter().map(|(device, reported)| (format!("ethtool {device}"), json(reported))).collect()
}

/// Number of the one thread of the kernel on the emulated machine.
const KERNEL_THREAD: u32 = 15;

/// Number of the irqbalance that runs there, and leaves an interrupt alone that is not there any more.
const IRQBALANCE: u32 = 60;

/// Numbers of two guests that run there, one of them by libvirt.
const GUEST: u32 = 70;
const LIBVIRT_GUEST: u32 = 80;

/// Files that hold one value, on the machine that offers every knob. Two stand beside those: ends of ranges and menus.
const FILES: &[(&str, &str)] = &[
    ("/sys/devices/system/cpu/online", "0-3"),
    ("/sys/devices/system/node/has_memory", "0-1"),
    ("/proc/irq/default_smp_affinity", "f"),
    ("/proc/irq/38/smp_affinity_list", "0-3"),
    ("/proc/irq/4/smp_affinity", "f"),
    ("/sys/devices/pci0000:00/0000:00:05.0/msi_irqs/4", "msix"),
    ("/sys/devices/pci0000:00/0000:00:05.0/msi_irqs/38", "msix"),
    ("/sys/kernel/irq/4/actions", "eth0-config"),
    ("/sys/kernel/irq/38/actions", "eth0-rx-0"),
    ("/sys/class/net/eth0/queues/rx-0/rps_cpus", "0"),
    ("/sys/class/net/eth0/queues/rx-0/rps_flow_cnt", "0"),
    ("/sys/class/net/eth0/queues/rx-1/rps_cpus", "3"),
    ("/sys/class/net/eth0/queues/tx-0/xps_cpus", "0"),
    ("/sys/class/net/eth0/gro_flush_timeout", "0"),
    ("/sys/class/net/eth0/napi_defer_hard_irqs", "0"),
    ("/sys/class/net/eth0/threaded", "0"),
    ("/proc/sys/net/core/rps_sock_flow_entries", "0"),
    ("/proc/sys/net/core/busy_poll", "0"),
    ("/proc/sys/net/core/busy_read", "0"),
    ("/proc/sys/net/core/netdev_max_backlog", "1000"),
    ("/proc/sys/net/core/netdev_budget", "300"),
    ("/proc/sys/net/core/netdev_budget_usecs", "2000"),
    ("/sys/devices/system/cpu/cpu0/power/pm_qos_resume_latency_us", "0"),
    ("/sys/devices/system/cpu/cpu1/power/pm_qos_resume_latency_us", "n/a"),
    ("/sys/devices/system/cpu/cpu0/cpuidle/state1/disable", "0"),
    ("/sys/devices/system/cpu/cpufreq/boost", "1"),
    ("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave"),
    ("/sys/devices/system/cpu/cpufreq/policy0/scaling_available_governors", "performance powersave"),
    ("/sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference", "balance_performance"),
    (
        "/sys/devices/system/cpu/cpufreq/policy0/energy_performance_available_preferences",
        "default performance balance_performance power",
    ),
    ("/sys/devices/system/cpu/cpufreq/policy0/cpuinfo_min_freq", "800000"),
    ("/sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq", "3500000"),
    ("/sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq", "900000"),
    ("/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq", "3500000"),
    ("/sys/devices/virtual/workqueue/cpumask", "f"),
    ("/sys/devices/virtual/workqueue/writeback/cpumask", "f"),
    ("/sys/devices/virtual/workqueue/writeback/numa", "1"),
    ("/proc/sys/vm/stat_interval", "1"),
    ("/proc/sys/vm/dirty_ratio", "20"),
    ("/proc/sys/vm/dirty_bytes", "0"),
    ("/proc/sys/vm/dirty_background_ratio", "0"),
    ("/proc/sys/vm/dirty_background_bytes", "268435456"),
    ("/proc/sys/vm/dirty_expire_centisecs", "3000"),
    ("/proc/sys/vm/dirty_writeback_centisecs", "500"),
    ("/proc/sys/vm/swappiness", "60"),
    ("/proc/sys/vm/zone_reclaim_mode", "0"),
    ("/proc/sys/kernel/watchdog_cpumask", "0-3"),
    ("/proc/sys/kernel/nmi_watchdog", "1"),
    ("/proc/sys/kernel/soft_watchdog", "1"),
    ("/proc/sys/kernel/numa_balancing", "0"),
    ("/proc/sys/kernel/timer_migration", "1"),
    ("/proc/sys/kernel/sched_rt_runtime_us", "950000"),
    ("/proc/sys/kernel/sched_rt_period_us", "1000000"),
    ("/proc/sys/kernel/sched_autogroup_enabled", "1"),
    ("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never"),
    ("/sys/kernel/mm/transparent_hugepage/defrag", "always defer defer+madvise [madvise] never"),
    ("/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "0"),
    ("/sys/devices/system/node/node0/hugepages/hugepages-1048576kB/nr_hugepages", "0"),
    (
        "/proc/self/mountinfo",
        "34 31 0:31 / /cg rw - cgroup cgroup rw,cpuset\n35 31 0:32 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
    ),
    ("/sys/kernel/mm/mempolicy/weighted_interleave/auto", "true"),
    ("/sys/devices/system/node/node1/access1/initiators/read_bandwidth", "9000"),
    ("/sys/kernel/mm/mempolicy/weighted_interleave/node0", "5"),
    ("/sys/kernel/mm/mempolicy/weighted_interleave/node1", "1"),
    ("/cg/batch/tasks", ""),
    ("/cg/batch/cpuset.cpus", "0-3"),
    ("/cg/batch/cpuset.mems", "0-1"),
    ("/etc/default/grub.d/kdump.cfg", ""),
    ("/usr/sbin/update-grub", ""),
    ("/run/systemd/system/x", ""),
    ("/sys/fs/cgroup/system.slice/nginx.service/cgroup.procs", "50"),
    ("/proc/50/oom_score_adj", "0"),
    ("/proc/50/autogroup", "/autogroup-12 nice 0"),
    ("/proc/1000/oom_score_adj", "0"),
    ("/proc/15/oom_score_adj", "0"),
    ("/proc/60/oom_score_adj", "0"),
    ("/proc/70/oom_score_adj", "0"),
    ("/proc/80/oom_score_adj", "0"),
    ("/proc/70/cmdline", "qemu\0-name\0db,debug-threads=on\0"),
    (
        "/proc/80/cmdline",
        "qemu\0-name\0guest=web,debug-threads=on\0-uuid\0f37c6602-cd1f-4a54-94c3-e9fbfe9aff94\0",
    ),
    ("/run/libvirt/qemu/web.pid", "80"),
    ("/run/irqbalance/irqbalance60.sock", ""),
    ("/proc/60/net/unix", "0: 2 0 10000 1 1 5 /run/irqbalance/irqbalance60.sock"),
];

/// A machine that offers every knob.
fn machine() -> EmulatedKernel {
    let kernel = EmulatedKernel::new();
    FILES.iter().for_each(|(path, content)| kernel.add_file(*path, &format!("{content}\n")));
    let channels = EthtoolState::Channels { counts: [(ChannelKind::Combined, 2)].into() };
    kernel.add_ethtool(None, "eth0", Topic::Channels, channels);
    let figures = [(Figure::RxUsecs, 50), (Figure::AdaptiveRx, 0)].into();
    kernel.add_ethtool(None, "eth0", Topic::Coalescing, EthtoolState::Coalescing { figures });
    for feature in Feature::ALL {
        let state = EthtoolState::Feature { wanted: true, active: true };
        kernel.add_ethtool(None, "eth0", Topic::Feature(feature), state);
    }
    kernel.add_process(KERNEL_THREAD, 2);
    kernel.add_process(50, 1);
    kernel.add_thread(50, 51);
    kernel.add_irqbalance(IRQBALANCE, &[7]);
    for pid in [50, IRQBALANCE, 1000, GUEST, LIBVIRT_GUEST] {
        kernel.set_memory(pid, &[(0, 1 << 30)]);
    }
    kernel.add_process(GUEST, 1);
    for n in 1..5 {
        kernel.add_thread(GUEST, GUEST + n);
    }
    let process = kernel.add_process(LIBVIRT_GUEST, 1);
    let parts = [GuestPart::Vcpu { vcpu: 0 }, GuestPart::IoThread { id: 1 }];
    for (n, part) in (1..).zip(parts) {
        kernel.add_thread(LIBVIRT_GUEST, LIBVIRT_GUEST + n);
        kernel.add_guest_pin(pin(process, part), &[LIBVIRT_GUEST + n]);
    }
    kernel.add_guest_pin(pin(process, GuestPart::Emulator), &[LIBVIRT_GUEST]);
    kernel
}

/// What libvirt places of its guest.
fn pin(process: ProcessRef, part: GuestPart) -> GuestPin {
    let uuid = "f37c6602-cd1f-4a54-94c3-e9fbfe9aff94".into();
    GuestPin { name: "web".into(), uuid, part, scope: PinScope::Running { process } }
}

#[test]
fn each_knob_reads_back_what_was_set_and_is_undone() {
    let kernel = machine();
    let before = kernel.state();
    for knob in knobs::ALL {
        let targets = knob.targets(&root_of(&before)).unwrap();
        assert!(!targets.is_empty(), "{} has no target on a machine that offers it", knob.about().id);
        for target in targets {
            let what = format!("{} of {}", knob.about().id, target.id);
            let root = root_of(&kernel.state());
            let value = another_value(*knob, &knob.read(&root, &target.id).unwrap(), &root);
            let dir = tempfile::tempdir().unwrap();
            let mut hand = Hand::with(Arc::new(kernel.clone()), dir.path(), &what).unwrap();
            for act in knob.change(&root, &target.id, &value).unwrap() {
                assert!(hand.perform(&act).unwrap().took_effect, "{what}: {act:?}");
            }
            assert_eq!(knob.read(&root_of(&kernel.state()), &target.id).unwrap(), value, "{what}");
            assert!(hand.undo_all().iter().all(|undone| undone.how.is_final()), "{what}");
            assert_eq!(kernel.state(), before, "{what}");
            hand.finish().unwrap();
        }
    }
}

/// An emulated kernel that has just what the acts are about, as `root` shows it.
fn kernel_for(root: &Root, acts: &[Act]) -> EmulatedKernel {
    let kernel = EmulatedKernel::new();
    let insert = |thread: &ThreadRef| {
        let start_time_ticks = thread.start_time_ticks;
        kernel.insert_thread(
            thread.tid,
            EmulatedThread { start_time_ticks, ..EmulatedThread::new(thread.pid) },
        );
    };
    for act in acts {
        match act {
            Act::WriteFile { path, netns, .. } => {
                kernel.add_file_in(netns.as_deref(), path, &root.read(path).unwrap());
                // Those that the kernel changes with it.
                for name in ["dirty_ratio", "dirty_bytes", "dirty_background_ratio", "dirty_background_bytes"]
                {
                    let twin = path.with_file_name(name);
                    if let Ok(text) = root.read(&twin) {
                        kernel.add_file(twin, &text);
                    }
                }
            }
            Act::SetAffinity { thread, .. }
            | Act::SetScheduling { thread, .. }
            | Act::SetIoPriority { thread, .. }
            | Act::SetUtilClamp { thread, .. } => insert(thread),
            Act::WriteProcessFile { process, file, .. } => {
                let ProcessRef { pid, start_time_ticks } = *process;
                insert(&ThreadRef { pid, tid: pid, start_time_ticks });
                let path = format!("/proc/{pid}/{}", file.name());
                kernel.add_file(&path, &root.read(&path).unwrap_or_else(|_| "0\n".into()));
            }
            Act::SetEthtool { device, netns, setting } => {
                let reported: Report =
                    serde_json::from_str(&root.fact(&format!("ethtool {device}")).unwrap()).unwrap();
                let state = reported.state(setting.topic()).unwrap();
                kernel.add_ethtool(netns.as_deref(), device, setting.topic(), state);
            }
            // None is there before.
            Act::PlaceFile { .. } => {}
            Act::HoldLatency { .. } => {}
            Act::MigratePages { process, .. } => {
                let ProcessRef { pid, start_time_ticks } = *process;
                insert(&ThreadRef { pid, tid: pid, start_time_ticks });
                let memory = NumaMemory::read(root, pid).unwrap();
                kernel.set_memory(pid, &memory.nodes.into_iter().collect::<Vec<_>>());
            }
            Act::PinGuest { pin, .. } => {
                let PinScope::Running { process } = pin.scope else { panic!("a knob asks for {act:?}") };
                let ProcessRef { pid, start_time_ticks } = process;
                insert(&ThreadRef { pid, tid: pid, start_time_ticks });
                kernel.add_guest_pin(pin.clone(), &[]);
            }
            Act::SetIrqBan { process, irq, banned } => {
                let ProcessRef { pid, start_time_ticks } = *process;
                insert(&ThreadRef { pid, tid: pid, start_time_ticks });
                kernel.add_irqbalance(pid, if *banned { &[] } else { std::slice::from_ref(irq) });
                kernel.alter(pid, |thread| thread.start_time_ticks = start_time_ticks);
            }
            other => panic!("a knob asks for {other:?}"),
        }
    }
    kernel
}

/// Performs and takes back every knob on every target that `root` offers; gives the knobs that had one.
fn round_trips(root: &Root) -> BTreeSet<&'static str> {
    let mut offered = BTreeSet::new();
    for knob in knobs::ALL {
        // Of processes and IRQs a few stand for all.
        for target in knob.targets(root).unwrap().into_iter().take(12) {
            let what = format!("{} of {} on {}", knob.about().id, target.id, root.origin());
            // A process can end while we look, a file can be missing from a recorded machine: then no change is requested.
            let Ok(present) = knob.read(root, &target.id) else { continue };
            let Ok(acts) = knob.change(root, &target.id, &another_value(*knob, &present, root)) else {
                continue;
            };
            let kernel = kernel_for(root, &acts);
            let before = kernel.state();
            let dir = tempfile::tempdir().unwrap();
            let mut hand = Hand::with(Arc::new(kernel.clone()), dir.path(), &what).unwrap();
            acts.iter().for_each(|act| assert!(hand.perform(act).unwrap().took_effect, "{what}: {act:?}"));
            hand.undo_all();
            same_meaning(&kernel.state(), &before, &what);
            offered.insert(knob.about().id);
        }
    }
    offered
}

/// Files may have lost blanks at their end, nothing else.
fn same_meaning(now: &EmulatedState, before: &EmulatedState, what: &str) {
    assert_eq!((&now.threads, &now.ethtool), (&before.threads, &before.ethtool), "{what}");
    assert_eq!(now.memory, before.memory, "{what}");
    assert_eq!(
        (&now.threads, &now.ethtool, &now.guest_pins),
        (&before.threads, &before.ethtool, &before.guest_pins),
        "{what}"
    );
    let trimmed = |state: &EmulatedState| -> Vec<String> {
        state.files.iter().map(|(key, text)| format!("{key:?} {}", text.trim())).collect()
    };
    assert_eq!(trimmed(now), trimmed(before), "{what}");
}

#[test]
fn each_knob_that_this_machine_offers_round_trips_on_the_emulated_kernel() {
    let offered = round_trips(&Root::live());
    assert!(offered.contains("process-affinity") && offered.contains("scheduling-policy"), "{offered:?}");
    eprintln!("offered here: {offered:?}");
}

#[test]
fn each_knob_that_a_recorded_machine_offers_round_trips() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/machines");
    let Ok(machines) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: there is no {} yet", folder.display());
        return;
    };
    for machine in machines {
        let path = machine.unwrap().path();
        if !path.is_dir() {
            continue;
        }
        // Guests are kept as archives.
        let archive = path.join("capture.tar.zst");
        match Root::at(if archive.exists() { &archive } else { &path }) {
            Ok(root) => eprintln!("{}: {:?}", path.display(), round_trips(&root)),
            Err(fault) => panic!("{fault}"),
        }
    }
}
