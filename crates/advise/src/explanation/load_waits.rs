//! A process that the load waits for: the server sleeps meanwhile, and the account of the server shows sleep alone.

use machine::CpuSet;
use machine::wording::percent;
use probe::{Party, Situation};

use super::term::{Term, Terms};
use crate::diagnosis::rules::waits::slow_client::{hog_beside_clients, used};
use crate::diagnosis::{Cause, Remedy, ServerTime, Subject};

/// The rule whose claim it is.
const RULE: &str = "slow-client";
/// The load waits if it does for at least this share of its time.
const WAITS: f64 = 0.05;
/// The process has to have had a CPU for this share of the load's waiting.
const MOSTLY: f64 = 0.5;

/// The process beside the load that it waited for, and how long the load's threads waited, ns; `None` where the load hardly waited, or it
/// is not known what for: the server itself, where both share a CPU, is no cause.
pub(super) fn load_waits(situation: &Situation, load: Option<&Terms>) -> Option<(Cause, f64)> {
    let load = load?;
    let (waited_ns, all_ns) = (load.term_ns(Term::Waiting), load.total_ns());
    if all_ns <= 0.0 || waited_ns < WAITS * all_ns {
        return None;
    }
    let (hog, cpu) = hog_beside_clients(situation)?;
    // It cannot have cost the load more than its own time; and if the server runs there too, the two compete.
    let hog_ns = hog.cpus * situation.window_s * 1e9;
    if hog_ns < MOSTLY * waited_ns || server_share(situation, cpu) >= WAITS {
        return None;
    }
    let waited_ns = waited_ns.min(hog_ns);
    let claim = format!(
        "{}, where the load runs: the load waited for a CPU for {} of its time",
        used(hog, cpu),
        percent(waited_ns / all_ns)
    );
    let cause = Cause::seen(RULE, Subject::Process { pid: hog.pid }, waited_ns / all_ns, claim)
        .figure("load_waited_share", waited_ns / all_ns)
        .figure("hog_cpus", hog.cpus);
    let isolated = situation.machine.isolated().unwrap_or_default();
    let used = loads_cpus(situation).union(&situation.server.cpus());
    let spare = situation.online().difference(&used).difference(&isolated);
    let remedy = match spare.is_empty() {
        true => Remedy::by_hand("Move it or the load to another CPU, or to another host"),
        false => Remedy::set(
            "Move it to a CPU that neither the server nor the load uses",
            "process-affinity",
            hog.pid,
            spare,
        ),
    };
    Some((cause.remedy(remedy), waited_ns))
}

/// What the load's waiting costs the server, as a share of all its time: at most what it slept. With more requests in flight, and with several
/// threads of the load, it works meanwhile. `None` if it did not sleep.
pub(super) fn share_of_server(waited_ns: f64, time: &ServerTime) -> Option<f64> {
    let cost_ns = waited_ns.min(time.asleep_ns);
    (cost_ns > 0.0 && time.wall_ns > 0.0).then(|| cost_ns / time.wall_ns)
}

/// The server's share of the time in which a CPU was online.
fn server_share(situation: &Situation, cpu: u32) -> f64 {
    let seen = situation.account.iter().flat_map(|account| &account.cpus).find(|seen| seen.cpu == cpu);
    seen.and_then(|seen| seen.share_of_online(seen.target_ns)).unwrap_or(0.0)
}

