//! The pilot: a few seconds of trials before the blocks of a study are spent, and what they say of it. Pure; [`crate::engine::pilot`]
//! runs it.
//!
//! It asks whether this load can show anything: does the server want the CPU that is to be compared, does the load have room, is a dose
//! visible? It never decides between placements, and its trials are in no comparison: the best arm that it saw is where the dose is
//! judged, by fresh trials.

use serde::{Deserialize, Serialize};

use crate::arm::{Arm, Role};
use crate::case::Resolved;
use crate::evidence::Unseen;
use crate::recipe::Recipe;
use crate::statistics::summary;
use crate::trial::Trial;

/// Most arms beside the dose: those in which the load has CPUs of its own.
const MOST_ARMS: usize = 3;

/// A server that is this near to its limit has no slack.
const WANTED: f64 = 0.9;

/// A dose that lost this part of what it took is visible; a pilot of seconds cannot say more.
const VISIBLE: f64 = 0.25;

/// How many times more connections are tried at most, each time twice as many.
pub const MOST_DOUBLINGS: u32 = 3;

/// What a pilot saw; kept in the case as `pilot.json`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Pilot {
    /// The arm with the best figure of those whose load has CPUs of its own: where the dose is judged.
    pub reference: Option<String>,
    /// How near the server was to its limit there ([`AsRun::server_busy_share`](crate::AsRun::server_busy_share)); in pilots of before
    /// 2026-11-28, share of the window in which its busiest thread had or wanted a CPU.
    pub server_wanted: Option<f64>,
    /// CPU time of all threads of the server there, in CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_busy_cpus: Option<f64>,
    /// How many CPUs the server may use there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_may_use_cpus: Option<f64>,
    /// Share of the window in which the load's busiest thread was on a CPU there.
    pub client_busy: Option<f64>,
    /// What the thief took, share of each of its CPUs.
    pub taken_share: Option<f64>,
    /// What the figure lost by it, a share: an estimate of seconds, and no claim.
    pub lost_share: Option<f64>,
    /// Connections of the load, of one that pinwise drives itself.
    pub connections: Option<u32>,
    /// Why the load cannot show anything; `None`: it can, as far as the pilot shows.
    pub cannot_show: Option<Unseen>,
}

/// The arms of a pilot: a few whose load has CPUs of its own (else the baseline), and the dose.
pub fn arms(study: &Resolved) -> Vec<Arm> {
    let is_apart = |arm: &&Arm| arm.role == Role::Candidate && arm.is_apart();
    let mut arms: Vec<Arm> = study.arms.iter().filter(is_apart).take(MOST_ARMS).cloned().collect();
    if arms.is_empty() {
        arms.extend(study.arms.iter().find(|arm| arm.role == Role::Baseline).cloned());
    }
    arms.extend(study.arms.iter().find(|arm| arm.role == Role::Dose).cloned());
    arms
}

/// What the trials of a pilot say.
pub fn judge(recipe: &Recipe, arms: &[Arm], trials: &[Trial]) -> Pilot {
    let better = recipe.question().better;
    let gains = |arm: &str| -> Vec<f64> {
        let own = trials.iter().filter(|trial| trial.arm == arm && !trial.starved);
        own.filter_map(|trial| trial.figures.get(&recipe.metric))
            .filter(|f| **f > 0.0)
            .map(|f| better.gain(*f))
            .collect()
    };
    let plain = arms.iter().filter(|arm| arm.role != Role::Dose);
    let measured = plain.filter_map(|arm| Some((arm.name.clone(), summary::median(&gains(&arm.name))?)));
    let best = measured.max_by(|a, b| a.1.total_cmp(&b.1));
    let dose = arms.iter().find(|arm| arm.role == Role::Dose);
    let lost_share = dose.and_then(|dose| {
        let reference = summary::median(&gains(dose.reference.as_deref()?))?;
        Some(1.0 - (summary::median(&gains(&dose.name))? - reference).exp())
    });
    let of = |arm: Option<&str>, value: &dyn Fn(&Trial) -> Option<f64>| -> Option<f64> {
        let own = trials.iter().filter(|trial| Some(trial.arm.as_str()) == arm);
        summary::median(&own.filter_map(value).collect::<Vec<_>>())
    };
    let reference = best.map(|(name, _)| name);
    let pilot = Pilot {
        server_wanted: of(reference.as_deref(), &|trial| trial.as_run.server_busy_share()),
        server_busy_cpus: of(reference.as_deref(), &|trial| trial.as_run.server_busy_cpus),
        server_may_use_cpus: of(reference.as_deref(), &|trial| trial.as_run.server_may_use_cpus),
        client_busy: of(reference.as_deref(), &|trial| trial.headroom.as_ref()?.client_busy),
        taken_share: of(dose.map(|dose| dose.name.as_str()), &|trial| trial.as_run.dose_taken_share),
        lost_share,
        connections: recipe.load.driven().map(|load| load.pace().connections),
        reference,
        cannot_show: None,
    };
    Pilot { cannot_show: cannot_show(recipe, dose, &pilot), ..pilot }
}

