//! Account, counters and surroundings of a made-up window.

use std::collections::BTreeMap;

use machine::limits::memory_use::MemoryUse;
use machine::processes::{NumaMemory, Peer, Process, Server};
use machine::{CpuSet, Machine};
use probe::account::{
    Account, CpuAccount, Frequency, FromIdle, Interruptions, LineAccount, Migrations, Nearness, Paging, Part,
    SleepReason, Source, Stretches, TaskAccount, ThreadAccount, Waker,
};
use probe::futexes::FutexWaits;
use probe::{Busy, Counter, Observation, Situation, SystemCounter};

use super::{Interrupt, Simulated, Task, Thread};

/// Length of the window, s.
const WINDOW_S: f64 = 10.0;
const WINDOW_NS: f64 = WINDOW_S * 1e9;
/// The server's process, and the first of its threads.
const SERVER: u32 = 1_000;
/// What a process has of a CPU to be busy, as `probe` has it.
const BUSY: f64 = 0.02;

pub(super) fn of(simulated: &Simulated) -> Situation {
    let machine = super::machine::of(simulated);
    let mut situation = Situation {
        target: format!("process {SERVER}"),
        pids: vec![SERVER],
        window_s: WINDOW_S,
        account: Some(account(simulated, &machine)),
        observation: observation(simulated),
        server: server(simulated),
        busy: simulated.tasks.iter().filter(|task| !task.kernel && task.had >= BUSY).map(busy).collect(),
        work: simulated.work,
        futexes: simulated.futexes.clone().map(|futexes| FutexWaits { futexes, ..FutexWaits::default() }),
        memory: simulated.full_cgroups.iter().map(|path| full(path, simulated)).collect(),
        machine,
        ..Situation::default()
    };
    situation.connections.from_elsewhere = simulated.from_elsewhere;
    situation.connections.same_namespace = Some(true);
    let comm = |pid: u32| {
        let task = simulated.tasks.iter().find(|task| task.pid == pid);
        task.map_or("client".to_string(), |task| task.comm.clone())
    };
    let peer = |pid: &u32| Peer { pid: *pid, comm: comm(*pid), connections: 1 };
    situation.connections.peers = simulated.clients.iter().map(peer).collect();
    hold(&situation.machine, simulated);
    situation
}

/// A scenario that names a CPU which its machine has not is a mistake, and stops the scoring.
fn hold(machine: &Machine, simulated: &Simulated) {
    let online = machine.online();
    let named = simulated.threads.iter().map(|thread| thread.cpu);
    let named = named.chain(simulated.tasks.iter().map(|task| task.cpu));
    let named: CpuSet = named.chain(simulated.interrupts.iter().map(|one| one.cpu)).collect();
    assert!(named.is_subset(&online) && simulated.server.is_subset(&online), "{named} of {online}");
}

fn ns(share: f64) -> u64 {
    (share * WINDOW_NS).round() as u64
}

fn times(per_s: f64) -> u64 {
    (per_s * WINDOW_S).round() as u64
}

fn stretches(count: u64, total_ns: u64) -> Stretches {
    Stretches { count, total_ns, ..Stretches::default() }
}

/// What interrupts of a kind took while the server ran.
fn part(one: &Interrupt) -> Part {
    let count = times(one.per_s * one.hits);
    Part { count, total_ns: (count as f64 * one.us * 1e3) as u64 }
}

fn seen(one: &Interrupt) -> Interruptions {
    let count = times(one.per_s);
    Interruptions {
        all: stretches(count, (count as f64 * one.us * 1e3) as u64),
        on_target: part(one),
        ..Interruptions::default()
    }
}

fn account(simulated: &Simulated, machine: &Machine) -> Account {
    let cpus: Vec<CpuAccount> = (0..simulated.cpus).map(|cpu| of_cpu(simulated, cpu)).collect();
    let threads: Vec<ThreadAccount> = (0u32..)
        .zip(&simulated.threads)
        .map(|(number, thread)| of_thread(simulated, number, thread))
        .collect();
    let lines = simulated.interrupts.iter().filter_map(|one| {
        let (name, seen) = (Some(one.device.clone()), seen(one));
        Some(LineAccount { irq: one.irq?, name, cpu: one.cpu, seen })
    });
    Account {
        window_s: WINDOW_S,
        to_ns: WINDOW_NS as u64,
        threads,
        lines: lines.collect(),
        tasks: simulated.tasks.iter().map(of_task).collect(),
        nearness: nearness(simulated, machine, &cpus),
        cpus,
        paging: paging(simulated),
        ..Account::default()
    }
}