/// All CPUs on which the load was seen.
fn loads_cpus(situation: &Situation) -> CpuSet {
    let load = situation.observation.beside.get(&Party::Load);
    load.iter().flat_map(|load| &load.threads).flat_map(|thread| thread.seen_on.keys().copied()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use machine::Machine;
    use machine::topology::cpus::Cpu;
    use probe::account::{Account, CpuAccount};
    use probe::{Busy, Observation, Party, ThreadSeen, TreeSeen};

    use super::*;

    /// A second in which the load ran for half of it on CPU 0 and waited for `waited_us`, beside a hog whose last CPU is `hog_on`.
    fn situation(waited_us: u64, hog_on: u32) -> Situation {
        let thread = ThreadSeen {
            tid: 8,
            pid: 8,
            comm: "load".into(),
            on_cpu_us: Some(500_000),
            waited_us: Some(waited_us),
            seen_on: BTreeMap::from([(0, 10), (1, 1)]),
            ..ThreadSeen::default()
        };
        let load = TreeSeen { threads: vec![thread], followed_us: 1_000_000 };
        let cpu = |id| Cpu { id, online: true, ..Cpu::default() };
        let busy =
            |pid, comm: &str, last_cpu| Busy { pid, comm: comm.into(), cpus: 0.5, last_cpu: Some(last_cpu) };
        Situation {
            pids: vec![7],
            window_s: 1.0,
            machine: Machine { cpus: vec![cpu(0), cpu(1), cpu(2)], ..Machine::default() },
            observation: Observation {
                to_ns: 1_000_000_000,
                beside: BTreeMap::from([(Party::Load, load)]),
                ..Observation::default()
            },
            busy: vec![busy(7, "server", 0), busy(9, "hog", hog_on)],
            ..Situation::default()
        }
    }

    fn found(situation: &Situation) -> Option<(Cause, f64)> {
        load_waits(situation, Terms::of_load(situation).as_ref())
    }

    #[test]
    fn a_process_that_the_load_waits_for_is_named_with_its_cpu() {
        let (cause, waited_ns) = found(&situation(400_000, 0)).unwrap();
        assert_eq!((cause.id.to_string().as_str(), waited_ns), ("slow-client/process:9", 4e8));
        assert!(
            cause.claim.contains("hog (process 9) used 50 % of a CPU and was last seen on CPU 0"),
            "{}",
            cause.claim
        );
        let setting = cause.remedies[0].setting.as_ref().unwrap();
        assert_eq!(
            (setting.target.as_str(), setting.value.as_str()),
            ("9", "2"),
            "the load was on CPU 1, too"
        );
    }

    #[test]
    fn a_load_that_waits_costs_a_server_that_works_on_nothing() {
        let mut time = ServerTime::of(&crate::diagnosis::situation_builder::situation()).unwrap();
        assert_eq!(share_of_server(1e8, &time), Some(0.1));
        assert_eq!(
            share_of_server(4e9, &time),
            Some(0.4),
            "eight threads of the load wait, and it slept for 0.4 s"
        );
        time.asleep_ns = 0.0;
        assert_eq!(share_of_server(4e9, &time), None);
    }

    #[test]
    fn a_process_elsewhere_the_server_itself_and_a_load_that_hardly_waits_are_not() {
        assert_eq!(found(&situation(400_000, 1)), None, "it is on another CPU");
        let mut beside_server = situation(400_000, 0);
        beside_server.busy.truncate(1);
        assert_eq!(found(&beside_server), None, "together on a CPU, each waits for the other");
        assert_eq!(found(&situation(10_000, 0)), None);
        let mut idle_hog = situation(400_000, 0);
        idle_hog.busy[1].cpus = 0.12;
        assert_eq!(found(&idle_hog), None, "it had the CPU for less than a third of that");
        let mut together = situation(400_000, 0);
        let cpu = CpuAccount { cpu: 0, wall_ns: 1_000, target_ns: 300, ..CpuAccount::default() };
        together.account = Some(Account { cpus: vec![cpu], ..Account::default() });
        assert_eq!(found(&together), None, "the server runs there, too");
        let offline = |total_ns| Some(probe::account::Offline { total_ns, left: 1, came: 0 });
        let cpu = &mut together.account.as_mut().unwrap().cpus[0];
        // It was there for half of the window, and had a small part of that.
        (cpu.target_ns, cpu.offline) = (50, offline(500));
        assert_eq!(server_share(&together, 0), 0.1);
        together.account.as_mut().unwrap().cpus[0].offline = offline(1_000);
        assert_eq!(server_share(&together, 0), 0.0, "there was no time in which it could have had it");
        assert_eq!(found(&Situation::default()), None);
    }
}
