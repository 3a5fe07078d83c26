//! Observed blocks whose accounts did not see all of the server: nothing is explained from them.

use std::collections::BTreeMap;

use machine::wording::counted;
use machine::{FactId, Missing};
use study::{Arm, Facts};

/// How many observed blocks of two arms are left out for that reason, and what shows it; `None` where none is.
pub(super) fn dropped_blocks(facts: &Facts, arm: &Arm, against: &Arm) -> Option<Missing> {
    let is_of_these = |name: &str| name == arm.name || name == against.name;
    let mut by_block: BTreeMap<usize, &str> = BTreeMap::new();
    for seen in facts.observed.iter().filter(|seen| is_of_these(&seen.trial.arm)) {
        let unseen = seen.trial.missing.iter().find(|missing| missing.is(&FactId::ServerThreads));
        if let Some(missing) = unseen {
            by_block.entry(seen.trial.block).or_insert(&missing.why);
        }
    }
    let why = by_block.values().next()?;
    let where_seen = if by_block.len() > 1 { "in the first of them " } else { "" };
    let missing = Missing::new(counted(by_block.len(), "observed block"), format_args!("{where_seen}{why}"));
    Some(missing.identified(FactId::ServerThreads))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::situation_builder::situation;
    use crate::explanation::explain;
    use crate::explanation::tests::case;

    const WHY: &str =
        "the account has 0.100 s of CPU time, the counters 0.570 s: threads of the server were not seen";

    /// Eight observed blocks of two arms, without the accounts of these, each by its block and its position.
    fn without(dropped: &[(usize, usize)]) -> Facts {
        let mut facts = case(8, |_, _| (situation(), Some(10_000.0)));
        for seen in &mut facts.observed {
            if dropped.contains(&(seen.trial.block, seen.trial.position)) {
                seen.observed = None;
                let missing = Missing::new("where the time of the server's threads went", WHY);
                seen.trial.missing.push(Missing::new("cpufreq", "no CPU has it"));
                seen.trial.missing.push(missing.identified(FactId::ServerThreads));
            }
        }
        facts
    }

    fn said(facts: &Facts) -> Vec<(String, String)> {
        let missing = explain(facts, "cpu 0", "cpu 1").unwrap().missing.into_iter();
        let dropped = missing.filter(|missing| missing.is(&FactId::ServerThreads));
        dropped.map(|missing| (missing.fact, missing.why)).collect()
    }

    #[test]
    fn blocks_that_are_left_out_are_counted_once_with_the_reason() {
        let facts = without(&[(2, 0), (2, 1), (5, 1)]);
        assert_eq!(explain(&facts, "cpu 0", "cpu 1").unwrap().blocks, 6);
        assert_eq!(said(&facts), [("2 observed blocks".to_string(), format!("in the first of them {WHY}"))]);
        assert_eq!(said(&without(&[(3, 1)])), [("1 observed block".to_string(), WHY.to_string())]);
    }

    #[test]
    fn where_none_is_left_out_nothing_is_said() {
        assert_eq!(said(&without(&[])), []);
    }

    #[test]
    fn where_all_are_left_out_that_is_why_nothing_is_explained() {
        let all: Vec<(usize, usize)> = (0..8).flat_map(|block| [(block, 0), (block, 1)]).collect();
        let missing = explain(&without(&all), "cpu 0", "cpu 1").unwrap_err();
        assert_eq!(missing.why, WHY, "and not the first fact that is missing");
    }
}
