//! What is wrong with a machine, whoever runs on it: no server is named, so nothing is charged to anybody.

use machine::Missing;
use probe::account::{CpuAccount, Source};
use serde::Serialize;

use super::cause::{Cause, Remedy, Subject, rank};
use super::rules::{About, Looked};
use super::situation::Situation;
use crate::words::{per_second, percent};

/// From this share of the window on in which somebody waited for a CPU or for I/O (PSI) it is worth a word.
const WAITS: f64 = 0.10;
/// The same of memory: a machine that has enough never waits for it.
const WAITS_FOR_MEMORY: f64 = 0.01;
/// The same of steal.
const STOLEN: f64 = 0.01;
/// A CPU of which interrupts take this share is no place for a server.
const INTERRUPTED: f64 = 0.20;
/// CPUs that are idle while others are waited for.
const IDLE_CPUS: f64 = 0.5;

/// What the CPUs of a machine did, in CPUs on average over the window.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct MachineTime {
    /// Length of the window, s.
    pub window_s: f64,
    /// CPUs that were counted.
    pub cpus: usize,
    /// With tasks.
    pub busy_cpus: f64,
    /// With interrupts and softirqs.
    pub interrupted_cpus: f64,
    /// Idle.
    pub idle_cpus: f64,
}

impl MachineTime {
    /// From the kernel's account, else from counters, in which interrupts are those that the kernel books apart; `None` without either.
    pub fn of(situation: &Situation) -> Option<Self> {
        let Some(account) = situation.account.as_ref().filter(|account| account.window_s > 0.0) else {
            return Self::of_counters(situation);
        };
        let sum = |of: fn(&CpuAccount) -> u64| {
            account.cpus.iter().map(|cpu| of(cpu) as f64).sum::<f64>() / (account.window_s * 1e9)
        };
        Some(Self {
            window_s: account.window_s,
            cpus: account.cpus.len(),
            busy_cpus: sum(|cpu| cpu.target_ns.saturating_add(cpu.other_ns)),
            interrupted_cpus: sum(|cpu| cpu.interrupted_ns),
            idle_cpus: sum(|cpu| cpu.idle_ns),
        })
    }

    fn of_counters(situation: &Situation) -> Option<Self> {
        let observation = &situation.observation;
        let known = |cpu: &u32| observation.rate("stat", "idle", *cpu).is_some();
        let cpus: Vec<u32> = situation.online().iter().filter(known).collect();
        let sum = |rows: &[&str]| {
            let rate =
                |cpu: &u32| rows.iter().filter_map(|row| observation.rate("stat", row, *cpu)).sum::<f64>();
            cpus.iter().map(rate).sum::<f64>() / 1e6
        };
        (!cpus.is_empty()).then(|| Self {
            window_s: observation.window_s(),
            cpus: cpus.len(),
            busy_cpus: sum(&["user", "nice", "system"]),
            interrupted_cpus: sum(&["irq", "softirq"]),
            idle_cpus: sum(&["idle", "iowait"]),
        })
    }
}

/// A trouble of a whole machine, and how it is looked for.
pub struct MachineRule {
    /// What it is.
    pub about: About,
    examine: fn(&About, &Situation) -> Looked,
}

