//! Rules beside what they must name and what they must not, for mechanisms that no scenario makes on the machines at hand.

use machine::devices::DeviceKind;
use machine::limits::memory_use::MemoryUse;
use machine::power::FrequencyPolicy;
use machine::processes::{Autogroup, Irqbalance, Owner, Peer, Task};
use machine::topology::nodes::Node;
use machine::{CpuSet, FactId, Missing};
use probe::account::{
    ChangedCpu, Frequency, Nearness, NodeShare, Offline, Paging, Source, Stretches, ThreadAccount,
};

use super::situation_builder::{SECOND, SERVER, SituationBuilder, situation};
use super::*;

/// Ids of the causes, as text.
fn causes(situation: &Situation) -> Vec<String> {
    diagnose(situation).causes.iter().map(|cause| cause.id.to_string()).collect()
}

const TENTH: u64 = SECOND / 10;

#[test]
fn a_cpu_that_went_offline_is_judged_by_the_time_it_was_there_and_is_no_place_to_move_to() {
    let mut seen = situation();
    let account = seen.account.as_mut().unwrap();
    let cpu = &mut account.cpus[0];
    (cpu.idle_ns, cpu.offline) = (SECOND / 4, Some(Offline { total_ns: SECOND / 2, left: 1, came: 0 }));
    let gone = ChangedCpu { cpu: 0, offline_ns: SECOND / 2, wall_ns: SECOND, left: 1, came: 0 };
    account.changed_cpus = vec![gone];
    assert_eq!(diagnose(&seen).changed_cpus, [gone]);
    assert_eq!(seen.online(), CpuSet::single(1));
    let scene = Scene::of(&seen).unwrap();
    assert_eq!((scene.idle_share(0), scene.idle_share(1)), (Some(0.5), Some(0.5)));
    assert!(!scene.spare().contains(0));
    // One that is back may be used again; one that was never there has no share.
    let account = seen.account.as_mut().unwrap();
    account.changed_cpus[0].came = 1;
    account.cpus[0].offline = Some(Offline { total_ns: SECOND, left: 1, came: 1 });
    assert_eq!(seen.online().len(), 2);
    assert_eq!(Scene::of(&seen).unwrap().idle_share(0), None);
}

#[test]
fn a_devices_line_is_named_and_moved_off_the_servers_cpu() {
    let seen = situation().line(9, "eth0", DeviceKind::Net, TENTH);
    let diagnosis = diagnose(&seen);
    assert_eq!(diagnosis.causes[0].id.to_string(), "device-interrupts/irq:9");
    let setting = diagnosis.causes[0].remedies[0].setting.clone().unwrap();
    assert_eq!(
        (setting.knob.as_str(), setting.target.as_str(), setting.value.as_str()),
        ("irq-affinity", "9", "0")
    );
    let little = situation().line(9, "eth0", DeviceKind::Net, SECOND / 1_000);
    assert!(!causes(&little).contains(&"device-interrupts/irq:9".to_string()));
    let mut managed = situation().line(9, "eth0", DeviceKind::Net, TENTH);
    managed.machine.irqs[0].managed = Some(true);
    assert_eq!(diagnose(&managed).causes[0].remedies[0].setting, None, "the kernel refuses");
}

#[test]
fn a_line_that_irqbalance_moves_is_kept_from_it() {
    let owner = |moves| Owner {
        name: "irqbalance".into(),
        pid: Some(812),
        irqbalance: Some(Irqbalance { moves, ..Irqbalance::default() }),
        ..Owner::default()
    };
    let words = |owners| {
        let mut seen = situation().line(9, "eth0", DeviceKind::Net, TENTH);
        seen.machine.owners = owners;
        let remedy = diagnose(&seen).causes.remove(0).remedies.remove(0);
        assert_eq!(remedy.setting.unwrap().knob, "irq-affinity");
        remedy.words
    };
    let moved = words(vec![owner(vec![8, 9])]);
    assert!(moved.contains("irqbalance (process 812)") && moved.contains("--banirq=9"), "{moved}");
    let gone = Owner { pid: None, ..owner(vec![9]) };
    for others in [vec![], vec![owner(vec![8])], vec![gone], vec![Owner::default()]] {
        assert!(!words(others).contains("irqbalance"));
    }
}