/// Why a capacity cannot show a loss of CPU time. Of other figures a pilot of seconds says nothing.
fn cannot_show(recipe: &Recipe, dose: Option<&Arm>, pilot: &Pilot) -> Option<Unseen> {
    if !recipe.question().is_capacity {
        return None;
    }
    let asked = dose?.placement.dose.as_ref()?.share();
    let taken = pilot.taken_share.unwrap_or(asked);
    if pilot.lost_share? >= VISIBLE * taken {
        return None;
    }
    let server_wanted = pilot.server_wanted.filter(|wanted| *wanted < WANTED)?;
    Some(match pilot.client_busy {
        Some(client_busy) if client_busy > WANTED => {
            Unseen::LoadLimits { client_busy, server_busy: server_wanted }
        }
        _ => Unseen::Slack { server_wanted },
    })
}

/// The recipe with more load, where a pilot found that the server has slack and the load has not; `None` where more of it cannot be had.
pub fn with_more_load(recipe: &Recipe, pilot: &Pilot) -> Option<Recipe> {
    let Some(Unseen::Slack { .. }) = pilot.cannot_show else { return None };
    let mut recipe = recipe.clone();
    let load = recipe.load.driven_mut()?;
    let mut pace = load.pace();
    pace.connections = pace.connections.checked_mul(2)?;
    load.set_pace(pace);
    load.check().ok()?;
    Some(recipe)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::trial::{AsRun, Demand};

    fn piloted(server: f64, client: f64, lost: f64) -> Pilot {
        with_all_threads(server, None, client, lost)
    }

    /// A pilot in which the server's busiest thread has the share `server` of a CPU, and all of them so much of the one CPU of theirs.
    fn with_all_threads(server: f64, all: Option<f64>, client: f64, lost: f64) -> Pilot {
        let study = crate::case::tests::resolved();
        let arms = arms(&study);
        let trial = |arm: &Arm| {
            let figure = 1000.0 * if arm.role == Role::Dose { 1.0 - lost } else { 1.0 };
            let figure = figure + if arm.name == "cpu 1" { 100.0 } else { 0.0 };
            let demand = Some(Demand { on_cpu_share: server, waited_share: Some(0.0) });
            Trial {
                arm: arm.name.clone(),
                figures: BTreeMap::from([("requests_per_s".to_string(), figure)]),
                headroom: Some(load::headroom(Some(client), Some(server), false)),
                as_run: AsRun {
                    server_demand: demand,
                    server_busy_cpus: all,
                    server_may_use_cpus: Some(1.0),
                    dose_taken_share: Some(0.2),
                    ..AsRun::default()
                },
                ..Trial::default()
            }
        };
        judge(&study.recipe, &arms, &arms.iter().map(trial).collect::<Vec<_>>())
    }

    #[test]
    fn a_server_at_its_limit_shows_what_is_taken() {
        let pilot = piloted(0.97, 0.5, 0.2);
        assert_eq!((pilot.cannot_show, pilot.reference.as_deref()), (None, Some("cpu 1")));
        assert!((pilot.lost_share.unwrap() - 0.2).abs() < 1e-9);
    }

    #[test]
    fn slack_asks_for_more_load_and_a_load_that_is_the_limit_for_another() {
        let recipe = Recipe::default();
        let slack = piloted(0.4, 0.3, 0.01);
        assert_eq!(slack.cannot_show, Some(Unseen::Slack { server_wanted: 0.4 }));
        let more = with_more_load(&recipe, &slack).unwrap();
        let connections = |recipe: &Recipe| recipe.load.driven().unwrap().pace().connections;
        assert_eq!(connections(&more), 2 * connections(&recipe));
        let limited = piloted(0.4, 0.99, 0.01);
        assert_eq!(limited.cannot_show, Some(Unseen::LoadLimits { client_busy: 0.99, server_busy: 0.4 }));
        assert_eq!(with_more_load(&recipe, &limited), None);
    }

    #[test]
    fn many_threads_that_fill_their_cpu_have_no_slack() {
        let full = with_all_threads(0.06, Some(0.96), 0.2, 0.01);
        assert_eq!((full.cannot_show, full.server_wanted), (None, Some(0.96)));
        assert_eq!((full.server_busy_cpus, full.server_may_use_cpus), (Some(0.96), Some(1.0)));
        assert_eq!(with_more_load(&Recipe::default(), &full), None);
        let slack = with_all_threads(0.06, Some(0.5), 0.2, 0.01);
        assert_eq!(slack.cannot_show, Some(Unseen::Slack { server_wanted: 0.5 }));
    }

    #[test]
    fn a_dose_that_is_seen_is_enough_whatever_the_busy_shares_say() {
        assert_eq!(piloted(0.5, 0.5, 0.12).cannot_show, None);
    }
}
