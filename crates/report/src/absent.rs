//! What could not be measured in a study, each thing once.

use std::collections::BTreeMap;

use machine::{FactId, Missing};
use study::Facts;

use crate::visible::one_line;

/// One thing that is not known, over all trials.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Absent {
    /// The fact, as first met.
    pub fact: String,
    /// Why it is not known.
    pub why: String,
    /// How many facts differ from the first one only in their numbers (a PID, a CPU, a time).
    pub alike: usize,
    /// In how many trials it was missing; 0 for a fact that is of no trial.
    pub trials: usize,
    /// What it is a fact of.
    pub of: Of,
}

/// What a missing fact is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Of {
    /// The machine, as it was read.
    Machine,
    /// The study as a whole.
    Study,
    /// One trial or several.
    Trial,
}

impl Absent {
    /// Where it was missing, in words.
    pub fn place(&self, of_trials: usize) -> String {
        let alike = match self.alike {
            0 => String::new(),
            n => format!(" (and {n} alike)"),
        };
        match self.trials {
            _ if self.of == Of::Machine => format!("machine{alike}"),
            0 => format!("the whole study{alike}"),
            n if n == of_trials => format!("every trial{alike}"),
            n => format!("{n} of {of_trials} trials{alike}"),
        }
    }
}

/// Everything that is missing from the case, its trials and their observations, most frequent first. Facts that differ only in
/// their numbers count as one: a server that is restarted for each trial has a new PID in each.
pub fn of_case(facts: &Facts) -> Vec<Absent> {
    let mut found = Collected::default();
    facts.missing.iter().for_each(|m| found.add(m, Of::Study, None));
    for (i, seen) in facts.trials.iter().enumerate() {
        let observed = seen.observation.iter().flat_map(|o| &o.missing);
        seen.trial.missing.iter().chain(observed).for_each(|m| found.add(m, Of::Trial, Some(i)));
    }
    found.into_list()
}

/// Files of the case that could not be read, and what could not be measured before its first trial.
pub fn of_files(facts: &Facts) -> Vec<Absent> {
    let mut found = Collected::default();
    facts.missing.iter().for_each(|m| found.add(m, Of::Study, None));
    let of_trials = facts.trials.iter().flat_map(|seen| &seen.trial.missing);
    of_trials.filter(|m| m.is(&FactId::TrialFile)).for_each(|m| found.add(m, Of::Study, None));
    found.into_list()
}

/// What is missing from the machine as it was read, the same way.
pub fn of_machine(missing: &[Missing]) -> Vec<Absent> {
    let mut found = Collected::default();
    missing.iter().for_each(|m| found.add(m, Of::Machine, None));
    found.into_list()
}

/// The section of a text that lists what is not known, a line each; empty where everything is.
pub(crate) fn section(missing: &[Missing]) -> String {
    let line = |m: &Missing| format!("  {}: {}\n", one_line(&m.fact), one_line(&m.why));
    let lines: String = missing.iter().map(line).collect();
    if lines.is_empty() { lines } else { format!("Not known\n{lines}") }
}

/// What it is of, fact and reason without their numbers.
type Shape = (Of, String, String);

/// What is known of one shape so far.
struct Entry {
    absent: Absent,
    facts: Vec<String>,
    last_trial: Option<usize>,
}

#[derive(Default)]
struct Collected {
    order: Vec<Shape>,
    by_shape: BTreeMap<Shape, Entry>,
}

impl Collected {
    fn add(&mut self, missing: &Missing, of: Of, trial: Option<usize>) {
        let shape = (of, without_numbers(&missing.fact), without_numbers(&missing.why));
        let entry = self.by_shape.entry(shape.clone()).or_insert_with(|| {
            self.order.push(shape);
            let (fact, why) = (missing.fact.clone(), missing.why.clone());
            let absent = Absent { fact, why, alike: 0, trials: 0, of };
            Entry { absent, facts: vec![missing.fact.clone()], last_trial: None }
        });
        if !entry.facts.contains(&missing.fact) {
            entry.facts.push(missing.fact.clone());
            entry.absent.alike += 1;
        }
        if trial.is_some() && entry.last_trial != trial {
            entry.last_trial = trial;
            entry.absent.trials += 1;
        }
    }

    fn into_list(mut self) -> Vec<Absent> {
        let mut list: Vec<Absent> =
            self.order.iter().filter_map(|shape| self.by_shape.remove(shape)).map(|e| e.absent).collect();
        list.sort_by_key(|absent| std::cmp::Reverse(absent.trials));
        list
    }
}

/// The text with each run of digits as one `#`.
fn without_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_ascii_digit() {
            true if out.ends_with('#') => {}
            true => out.push('#'),
            false => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_that_differ_in_numbers_only_are_one() {
        let missing = [
            Missing::new("/proc/1234/schedstat", "absent"),
            Missing::new("/proc/77/schedstat", "absent"),
            Missing::new("/proc/77/schedstat", "denied"),
            Missing::new("/proc/77/schedstat", "absent"),
        ];
        let found = of_machine(&missing);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].fact.as_str(), found[0].alike), ("/proc/1234/schedstat", 1));
        assert_eq!(found[0].place(9), "machine (and 1 alike)");
    }
}
