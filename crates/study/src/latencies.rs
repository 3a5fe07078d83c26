//! Latencies of trials from the files of a case.

use std::collections::BTreeSet;

use load::Outcome;

use crate::case::Case;
use crate::evidence::Latencies;
use crate::statistics::pooled::Counts;
use crate::trial::Trial;

/// The latencies of these trials of a case over their measured windows; what a file does not have is reported in its place, also why one
/// cannot be read: nothing is decided by them.
pub fn read(case: &Case, trials: &BTreeSet<usize>) -> Latencies {
    let asked = case.trials.iter().filter(|trial| trials.contains(&trial.index));
    asked.map(|trial| (trial.index, of_trial(case, trial))).collect()
}

fn of_trial(case: &Case, trial: &Trial) -> Result<Counts, String> {
    let file = format!("trials/{:04}/outcome.json", trial.index);
    let outcome = case.read_json::<Outcome>(&file).map_err(|fault| fault.to_string())?;
    let outcome = outcome.ok_or_else(|| format!("{file} does not exist"))?;
    let latency = outcome.latency(trial.from_ns, trial.to_ns)?;
    match latency.count() {
        0 if outcome.intervals.is_empty() => Err("the load reported no histogram of latencies".into()),
        0 => Err("no answer came in an interval that lies wholly inside its measured window".into()),
        _ => Ok(latency.counts()),
    }
}
