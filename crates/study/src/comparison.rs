//! Several cases on one sheet: what each measured, side by side. Pure.
//!
//! Trials of two cases share no block, so nothing is claimed of a difference between cases: each figure stands with its own
//! interval, which knows only of its own machine while its own study ran. Ratios between cases describe, they do not decide.

mod clock;
mod recipes;
mod unequal;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use machine::{Class, CpuSet, Fault};
use serde::Serialize;

pub use recipes::KeyDifference;

use crate::Trust;
use crate::arm::Role;
use crate::case::resume_command;
use crate::facts::Facts;
use crate::recipe::{Direction, Fill};
use crate::statistics::scaling::Scaling;
use crate::statistics::signed_rank;

/// Level of the interval of each figure: one for all cases, so that they mean the same.
pub const LEVEL: f64 = 0.95;

/// A case and what it is called here.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// Name in tables; no two are alike.
    pub name: &'a str,
    /// The case.
    pub facts: &'a Facts,
    /// Its folder, as the user named it.
    pub dir: &'a Path,
}

/// The sheet.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The figure that all cases decide by.
    pub metric: String,
    /// Its unit, where known.
    pub unit: String,
    /// Which way it is better.
    pub better: Direction,
    /// Level of the intervals of figures.
    pub level: f64,
    /// The cases in the order asked for.
    pub cases: Vec<Compared>,
    /// Curves of the cases that scale their server, by order of filling and then by case.
    pub curves: Vec<Curve>,
    /// Arms that at least two cases have, by name; those that scale the server are in `curves`.
    pub arms: Vec<SharedArm>,
    /// Keys in which the recipes differ, by name. What else differs between the cases is for `advise` to say.
    pub recipes: Vec<KeyDifference>,
    /// What the reader should know before comparing.
    pub notes: Vec<String>,
}

/// One case of the sheet.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// Its name.
    pub name: String,
    /// What its reports call it.
    pub title: String,
    /// CPUs that may be used there; `None` where the machine of the case is not known.
    pub cpus: Option<usize>,
    /// Clock of the CPUs that the server had, GHz: without turbo, or the limit that is set below that.
    pub ghz: Option<f64>,
    /// Why that is not known.
    pub ghz_missing: Option<String>,
    /// Complete blocks.
    pub blocks: usize,
    /// Whether claims may be made within it.
    pub trust: Trust,
}

/// A figure of one arm of one case.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Figure {
    /// Hodges-Lehmann estimate over the trials, on a log scale.
    pub value: f64,
    /// Exact signed-rank interval at [`LEVEL`]; `None` with too few trials for one.
    pub interval: Option<(f64, f64)>,
    /// Trials.
    pub trials: usize,
}

/// A number of CPUs of the server.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
    /// How many.
    pub cpus: usize,
    /// What they do.
    pub figure: Figure,
    /// The figure by CPU; `None` of a figure that is better when lower, which CPUs do not share.
    pub per_cpu: Option<f64>,
    /// The figure by CPU and GHz; `None` where the clock is not known either.
    pub per_cpu_ghz: Option<f64>,
    /// What is left of each CPU: X(N) / (N X(1)), of X = 1 / figure where lower is better; `None` where one CPU was not measured.
    pub efficiency: Option<f64>,
    /// Ratio to the first case that has as many CPUs in the same order of filling; `None` of that one.
    pub to_first: Option<f64>,
}

/// How one case grows in one order of filling.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    /// Which of `cases`, from 0.
    pub case: usize,
    /// In which order its CPUs were taken.
    pub fill: Fill,
    /// What was measured, by number of CPUs.
    pub points: Vec<Point>,
    /// The fitted law; `None` where there is none, and then `why` says why.
    pub law: Option<Scaling>,
    /// Why there is no law.
    pub why: Option<String>,
}

