//! What is wrong with a machine, whoever runs on it: no server is named, so nothing is charged to anybody.

use machine::wording::{percent, things_per_second};
use machine::{CpuSet, Missing};
use probe::Situation;
use probe::account::{Account, CpuAccount, Source};
use serde::Serialize;

use super::cause::{Cause, Remedy, Subject};
use super::rules::machine::steal;
use super::rules::{About, Costs, Looked};

/// Waits for CPUs or for I/O (PSI) are reported from this share of the window on.
const WAITS: f64 = 0.10;
/// The same for memory: a machine that has enough never waits for it.
const WAITS_FOR_MEMORY: f64 = 0.01;
/// The same for steal.
const STOLEN: f64 = 0.01;
/// A CPU of which interrupts take this share is no place for a server.
const INTERRUPTED: f64 = 0.20;
/// With so many idle CPUs, or such a share of all, tasks do not wait because there is more work than CPUs.
const IDLE_CPUS: f64 = 0.5;
const IDLE_SHARE: f64 = 0.1;
/// CPUs with many interrupts that are named.
const NAMED: usize = 4;
/// Less of this a second does not explain why tasks wait for memory.
const FEW_PER_S: f64 = 1.0;

/// What the CPUs of a machine did, in CPUs on average over the window.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct MachineTime {
    /// Length of the window, s.
    pub window_s: f64,
    /// CPUs that were counted.
    pub cpus: usize,
    /// With tasks; `None` where a part of it is not known.
    pub busy_cpus: Option<f64>,
    /// With interrupts and softirqs; `None` as above.
    pub interrupted_cpus: Option<f64>,
    /// Idle; `None` as above.
    pub idle_cpus: Option<f64>,
}