#[test]
fn a_disk_that_works_because_memory_is_short_follows_from_that() {
    let seen = situation().line(5, "vda", DeviceKind::Block, TENTH).blocked(2 * TENTH, 500).swapped_in(1_000);
    let diagnosis = diagnose(&seen);
    let ids: Vec<String> = diagnosis.causes.iter().map(|cause| cause.id.to_string()).collect();
    assert_eq!(ids[..2], ["swap/machine", "device-interrupts/irq:5"]);
    assert_eq!(diagnosis.causes[1].follows_from.as_ref().unwrap().rule, "swap");
    assert_eq!(diagnosis.limit, Limit::Memory);
}

#[test]
fn swap_mapped_files_and_a_disk_are_told_apart() {
    let swap = situation().blocked(2 * TENTH, 500).swapped_in(1_000);
    let mapped = situation().blocked(2 * TENTH, 500).swapped_in(0);
    let disk = situation().blocked(2 * TENTH, 0).swapped_in(0).counted("pressure", "io some", 200_000);
    let lock = situation().blocked(2 * TENTH, 0).swapped_in(0).counted("pressure", "io some", 0);
    assert_eq!(causes(&swap)[0], "swap/machine");
    assert_eq!(causes(&mapped)[0], "page-cache/server");
    assert_eq!(causes(&disk)[0], "blocked/server");
    assert!(
        diagnose(&disk).causes[0].claim.contains("disk") && !diagnose(&lock).causes[0].claim.contains("disk")
    );
}

#[test]
fn what_came_from_swap_is_not_guessed_where_its_counter_is_odd() {
    let mut seen = situation().blocked(2 * TENTH, 500).swapped_in(0);
    let account = seen.account.as_mut().unwrap();
    account.paging = Some(Paging::default());
    let odd = Missing::new("/proc/vmstat pswpin", "it went backwards");
    account.missing.push(odd.identified(FactId::VmstatCounter("pswpin".into())));
    let diagnosis = diagnose(&seen);
    assert!(!diagnosis.causes.iter().any(|cause| ["swap", "page-cache"].contains(&cause.id.rule.as_str())));
    let said = diagnosis.missing.iter().filter(|missing| missing.why.contains("pswpin: it went backwards"));
    assert_eq!(said.count(), 2, "{:?}", diagnosis.missing);
}

/// A cgroup with a memory limit, of which so much is in use; nothing else is known of it.
fn limited(cgroup: &str, limit_mib: u64, used_mib: u64) -> MemoryUse {
    MemoryUse {
        cgroup: cgroup.into(),
        file: format!("/sys/fs/cgroup{cgroup}/memory.max"),
        limit_bytes: limit_mib << 20,
        used_bytes: Some(used_mib << 20),
        anonymous_bytes: None,
        swapped_bytes: None,
        peak_bytes: None,
        limit_hits: None,
    }
}

#[test]
fn swap_at_the_limit_of_a_cgroup_is_the_limits() {
    let mut seen = situation().blocked(2 * TENTH, 500).swapped_in(1_000);
    seen.memory = vec![MemoryUse { swapped_bytes: Some(37 << 20), ..limited("/db", 96, 96) }];
    let cause = diagnose(&seen).causes.remove(0);
    assert_eq!(cause.id.to_string(), "swap/cgroup:/db");
    // What is used and what is in swap, a tenth more, in steps of 16 MiB.
    assert!(cause.remedies[0].words.contains("160 MiB"), "{:?}", cause.remedies);
}

