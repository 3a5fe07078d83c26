//! On whose side the time is lost where a CPU is worse than the others: the server's, or the load's that runs elsewhere then. Pure.
//!
//! Where server and load change CPUs with each other, a load that starves on CPU 1 makes the server look slow on CPU 0. Two readings
//! distinguish them. *By demand*: of a busy thread, time per request = on a CPU + waiting for one + asleep; what the server lost of it on
//! its CPU shows in the first two terms of its busiest thread, and what the load lost in those of the load's. *By pairs*: with server and
//! load together on each of the CPUs too, the effect of the server's CPU is that part of the contrast which stays when the load's CPU is
//! averaged over.

use std::collections::BTreeMap;

use super::gains::complete_blocks;
use super::{Contrast, Question, Verdict, Whose};
use crate::arm::{Arm, Role};
use crate::statistics::signed_rank::{location, p_above, p_below};
use crate::statistics::summary;
use crate::trial::{Demand, Trial};

/// The part of a contrast that one side's demand has to cover.
const COVERS: f64 = 0.5;

/// Level at which a side's loss must be distinguished from none.
const LEVEL: f64 = 0.05;

/// The name of the rate by which demand is divided where the deciding figure is none.
const REQUESTS: &str = "requests_per_s";

/// Says of each CPU that is worse than the others on whose side the time is lost.
pub(super) fn of(
    contrasts: Vec<Contrast>,
    arms: &[Arm],
    trials: &[Trial],
    question: &Question<'_>,
) -> Vec<Contrast> {
    let reading = Reading { arms, trials, question };
    let judged = |contrast: Contrast| match contrast.verdict {
        Verdict::Worse => {
            let whose = reading.whose(&contrast);
            Contrast { whose: Some(whose), ..contrast }
        }
        _ => contrast,
    };
    contrasts.into_iter().map(judged).collect()
}

/// Whose demand per request rises.
#[derive(Debug, Clone, Copy)]
struct Rises {
    server: bool,
    load: bool,
}

struct Reading<'a> {
    arms: &'a [Arm],
    trials: &'a [Trial],
    question: &'a Question<'a>,
}

