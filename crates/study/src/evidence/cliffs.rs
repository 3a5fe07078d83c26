//! Where the sequences of each arm break, over its trials: pure.

use std::collections::BTreeMap;

use load::operations::{Kind, Phase};
use serde::{Deserialize, Serialize};

use crate::arm::Arm;
use crate::cliff::{Cliff, Place};
use crate::statistics::summary::median;
use crate::trial::Trial;

/// What the sequences of one arm say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmCliff {
    /// The arm.
    pub arm: String,
    /// Its trials.
    pub trials: usize,
    /// In how many the sequence breaks.
    pub broke: usize,
    /// Where, if it does in more than half of them.
    pub breaks: Option<Typical>,
    /// Where the machine began to swap (more than 200 pages), if it did in more than half of them.
    pub first_swap: Option<Spot>,
    /// The kinds of operations in the parts of the sequence.
    pub parts: Vec<PartTimes>,
    /// The trial that lies nearest to all this, to be shown: its number.
    pub shown: usize,
}

/// A place over several trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spot {
    /// What breaks.
    pub kind: Kind,
    /// In which part of the sequence.
    pub phase: Phase,
    /// Number among those of its kind in that part, from 1: median over the trials.
    pub nth: f64,
    /// The earliest.
    pub earliest: usize,
    /// The latest.
    pub latest: usize,
    /// How many of its kind that part has.
    pub of: usize,
    /// Trials in which it lies in this part.
    pub trials: usize,
}

/// A break over several trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Typical {
    /// Where.
    pub spot: Spot,
    /// Median before it, us (median over the trials).
    pub before_us: f64,
    /// Median from it on, us.
    pub after_us: f64,
    /// Counters that broke with it, in words, and in how many trials; those that say most first.
    pub moved: Vec<(String, usize)>,
}

/// Times of one kind in one part of the sequence, over the trials of an arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartTimes {
    /// The part.
    pub phase: Phase,
    /// The kind.
    pub kind: Kind,
    /// Operations in a trial.
    pub operations: usize,
    /// Median, us (median over the trials).
    pub median_us: f64,
    /// The longest of all trials, us.
    pub max_us: f64,
}

/// Of each arm whose load is a sequence; none for other loads.
pub(super) fn of(arms: &[Arm], trials: &[Trial]) -> Vec<ArmCliff> {
    arms.iter().filter_map(|arm| of_arm(arm, trials)).collect()
}

fn of_arm(arm: &Arm, trials: &[Trial]) -> Option<ArmCliff> {
    let own: Vec<(usize, &Cliff)> = trials
        .iter()
        .filter(|trial| trial.arm == arm.name)
        .filter_map(|trial| Some((trial.index, trial.cliff.as_ref()?)))
        .collect();
    let (first, _) = own.first()?;
    let broken: Vec<_> =
        own.iter().filter_map(|(index, cliff)| Some((*index, cliff.breaks.as_ref()?))).collect();
    let breaks = spot(broken.iter().map(|(_, broke)| broke.place), own.len()).map(|spot| {
        let here: Vec<_> =
            broken.iter().map(|(_, broke)| *broke).filter(|broke| is_in(&spot, &broke.place)).collect();
        let of = |value: fn(&crate::cliff::Break) -> f64| {
            median(&here.iter().map(|broke| value(broke)).collect::<Vec<_>>()).unwrap_or(f64::NAN)
        };
        let mut moved: Vec<(String, usize)> = Vec::new();
        for words in here.iter().flat_map(|broke| &broke.moved).map(|moved| &moved.words) {
            match moved.iter_mut().find(|(known, _)| known == words) {
                Some((_, count)) => *count += 1,
                None => moved.push((words.clone(), 1)),
            }
        }
        // The order in which a trial lists them is kept among equals.
        moved.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        Typical { before_us: of(|b| b.before_us), after_us: of(|b| b.after_us), moved, spot }
    });
    let shown = breaks.as_ref().and_then(|typical| {
        let off = |place: &Place| (place.nth as f64 - typical.spot.nth).abs();
        let here = broken.iter().filter(|(_, broke)| is_in(&typical.spot, &broke.place));
        here.min_by(|a, b| off(&a.1.place).total_cmp(&off(&b.1.place))).map(|(index, _)| *index)
    });
    Some(ArmCliff {
        arm: arm.name.clone(),
        trials: own.len(),
        broke: broken.len(),
        breaks,
        first_swap: spot(own.iter().filter_map(|(_, cliff)| cliff.first_swap), own.len()),
        parts: parts(&own),
        shown: shown.unwrap_or(*first),
    })
}

fn is_in(spot: &Spot, place: &Place) -> bool {
    (spot.kind, spot.phase) == (place.kind, place.phase)
}

