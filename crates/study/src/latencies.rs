//! Latencies of trials from the files of a case.

use std::collections::BTreeSet;

use load::Outcome;
use machine::Fault;

use crate::case::Case;
use crate::evidence::Latencies;
use crate::statistics::pooled::Counts;
use crate::trial::Trial;

/// The latencies of these trials of a case over their measured windows; what a file does not tell is told in its place.
///
/// # Errors
/// A file that is there and cannot be read, or is damaged.
pub fn read(case: &Case, trials: &BTreeSet<usize>) -> Result<Latencies, Fault> {
    let asked = case.trials.iter().filter(|trial| trials.contains(&trial.index));
    asked.map(|trial| Ok((trial.index, of_trial(case, trial)?))).collect()
}

fn of_trial(case: &Case, trial: &Trial) -> Result<Result<Counts, String>, Fault> {
    let file = format!("trials/{:04}/outcome.json", trial.index);
    let Some(outcome) = case.read_json::<Outcome>(&file)? else {
        return Ok(Err(format!("{file} is not there")));
    };
    Ok(match outcome.latency(trial.from_ns, trial.to_ns) {
        Ok(latency) if latency.count() > 0 => Ok(latency.counts()),
        Ok(_) if outcome.intervals.is_empty() => Err("the load told no histogram of latencies".into()),
        Ok(_) => Err("no answer came in an interval that lies wholly inside its measured window".into()),
        Err(why) => Err(why),
    })
}
