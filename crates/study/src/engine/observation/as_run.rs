//! What was really so during a trial, from its observation: pure.

use std::collections::BTreeMap;

use machine::CpuSet;
use probe::{Observation, Party, ThreadSeen};

use super::{demand, misplacement};
use crate::trial::{AsRun, Quota};

/// Reduces an observation to what a trial records. What is known only with the placement, the run or the energy zones is filled in
/// by the caller.
pub fn from_observation(observation: &Observation, load_allowed: Option<CpuSet>) -> AsRun {
    let threads = &observation.threads;
    let window_us = observation.window_s() * 1e6;
    let sum = |field: fn(&ThreadSeen) -> Option<u64>| -> Option<u64> {
        let known: Vec<u64> = threads.iter().filter_map(field).collect();
        (!known.is_empty()).then(|| known.iter().sum())
    };
    let allowed = threads.iter().filter_map(|t| CpuSet::from_list(t.allowed.as_deref()?).ok());
    let server_allowed = allowed.reduce(|a, b| a.union(&b));
    AsRun {
        server_cpus_used: misplacement::share_by_cpu(threads.iter()),
        server_may_use_cpus: server_allowed.as_ref().and_then(|allowed| may_use_cpus(observation, allowed)),
        server_busy_cpus: demand::cpus_of_server(observation),
        server_allowed,
        load_allowed,
        server_migrations: sum(|t| t.migrations),
        server_involuntary_switches: sum(|t| t.involuntary_switches),
        server_waited_share: sum(|t| t.waited_us).filter(|_| window_us > 0.0).map(|us| us as f64 / window_us),
        others_busy_cpus: others_busy_cpus(observation),
        others_user_cpus: None,
        steal_share: steal_share(observation),
        energy_by_zone_j: BTreeMap::new(),
        not_as_asked: Vec::new(),
        server_demand: demand::of_server(observation),
        server_quotas: quotas_of(observation, Party::Server),
        load_quotas: quotas_of(observation, Party::Load),
        ..AsRun::default()
    }
}

/// How many CPUs the server may use that is allowed on these.
fn may_use_cpus(observation: &Observation, allowed: &CpuSet) -> Option<f64> {
    // A task may be allowed on CPUs that are offline; /proc/stat has those that are online.
    let of_stat = observation.counters.iter().filter(|counter| counter.probe == "stat");
    let online: CpuSet = of_stat.flat_map(|counter| counter.by_cpu.keys().copied()).collect();
    let cpus = if online.is_empty() { allowed.len() } else { allowed.intersection(&online).len() };
    let quotas = observation.quotas.iter().filter(|quota| quota.party == Party::Server && quota.cpus > 0.0);
    let most = quotas.map(|quota| quota.cpus).fold(cpus as f64, f64::min);
    (most > 0.0).then_some(most)
}

/// The quotas that one of server and load was under.
fn quotas_of(observation: &Observation, party: Party) -> Vec<Quota> {
    let of_party = observation.quotas.iter().filter(|quota| quota.party == party);
    let quota = |seen: &probe::QuotaSeen| Quota {
        cgroup: seen.cgroup.clone(),
        cpus: seen.cpus,
        periods: seen.periods,
        throttled_periods: seen.throttled_periods,
        throttled_us: seen.throttled_us,
    };
    of_party.map(quota).collect()
}

/// Busy time of all CPUs less that of the server, the dose and the recipe's neighbours, in CPUs; `None` when it is not known.
fn others_busy_cpus(observation: &Observation) -> Option<f64> {
    let window_us = observation.window_s() * 1e6;
    let busy = all_cpus_us(observation, &["user", "nice", "system", "irq", "softirq"])?;
    let server: u64 = observation.threads.iter().filter_map(|t| t.on_cpu_us).sum();
    let neighbours = demand::cpus_of_neighbours(observation);
    (window_us > 0.0).then(|| (busy.saturating_sub(server) as f64 / window_us - neighbours).max(0.0))
}

/// User time of all CPUs less that of the server's threads, in CPUs; `None` when one of them is not known. Interrupts and the
/// kernel's own threads, which work for the server too, are not in it.
pub fn user_cpus_beside_the_server(observation: &Observation) -> Option<f64> {
    let window_us = observation.window_s() * 1e6;
    let user = all_cpus_us(observation, &["user", "nice"])?;
    let server: u64 = observation.threads.iter().filter_map(|t| t.user_us).sum();
    (window_us > 0.0).then(|| user.saturating_sub(server) as f64 / window_us)
}

/// Steal as a share of all CPUs' time; `None` when it is not known.
fn steal_share(observation: &Observation) -> Option<f64> {
    let window_us = observation.window_s() * 1e6;
    let cpus = cpus_of_stat(observation)?;
    let steal = all_cpus_us(observation, &["steal"])?;
    (window_us > 0.0).then(|| steal as f64 / window_us / cpus as f64)
}

/// Time of all CPUs in these columns of /proc/stat together, us; `None` where one was not read, or not of all CPUs.
fn all_cpus_us(observation: &Observation, columns: &[&str]) -> Option<u64> {
    let cpus = cpus_of_stat(observation);
    let column = |name: &&str| match observation.counter("stat", name) {
        Some(counter) => (Some(counter.by_cpu.len()) == cpus)
            .then(|| counter.by_cpu.values().copied().fold(0, u64::saturating_add)),
        None => observation.still.iter().any(|still| *still == format!("stat/{name}")).then_some(0),
    };
    columns.iter().map(column).try_fold(0, |sum: u64, us| Some(sum.saturating_add(us?)))
}

