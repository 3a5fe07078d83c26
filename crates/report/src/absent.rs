//! What could not be measured in a study, each thing once.

use std::collections::BTreeMap;
use std::ops::Range;

use machine::{FactId, Missing};
use study::Facts;

use crate::visible::one_line;

/// One thing that is not known, over all trials.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Absent {
    /// The fact, as first met.
    pub fact: String,
    /// Why it is not known; amounts that differ from one to the next are a range (`1 to 6 ms`).
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
            n => format!(" (and {n} more like it)"),
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
    /// The least and the most of each amount of the reason, as they are written.
    amounts: Vec<(String, String)>,
}

impl Entry {
    /// Widens the ranges of amounts by those of another reason of this shape.
    fn widen(&mut self, why: &str) {
        let less = |a: &str, b: &str| matches!((a.parse::<f64>(), b.parse::<f64>()), (Ok(a), Ok(b)) if a < b);
        for ((least, most), at) in self.amounts.iter_mut().zip(amounts(why)) {
            let amount = &why[at];
            if less(amount, least.as_str()) {
                *least = amount.to_string();
            }
            if less(most.as_str(), amount) {
                *most = amount.to_string();
            }
        }
    }

    /// What was found, with its ranges.
    fn into_absent(mut self) -> Absent {
        let places = amounts(&self.absent.why);
        // From the last one on, so that the places of those before it hold.
        for ((least, most), at) in self.amounts.into_iter().zip(places).rev() {
            if least != most {
                self.absent.why.replace_range(at, &format!("{least} to {most}"));
            }
        }
        self.absent
    }
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
            let amount = |at: Range<usize>| missing.why[at].to_string();
            let both = |amount: String| (amount.clone(), amount);
            let amounts = amounts(&missing.why).into_iter().map(amount).map(both).collect();
            Entry { absent, facts: vec![missing.fact.clone()], last_trial: None, amounts }
        });
        entry.widen(&missing.why);
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
        let mut list: Vec<Absent> = self
            .order
            .iter()
            .filter_map(|shape| self.by_shape.remove(shape))
            .map(Entry::into_absent)
            .collect();
        list.sort_by_key(|absent| std::cmp::Reverse(absent.trials));
        list
    }
}

/// Units of amounts. A number with any other word behind it may be a process, a CPU or an instant: no range is said of those.
const UNITS: [&str; 4] = [" us", " ms", " s", " %"];

/// Where amounts stand in a text: numbers with their unit.
fn amounts(text: &str) -> Vec<Range<usize>> {
    let is_of_number = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    let has_unit = |rest: &str| {
        let behind = UNITS.iter().find_map(|unit| rest.strip_prefix(unit));
        behind.is_some_and(|behind| !behind.starts_with(char::is_alphanumeric))
    };
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(byte) = text.as_bytes().get(at) {
        if !is_of_number(*byte) {
            at += 1;
            continue;
        }
        let length = text.as_bytes()[at..].iter().take_while(|byte| is_of_number(**byte)).count();
        let place = at..at + length;
        at = place.end;
        if has_unit(&text[place.end..]) && text[place.clone()].parse::<f64>().is_ok() {
            found.push(place);
        }
    }
    found
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
        assert_eq!(found[0].place(9), "machine (and 1 more like it)");
    }

    #[test]
    fn amounts_that_differ_are_a_range_and_other_numbers_are_the_first() {
        let whys = |whys: &[&str]| -> Vec<String> {
            let missing: Vec<Missing> = whys.iter().map(|why| Missing::new("window start", why)).collect();
            of_machine(&missing).into_iter().map(|absent| absent.why).collect()
        };
        let began =
            ["sampling began 2 ms after it", "sampling began 11 ms after it", "sampling began 1 ms after it"];
        assert_eq!(whys(&began), ["sampling began 1 to 11 ms after it"]);
        assert_eq!(whys(&began[..1]), ["sampling began 2 ms after it"]);
        assert_eq!(whys(&["0.5 s of 20.0 %", "1.5 s of 3.0 %"]), ["0.5 to 1.5 s of 3.0 to 20.0 %"]);
        assert_eq!(whys(&["process 12 ended", "process 7 ended"]), ["process 12 ended"]);
        assert_eq!(whys(&["2 samples", "3 samples"]), ["2 samples"], "no unit");
    }

    #[test]
    fn odd_numbers_of_any_text_are_no_amounts() {
        for text in ["", "1.2.3 ms", ". ms", "\u{e9}9\u{e9} s", "9 \u{e9}", "7 same", "4 s\u{e9}"] {
            assert_eq!(amounts(text), Vec::<Range<usize>>::new(), "{text}");
        }
        assert_eq!(amounts("\u{e9} 9 s."), [Range { start: 3, end: 4 }]);
    }
}