impl MachineTime {
    /// From the kernel's account, else from counters, in which interrupts are those that the kernel books apart; `None` without either.
    pub fn of(situation: &Situation) -> Option<Self> {
        let Some(account) = situation.account.as_ref().filter(|account| account.window_s > 0.0) else {
            return Self::of_counters(situation);
        };
        let sum = |of: fn(&CpuAccount) -> u64| {
            Some(account.cpus.iter().map(|cpu| of(cpu) as f64).sum::<f64>() / (account.window_s * 1e9))
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
        const BUSY: [&str; 3] = ["user", "nice", "system"];
        const INTERRUPTS: [&str; 2] = ["irq", "softirq"];
        const IDLE: [&str; 2] = ["idle", "iowait"];
        let observation = &situation.observation;
        let rate = |row: &str, cpu: u32| observation.rate("stat", row, cpu);
        let counted =
            |cpu: &u32| BUSY.iter().chain(&INTERRUPTS).chain(&IDLE).any(|row| rate(row, *cpu).is_some());
        let cpus: Vec<u32> = situation.online().iter().filter(counted).collect();
        // A sum of which a part is not known is not known.
        let sum = |rows: &[&str]| {
            let mut us = 0.0;
            for cpu in &cpus {
                for row in rows {
                    us += rate(row, *cpu)?;
                }
            }
            Some(us / 1e6)
        };
        (!cpus.is_empty()).then(|| Self {
            window_s: observation.window_s(),
            cpus: cpus.len(),
            busy_cpus: sum(&BUSY),
            interrupted_cpus: sum(&INTERRUPTS),
            idle_cpus: sum(&IDLE),
        })
    }
}

/// A trouble of a whole machine, and how it is looked for.
pub struct MachineRule {
    /// What it is.
    pub about: About,
    pub(super) look: fn(&About, &Situation) -> Looked,
}

/// All of them.
pub static ALL: &[MachineRule] = &[
    MachineRule {
        about: About {
            id: "cpu-pressure",
            title: "waiting for CPUs",
            costs: Costs::Machine,
            docs: "Tasks waited for a CPU for a tenth of the window or more (PSI cpu some). If other CPUs were idle, these tasks are confined to \
                   too few (affinity, cpuset, quota, isolated CPUs), or wake up together and queue for a moment, as on any busy machine; if none \
                   was, the machine has more work than CPUs. PSI does not say which tasks wait: name a server.",
        },
        look: cpu_pressure,
    },
    MachineRule {
        about: About {
            id: "memory-pressure",
            title: "waiting for memory",
            costs: Costs::Machine,
            docs: "Tasks waited for memory (PSI memory some): pages come back from swap, or have to be freed or moved together before they can be \
                   given. Either the machine is short, or a cgroup is at its limit while the machine has plenty: what is freed for a limit is not \
                   in the kernel's count for the machine (allocstall).",
        },
        look: memory_pressure,
    },
    MachineRule {
        about: About {
            id: "io-pressure",
            title: "waiting for I/O",
            costs: Costs::Machine,
            docs: "Tasks waited for I/O for a tenth of the window or more (PSI io some). A batch job that reads a disk causes this and does no \
                   harm by itself; a database that makes its log durable on the same disk does wait. Name the server.",
        },
        look: io_pressure,
    },
    MachineRule {
        about: About {
            id: "interrupted-cpu",
            title: "CPUs taken by interrupts",
            costs: Costs::Machine,
            docs: "Interrupts and softirqs take a fifth of a CPU or more. Whatever runs there is slowed by as much, and its CPU time does not \
                   show it. The largest source is named; what is moved is what raises it. Packets between local processes are worked off \
                   where they are sent, and are work of their own.",
        },
        look: interrupted_cpu,
    },
    MachineRule {
        about: About {
            id: "stolen-time",
            title: "steal",
            costs: Costs::Machine,
            docs: "For 1 % of the time or more, the hypervisor did not run CPUs that had work: it ran other guests, or holds this one to a limit. No \
                   setting of the guest changes it.",
        },
        look: stolen_time,
    },
];

impl MachineRule {
    /// Looks for it.
    pub fn examine(&self, situation: &Situation) -> Looked {
        (self.look)(&self.about, situation)
    }
}

/// Share of the window in which tasks waited for a resource, where it is `most` or more; else what a rule says to it.
fn pressure(about: &About, situation: &Situation, row: &str, most: f64) -> Result<f64, Looked> {
    match situation.observation.system_rate("pressure", row).map(|us| us / 1e6) {
        None => {
            let why = match situation.account_alone {
                true => "only the kernel's account was kept of that time",
                false => {
                    "the kernel keeps no pressure (PSI): needs CONFIG_PSI, and psi=1 at boot if it is off by default"
                }
            };
            Err(Looked::CannotTell(Missing::new(about.title, why)))
        }
        Some(share) if share < most => Err(Looked::Fine),
        Some(share) => Ok(share),
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
    let waited = match pressure(about, situation, "cpu some", WAITS) {
        Ok(waited) => waited,
        Err(looked) => return looked,
    };
    let idle = MachineTime::of(situation).and_then(|time| Some((time.idle_cpus?, time.cpus)));
    let (claim, remedy) = match idle {
        Some((idle, 1)) if idle >= IDLE_SHARE => (
            format!(
                "Tasks wait for the only CPU, though it is idle for {} of the time: they wake up together, or a quota holds them back",
                percent(idle)
            ),
            "Look for a quota that is used up (nr_throttled in cpu.stat of each cgroup); else spread in time what starts together (timers, batches), or \
             give the machine another CPU",
        ),
        Some((idle, cpus)) if idle >= IDLE_CPUS.min(IDLE_SHARE * cpus as f64) => (
            format!(
                "Tasks wait for a CPU while {idle:.1} CPUs are idle: they are confined to too few, held back by a quota, or wake up together"
            ),
            "Find the tasks that wait (pinwise diagnose --process NAME), and check their affinity, cpuset and quota, and which CPUs are isolated",
        ),
        None => (
            "Tasks wait for a CPU; whether others were idle is not known".to_string(),
            "Find the tasks that wait, and check their affinity, cpuset and quota",
        ),
        Some(_) => more_work(situation),
    };
    let cause = Cause::seen(about.id, Subject::Machine, waited, claim).figure("cpu_some_share", waited);
    Looked::Found(vec![with_busiest(cause, situation).remedy(Remedy::by_hand(remedy))])
}

/// That no CPU is idle, and what to do: what the hypervisor withholds is no work of this machine.
fn more_work(situation: &Situation) -> (String, &'static str) {
    match situation.stolen_share(&situation.online()).filter(|share| *share >= WAITS) {
        Some(stolen) => (
            format!(
                "There is more work than CPU time: the hypervisor withholds {} of the CPUs' time (steal)",
                percent(stolen)
            ),
            steal::REMEDY,
        ),
        None => (
            "There is more work than CPUs".to_string(),
            "Find the tasks that wait and those that could run elsewhere: pinwise diagnose --process NAME",
        ),
    }
}

/// What makes tasks wait for memory: its row, what is counted there, what happens to these, the figure.
const OF_MEMORY: [(&str, &str, &str, &str); 3] = [
    ("pswpin", "pages", "come from swap", "swapped_in_pages_per_s"),
    (
        "allocstall",
        "allocations",
        "have to free memory because the machine is short of it",
        "allocation_stalls_per_s",
    ),
    ("compact_stall", "allocations", "have to move pages together", "compact_stalls_per_s"),
];

fn memory_pressure(about: &About, situation: &Situation) -> Looked {
    let waited = match pressure(about, situation, "memory some", WAITS_FOR_MEMORY) {
        Ok(waited) => waited,
        Err(looked) => return looked,
    };
    let mut cause = Cause::seen(about.id, Subject::Machine, waited, "Tasks wait for memory")
        .figure("memory_some_share", waited)
        .remedy(Remedy::by_hand("Find the process or cgroup that is short: pinwise diagnose --process NAME; memory.pressure of each cgroup (version 2)"));
    let mut most_per_s: f64 = 0.0;
    for (row, things, what, figure) in OF_MEMORY {
        let Some(per_s) = situation.observation.system_rate("memory", row) else { continue };
        most_per_s = most_per_s.max(per_s);
        cause = cause.because(format!("{} {what}", things_per_second(per_s, things))).figure(figure, per_s);
    }
    if most_per_s < FEW_PER_S && !cause.evidence.is_empty() {
        cause = cause.because(
            "that is little: a cgroup is probably at its limit (what is freed for a limit is not counted here), or files are read again that were \
             thrown out of the page cache",
        );
    }
    Looked::Found(vec![cause])
}

fn io_pressure(about: &About, situation: &Situation) -> Looked {
    let waited = match pressure(about, situation, "io some", WAITS) {
        Ok(waited) => waited,
        Err(looked) => return looked,
    };
    let cause = Cause::seen(about.id, Subject::Machine, waited, "Tasks wait for I/O")
        .figure("io_some_share", waited)
        .remedy(Remedy::by_hand("Find the cgroup: io.pressure of each (version 2); pinwise diagnose --process NAME says whether a server waits for I/O"));
    Looked::Found(vec![with_busiest(cause, situation)])
}

fn interrupted_cpu(about: &About, situation: &Situation) -> Looked {
    let Some(account) = &situation.account else { return Looked::needs_account(about) };
    let share = |cpu: &CpuAccount| cpu.share_of_online(cpu.interrupted_ns).unwrap_or(0.0);
    let mut crowded: Vec<&CpuAccount> = account.cpus.iter().filter(|cpu| share(cpu) >= INTERRUPTED).collect();
    crowded.sort_by(|a, b| share(b).total_cmp(&share(a)));
    let online = account.cpus.iter().filter(|cpu| cpu.online_ns() > 0).count();
    let all: CpuSet = crowded.iter().map(|cpu| cpu.cpu).collect();
    let remedy = match all.len() == online {
        true => {
            "No CPU is free of them: have them come less often (knob coalescing, for a network card; pinwise watch --cpu names functions and lines)"
        }
        false => {
            "Keep servers off this CPU, or move what raises them (pinwise watch --cpu names functions and lines)"
        }
    };
    let causes = crowded.iter().take(NAMED).map(|cpu| {
        let claim =
            format!("Interrupts take {} of CPU {}{}", percent(share(cpu)), cpu.cpu, above_all(account, cpu));
        let cause = Cause::seen(about.id, Subject::Cpu { cpu: cpu.cpu }, share(cpu), claim)
            .figure("interrupted_share", share(cpu))
            .remedy(Remedy::by_hand(remedy));
        match all.len() > NAMED {
            true => cause.because(format!(
                "they take {} or more of each of {} CPUs: {all}; only the busiest are listed",
                percent(INTERRUPTED),
                all.len()
            )),
            false => cause,
        }
    });
    Looked::of(causes.collect())
}

/// What takes most of a CPU's interrupt time: `, above all IRQ 24 (eth0-rx-0)`.
fn above_all(account: &Account, cpu: &CpuAccount) -> String {
    let largest = cpu.sources.iter().max_by_key(|(_, seen)| seen.all.total_ns).map(|(source, _)| source);
    let line =
        account.lines.iter().filter(|line| line.cpu == cpu.cpu).max_by_key(|line| line.seen.all.total_ns);
    match (largest, line) {
        (Some(Source::Device), Some(line)) => {
            format!(", above all IRQ {} ({})", line.irq, line.name.as_deref().unwrap_or("not known"))
        }
        (Some(source), _) => format!(", above all {}", source.words()),
        (None, _) => String::new(),
    }
}

fn stolen_time(about: &About, situation: &Situation) -> Looked {
    let Some(share) = situation.stolen_share(&situation.online()) else { return Looked::DoesNotApply };
    if share < STOLEN {
        return Looked::Fine;
    }
    let claim = format!(
        "The hypervisor withholds {} of the CPUs' time: for other guests, or at a limit of this one (steal)",
        percent(share)
    );
    let cause = Cause::seen(about.id, Subject::Machine, share, claim).figure("steal_share", share);
    Looked::Found(vec![cause.remedy(Remedy::by_hand(steal::REMEDY))])
}

#[cfg(test)]
mod tests {
    use machine::Machine;
    use machine::topology::cpus::Cpu;
    use probe::{Busy, Counter, Observation, SystemCounter};

    use super::*;
    use crate::diagnosis::diagnose_machine;

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
            ["cpu-pressure", "memory-pressure", "io-pressure", "interrupted-cpu", "one-cpu-for-all-queues"]
        );
        let time = diagnosis.machine.unwrap();
        assert_eq!((time.cpus, time.busy_cpus, time.idle_cpus), (2, Some(0.1), Some(1.89)));
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
    fn one_cpu_that_is_idle_half_of_the_time_has_no_more_work_than_cpus() {
        let crowded = || vec![waited("cpu some", 150_000), waited("memory some", 0), waited("io some", 0)];
        let claim = |seen: &Situation| diagnose_machine(seen).causes[0].claim.clone();
        let mut one = situation(550_000_000, 0, crowded());
        one.account.as_mut().unwrap().cpus.truncate(1);
        assert!(claim(&one).contains("the only CPU") && claim(&one).contains("45 %"), "{}", claim(&one));
        one.account.as_mut().unwrap().cpus[0].idle_ns = 20_000_000;
        assert_eq!(claim(&one), "There is more work than CPUs");
        let some_room = situation(800_000_000, 0, crowded());
        assert!(claim(&some_room).contains("confined to too few, held back by a quota, or wake up together"));
    }

    #[test]
    fn memory_that_no_count_of_the_machine_explains_is_short_in_a_cgroup() {
        let evidence = |stalls: u64, moved: u64| {
            let row = |name: &str, value| SystemCounter { probe: "memory".into(), ..waited(name, value) };
            let system = vec![
                waited("memory some", 50_000),
                row("pswpin", 0),
                row("allocstall", stalls),
                row("compact_stall", moved),
            ];
            diagnose_machine(&situation(0, 0, system)).causes[0].evidence.clone()
        };
        let in_cgroup = evidence(0, 0);
        assert!(in_cgroup.last().unwrap().contains("a cgroup is probably at its limit"), "{in_cgroup:?}");
        assert_eq!(evidence(500, 0).len(), 3, "the machine is short");
        let scattered = evidence(0, 80);
        assert_eq!(scattered.last().unwrap(), "80 allocations/s have to move pages together");
    }

    #[test]
    fn a_ring_does_not_say_that_the_kernel_keeps_no_pressure() {
        let mut ring = situation(0, 0, Vec::new());
        ring.account_alone = true;
        let missing = diagnose_machine(&ring).missing;
        let says = |words: &str| missing.iter().any(|missing| missing.why.contains(words));
        assert!(says("only the kernel's account") && !says("PSI"), "{missing:?}");
    }

    #[test]
    fn a_cpu_that_interrupts_take_is_named() {
        let diagnosis = diagnose_machine(&situation(0, 300_000_000, calm()));
        assert_eq!(diagnosis.causes[0].id.to_string(), "interrupted-cpu/cpu:1");
    }

    #[test]
    fn tasks_that_a_quota_holds_back_need_not_wake_up_together() {
        let crowded = vec![waited("cpu some", 500_000), waited("memory some", 0), waited("io some", 0)];
        let mut one = situation(500_000_000, 0, crowded);
        one.account.as_mut().unwrap().cpus.truncate(1);
        let cause = diagnose_machine(&one).causes.remove(0);
        assert!(cause.claim.contains("or a quota") && cause.remedies[0].words.contains("nr_throttled"));
    }

    #[test]
    fn what_the_hypervisor_withholds_is_no_work_of_the_machine() {
        let crowded = vec![waited("cpu some", 500_000), waited("memory some", 0), waited("io some", 0)];
        let mut seen = situation(1_000_000_000, 0, crowded);
        let cpus = &mut seen.account.as_mut().unwrap().cpus;
        (cpus[1].other_ns, cpus[1].idle_ns) = (1_000_000_000, 0);
        let claim = |seen: &Situation| {
            let causes = diagnose_machine(seen).causes;
            causes.into_iter().find(|cause| cause.id.rule == "cpu-pressure").unwrap().claim
        };
        assert_eq!(claim(&seen), "There is more work than CPUs");
        for cpu in &mut seen.account.as_mut().unwrap().cpus {
            cpu.steal_ns = Some(400_000_000);
        }
        assert!(claim(&seen).contains("withholds 40 %"), "{}", claim(&seen));
    }

    #[test]
    fn of_many_cpus_with_interrupts_the_busiest_are_named_and_none_is_said_to_be_free() {
        let mut seen = situation(0, 300_000_000, calm());
        let of_one = seen.account.as_ref().unwrap().cpus[1].clone();
        let crowded =
            |cpu| CpuAccount { cpu, interrupted_ns: 300_000_000 + u64::from(cpu), ..of_one.clone() };
        seen.account.as_mut().unwrap().cpus = (0..64).map(crowded).collect();
        let causes = diagnose_machine(&seen).causes;
        let ids: Vec<String> = causes.iter().map(|cause| cause.id.to_string()).collect();
        let busiest = [63, 62, 61, 60].map(|cpu| format!("interrupted-cpu/cpu:{cpu}"));
        assert_eq!(ids, busiest);
        assert!(causes[0].evidence[0].contains("64 CPUs: 0-63"), "{causes:?}");
        assert!(causes[0].remedies[0].words.starts_with("No CPU is free"), "{causes:?}");
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
    fn a_row_that_is_not_known_is_no_idle_cpu_and_no_busy_one() {
        let mut seen = situation(0, 0, vec![waited("cpu some", 500_000)]);
        seen.account = None;
        let row = |name: &str, by_cpu: &[(u32, u64)]| Counter {
            probe: "stat".into(),
            name: name.into(),
            label: String::new(),
            unit: "us".into(),
            by_cpu: by_cpu.iter().copied().collect(),
        };
        seen.observation.still = ["nice", "irq", "softirq", "iowait"].map(|row| format!("stat/{row}")).into();
        seen.observation.counters = vec![
            row("user", &[(0, 900_000), (1, 100_000)]),
            row("system", &[(0, 0), (1, 0)]),
            row("idle", &[(0, 100_000)]),
        ];
        let time = MachineTime::of(&seen).unwrap();
        assert_eq!((time.cpus, time.idle_cpus, time.interrupted_cpus), (2, None, Some(0.0)));
        assert!((time.busy_cpus.unwrap() - 1.0).abs() < 1e-9);
        let claim = |seen: &Situation| diagnose_machine(seen).causes[0].claim.clone();
        assert!(claim(&seen).contains("not known"), "{}", claim(&seen));
        seen.observation.counters[2] = row("idle", &[(0, 100_000), (1, 900_000)]);
        assert!(claim(&seen).contains("1.0 CPUs are idle"), "{}", claim(&seen));
    }

    #[test]
    fn without_the_facts_it_cannot_tell() {
        let diagnosis = diagnose_machine(&Situation::default());
        assert!(diagnosis.causes.is_empty() && diagnosis.machine.is_none());
        assert_eq!(diagnosis.missing.len(), 5, "{:?}", diagnosis.missing);
    }
}