/// What the kernel counted of paging; `None` where the scenario says nothing of it.
fn paging(simulated: &Simulated) -> Option<Paging> {
    let (swapped, balancing) = (simulated.swapped_in_per_s, simulated.balancing.as_ref());
    (swapped.is_some() || balancing.is_some()).then(|| Paging {
        swapped_in_pages: swapped.map(times),
        numa_hint_faults: balancing.map(|seen| times(seen.faults_per_s)),
        numa_hint_faults_local: balancing.map(|seen| times(seen.local_faults_per_s)),
        numa_migrated_pages: balancing.map(|seen| times(seen.moved_pages_per_s)),
        ..Paging::default()
    })
}

fn of_thread(simulated: &Simulated, number: u32, thread: &Thread) -> ThreadAccount {
    let hit = simulated.interrupts.iter().filter(|one| one.cpu == thread.cpu);
    let on_cpu_there: f64 =
        simulated.threads.iter().filter(|other| other.cpu == thread.cpu).map(|other| other.on_cpu).sum();
    // Threads of one CPU share what came there by their time on it.
    let of_it = if on_cpu_there > 0.0 { thread.on_cpu / on_cpu_there } else { 0.0 };
    let interrupted_ns = (hit.map(|one| part(one).total_ns).sum::<u64>() as f64 * of_it) as u64;
    let idle_count = times(thread.from_idle_per_s);
    let idle_ns = (idle_count as f64 * thread.from_idle_us * 1e3) as u64;
    let used =
        ns(thread.on_cpu + thread.waiting + thread.throttled + thread.blocked) + interrupted_ns + idle_ns;
    let asleep_ns = ns(1.0).saturating_sub(used);
    let woken = times(thread.woken_by_own_per_s + thread.woken_by_others_per_s);
    let wakes = times(100.0).max(idle_count).max(woken);
    let from_idle = FromIdle {
        state: 1,
        name: Some(thread.idle_state.clone()),
        count: idle_count,
        total_ns: idle_ns,
        ..FromIdle::default()
    };
    ThreadAccount {
        tid: SERVER + number,
        pid: SERVER,
        comm: "server".into(),
        wall_ns: ns(1.0),
        last_cpu: thread.cpu,
        on_cpu: stretches(wakes, ns(thread.on_cpu)),
        interrupted_ns,
        run_queue: stretches(wakes, ns(thread.waiting) + idle_ns),
        throttled: stretches(u64::from(thread.throttled > 0.0), ns(thread.throttled)),
        blocked: stretches(u64::from(thread.blocked > 0.0), ns(thread.blocked)),
        asleep: stretches(wakes, asleep_ns),
        asleep_for: asleep_for(thread, wakes, asleep_ns),
        wakers: wakers(thread),
        from_idle: if idle_count > 0 { vec![from_idle] } else { Vec::new() },
        major_faults: Some(times(thread.major_faults_per_s)),
        minor_faults: Some(times(thread.minor_faults_per_s)),
        reclaim: stretches(times(thread.reclaims_per_s), ns(thread.reclaiming)),
        migrations: Migrations {
            same_cache: times(thread.moved_within_cache_per_s),
            same_node: times(thread.moved_between_caches_per_s),
            across_nodes: times(thread.moved_between_nodes_per_s),
            ..Migrations::default()
        },
        ..ThreadAccount::default()
    }
}

fn asleep_for(thread: &Thread, wakes: u64, asleep_ns: u64) -> BTreeMap<SleepReason, Part> {
    let part = |share: f64| Part {
        count: (wakes as f64 * share).round() as u64,
        total_ns: (asleep_ns as f64 * share) as u64,
    };
    let parts =
        [(SleepReason::Input, part(1.0 - thread.at_futexes)), (SleepReason::Futex, part(thread.at_futexes))];
    parts.into_iter().filter(|(_, part)| part.total_ns > 0).collect()
}

fn wakers(thread: &Thread) -> Vec<Waker> {
    let of = |pid: Option<u32>, per_s: f64| Waker {
        pid,
        elsewhere: true,
        count: times(per_s),
        ..Waker::default()
    };
    let both = [of(Some(SERVER), thread.woken_by_own_per_s), of(None, thread.woken_by_others_per_s)];
    both.into_iter().filter(|waker| waker.count > 0).collect()
}

