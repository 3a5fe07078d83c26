//! How much server, load and the recipe's own neighbours wanted a CPU during a trial, from its observation: pure.

use load::children::CpuTime;
use machine::Missing;
use probe::{Observation, Party, ThreadSeen, TreeSeen};

use crate::trial::Demand;

/// What is known of the load's CPU time.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::engine) struct LoadSeen {
    /// Of its busiest thread.
    pub demand: Option<Demand>,
    /// CPU time of all of it, in CPUs.
    pub busy_cpus: Option<f64>,
    /// Why one of these is not known.
    pub missing: Option<Missing>,
}

/// The demand of the server's busiest thread; `None` when CPU times are not known.
pub(super) fn of_server(observation: &Observation) -> Option<Demand> {
    of_busiest(&observation.threads, observation.window_s() * 1e6)
}

/// CPU time of all threads of the server, in CPUs; `None` when it is not known.
pub(super) fn cpus_of_server(observation: &Observation) -> Option<f64> {
    cpus_of_threads(&observation.threads, observation.window_s() * 1e6)
}

/// The same of the load. `whole_run` is the CPU time of its process tree from start to end, in CPUs, where the window is the
/// whole run: that counts processes that lived too briefly to be sampled, and `None` is a window within a run.
pub(in crate::engine) fn of_load(observation: &Observation, whole_run: Option<f64>) -> LoadSeen {
    let tree = observation.beside.get(&Party::Load).filter(|tree| tree.followed_us > 0);
    let Some(tree) = tree else {
        let missing =
            Missing::new("demand of the load", "none of its threads was seen in the measured window");
        return LoadSeen { demand: None, busy_cpus: whole_run, missing: Some(missing) };
    };
    let followed_us = tree.followed_us as f64;
    let demand = of_busiest(&tree.threads, followed_us);
    let Some(sampled_cpus) = cpus_of(tree) else {
        let missing =
            Missing::new("demand of the load", "the kernel does not report the CPU time of its threads");
        return LoadSeen { demand: None, busy_cpus: whole_run, missing: Some(missing) };
    };
    let unseen_cpus = whole_run.map_or(0.0, |cpus| cpus - sampled_cpus);
    // A thread that nobody saw can have used all of it.
    if demand.is_some_and(|demand| unseen_cpus > demand.on_cpu_share) {
        let why = format!(
            "processes and threads that lived too briefly to be sampled used {unseen_cpus:.2} CPUs, more than any that was seen"
        );
        let missing = Missing::new("demand of the load", why);
        return LoadSeen { demand: None, busy_cpus: whole_run, missing: Some(missing) };
    }
    let busy_cpus = Some(whole_run.map_or(sampled_cpus, |cpus| cpus.max(sampled_cpus)));
    LoadSeen { demand, busy_cpus, missing: None }
}

/// CPU time of a load's whole run in CPUs.
pub(in crate::engine) fn whole_run_cpus(used: CpuTime, from_ns: u64, to_ns: u64) -> Option<f64> {
    let run_s = to_ns.saturating_sub(from_ns) as f64 / 1e9;
    (run_s > 0.0).then(|| used.total_s() / run_s)
}

/// CPU time of a process tree while it was followed, in CPUs; `None` when it is not known.
pub(in crate::engine) fn cpus_of(tree: &TreeSeen) -> Option<f64> {
    cpus_of_threads(&tree.threads, tree.followed_us as f64)
}

fn cpus_of_threads(threads: &[ThreadSeen], window_us: f64) -> Option<f64> {
    let known: Vec<u64> = threads.iter().filter_map(cpu_us).collect();
    let is_known = window_us > 0.0 && !known.is_empty();
    is_known.then(|| known.iter().sum::<u64>() as f64 / window_us)
}

/// User time of the dose and of the recipe's neighbours, in CPUs; 0 where there are none.
pub(in crate::engine) fn user_cpus_of_neighbours(observation: &Observation) -> f64 {
    trees_beside(observation)
        .map(|tree| {
            tree.threads.iter().filter_map(|t| t.user_us).sum::<u64>() as f64 / tree.followed_us as f64
        })
        .sum()
}

/// CPU time of the dose and of the recipe's neighbours, in CPUs; 0 where there are none.
pub(super) fn cpus_of_neighbours(observation: &Observation) -> f64 {
    trees_beside(observation).filter_map(cpus_of).sum()
}

fn trees_beside(observation: &Observation) -> impl Iterator<Item = &TreeSeen> {
    let trees =
        [Party::Dose, Party::Neighbour].into_iter().filter_map(|party| observation.beside.get(&party));
    trees.filter(|tree| tree.followed_us > 0)
}

