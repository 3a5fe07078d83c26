//! From a run to a trial: the measured window is chosen, figures and observation are cut to it, all is written down.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufWriter, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use load::children::CpuTime;
use load::outcome::traffic::Traffic;
use load::{Counted, Headroom, Outcome, headroom};
use machine::{Class, CpuSet, Fault, Missing, OwnFolder, Placement};
use probe::{Observation, Recording};
use serde::Serialize;

use super::observation::{as_run, demand, misplacement, starvation, window};
use super::{Planned, dose, online_cpus};
use crate::cliff;
use crate::recipe::{Disturbed, Recipe};
use crate::trial::{AsRun, Parts, Trial};
use crate::trial_figures::energy::Energy;
use crate::trial_figures::memory_locality::Locality;
use crate::trial_figures::{self, Measured};

/// What a run left in memory.
pub(super) struct Run {
    /// What the load says.
    pub outcome: Outcome,
    /// What the sampler saw.
    pub recording: Recording,
    /// Settings that read back otherwise than asked, in words.
    pub not_as_asked: Vec<String>,
    /// CPU time of the load's process tree from its start to its end.
    pub load_cpu_time: CpuTime,
    /// User time of dose and neighbours while they ran, in CPUs.
    pub neighbours_user_cpus: f64,
    /// CPUs that the server was given: those of the placement, or, where pinwise started it, all that pinwise may use.
    pub given: Option<CpuSet>,
    /// Where the server's memory lay at the end, on a machine with several nodes.
    pub locality: Option<Locality>,
    /// How long it all took.
    pub took: Duration,
    /// How long its parts took.
    pub parts: Parts,
    /// From when on all of the arm was in force, CLOCK_MONOTONIC ns, where the load began before; 0 where it was before the load.
    pub in_force_ns: u64,
}

/// Makes the trial of a run and writes what was seen into `dir`.
pub(super) fn conclude(
    recipe: &Recipe,
    planned: &Planned<'_>,
    run: Run,
    dir: &OwnFolder,
) -> Result<Trial, Fault> {
    let (from_ns, to_ns, warm_up) =
        window::measured(&run.outcome, recipe.budget.warm_up_cap_s, run.in_force_ns);
    let observation = run.recording.window(from_ns, to_ns);
    online_cpus::cpus_stayed(&observation, &planned.arm.placement)?;
    let mut missing = run.outcome.missing.clone();
    let mut figures = run.outcome.figures.clone();
    if !run.outcome.intervals.is_empty() {
        match run.outcome.window(from_ns, to_ns) {
            Ok(windowed) => {
                // Of its own traffic nothing from before the window may stand for what was not seen in it.
                if run.outcome.traffic.is_some() {
                    figures.clear();
                }
                figures.extend(windowed);
            }
            Err(why) => missing.push(why),
        }
    } else if let Some(traffic) = &run.outcome.traffic {
        figures = traffic.figures(from_ns, to_ns);
    }
    let starved = starvation::is_starved(recipe, planned.arm.role, &run.outcome, &figures);
    // One that a guard ended has what it had by then.
    let is_whole = !starved && run.outcome.breach.is_none();
    if is_whole {
        require_right(recipe, &run.outcome)?;
    }
    let cliff = match run.outcome.operations.is_empty() {
        true => None,
        false => {
            let series: Vec<_> = run.recording.series().collect();
            cliff::of_run(&run.outcome.operations, run.outcome.from_ns, &series)
        }
    };
    let placement = &planned.arm.placement;
    let window_s = to_ns.saturating_sub(from_ns) as f64 / 1e9;
    let energy = Energy::of(&observation, window_s);
    if is_whole {
        energy.require(&recipe.metric)?;
    }
    let as_run = seen(recipe, placement, &run, &observation, &mut missing);
    let measured = Measured {
        observation: &observation,
        placement,
        window_s,
        power_w: energy.power_w.as_ref().ok().copied(),
        requests_per_s: figures.get("requests_per_s").copied(),
        server_cpus_used: &as_run.server_cpus_used,
        locality: run.locality.as_ref(),
        cliff: cliff.as_ref(),
    };
    figures.extend(trial_figures::of(&measured, &mut missing));
    if is_whole {
        starvation::require_traffic(recipe, &figures)?;
        require_metric(recipe, &figures)?;
    }
    missing.extend(observation.missing.iter().cloned());
    write_beside(dir, &run, &observation)?;
    let as_run = AsRun { energy_by_zone_j: energy.by_zone_j, ..as_run };
    let headroom = judge_headroom(&run.outcome, &as_run, placement);
    let mut units = run.outcome.units.clone();
    units.extend(trial_figures::units());
    Ok(Trial {
        index: planned.index,
        block: planned.block,
        position: planned.position,
        attempt: planned.attempt,
        disturbed: disturbed(&recipe.disturbed, &as_run),
        failed: None,
        starved,
        arm: planned.arm.name.clone(),
        boot: None,
        began_unix_s: unix_now_s() - run.took.as_secs_f64(),
        took_s: run.took.as_secs_f64(),
        parts: Some(run.parts),
        within: window::within(&run.outcome, from_ns, to_ns),
        breach: run.outcome.breach.clone(),
        traffic: run.outcome.traffic.clone().map(|traffic| Traffic {
            noise: traffic.noise_within(from_ns, to_ns),
            slices: Vec::new(),
            metrics: Vec::new(),
            ..traffic
        }),
        cliff,
        from_ns,
        to_ns,
        window_s,
        figures,
        units,
        warm_up,
        headroom,
        as_run,
        missing: missing.into_iter().collect::<BTreeSet<_>>().into_iter().collect(),
    })
}