/// All of them.
pub static ALL: &[MachineRule] = &[
    MachineRule {
        about: About {
            id: "cpu-pressure",
            title: "waiting for CPUs",
            docs: "Somebody waited for a CPU for a tenth of the window or more (PSI cpu some). With idle CPUs beside, something is confined to \
                   too few; without, the machine has more work than CPUs. It says that somebody waits and not who: name a server.",
        },
        examine: cpu_pressure,
    },
    MachineRule {
        about: About {
            id: "memory-pressure",
            title: "waiting for memory",
            docs: "Somebody waited for memory (PSI memory some): pages come back from swap, or have to be freed before they can be given. Either \
                   the machine is short, or a cgroup is at its limit while the machine has plenty.",
        },
        examine: memory_pressure,
    },
    MachineRule {
        about: About {
            id: "io-pressure",
            title: "waiting for I/O",
            docs: "Somebody waited for I/O for a tenth of the window or more (PSI io some). A batch job that reads a disk makes it so, and harms \
                   nobody; a database that makes its log durable beside it does wait. Name the server.",
        },
        examine: io_pressure,
    },
    MachineRule {
        about: About {
            id: "interrupted-cpu",
            title: "CPUs taken by interrupts",
            docs: "Interrupts and softirqs take a fifth of a CPU or more. Whatever runs there is slowed by as much, and its CPU time does not \
                   tell. The largest source is named; what is moved is what raises it. Packets between local processes are worked off \
                   where they are sent, and are work of their own.",
        },
        examine: interrupted_cpu,
    },
    MachineRule {
        about: About {
            id: "stolen-time",
            title: "steal",
            docs: "The hypervisor gave 1 % or more of the CPUs' time to somebody else while they had work. No setting of the guest changes it.",
        },
        examine: stolen_time,
    },
];

