//! Trials of two arms in the same block.

use study::Observed;

use super::diagnosed_trials::DiagnosedTrial;
use super::waterfall::Change;

/// A trial of each arm in the same block.
pub(super) type TrialPair<'t, 'a> = (&'t DiagnosedTrial<'a>, &'t DiagnosedTrial<'a>);

/// How a figure of a trial differs between the arms; `None` where one of them does not have it.
pub(super) fn change(pairs: &[TrialPair<'_, '_>], of: impl Fn(&Observed) -> Option<f64>) -> Option<Change> {
    let both = |(arm, against): &TrialPair<'_, '_>| of(arm.observed).zip(of(against.observed));
    let values: Option<Vec<(f64, f64)>> = pairs.iter().map(both).collect();
    values.filter(|values| !values.is_empty()).map(|values| Change::of(&values))
}