/// What was really so in the window. What is not known of it and matters goes to `missing`.
fn seen(
    recipe: &Recipe,
    placement: &Placement,
    run: &Run,
    observation: &Observation,
    missing: &mut Vec<Missing>,
) -> AsRun {
    let Outcome { from_ns, to_ns, intervals, .. } = &run.outcome;
    // Without intervals the whole run is the window.
    let whole_run = intervals.is_empty().then(|| match recipe.hosts.is_empty() {
        true => demand::whole_run_cpus(run.load_cpu_time, *from_ns, *to_ns),
        // Processes of other hosts have reported theirs.
        false => cpus_reported(&run.outcome),
    });
    let load = demand::of_load(observation, whole_run.flatten());
    // Those of another host report it themselves.
    missing.extend(load.missing.filter(|_| run.outcome.busiest_part.is_none()));
    let dose_taken_share = placement
        .dose
        .as_ref()
        .and_then(|dose| dose::taken_share(dose, observation).map_err(|why| missing.push(why)).ok());
    let run_s = to_ns.saturating_sub(*from_ns) as f64 / 1e9;
    // Of neighbours that come and go whichever is more: none of it is anybody else's.
    let of_neighbours = run.neighbours_user_cpus.max(demand::user_cpus_of_neighbours(observation));
    let own_user_cpus = run.load_cpu_time.user_s / run_s.max(1e-3) + of_neighbours;
    let beside = as_run::user_cpus_beside_the_server(observation);
    AsRun {
        others_user_cpus: beside.map(|cpus| (cpus - own_user_cpus).max(0.0)),
        not_as_asked: run.not_as_asked.clone(),
        load_demand: load.demand,
        load_busy_cpus: load.busy_cpus,
        misplaced: misplacement::of(&observation.threads, placement.server_cpus.as_ref(), run.given.as_ref()),
        dose_taken_share,
        ..as_run::from_observation(observation, placement.load_cpus.clone())
    }
}

/// CPU time that the processes of a load report themselves, in CPUs.
fn cpus_reported(outcome: &Outcome) -> Option<f64> {
    let run_s = outcome.to_ns.saturating_sub(outcome.from_ns) as f64 / 1e9;
    let used_s = outcome.figures.get("client_cpu_s").copied();
    used_s.filter(|_| run_s > 0.0).map(|used_s| used_s / run_s)
}

/// Why the trial counts as disturbed; what is not known is not held against it.
fn disturbed(rule: &Disturbed, as_run: &AsRun) -> Option<String> {
    let others = as_run.others_user_cpus.filter(|cpus| *cpus > rule.others_cpus);
    let steal = as_run.steal_share.filter(|share| *share > rule.steal_share);
    let others =
        others.map(|cpus| format!("other programs used {cpus:.2} CPUs (limit {})", rule.others_cpus));
    let steal = steal.map(|share| {
        format!(
            "the hypervisor gave {:.0} % of the time to others (limit {:.0} %)",
            share * 1e2,
            rule.steal_share * 1e2
        )
    });
    let why: Vec<String> = others.into_iter().chain(steal).collect();
    (!why.is_empty()).then(|| why.join("; "))
}