/// How many CPUs /proc/stat has: as many as the column that was read for the most of them.
fn cpus_of_stat(observation: &Observation) -> Option<usize> {
    let of_stat = observation.counters.iter().filter(|counter| counter.probe == "stat");
    of_stat.map(|counter| counter.by_cpu.len()).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe::Counter;

    fn thread(tid: u32, on_cpu_us: u64, seen_on: &[(u32, u64)]) -> ThreadSeen {
        ThreadSeen {
            tid,
            on_cpu_us: Some(on_cpu_us),
            seen_on: seen_on.iter().copied().collect(),
            allowed: Some("0-1".into()),
            ..ThreadSeen::default()
        }
    }

    fn one_second(threads: Vec<ThreadSeen>, counters: Vec<Counter>) -> Observation {
        Observation { from_ns: 0, to_ns: 1_000_000_000, threads, counters, ..Observation::default() }
    }

    fn stat(name: &str, by_cpu: &[(u32, u64)]) -> Counter {
        Counter {
            probe: "stat".into(),
            name: name.into(),
            label: String::new(),
            unit: "us".into(),
            by_cpu: by_cpu.iter().copied().collect(),
        }
    }

    #[test]
    fn busy_threads_weigh_and_sleepers_do_not() {
        let o = one_second(vec![thread(1, 900_000, &[(0, 3), (1, 1)]), thread(2, 0, &[(1, 4)])], vec![]);
        let used = from_observation(&o, None).server_cpus_used;
        assert_eq!(used, BTreeMap::from([(0, 0.75), (1, 0.25)]));
        assert_eq!(from_observation(&o, None).server_demand.unwrap().on_cpu_share, 0.9);
    }

    #[test]
    fn unknown_stays_unknown() {
        let nothing = from_observation(&one_second(vec![], vec![]), None);
        assert_eq!(nothing, AsRun::default());
    }

    #[test]
    fn what_others_used_is_all_less_the_server() {
        let busy = vec![stat("user", &[(0, 900_000), (1, 500_000)]), stat("system", &[(0, 100_000), (1, 0)])];
        let mut o = one_second(vec![thread(1, 800_000, &[(0, 1)])], busy);
        o.still = ["nice", "irq", "softirq"].map(|column| format!("stat/{column}")).to_vec();
        assert_eq!(from_observation(&o, None).others_busy_cpus, Some(0.7));
    }

    #[test]
    fn a_sum_over_cpus_is_not_known_where_one_of_them_is_not() {
        let idle = stat("idle", &[(0, 500_000), (1, 500_000)]);
        let user = |by_cpu: &[(u32, u64)]| {
            let mut o = one_second(vec![], vec![idle.clone(), stat("user", by_cpu)]);
            assert_eq!(user_cpus_beside_the_server(&o), None, "nice is not known");
            o.still.push("stat/nice".into());
            user_cpus_beside_the_server(&o)
        };
        assert_eq!(user(&[(0, 500_000), (1, 200_000)]), Some(0.7));
        assert_eq!(user(&[(0, 500_000)]), None, "a time of CPU 1 could not be read");
        let mut o = one_second(vec![], vec![idle, stat("steal", &[(1, 100_000)])]);
        assert_eq!(from_observation(&o, None).steal_share, None);
        o.counters.remove(1);
        o.still.push("stat/steal".into());
        assert_eq!(from_observation(&o, None).steal_share, Some(0.0));
    }

    #[test]
    fn quotas_belong_to_who_is_under_them() {
        let quota = |party, throttled_us| probe::QuotaSeen {
            party,
            cgroup: "/box".into(),
            cpus: 0.4,
            periods: 10,
            throttled_periods: 7,
            throttled_us,
        };
        let quotas = vec![quota(Party::Server, 5), quota(Party::Load, 9)];
        let seen = from_observation(&Observation { quotas, ..one_second(vec![], vec![]) }, None);
        assert_eq!((seen.server_quotas.len(), seen.server_quotas[0].throttled_us), (1, 5));
        assert_eq!((seen.load_quotas.len(), seen.load_quotas[0].throttled_us), (1, 9));
    }

    #[test]
    fn a_server_may_use_what_it_is_allowed_on_and_is_online_and_its_quota_leaves() {
        let may_use = |counters: Vec<Counter>, quotas: Vec<probe::QuotaSeen>| {
            let mut o = one_second(vec![thread(1, 400_000, &[]), thread(2, 300_000, &[])], counters);
            o.quotas = quotas;
            let seen = from_observation(&o, None);
            (seen.server_busy_cpus, seen.server_may_use_cpus)
        };
        assert_eq!(may_use(vec![], vec![]), (Some(0.7), Some(2.0)));
        let one_online = || vec![stat("user", &[(0, 700_000)])];
        assert_eq!(may_use(one_online(), vec![]), (Some(0.7), Some(1.0)), "CPU 1 is offline");
        let quota = |party, cpus| probe::QuotaSeen {
            party,
            cgroup: "/box".into(),
            cpus,
            periods: 10,
            throttled_periods: 0,
            throttled_us: 0,
        };
        let quotas = vec![quota(Party::Load, 0.5), quota(Party::Server, 1.5)];
        assert_eq!(may_use(vec![], quotas), (Some(0.7), Some(1.5)));
    }

    #[test]
    fn steal_is_zero_only_when_it_was_read() {
        let idle = stat("idle", &[(0, 500_000), (1, 500_000)]);
        let mut o = one_second(vec![], vec![idle]);
        assert_eq!(from_observation(&o, None).steal_share, None);
        o.still.push("stat/steal".into());
        assert_eq!(from_observation(&o, None).steal_share, Some(0.0));
        o.counters.push(stat("steal", &[(0, 100_000), (1, 0)]));
        assert_eq!(from_observation(&o, None).steal_share, Some(0.05));
    }
}