/// CPU time of a thread, us; in ticks where the kernel keeps no finer account.
pub(super) fn cpu_us(thread: &ThreadSeen) -> Option<u64> {
    thread.on_cpu_us.or(thread.user_us.zip(thread.system_us).map(|(user, system)| user + system))
}

fn of_busiest(threads: &[ThreadSeen], window_us: f64) -> Option<Demand> {
    let busiest =
        threads.iter().filter(|thread| cpu_us(thread).is_some()).max_by_key(|thread| cpu_us(thread))?;
    // Samples lie a little beyond the window that they stand for.
    let share = |us: u64| (us as f64 / window_us).min(1.0);
    (window_us > 0.0).then(|| Demand {
        on_cpu_share: share(cpu_us(busiest).unwrap_or(0)),
        waited_share: busiest.waited_us.map(share),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn thread(tid: u32, on_cpu_us: u64, waited_us: u64) -> ThreadSeen {
        let (on_cpu_us, waited_us) = (Some(on_cpu_us), Some(waited_us));
        ThreadSeen { tid, on_cpu_us, waited_us, user_us: Some(0), ..ThreadSeen::default() }
    }

    fn load(threads: Vec<ThreadSeen>, followed_us: u64) -> Observation {
        let beside = BTreeMap::from([(Party::Load, TreeSeen { threads, followed_us })]);
        Observation { to_ns: 1_000_000_000, beside, ..Observation::default() }
    }

    #[test]
    fn the_busiest_thread_of_the_server_speaks_for_it() {
        let threads = vec![thread(1, 100_000, 900_000), thread(2, 400_000, 50_000)];
        let observation = Observation { to_ns: 1_000_000_000, threads, ..Observation::default() };
        assert_eq!(of_server(&observation), Some(Demand { on_cpu_share: 0.4, waited_share: Some(0.05) }));
        assert_eq!(of_server(&Observation::default()), None);
        assert_eq!(cpus_of_server(&observation), Some(0.5), "all of them");
        assert_eq!(cpus_of_server(&Observation::default()), None);
        let ticks = ThreadSeen { user_us: Some(200_000), system_us: Some(100_000), ..ThreadSeen::default() };
        let observation =
            Observation { to_ns: 1_000_000_000, threads: vec![ticks], ..Observation::default() };
        assert_eq!(of_server(&observation), Some(Demand { on_cpu_share: 0.3, waited_share: None }));
    }

    #[test]
    fn a_load_that_ended_before_the_last_sample_is_judged_by_the_time_that_it_was_followed() {
        let seen = of_load(&load(vec![thread(1, 450_000, 90_000), thread(2, 90_000, 0)], 900_000), None);
        assert_eq!(seen.demand, Some(Demand { on_cpu_share: 0.5, waited_share: Some(0.1) }));
        assert!((seen.busy_cpus.unwrap() - 0.6).abs() < 1e-9 && seen.missing.is_none());
    }

    #[test]
    fn brief_processes_are_counted_and_hide_who_was_busiest() {
        let sampled = load(vec![thread(1, 100_000, 0)], 1_000_000);
        let brief = of_load(&sampled, Some(0.95));
        assert_eq!((brief.demand, brief.busy_cpus), (None, Some(0.95)));
        assert!(brief.missing.unwrap().why.contains("0.85 CPUs"));
        // Too little to be busier than the one that was seen.
        let few = of_load(&sampled, Some(0.15));
        assert_eq!((few.demand.map(|d| d.on_cpu_share), few.busy_cpus), (Some(0.1), Some(0.15)));
        assert!(few.missing.is_none());
    }

    #[test]
    fn a_load_that_nobody_saw_is_missing_and_not_0() {
        let seen = of_load(&Observation::default(), None);
        assert_eq!((seen.demand, seen.busy_cpus), (None, None));
        assert!(seen.missing.is_some());
        assert_eq!(of_load(&Observation::default(), Some(0.3)).busy_cpus, Some(0.3));
        let unread = load(vec![ThreadSeen::default()], 1_000_000);
        assert!(of_load(&unread, None).missing.unwrap().why.contains("does not report"));
    }

    #[test]
    fn dose_and_neighbours_are_not_others() {
        let tree = |us| TreeSeen {
            threads: vec![ThreadSeen { user_us: Some(us), ..thread(1, 2 * us, 0) }],
            followed_us: 1_000_000,
        };
        let beside = BTreeMap::from([(Party::Dose, tree(200_000)), (Party::Neighbour, tree(100_000))]);
        let observation = Observation { to_ns: 1_000_000_000, beside, ..Observation::default() };
        assert!((user_cpus_of_neighbours(&observation) - 0.3).abs() < 1e-9);
        assert!((cpus_of_neighbours(&observation) - 0.6).abs() < 1e-9);
        assert_eq!(cpus_of_neighbours(&Observation::default()), 0.0);
    }
}