#[test]
fn a_limit_that_was_met_is_named_though_the_server_was_emptied_by_the_end() {
    let mut seen = situation().blocked(2 * TENTH, 500).swapped_in(1_000);
    // A study switches its swap on for each trial, and the machine was read before.
    seen.machine.memory.swap_total_bytes = Some(0);
    let swapped_bytes = Some(300 << 10);
    seen.memory = vec![MemoryUse { swapped_bytes, limit_hits: Some(2_000), ..limited("/queue", 800, 1) }];
    let named = |seen: &Situation| {
        let cause = diagnose(seen).causes.remove(0);
        (cause.id.to_string(), cause.remedies[0].words.clone())
    };
    let (id, remedy) = named(&seen);
    assert_eq!(id, "swap/cgroup:/queue");
    assert!(
        remedy.contains("Raise the limit (") && !remedy.contains("MiB"),
        "what it needed is not known: {remedy}"
    );
    assert_eq!(diagnose(&seen).limit, Limit::Memory);
    let mut by_peak = seen.clone();
    (by_peak.memory[0].limit_hits, by_peak.memory[0].peak_bytes) = (None, Some(800 << 20));
    assert_eq!(named(&by_peak).0, "swap/cgroup:/queue");
    // One that was not met in the window is not blamed for a machine that is short.
    for (hits, peak) in [(Some(0), None), (None, Some(500 << 20)), (None, None)] {
        let mut short = seen.clone();
        (short.memory[0].limit_hits, short.memory[0].peak_bytes) = (hits, peak);
        assert_eq!(named(&short).0, "swap/machine", "{hits:?} {peak:?}");
    }
}

#[test]
fn without_swap_and_pages_from_it_the_rule_does_not_apply() {
    let of = |pages: u64| {
        let mut seen = situation().blocked(2 * TENTH, 500).swapped_in(pages);
        seen.machine.memory.swap_total_bytes = Some(0);
        let is_named = |id: &String| id.starts_with("swap/");
        (causes(&seen).iter().any(is_named), diagnose(&seen).ruled_out.contains(&"swap"))
    };
    assert_eq!(of(0), (false, false));
    assert_eq!(of(1_000), (true, false));
    // A few stray pages of a swap that came later.
    assert_eq!(of(3), (false, true));
}

#[test]
fn freeing_memory_at_a_limit_that_was_met_is_the_limits() {
    let of = |hits: Option<u64>| {
        let mut seen = situation();
        let reclaim = Stretches { count: 500, total_ns: TENTH, ..Stretches::default() };
        seen.account.as_mut().unwrap().threads[0].reclaim = reclaim;
        seen.memory = vec![MemoryUse { limit_hits: hits, ..limited("/queue", 800, 1) }];
        causes(&seen)
    };
    assert!(of(Some(9)).contains(&"reclaim/cgroup:/queue".to_string()), "{:?}", of(Some(9)));
    assert!(of(Some(0)).contains(&"reclaim/machine".to_string()));
}

/// A server of so many threads that wait for each other and for a client on CPU 1, so long each; of two CPUs it may use that one.
fn crowded(threads: u32, own_ns: u64, client_ns: u64) -> Situation {
    let mut seen =
        situation().taken_by("server", SERVER, false, own_ns).taken_by("wrk", 900, false, client_ns);
    seen.connections.peers.push(Peer { pid: 900, comm: "wrk".into(), connections: 4 });
    let account = seen.account.as_mut().unwrap();
    account.tasks[0].of_target = true;
    let waited_ns = own_ns + client_ns;
    let thread = &mut account.threads[0];
    thread.run_queue.total_ns += waited_ns;
    thread.asleep.total_ns -= waited_ns;
    let first = thread.clone();
    account.threads.extend((1..threads).map(|more| ThreadAccount { tid: SERVER + more, ..first.clone() }));
    seen
}

#[test]
fn what_it_waits_for_its_client_is_not_charged_to_a_narrow_affinity_as_well() {
    let share = |seen: &Situation, rule: &str| {
        diagnose(seen).causes.into_iter().find(|cause| cause.id.rule == rule).and_then(|cause| cause.share)
    };
    let client = crowded(1, 0, 3 * TENTH);
    assert_eq!(share(&client, "narrow-affinity"), None);
    assert!(share(&client, "client-beside-server").is_some_and(|share| share > 0.3));
    // Its own part stays.
    let both = crowded(1, TENTH, 2 * TENTH);
    let (own, of_client) = (share(&both, "narrow-affinity"), share(&both, "client-beside-server"));
    assert!(
        own.zip(of_client).is_some_and(|(own, of_client)| (of_client / own - 2.0).abs() < 1e-9),
        "{own:?}"
    );
}