/// Fails when more requests failed than the recipe lets pass, or one answer was wrong: a server that fails fast, or answers without having
/// done the work, is no faster one. The figures of a command have names of its own, of which nothing is known.
fn require_right(recipe: &Recipe, outcome: &Outcome) -> Result<(), Fault> {
    let figure = |name: &str| outcome.figures.get(name).copied().unwrap_or(0.0);
    let (failed, all) = (figure("failed"), figure("failed") + figure("completed"));
    let most = recipe.budget.most_failed_share * all;
    if outcome.intervals.is_empty() || (failed <= most && figure("failed_wrong_answer") == 0.0) {
        return Ok(());
    }
    let kinds: Vec<String> = outcome
        .figures
        .iter()
        .filter_map(|(name, count)| {
            Some(format!("{} {count}", name.strip_prefix("failed_")?.replace('_', " ")))
        })
        .collect();
    Err(Fault::new(
        Class::WorkloadFailed,
        "load",
        format!("{failed} of {all} requests failed ({})", kinds.join(", ")),
        "see server.log and load.log of the trial; what may fail is budget.most_failed_share",
    ))
}

/// The figure that decides must be there and must be a positive number: it is compared by ratios.
fn require_metric(recipe: &Recipe, figures: &BTreeMap<String, f64>) -> Result<(), Fault> {
    let names: Vec<&str> = figures.keys().map(String::as_str).collect();
    match figures.get(&recipe.metric) {
        Some(value) if value.is_finite() && *value > 0.0 => Ok(()),
        Some(value) => Err(Fault::new(
            Class::WorkloadFailed,
            format!("figure {}", recipe.metric),
            format!("it is {value}, from which no ratio can be computed"),
            "check the trial's load.log: did the load reach the server?",
        )),
        None => Err(Fault::new(
            Class::Usage,
            format!("figure {}", recipe.metric),
            "the load reports no figure of that name",
            format!("choose with --metric from: {}", names.join(", ")),
        )),
    }
}

/// Whether the client had room. With server and load on the same CPU neither can be distinguished from the other. One that sends packets
/// as fast as it can is itself what is measured. A server is full where one of its threads is, and where all of them together are.
fn judge_headroom(outcome: &Outcome, as_run: &AsRun, placement: &Placement) -> Option<Headroom> {
    if outcome.counted != Counted::Requests {
        return None;
    }
    let crowded = match (&placement.server_cpus, &placement.load_cpus) {
        (Some(server), Some(load)) => !server.intersection(load).is_empty(),
        _ => false,
    };
    let judged = headroom(client_busy(outcome, as_run), as_run.server_busy_share(), crowded);
    Some(match &outcome.busiest_part {
        Some(part) => Headroom { note: format!("{part}: {}", judged.note), ..judged },
        None => judged,
    })
}

/// How busy the load's busiest thread was: by its own account, else by the kernel's. Where that is not known and all of the load
/// together had room, each of its threads had.
fn client_busy(outcome: &Outcome, as_run: &AsRun) -> Option<f64> {
    let own = outcome.figures.get("client_busy").copied();
    own.or(as_run.load_demand.map(|demand| demand.on_cpu_share))
        .or(as_run.load_busy_cpus.filter(|cpus| *cpus <= load::headroom::FULL))
}

/// Writes the load's own document, the observation and the series.
fn write_beside(dir: &OwnFolder, run: &Run, observation: &Observation) -> Result<(), Fault> {
    write_json(dir, "outcome.json", &run.outcome)?;
    write_json(dir, "observation.json", observation)?;
    let name = "series.jsonl";
    let written = dir.create(name).map(BufWriter::new).and_then(|mut file| {
        run.recording.write_series(&mut file)?;
        file.flush()
    });
    written.map_err(|e| Fault::io(dir.path().join(name).display(), &e, FULL))
}

const FULL: &str = "free some space, then continue with pinwise resume; finished trials are kept";

/// Writes a file of a trial.
///
/// # Errors
/// It cannot be written: the disk is full.
pub(super) fn write_json(dir: &OwnFolder, name: &str, value: &impl Serialize) -> Result<(), Fault> {
    let path = dir.path().join(name);
    let bytes = serde_json::to_vec(value)
        .map_err(|e| Fault::new(Class::Storage, path.display(), e, machine::IS_A_BUG))?;
    write_bytes(dir, name, &bytes)
}