impl Reading<'_> {
    fn whose(&self, contrast: &Contrast) -> Whose {
        let Some(arm) = self.arms.iter().find(|arm| arm.name == contrast.arm) else { return Whose::Unknown };
        // The load did not move, or shares the server's CPU: then there is nothing else that it could be.
        let tried = || self.arms.iter().filter(|arm| arm.role == Role::Candidate && arm.cpu.is_some());
        if tried().all(|other| other.placement.load_cpus == arm.placement.load_cpus) {
            return Whose::Server;
        }
        let others: Vec<&Arm> = tried().filter(|other| other.name != arm.name).collect();
        match (self.by_demand(arm, &others), self.by_pairs(arm, &others)) {
            // What the server wants more of covers the difference: nobody may say that the load alone loses the time.
            (Some(Rises { server: true, .. }), Some(Whose::Load))
            | (Some(Rises { server: false, load: true }), Some(Whose::Server)) => Whose::Inseparable,
            (Some(Rises { server: true, load: false }), _) => Whose::Server,
            (Some(Rises { server: false, load: true }), _) => Whose::Load,
            (_, Some(whose)) => whose,
            (_, None) => match self.knows_demand(arm) {
                true => Whose::Inseparable,
                false => Whose::Unknown,
            },
        }
    }

    fn knows_demand(&self, arm: &Arm) -> bool {
        let mut own = self.trials.iter().filter(|trial| trial.arm == arm.name);
        own.any(|trial| server_demand(trial).is_some())
    }

    /// Whether each side's demand per request rises with the server on `arm`'s CPU, and covers at least half of the contrast.
    fn by_demand(&self, arm: &Arm, others: &[&Arm]) -> Option<Rises> {
        let rises = |demand: fn(&Trial) -> Option<f64>| {
            let (own, total) = self.risen(arm, others, demand)?;
            let (risen, whole) =
                (location(&own, 1.0 - LEVEL)?.estimate, location(&total, 1.0 - LEVEL)?.estimate);
            Some(p_above(&own, 0.0) <= LEVEL && (!self.question.is_capacity || risen >= COVERS * whole.abs()))
        };
        Some(Rises { server: rises(server_demand)?, load: rises(load_demand).unwrap_or(false) })
    }

    /// By block: how much more of a thread's window a request takes on `arm` than on the median of the others, and how much longer a
    /// request takes in all.
    fn risen(
        &self,
        arm: &Arm,
        others: &[&Arm],
        demand: fn(&Trial) -> Option<f64>,
    ) -> Option<(Vec<f64>, Vec<f64>)> {
        let per_request = |of: &Arm| -> BTreeMap<usize, (f64, f64)> {
            let own = self.trials.iter().filter(|trial| trial.arm == of.name);
            let value = |trial: &Trial| {
                let rate = *trial.figures.get(self.rate()).filter(|rate| **rate > 0.0)?;
                Some((trial.block, (demand(trial)? / rate, 1.0 / rate)))
            };
            own.filter_map(value).collect()
        };
        let (own, others): (_, Vec<_>) =
            (per_request(arm), others.iter().map(|other| per_request(other)).collect());
        let differences: Vec<(f64, f64)> = own
            .iter()
            .filter_map(|(block, (used, took))| {
                let of_others: Vec<_> = others.iter().filter_map(|other| other.get(block)).collect();
                let used_by_others =
                    summary::median(&of_others.iter().map(|(used, _)| *used).collect::<Vec<_>>())?;
                let took_others =
                    summary::median(&of_others.iter().map(|(_, took)| *took).collect::<Vec<_>>())?;
                Some((used - used_by_others, took - took_others))
            })
            .collect();
        (!differences.is_empty()).then(|| differences.into_iter().unzip())
    }

    fn rate(&self) -> &str {
        if self.question.is_capacity { self.question.metric } else { REQUESTS }
    }

    /// With server and load on every pair of two CPUs: the side whose CPU makes the difference.
    fn by_pairs(&self, arm: &Arm, others: &[&Arm]) -> Option<Whose> {
        let [other] = others else { return None };
        let together = |with: &Arm| {
            self.arms.iter().find(|arm| {
                let placement = &arm.placement;
                arm.role == Role::Candidate
                    && arm.cpu.is_none()
                    && placement.server_cpus == with.placement.server_cpus
                    && placement.load_cpus == with.placement.server_cpus
            })
        };
        // The load of the one runs on the CPU of the other: else these are not all pairs of two CPUs.
        if arm.placement.load_cpus != other.placement.server_cpus
            || other.placement.load_cpus != arm.placement.server_cpus
        {
            return None;
        }
        let four = [arm, *other, together(arm)?, together(other)?];
        let names = four.map(|arm| arm.name.as_str());
        let blocks = complete_blocks(&names, self.trials, self.question.metric);
        let gain = |arm: &Arm, block: usize| {
            let trial = self.trials.iter().find(|trial| trial.arm == arm.name && trial.block == block);
            trial.map_or(f64::NAN, |trial| self.question.better.gain(trial.figures[self.question.metric]))
        };
        let effects = |sign: f64| -> Vec<f64> {
            let effect = |block: &usize| {
                let [apart, swapped, here, there] = four.map(|arm| gain(arm, *block));
                (apart - swapped + sign * (here - there)) / 2.0
            };
            blocks.iter().map(effect).collect()
        };
        let (of_server, of_load) = (effects(1.0), effects(-1.0));
        match (p_below(&of_server, 0.0) <= LEVEL, p_below(&of_load, 0.0) <= LEVEL) {
            (true, false) => Some(Whose::Server),
            (false, true) => Some(Whose::Load),
            _ => None,
        }
    }
}

/// Of trials that were recorded before they had it, from the headroom check and the server's waiting.
fn server_demand(trial: &Trial) -> Option<f64> {
    trial.as_run.server_wanted_share().or_else(|| {
        let on_cpu_share = trial.headroom.as_ref()?.server_busy?;
        Some(Demand { on_cpu_share, waited_share: trial.as_run.server_waited_share }.wanted_share())
    })
}

fn load_demand(trial: &Trial) -> Option<f64> {
    trial.as_run.load_demand.map(Demand::wanted_share).or_else(|| trial.headroom.as_ref()?.client_busy)
}