#[test]
fn fewer_threads_are_no_remedy_for_a_server_that_has_no_more_than_cpus() {
    let remedies = |threads: u32, cpus: &str| {
        let mut seen = crowded(threads, TENTH, 0);
        seen.server.processes[0].threads[0].cpus = CpuSet::from_list(cpus).ok();
        let found = diagnose(&seen).causes.into_iter().find(|cause| cause.id.rule == "own-threads");
        found.map(|cause| cause.remedies.into_iter().map(|remedy| remedy.words).collect::<Vec<_>>())
    };
    assert_eq!(remedies(2, "0-1"), Some(Vec::new()), "two threads on two CPUs");
    let three = remedies(3, "0-1").unwrap();
    assert!(three[0].contains("(about 2)"), "{three:?}");
    let on_one = remedies(2, "1").unwrap();
    assert!(on_one[0].contains("(about 1)"), "{on_one:?}");
}

#[test]
fn kernel_threads_are_put_together_by_kind() {
    let seen = situation().taken_by("kworker/1:0", 8, true, TENTH).taken_by("kworker/u4:1", 9, true, TENTH);
    assert_eq!(causes(&seen)[0], "kernel-thread/kernel-thread:kworker");
    let other = situation().taken_by("hog", 8, false, TENTH);
    assert_eq!(causes(&other)[0], "busy-task/process:8");
}

#[test]
fn what_took_next_to_nothing_is_no_cause_though_it_is_a_large_share_of_what_an_idle_server_did() {
    let took = |ns: u64| {
        let mut seen = situation().taken_by("kworker/1:0", 8, true, ns);
        let thread = &mut seen.account.as_mut().unwrap().threads[0];
        thread.on_cpu.total_ns = SECOND / 1000;
        thread.run_queue.total_ns = ns;
        thread.asleep.total_ns = SECOND - SECOND / 1000 - ns;
        causes(&seen)
    };
    assert!(took(20_000).is_empty(), "20 us of a second: {:?}", took(20_000));
    assert_eq!(took(200_000), ["kernel-thread/kernel-thread:kworker"]);
}

#[test]
fn softirqs_other_than_receiving_are_named_by_kind() {
    let seen = situation().interrupted_by(Source::SoftirqRcu, TENTH, 100);
    assert_eq!(causes(&seen)[0], "softirqs/interrupt:softirq_rcu");
    let received = situation().interrupted_by(Source::SoftirqNetRx, TENTH, 100).counted(
        "network",
        "received eth0",
        100_000,
    );
    assert_eq!(causes(&received)[0], "receive-work/server");
}

#[test]
fn steal_is_the_hypervisors_and_of_the_servers_cpus_alone() {
    let there = situation().counted_on("stat", "steal", 1, 50_000);
    let elsewhere = situation().counted_on("stat", "steal", 0, 50_000);
    assert!(causes(&there).contains(&"steal/machine".to_string()));
    assert!(!causes(&elsewhere).contains(&"steal/machine".to_string()));
}

#[test]
fn a_busy_sibling_is_possible_and_costs_what_is_not_known() {
    let mut seen = situation();
    for (cpu, sibling) in [(0, 1), (1, 0)] {
        seen.machine.cpus[cpu].siblings = Some([cpu as u32, sibling].into_iter().collect());
    }
    let mut idle = seen.clone();
    seen.account.as_mut().unwrap().cpus[0].idle_ns = TENTH;
    let cause = diagnose(&seen).causes.into_iter().find(|cause| cause.id.rule == "smt-sibling");
    assert_eq!(cause.map(|cause| (cause.share, cause.certainty)), Some((None, Certainty::Possible)));
    idle.account.as_mut().unwrap().cpus[0].idle_ns = SECOND;
    assert!(!causes(&idle).contains(&"smt-sibling/machine".to_string()));
}

#[test]
fn memory_on_another_node_is_named_where_there_are_nodes() {
    let mut seen = situation();
    let nodes = [
        (0, NodeShare { memory_bytes: 1 << 30, on_cpu_ns: 0 }),
        (1, NodeShare { memory_bytes: 0, on_cpu_ns: SECOND }),
    ];
    seen.account.as_mut().unwrap().nearness =
        Some(Nearness { nodes: nodes.into(), expected_remote_share: Some(1.0) });
    assert!(!causes(&seen).contains(&"memory-node/server".to_string()), "there is one node");
    let node = |id, cpu| Node { id, cpus: CpuSet::single(cpu), ..Node::default() };
    seen.machine.nodes = vec![node(0, 0), node(1, 1)];
    let cause = diagnose(&seen).causes.into_iter().find(|cause| cause.id.rule == "memory-node").unwrap();
    assert_eq!(cause.remedies[0].setting.as_ref().map(|setting| setting.value.as_str()), Some("0"));
    seen.account.as_mut().unwrap().nearness.as_mut().unwrap().expected_remote_share = Some(0.1);
    assert!(!causes(&seen).contains(&"memory-node/server".to_string()));
}