/// Troubles of the machine, the largest first, with those that were looked for in vain and what could not be seen.
pub(super) fn examine(situation: &Situation) -> (Vec<Cause>, Vec<&'static str>, Vec<Missing>) {
    let (mut causes, mut ruled_out, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    for rule in ALL {
        match (rule.examine)(&rule.about, situation) {
            Looked::Found(found) => causes.extend(found),
            Looked::Fine | Looked::OwnWork(_) => ruled_out.push(rule.about.id),
            Looked::DoesNotApply => {}
            Looked::CannotTell(why) => missing.push(why),
        }
    }
    rank(&mut causes);
    (causes, ruled_out, missing)
}

/// Share of the window in which somebody waited for a resource.
fn pressure(about: &About, situation: &Situation, row: &str) -> Result<f64, Looked> {
    let observation = &situation.observation;
    let waited = observation.system("pressure", row).map(|row| row.value as f64 / 1e6);
    match waited {
        Some(waited_s) if observation.window_s() > 0.0 => Ok(waited_s / observation.window_s()),
        _ => Err(Looked::CannotTell(Missing::new(
            about.title,
            "the kernel keeps no pressure (PSI): boot with psi=1",
        ))),
    }
}

/// `hog (process 7, 0.98 CPUs), make (process 9, 0.50 CPUs)`.
fn busiest(situation: &Situation) -> Option<String> {
    let shown = situation.busy.iter().take(3);
    let shown: Vec<String> =
        shown.map(|busy| format!("{} (process {}, {:.2} CPUs)", busy.comm, busy.pid, busy.cpus)).collect();
    (!shown.is_empty()).then(|| format!("the busiest: {}", shown.join(", ")))
}

fn with_busiest(cause: Cause, situation: &Situation) -> Cause {
    match busiest(situation) {
        Some(busiest) => cause.because(busiest),
        None => cause,
    }
}

fn cpu_pressure(about: &About, situation: &Situation) -> Looked {
    let waited = match pressure(about, situation, "cpu some") {
        Ok(waited) if waited >= WAITS => waited,
        Ok(_) => return Looked::Fine,
        Err(looked) => return looked,
    };
    let idle = MachineTime::of(situation).map(|time| time.idle_cpus);
    let (claim, remedy) = match idle.filter(|idle| *idle >= IDLE_CPUS) {
        Some(idle) => (
            format!(
                "Somebody waits for a CPU while {idle:.1} CPUs are idle: something is confined to too few"
            ),
            "Find who waits, and look at its affinity, cpuset and quota",
        ),
        None => (
            "There is more work than CPUs".to_string(),
            "Find who waits and who need not run: pinwise diagnose --process NAME",
        ),
    };
    let cause = Cause::seen(about.id, Subject::Machine, waited, claim).figure("cpu_some_share", waited);
    Looked::Found(vec![with_busiest(cause, situation).remedy(Remedy::by_hand(remedy))])
}

fn memory_pressure(about: &About, situation: &Situation) -> Looked {
    let waited = match pressure(about, situation, "memory some") {
        Ok(waited) if waited >= WAITS_FOR_MEMORY => waited,
        Ok(_) => return Looked::Fine,
        Err(looked) => return looked,
    };
    let rate = |row: &str| {
        let value = situation.observation.system("memory", row).map_or(0, |row| row.value);
        value as f64 / situation.observation.window_s().max(1e-9)
    };
    let (swapped, stalls) = (rate("pswpin"), rate("allocstall"));
    let cause = Cause::seen(about.id, Subject::Machine, waited, "Somebody waits for memory")
        .because(format!("{} pages from swap, {} allocations that had to free memory first", per_second(swapped), per_second(stalls)))
        .figure("memory_some_share", waited)
        .figure("swapped_in_pages_per_s", swapped)
        .remedy(Remedy::by_hand("Find out whose limit or need it is: pinwise diagnose --process NAME; memory.pressure of each cgroup"));
    Looked::Found(vec![cause])
}

fn io_pressure(about: &About, situation: &Situation) -> Looked {
    let waited = match pressure(about, situation, "io some") {
        Ok(waited) if waited >= WAITS => waited,
        Ok(_) => return Looked::Fine,
        Err(looked) => return looked,
    };
    let cause = Cause::seen(about.id, Subject::Machine, waited, "Somebody waits for I/O")
        .figure("io_some_share", waited)
        .remedy(Remedy::by_hand("Find out who: io.pressure of each cgroup; pinwise diagnose --process NAME says whether a server waits for it"));
    Looked::Found(vec![with_busiest(cause, situation)])
}

fn interrupted_cpu(about: &About, situation: &Situation) -> Looked {
    let Some(account) = &situation.account else { return Looked::needs_account(about) };
    let share =
        |cpu: &CpuAccount| if cpu.wall_ns > 0 { cpu.interrupted_ns as f64 / cpu.wall_ns as f64 } else { 0.0 };
    let crowded = account.cpus.iter().filter(|cpu| share(cpu) >= INTERRUPTED);
    let causes = crowded.map(|cpu| {
        let largest = cpu.sources.iter().max_by_key(|(_, seen)| seen.all.total_ns).map(|(source, _)| source);
        let line = account.lines.iter().filter(|line| line.cpu == cpu.cpu).max_by_key(|line| line.seen.all.total_ns);
        let name = match (largest, line) {
            (Some(Source::Device), Some(line)) => format!("IRQ {} ({})", line.irq, line.name.as_deref().unwrap_or("not known")),
            (Some(source), _) => source.words().to_string(),
            (None, _) => "not known".into(),
        };
        let claim = format!("Interrupts take {} of CPU {}, most of it {name}", percent(share(cpu)), cpu.cpu);
        Cause::seen(about.id, Subject::Cpu { cpu: cpu.cpu }, share(cpu), claim)
            .figure("interrupted_share", share(cpu))
            .remedy(Remedy::by_hand("Keep servers off this CPU, or move what raises them (pinwise watch --cpu names functions and lines)"))
    });
    Looked::of(causes.collect())
}

fn stolen_time(about: &About, situation: &Situation) -> Looked {
    let rates: Vec<f64> = situation
        .online()
        .iter()
        .filter_map(|cpu| situation.observation.rate("stat", "steal", cpu))
        .collect();
    if rates.is_empty() {
        return Looked::DoesNotApply;
    }
    let share = rates.iter().sum::<f64>() / rates.len() as f64 / 1e6;
    if share < STOLEN {
        return Looked::Fine;
    }
    let claim = format!("The hypervisor gives {} of the CPUs' time to somebody else (steal)", percent(share));
    let remedy = "Ask for dedicated CPUs, or another host: nothing in the guest changes it";
    Looked::Found(vec![
        Cause::seen(about.id, Subject::Machine, share, claim)
            .figure("steal_share", share)
            .remedy(Remedy::by_hand(remedy)),
    ])
}

#[cfg(test)]
mod tests {
    use machine::Machine;
    use machine::topology::cpus::Cpu;
    use probe::account::Account;
    use probe::{Counter, Observation, SystemCounter};

    use super::*;
    use crate::diagnosis::{Busy, diagnose_machine};

    fn waited(name: &str, us: u64) -> SystemCounter {
        SystemCounter {
            probe: "pressure".into(),
            name: name.into(),
            label: String::new(),
            unit: "us".into(),
            value: us,
        }
    }

    /// A second of two CPUs, one with tasks for `busy_ns`.
    fn situation(busy_ns: u64, interrupted_ns: u64, system: Vec<SystemCounter>) -> Situation {
        let cpu = |cpu, other_ns, interrupted_ns| CpuAccount {
            cpu,
            wall_ns: 1_000_000_000,
            other_ns,
            interrupted_ns,
            idle_ns: 1_000_000_000 - other_ns - interrupted_ns,
            ..CpuAccount::default()
        };
        let of = |id| Cpu { id, online: true, ..Cpu::default() };
        Situation {
            window_s: 1.0,
            machine: Machine { cpus: vec![of(0), of(1)], ..Machine::default() },
            account: Some(Account {
                window_s: 1.0,
                cpus: vec![cpu(0, busy_ns, 0), cpu(1, 0, interrupted_ns)],
                ..Account::default()
            }),
            observation: Observation { to_ns: 1_000_000_000, system, ..Observation::default() },
            busy: vec![Busy { pid: 7, comm: "hog".into(), cpus: 0.9, last_cpu: Some(0) }],
            ..Situation::default()
        }
    }

    fn calm() -> Vec<SystemCounter> {
        vec![waited("cpu some", 10_000), waited("memory some", 0), waited("io some", 0)]
    }

    #[test]
    fn a_calm_machine_has_no_trouble() {
        let diagnosis = diagnose_machine(&situation(100_000_000, 10_000_000, calm()));
        assert_eq!(diagnosis.causes, []);
        assert_eq!(
            diagnosis.ruled_out,
            ["cpu-pressure", "memory-pressure", "io-pressure", "interrupted-cpu"]
        );
        let time = diagnosis.machine.unwrap();
        assert_eq!((time.cpus, time.busy_cpus, time.idle_cpus), (2, 0.1, 1.89));
    }

    #[test]
    fn waiting_beside_an_idle_cpu_is_told_from_too_much_work() {
        let crowded = vec![waited("cpu some", 500_000), waited("memory some", 0), waited("io some", 0)];
        let confined = diagnose_machine(&situation(1_000_000_000, 0, crowded));
        let cause = &confined.causes[0];
        assert_eq!((cause.id.rule.as_str(), cause.share), ("cpu-pressure", Some(0.5)));
        assert!(
            cause.claim.contains("1.0 CPUs are idle") && cause.evidence[0].contains("hog (process 7"),
            "{cause:?}"
        );
    }

    #[test]
    fn a_cpu_that_interrupts_take_is_named() {
        let diagnosis = diagnose_machine(&situation(0, 300_000_000, calm()));
        assert_eq!(diagnosis.causes[0].id.to_string(), "interrupted-cpu/cpu:1");
    }

    #[test]
    fn memory_and_steal_have_their_own_words() {
        let short = vec![waited("cpu some", 0), waited("memory some", 50_000), waited("io some", 0)];
        let mut seen = situation(0, 0, short);
        let steal = Counter {
            probe: "stat".into(),
            name: "steal".into(),
            label: String::new(),
            unit: "us".into(),
            by_cpu: [(0, 100_000), (1, 0)].into(),
        };
        seen.observation.counters = vec![steal];
        let rules: Vec<String> =
            diagnose_machine(&seen).causes.iter().map(|cause| cause.id.rule.clone()).collect();
        assert_eq!(rules, ["memory-pressure", "stolen-time"]);
    }

    #[test]
    fn without_the_facts_it_cannot_tell() {
        let diagnosis = diagnose_machine(&Situation::default());
        assert!(diagnosis.causes.is_empty() && diagnosis.machine.is_none());
        assert_eq!(diagnosis.missing.len(), 4, "{:?}", diagnosis.missing);
    }
}