/// The part of the sequence in which most of these places lie, and where there; none when those are not more than half of the trials.
fn spot(places: impl Iterator<Item = Place>, trials: usize) -> Option<Spot> {
    let mut by_part: BTreeMap<(Phase, Kind), Vec<Place>> = BTreeMap::new();
    for place in places {
        by_part.entry((place.phase, place.kind)).or_default().push(place);
    }
    // The earlier one of two that are as frequent.
    let ((phase, kind), places) = by_part.into_iter().rev().max_by_key(|(_, places)| places.len())?;
    let nths: Vec<usize> = places.iter().map(|place| place.nth).collect();
    let (earliest, latest) = (*nths.iter().min()?, *nths.iter().max()?);
    let nth = median(&nths.iter().map(|nth| *nth as f64).collect::<Vec<_>>())?;
    let of = places.first()?.of;
    (2 * nths.len() > trials).then_some(Spot { kind, phase, nth, earliest, latest, of, trials: nths.len() })
}

fn parts(own: &[(usize, &Cliff)]) -> Vec<PartTimes> {
    let Some((_, first)) = own.first() else { return Vec::new() };
    let times = |part: &crate::cliff::Part| {
        let same = own.iter().flat_map(|(_, cliff)| &cliff.parts);
        let same: Vec<_> =
            same.filter(|other| (other.phase, other.kind) == (part.phase, part.kind)).collect();
        let median_us = median(&same.iter().map(|part| part.median_us).collect::<Vec<_>>())?;
        let max_us = same.iter().map(|part| part.max_us).reduce(f64::max)?;
        Some(PartTimes { phase: part.phase, kind: part.kind, operations: part.operations, median_us, max_us })
    };
    first.parts.iter().filter_map(times).collect()
}

#[cfg(test)]
mod tests {
    use machine::Placement;

    use super::*;
    use crate::arm::Role;
    use crate::cliff::{Break, Moved};
    use crate::statistics::change_points::What;

    fn trial(index: usize, nth: Option<usize>) -> Trial {
        let place = |nth| Place { operation: nth as u64, kind: Kind::Put, phase: Phase::Fill, nth, of: 128 };
        let moved = |words: &str| Moved {
            counter: "x".into(),
            words: words.into(),
            operation: 83,
            before: 0.0,
            after: 9.0,
        };
        let breaks = nth.map(|nth| Break {
            place: place(nth),
            what: What::Level,
            p: 0.001,
            before_us: 8_000.0,
            after_us: 56_000.0,
            moved: vec![moved("pages written to swap"), moved("waiting")],
        });
        let cliff = Cliff { parts: Vec::new(), breaks, first_swap: nth.map(place) };
        Trial { index, arm: "a".into(), cliff: Some(cliff), ..Trial::default() }
    }

    fn cliffs(trials: &[Trial]) -> Vec<ArmCliff> {
        let arms = ["a", "b"].map(|name| Arm::new(name, Role::Candidate, Placement::default()));
        of(&arms, trials)
    }

    #[test]
    fn an_arm_breaks_where_most_of_its_trials_do() {
        let found = cliffs(&[trial(3, Some(90)), trial(5, Some(84)), trial(8, Some(83)), trial(9, None)]);
        let [cliff] = &found[..] else { panic!("{found:?}") };
        let typical = cliff.breaks.as_ref().unwrap();
        assert_eq!((typical.spot.nth, typical.spot.earliest, typical.spot.latest), (84.0, 83, 90));
        assert_eq!((cliff.broke, cliff.trials, cliff.shown), (3, 4, 5));
        assert_eq!(typical.moved[0], ("pages written to swap".to_string(), 3));
        assert_eq!((typical.before_us, typical.after_us), (8_000.0, 56_000.0));
    }

    #[test]
    fn the_longest_operation_is_that_of_all_trials_and_the_median_their_median() {
        let with_part = |index, (median_us, max_us)| {
            let trial = trial(index, None);
            let part = crate::cliff::Part {
                phase: Phase::Fill,
                kind: Kind::Put,
                operations: 128,
                median_us,
                max_us,
                regimes: Vec::new(),
            };
            Trial { cliff: trial.cliff.map(|cliff| Cliff { parts: vec![part], ..cliff }), ..trial }
        };
        let times = [(8_000.0, 60_000.0), (9_000.0, 96_000.0), (7_000.0, 69_000.0)];
        let trials: Vec<Trial> =
            times.into_iter().enumerate().map(|(index, times)| with_part(index, times)).collect();
        let found = cliffs(&trials);
        let [part] = &found[0].parts[..] else { panic!("{found:?}") };
        assert_eq!((part.median_us, part.max_us), (8_000.0, 96_000.0));
    }

    #[test]
    fn one_break_of_several_trials_is_none_of_the_arm() {
        let found = cliffs(&[trial(0, Some(90)), trial(1, None)]);
        assert!(found[0].breaks.is_none() && found[0].broke == 1);
        assert!(cliffs(&[Trial { arm: "a".into(), ..Trial::default() }]).is_empty());
    }
}