/// Writes a file of a trial's folder.
///
/// # Errors
/// It cannot be written.
pub(super) fn write_bytes(dir: &OwnFolder, name: &str, bytes: &[u8]) -> Result<(), Fault> {
    let written = dir.create(name).and_then(|mut file| file.write_all(bytes));
    written.map_err(|e| Fault::io(dir.path().join(name).display(), &e, FULL))
}

/// Seconds since 1970 (UTC).
pub(super) fn unix_now_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::Demand;

    #[test]
    fn a_trial_is_disturbed_by_others_and_by_steal_and_not_by_what_is_not_known() {
        let rule = Disturbed { others_cpus: 0.5, steal_share: 0.1 };
        let seen =
            |others_user_cpus, steal_share| AsRun { others_user_cpus, steal_share, ..AsRun::default() };
        assert_eq!(disturbed(&rule, &seen(Some(0.5), Some(0.1))), None);
        assert_eq!(disturbed(&rule, &seen(None, None)), None);
        let why = disturbed(&rule, &seen(Some(0.7), Some(0.2))).unwrap();
        assert!(why.contains("0.70 CPUs") && why.contains("20 %"), "{why}");
    }

    #[test]
    fn a_load_is_not_the_limit_where_the_threads_of_the_server_fill_its_cpu_together() {
        let limits = |of_busiest: Demand, may_use: f64| {
            let as_run = AsRun {
                server_demand: Some(of_busiest),
                server_busy_cpus: Some(0.97),
                server_may_use_cpus: Some(may_use),
                load_demand: Some(Demand { on_cpu_share: 0.93, waited_share: Some(0.0) }),
                ..AsRun::default()
            };
            judge_headroom(&Outcome::default(), &as_run, &Placement::default()).unwrap().client_limits
        };
        let one_of_two = |waited| Demand { on_cpu_share: 0.49, waited_share: Some(waited) };
        assert_eq!(limits(one_of_two(0.0), 1.0), Some(false), "all threads together");
        assert_eq!(limits(one_of_two(0.46), 2.0), Some(false), "one that waits for the other");
        assert_eq!(limits(one_of_two(0.0), 2.0), Some(true));
    }

    #[test]
    fn failed_requests_and_wrong_answers_are_no_faster_server() {
        let recipe = Recipe::default();
        let interval =
            load::Interval { from_ns: 0, to_ns: 1, completed: 0, failed: 0, latency: String::new() };
        let outcome = |figures: &[(&str, f64)]| Outcome {
            figures: figures.iter().map(|(name, count)| (name.to_string(), *count)).collect(),
            intervals: vec![interval.clone()],
            ..Outcome::default()
        };
        let good = outcome(&[("completed", 10_000.0), ("failed", 1.0), ("failed_reset", 1.0)]);
        require_right(&recipe, &good).unwrap();
        let many = outcome(&[("completed", 900.0), ("failed", 100.0), ("failed_timed_out", 100.0)]);
        let why = require_right(&recipe, &many).unwrap_err().to_string();
        assert!(why.contains("100 of 1000 requests failed (timed out 100)"), "{why}");
        let wrong = outcome(&[("completed", 1e6), ("failed", 1.0), ("failed_wrong_answer", 1.0)]);
        assert!(require_right(&recipe, &wrong).is_err());
        let of_a_command = Outcome { intervals: Vec::new(), ..many };
        require_right(&recipe, &of_a_command).unwrap();
    }

    #[test]
    fn a_metric_that_is_not_there_is_named_with_those_that_are() {
        let recipe = Recipe::from_toml("metric = \"qps\"", "x").unwrap();
        let figures = BTreeMap::from([("requests_per_s".to_string(), 5.0)]);
        let fault = require_metric(&recipe, &figures).unwrap_err();
        assert!(fault.to_string().contains("qps") && fault.remedy.contains("requests_per_s"), "{fault}");
        let zero = BTreeMap::from([("qps".to_string(), 0.0)]);
        assert_eq!(require_metric(&recipe, &zero).unwrap_err().class, Class::WorkloadFailed);
        let some = BTreeMap::from([("qps".to_string(), 0.5)]);
        assert!(require_metric(&recipe, &some).is_ok());
    }
}
