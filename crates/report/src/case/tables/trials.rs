//! One row a trial: when and where it ran, whether it counts, and its figures.

use std::borrow::Cow;
use std::collections::BTreeSet;

use machine::CpuSet;
use serde::Serialize;
use study::{Facts, Trial};

use super::of_trial::OfTrial;
use crate::account::account_tables::Cell;

/// A column for a figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FigureColumn {
    /// The figure's name.
    pub(super) figure: String,
    /// That of its column: the same, unless another column has it.
    pub(super) column: String,
}

/// A column for each figure that any trial has, in order of their names.
pub(super) fn figure_columns(facts: &Facts) -> Vec<FigureColumn> {
    let planned = facts.trials.iter().map(|seen| &seen.trial);
    let all = planned.chain(facts.observed.iter().map(|seen| &seen.trial));
    columns(all.flat_map(|trial| trial.figures.keys().cloned()).collect())
}

fn columns(figures: BTreeSet<String>) -> Vec<FigureColumn> {
    let others = row(&OfTrial::alone(&Trial::default()), &[]);
    let others: BTreeSet<String> = others.into_iter().map(|cell| cell.name.into_owned()).collect();
    let column = |figure: &String| {
        let mut column = figure.clone();
        if others.contains(figure) {
            while others.contains(&column) || figures.contains(&column) {
                column.insert_str(0, "figure_");
            }
        }
        FigureColumn { figure: figure.clone(), column }
    };
    figures.iter().map(column).collect()
}

/// CPUs as a list; `None` where they are not known.
fn list(cpus: Option<&CpuSet>) -> Option<Cow<'static, str>> {
    cpus.map(|cpus| cpus.to_list().into())
}

/// In which way a server was misplaced.
fn way(misplaced: Option<&impl Serialize>) -> Option<Cow<'static, str>> {
    let value = serde_json::to_value(misplaced?).ok()?;
    value["how"].as_str().map(|way| way.to_string().into())
}

/// When it began, ns since 1970.
fn began_unix_ns(trial: &Trial) -> Option<u64> {
    (trial.began_unix_s > 0.0).then_some((trial.began_unix_s * 1e9) as u64)
}

pub(super) fn row(of: &OfTrial<'_>, figures: &[FigureColumn]) -> Vec<Cell> {
    let trial = of.trial;
    // A trial that failed has no window.
    let has_window = trial.failed.is_none();
    let mut cells = of.before([
        Cell::whole("position", trial.position as u64),
        Cell::whole("attempt", trial.attempt as u64),
        Cell::text("disturbed", trial.disturbed.as_deref().map(Into::into)),
        Cell::text("failed", trial.failed.as_deref().map(Into::into)),
        Cell::truth("starved", trial.starved),
        Cell::moment("began_unix_ns", began_unix_ns(trial)),
        Cell::real("took_s", trial.took_s),
        Cell::whole("from_monotonic_ns", has_window.then_some(trial.from_ns)),
        Cell::whole("to_monotonic_ns", has_window.then_some(trial.to_ns)),
        Cell::real("window_s", has_window.then_some(trial.window_s)),
        Cell::real("warm_up_s", trial.warm_up.left_out_s),
        Cell::truth("warm_up_capped", has_window.then_some(trial.warm_up.capped)),
    ]);
    cells.extend(placed(of));
    cells.extend(ran(trial));
    cells.extend(figures.iter().map(|FigureColumn { figure, column }| {
        let known = trial.figures.get(figure).copied().filter(|value| value.is_finite());
        Cell::real(column.clone(), known)
    }));
    cells
}

/// Where server and load were to run, and where they might.
fn placed(of: &OfTrial<'_>) -> [Cell; 6] {
    let placement = of.arm.map(|arm| &arm.placement);
    let as_run = &of.trial.as_run;
    let used: CpuSet = as_run.server_cpus_used.keys().copied().collect();
    [
        Cell::text("server_asked_cpus", list(placement.and_then(|placement| placement.server_cpus.as_ref()))),
        Cell::text("server_allowed_cpus", list(as_run.server_allowed.as_ref())),
        Cell::text("server_used_cpus", list(Some(&used).filter(|used| !used.is_empty()))),
        Cell::text("load_asked_cpus", list(placement.and_then(|placement| placement.load_cpus.as_ref()))),
        Cell::text("load_allowed_cpus", list(as_run.load_allowed.as_ref())),
        Cell::text("misplaced", way(as_run.misplaced.as_ref())),
    ]
}

/// What was really so in the measured window.
fn ran(trial: &Trial) -> [Cell; 14] {
    let (as_run, headroom) = (&trial.as_run, trial.headroom.as_ref());
    [
        Cell::whole("server_migrations_count", as_run.server_migrations),
        Cell::whole("server_involuntary_switches_count", as_run.server_involuntary_switches),
        Cell::real("server_waited_ratio", as_run.server_waited_share),
        Cell::real("server_busy_cpus", as_run.server_busy_cpus),
        Cell::real("server_may_use_cpus", as_run.server_may_use_cpus),
        Cell::real("load_busy_cpus", as_run.load_busy_cpus),
        Cell::real("others_busy_cpus", as_run.others_busy_cpus),
        Cell::real("others_user_cpus", as_run.others_user_cpus),
        Cell::real("steal_ratio", as_run.steal_share),
        Cell::real("dose_taken_ratio", as_run.dose_taken_share),
        Cell::real("load_busy_ratio", headroom.and_then(|headroom| headroom.client_busy)),
        Cell::real("server_busy_ratio", headroom.and_then(|headroom| headroom.server_busy)),
        Cell::truth("load_was_limit", headroom.and_then(|headroom| headroom.client_limits)),
        Cell::whole("not_as_asked_count", trial.failed.is_none().then_some(as_run.not_as_asked.len() as u64)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_a_column_of_its_own_whatever_its_name() {
        let names = ["arm", "figure_arm", "requests_per_s"].map(String::from);
        let of: Vec<(String, String)> =
            columns(names.into()).into_iter().map(|column| (column.figure, column.column)).collect();
        let expected = [
            ("arm", "figure_figure_arm"),
            ("figure_arm", "figure_arm"),
            ("requests_per_s", "requests_per_s"),
        ];
        assert_eq!(of, expected.map(|(figure, column)| (figure.to_string(), column.to_string())));
    }
}
