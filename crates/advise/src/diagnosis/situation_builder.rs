//! A situation that is made up for tests: a server with one thread on CPU 1 of a machine with two CPUs, watched for a second.

use std::collections::BTreeMap;

use machine::devices::{Device, DeviceKind};
use machine::irqs::Irq;
use machine::processes::{Process, Server, Thread};
use machine::topology::cpus::Cpu;
use machine::{CpuSet, Machine};
use probe::account::{
    Account, CpuAccount, Interruptions, LineAccount, Paging, Part, Source, Stretches, TaskAccount,
    ThreadAccount,
};
use probe::{Counter, Observation, Situation, SystemCounter};

/// Length of the window, ns.
pub const SECOND: u64 = 1_000_000_000;
/// Its process and only thread.
pub const SERVER: u32 = 100;

/// The server had the CPU for half a second and waited for a tenth, which is charged to nobody yet; it slept for the rest.
pub fn situation() -> Situation {
    let of = |id| Cpu { id, online: true, ..Cpu::default() };
    let thread = ThreadAccount {
        tid: SERVER,
        pid: SERVER,
        comm: "server".into(),
        wall_ns: SECOND,
        on_cpu: stretches(500_000_000),
        run_queue: stretches(100_000_000),
        asleep: stretches(400_000_000),
        ..ThreadAccount::default()
    };
    let cpu = |cpu, target_ns| CpuAccount {
        cpu,
        wall_ns: SECOND,
        target_ns,
        idle_ns: SECOND - target_ns,
        ..CpuAccount::default()
    };
    let own = Thread { tid: SERVER, cpus: Some(CpuSet::single(1)), ..Thread::default() };
    Situation {
        target: "process 100".into(),
        pids: vec![SERVER],
        window_s: 1.0,
        machine: Machine { cpus: vec![of(0), of(1)], ..Machine::default() },
        account: Some(Account {
            window_s: 1.0,
            threads: vec![thread],
            cpus: vec![cpu(0, 0), cpu(1, 500_000_000)],
            ..Account::default()
        }),
        observation: Observation { to_ns: SECOND, ..Observation::default() },
        server: Server {
            processes: vec![Process { pid: SERVER, threads: vec![own], ..Process::default() }],
            ..Server::default()
        },
        ..Situation::default()
    }
}

fn stretches(total_ns: u64) -> Stretches {
    Stretches { count: 1, total_ns, ..Stretches::default() }
}

fn seen(took_ns: u64, count: u64) -> Interruptions {
    Interruptions {
        all: stretches(took_ns),
        on_target: Part { count, total_ns: took_ns },
        ..Interruptions::default()
    }
}

fn account_mut(situation: &mut Situation) -> &mut Account {
    situation.account.get_or_insert_default()
}

/// What may be so beside.
pub trait SituationBuilder {
    /// A kind of interrupt took from the server on CPU 1.
    fn interrupted_by(self, source: Source, took_ns: u64, count: u64) -> Self;

    /// The line of a device took from it on CPU 1.
    fn line(self, irq: u32, name: &str, kind: DeviceKind, took_ns: u64) -> Self;

    /// A task had CPU 1 while the server waited for it.
    fn taken_by(self, comm: &str, pid: u32, of_kernel: bool, took_ns: u64) -> Self;

    /// The server was blocked for so long, out of its sleep, and had so many major faults.
    fn blocked(self, ns: u64, major_faults: u64) -> Self;

    /// So many pages came from swap.
    fn swapped_in(self, pages: u64) -> Self;

    /// A counter of the whole system.
    fn counted(self, probe: &str, name: &str, value: u64) -> Self;

    /// A counter by CPU.
    fn counted_on(self, probe: &str, name: &str, cpu: u32, value: u64) -> Self;
}

impl SituationBuilder for Situation {
    fn interrupted_by(mut self, source: Source, took_ns: u64, count: u64) -> Self {
        let cpu = account_mut(&mut self).cpus.iter_mut().find(|cpu| cpu.cpu == 1);
        let cpu = cpu.expect("the situation has CPU 1");
        let more = [(source, seen(took_ns, count))];
        cpu.sources = cpu.sources.iter().map(|(source, seen)| (source, seen.clone())).chain(more).collect();
        self
    }

    fn line(mut self, irq: u32, name: &str, kind: DeviceKind, took_ns: u64) -> Self {
        account_mut(&mut self).lines.push(LineAccount {
            irq,
            name: Some(name.into()),
            cpu: 1,
            seen: seen(took_ns, 1_000),
        });
        self.machine.irqs.push(Irq { irq, name: name.into(), devices: vec![name.into()], ..Irq::default() });
        self.machine.devices.push(Device { kind, name: name.into(), irqs: vec![irq], ..Device::default() });
        self
    }

    fn taken_by(mut self, comm: &str, pid: u32, of_kernel: bool, took_ns: u64) -> Self {
        account_mut(&mut self).tasks.push(TaskAccount {
            tid: pid,
            pid,
            comm: comm.into(),
            of_kernel,
            took: Stretches { count: 10, ..stretches(took_ns) },
            took_by_cpu: BTreeMap::from([(1, took_ns)]),
            ..TaskAccount::default()
        });
        self
    }

    fn blocked(mut self, ns: u64, major_faults: u64) -> Self {
        let thread = &mut account_mut(&mut self).threads[0];
        thread.blocked = stretches(ns);
        thread.asleep.total_ns -= ns;
        thread.major_faults = Some(major_faults);
        self
    }

    fn swapped_in(mut self, pages: u64) -> Self {
        account_mut(&mut self).paging = Some(Paging { swapped_in_pages: Some(pages), ..Paging::default() });
        self
    }

    fn counted(mut self, probe: &str, name: &str, value: u64) -> Self {
        let row = SystemCounter {
            probe: probe.into(),
            name: name.into(),
            label: String::new(),
            unit: "events".into(),
            value,
        };
        self.observation.system.push(row);
        self
    }

    fn counted_on(mut self, probe: &str, name: &str, cpu: u32, value: u64) -> Self {
        self.observation.counters.push(Counter {
            probe: probe.into(),
            name: name.into(),
            label: String::new(),
            unit: "us".into(),
            by_cpu: BTreeMap::from([(cpu, value)]),
        });
        self
    }
}