fn of_cpu(simulated: &Simulated, cpu: u32) -> CpuAccount {
    let here = || simulated.threads.iter().filter(|thread| thread.cpu == cpu);
    let interrupts: Vec<&Interrupt> = simulated.interrupts.iter().filter(|one| one.cpu == cpu).collect();
    let interrupted_ns: u64 = interrupts.iter().map(|one| seen(one).all.total_ns).sum();
    let target_ns = ns(here().map(|thread| thread.on_cpu).sum());
    let other_ns = ns(simulated.tasks.iter().filter(|task| task.cpu == cpu).map(|task| task.had).sum());
    let waking: f64 = here().map(|thread| thread.from_idle_per_s * thread.from_idle_us * 1e-6).sum();
    let clock = simulated.clocks.iter().find(|clock| clock.cpu == cpu);
    let sources: BTreeMap<Source, Interruptions> =
        interrupts.iter().map(|one| (one.source, seen(one))).collect();
    CpuAccount {
        cpu,
        wall_ns: ns(1.0),
        target_ns,
        other_ns,
        interrupted_ns,
        idle_ns: ns(1.0).saturating_sub(target_ns + other_ns + interrupted_ns),
        idle_while_waited_ns: ns(waking),
        frequency: clock.map(|clock| Frequency {
            readings: 10,
            lowest_mhz: clock.mhz,
            mean_mhz: clock.mhz,
            highest_mhz: clock.mhz,
        }),
        sources: sources.into(),
        ..CpuAccount::default()
    }
}

fn of_task(task: &Task) -> TaskAccount {
    TaskAccount {
        tid: task.pid,
        pid: task.pid,
        comm: task.comm.clone(),
        of_kernel: task.kernel,
        slices: 1_000,
        took: stretches(if task.took > 0.0 { 1_000 } else { 0 }, ns(task.took)),
        took_by_cpu: BTreeMap::from([(task.cpu, ns(task.took))]),
        ..TaskAccount::default()
    }
}

/// The server's memory by node beside the CPUs on which it ran; `None` on one node, and where the memory is not given.
fn nearness(simulated: &Simulated, machine: &Machine, cpus: &[CpuAccount]) -> Option<Nearness> {
    let node = |(node, share): (&String, &f64)| {
        (node.parse().expect("a node is a number"), (share * f64::from(1 << 30)) as u64)
    };
    let mut memory = NumaMemory::default();
    memory.nodes = simulated.memory.iter().map(node).collect();
    let is_known = simulated.nodes > 1 && !memory.nodes.is_empty();
    is_known.then(|| Nearness::of(&memory, machine, cpus))
}

fn observation(simulated: &Simulated) -> Observation {
    let mut observation = Observation { to_ns: WINDOW_NS as u64, ..Observation::default() };
    for rate in &simulated.counters {
        let (probe, name, value) = (rate.probe.clone(), rate.name.clone(), times(rate.per_s));
        let (label, unit) = (String::new(), "events".to_string());
        let Some(cpu) = rate.cpu else {
            observation.system.push(SystemCounter { probe, name, label, unit, value });
            continue;
        };
        let same = observation.counters.iter_mut().find(|row| row.probe == probe && row.name == name);
        match same {
            Some(row) => drop(row.by_cpu.insert(cpu, value)),
            None => {
                let by_cpu = BTreeMap::from([(cpu, value)]);
                observation.counters.push(Counter { probe, name, label, unit, by_cpu });
            }
        }
    }
    observation
}

fn server(simulated: &Simulated) -> Server {
    let thread = |number: u32| machine::processes::Thread {
        tid: SERVER + number,
        cpus: Some(simulated.server.clone()),
        state: 'S',
        ..machine::processes::Thread::default()
    };
    let threads = (0..simulated.threads.len() as u32).map(thread).collect();
    Server { processes: vec![Process { pid: SERVER, threads, ..Process::default() }], ..Server::default() }
}

fn busy(task: &Task) -> Busy {
    Busy { pid: task.pid, comm: task.comm.clone(), cpus: task.had, last_cpu: Some(task.cpu) }
}

fn full(path: &str, simulated: &Simulated) -> MemoryUse {
    let limit_bytes = 1u64 << 30;
    MemoryUse {
        cgroup: path.into(),
        file: "memory.max".into(),
        limit_bytes,
        used_bytes: Some(1 << 30),
        anonymous_bytes: simulated.anonymous_share.map(|share| (share * limit_bytes as f64) as u64),
        swapped_bytes: None,
        peak_bytes: None,
        limit_hits: None,
    }
}