/// An arm that at least two cases have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SharedArm {
    /// Its name.
    pub arm: String,
    /// Its role in the first case that has it.
    pub role: Role,
    /// Its figure in each of `cases`.
    pub figures: Vec<Option<Figure>>,
    /// Ratio of each to the first case that has it; `None` of that one and where there is no figure.
    pub to_first: Vec<Option<f64>>,
}

/// Puts `sides` on one sheet.
///
/// # Errors
/// `Usage`: fewer than two; cases of different figures, units or directions; a case without a figure; nothing in common.
pub fn compare(sides: &[Side<'_>]) -> Result<Comparison, Fault> {
    let [first, rest @ ..] = sides else { return Err(too_few()) };
    if rest.is_empty() {
        return Err(too_few());
    }
    rest.iter().try_for_each(|side| same_figure(first, side))?;
    sides.iter().try_for_each(has_figures)?;
    let cases: Vec<Compared> = sides.iter().map(compared).collect();
    let (curves, arms) = (curves(sides, &cases), shared_arms(sides));
    if curves.iter().map(|curve| curve.case).collect::<BTreeSet<_>>().len() < 2 && arms.is_empty() {
        let cause = "they have no arm in common, and not two of them scale their server";
        let remedy = "run both from one recipe, such as one with a factor of kind cores";
        return Err(Fault::new(Class::Usage, names(sides), cause, remedy));
    }
    let evidence = &first.facts.evidence;
    Ok(Comparison {
        metric: evidence.metric.clone(),
        unit: evidence.unit.clone(),
        better: evidence.better,
        level: LEVEL,
        recipes: recipes::differing_keys(sides),
        notes: recipes::notes(sides).into_iter().chain(unequal::notes(sides)).collect(),
        cases,
        curves,
        arms,
    })
}

fn too_few() -> Fault {
    Fault::new(Class::Usage, "compare", "there is only one case", "name two or more")
}

fn names(sides: &[Side<'_>]) -> String {
    sides.iter().map(|side| side.name).collect::<Vec<_>>().join(", ")
}

/// Refuses what no ratio can be taken of.
fn same_figure(first: &Side<'_>, side: &Side<'_>) -> Result<(), Fault> {
    let decides_by = |side: &Side<'_>| {
        let evidence = &side.facts.evidence;
        let unit = if evidence.unit.is_empty() { String::new() } else { format!(" in {}", evidence.unit) };
        let better = match evidence.better {
            Direction::Higher => "higher",
            Direction::Lower => "lower",
        };
        format!("{}{unit}, {better} is better", evidence.metric)
    };
    let (one, other) = (decides_by(first), decides_by(side));
    if one == other {
        return Ok(());
    }
    let cause = format!("it decides by {other}; {} by {one}", first.name);
    Err(Fault::new(Class::Usage, side.name, cause, "compare cases that decide by the same figure"))
}

fn has_figures(side: &Side<'_>) -> Result<(), Fault> {
    if !side.facts.evidence.arms.is_empty() {
        return Ok(());
    }
    let remedy = format!("continue its study: {}", resume_command(side.dir));
    Err(Fault::new(Class::Usage, side.name, "no trial of it has a figure yet", remedy))
}

fn compared(side: &Side<'_>) -> Compared {
    let facts = side.facts;
    let usable = facts.machine.usable();
    let scaled = facts.study.arms.iter().filter(|arm| arm.scale.is_some());
    let served: CpuSet =
        scaled.filter_map(|arm| arm.placement.server_cpus.as_ref()).flat_map(CpuSet::iter).collect();
    let clock = match facts.machine.cpus.is_empty() {
        true => Err("the machine of the case is not known".into()),
        false => clock::ghz(&facts.machine, if served.is_empty() { &usable } else { &served }),
    };
    Compared {
        name: side.name.to_string(),
        title: facts.study.recipe.title(),
        cpus: (!usable.is_empty()).then(|| usable.len()),
        ghz: clock.as_ref().ok().copied(),
        ghz_missing: clock.err(),
        blocks: facts.evidence.blocks,
        trust: facts.evidence.trust,
    }
}

fn curves(sides: &[Side<'_>], cases: &[Compared]) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for (case, side) in sides.iter().enumerate() {
        for growth in &side.facts.evidence.growth {
            let points = points(side.facts, growth.fill, cases[case].ghz);
            let (law, why) = (growth.law.clone(), growth.why.clone());
            curves.push(Curve { case, fill: growth.fill, points, law, why });
        }
    }
    curves.sort_by_key(|curve| (curve.fill, curve.case));
    let mut first: BTreeMap<(Fill, usize), f64> = BTreeMap::new();
    for curve in &mut curves {
        for point in &mut curve.points {
            let value = point.figure.value;
            point.to_first = first.get(&(curve.fill, point.cpus)).map(|first| value / first);
            first.entry((curve.fill, point.cpus)).or_insert(value);
        }
    }
    curves
}

/// What was measured in one order of filling; where several arms have as many CPUs, their trials count together.
fn points(facts: &Facts, fill: Fill, ghz: Option<f64>) -> Vec<Point> {
    let mut values: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for arm in &facts.study.arms {
        let scale = arm.scale.filter(|scale| scale.fill == fill);
        if let (Some(scale), Some(summary)) = (scale, facts.evidence.arm(&arm.name)) {
            values.entry(scale.cpus).or_default().extend(&summary.by_block);
        }
    }
    let figures: Vec<(usize, Figure)> =
        values.iter().filter_map(|(cpus, values)| Some((*cpus, figure(values)?))).collect();
    let one = figures.iter().find(|(cpus, _)| *cpus == 1).map(|(_, figure)| figure.value);
    let is_rate = facts.evidence.better == Direction::Higher;
    let point = |(cpus, figure): &(usize, Figure)| {
        let many = *cpus as f64;
        let per_cpu = is_rate.then_some(figure.value / many);
        let gain = |one: f64| if is_rate { figure.value / one } else { one / figure.value };
        Point {
            cpus: *cpus,
            figure: *figure,
            per_cpu,
            per_cpu_ghz: per_cpu.zip(ghz).map(|(figure, ghz)| figure / ghz),
            efficiency: one.map(|one| gain(one) / many),
            to_first: None,
        }
    };
    figures.iter().map(point).collect()
}

fn figure(values: &[f64]) -> Option<Figure> {
    let logs: Vec<f64> = values.iter().filter(|v| v.is_finite() && **v > 0.0).map(|v| v.ln()).collect();
    let location = signed_rank::location(&logs, LEVEL)?;
    let interval = location.interval.map(|(low, high)| (low.exp(), high.exp()));
    Some(Figure { value: location.estimate.exp(), interval, trials: logs.len() })
}

fn shared_arms(sides: &[Side<'_>]) -> Vec<SharedArm> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let all = sides.iter().flat_map(|side| &side.facts.study.arms);
    let arms = all.filter(|arm| arm.scale.is_none() && seen.insert(arm.name.as_str()));
    arms.filter_map(|arm| {
        let of = |side: &Side<'_>| figure(&side.facts.evidence.arm(&arm.name)?.by_block);
        let figures: Vec<Option<Figure>> = sides.iter().map(of).collect();
        let had = figures.iter().position(Option::is_some)?;
        let first = figures[had]?.value;
        let ratio = |(at, of): (usize, &Option<Figure>)| of.filter(|_| at != had).map(|f| f.value / first);
        let to_first: Vec<Option<f64>> = figures.iter().enumerate().map(ratio).collect();
        let is_shared = to_first.iter().any(Option::is_some);
        is_shared.then(|| SharedArm { arm: arm.name.clone(), role: arm.role, figures, to_first })
    })
    .collect()
}

#[cfg(test)]
mod tests;