#[test]
fn a_low_clock_counts_on_a_busy_cpu_only() {
    let mut seen = situation();
    seen.machine.power.frequency = vec![FrequencyPolicy {
        cpus: [0, 1].into_iter().collect(),
        governor: Some("powersave".into()),
        hardware_max_khz: Some(3_000_000),
        ..FrequencyPolicy::default()
    }];
    let slow = Frequency { readings: 1, lowest_mhz: 1_200.0, mean_mhz: 1_200.0, highest_mhz: 1_200.0 };
    seen.account.as_mut().unwrap().cpus[0].frequency = Some(slow);
    assert!(!causes(&seen).contains(&"clock/machine".to_string()), "an idle CPU's clock says nothing");
    seen.account.as_mut().unwrap().cpus[1].frequency = Some(slow);
    assert!(causes(&seen).contains(&"clock/machine".to_string()));
}

#[test]
fn full_accept_queues_and_lost_segments_are_told_from_none() {
    let quiet = situation().counted("network", "listen overflows", 0);
    let full = situation().counted("network", "listen overflows", 5);
    assert!(!causes(&quiet).iter().any(|id| id.starts_with("listen-queue")));
    assert!(causes(&full).contains(&"listen-queue/server".to_string()));
    let lossy = quiet.counted("network", "segments sent", 10_000).counted("network", "retransmitted", 300);
    assert!(causes(&lossy).iter().any(|id| id.starts_with("listen-queue")));
    let missing: Vec<Missing> = diagnose(&situation()).missing;
    assert!(missing.iter().any(|missing| missing.why.contains("TCP")), "{missing:?}");
}

#[test]
fn segments_that_are_retransmitted_are_lost_or_late_or_not_answered() {
    let claim = |counters: &[(&str, u64)]| {
        let seen = [("listen overflows", 0), ("segments sent", 10_000), ("retransmitted", 300)];
        let situation = seen
            .iter()
            .chain(counters)
            .fold(situation(), |situation, (name, value)| situation.counted("network", name, *value));
        let cause = diagnose(&situation).causes.into_iter().find(|cause| cause.id.rule == "listen-queue");
        cause.expect("retransmissions are a cause").claim
    };
    let kinds = |syn, twice| claim(&[("retransmitted syn", syn), ("received twice", twice)]);
    assert!(kinds(0, 10).ends_with("packets are lost"));
    assert!(kinds(290, 0).contains("not answered"));
    let late = kinds(10, 200);
    assert!(late.contains("reorders") && !late.contains("packets are lost"), "{late}");
    assert!(claim(&[]).contains("lost, late or reordered"), "the counters are missing");
}

#[test]
fn nice_counts_unless_a_task_took_more_than_its_weight() {
    let task = |tid, nice, id| {
        let autogroup = Some(Autogroup { id, nice: 0 });
        (tid, Task { tid, nice: Some(nice), policy: Some("other".into()), autogroup, ..Task::default() })
    };
    let mut seen = situation().taken_by("batch", 8, false, 2 * TENTH);
    seen.tasks = [task(SERVER, 0, 1), task(8, 19, 2)].into();
    seen.machine.kernel.tunables.insert("kernel.sched_autogroup_enabled".into(), "1".into());
    assert!(causes(&seen).contains(&"autogroup/process:8".to_string()));
    let mut same_session = seen.clone();
    same_session.tasks = [task(SERVER, 0, 1), task(8, 19, 1)].into();
    assert!(!causes(&same_session).contains(&"autogroup/process:8".to_string()));
    // 1.5 % is what nice 19 gives beside nice 0.
    let mut as_meant = situation().taken_by("batch", 8, false, SECOND / 100);
    (as_meant.tasks, as_meant.machine) = (seen.tasks.clone(), seen.machine.clone());
    assert!(!causes(&as_meant).contains(&"autogroup/process:8".to_string()));
}
