//! Rules, one a file: each states a mechanism, the counters that must have moved, the size that it predicts and the
//! intervention that would prove it.

use study::Facts;

use crate::finding::{Finding, rank};
use crate::siblings::Siblings;

pub mod interrupts;
pub mod receive_softirq;
pub mod sibling_interrupts;

/// What a rule is, for `pinwise list rules`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// Id: the file's name with dashes.
    pub id: &'static str,
    /// The claim in a few words, without a CPU: *interrupts take this CPU*.
    pub title: &'static str,
    /// What it looks at, what it predicts and how that can be proved: a paragraph.
    pub docs: &'static str,
}

/// A mechanism that can make a CPU slow for a server.
pub trait Rule: Sync {
    /// What the rule is.
    fn about(&self) -> &'static About;

    /// Findings about the slow CPUs of a case; none where the mechanism's counters did not move. Never accuses a CPU
    /// that the evidence does not call slow.
    fn examine(&self, facts: &Facts, siblings: &Siblings) -> Vec<Finding>;
}

/// Every rule.
pub static ALL: &[&dyn Rule] =
    &[&interrupts::Interrupts, &receive_softirq::ReceiveSoftirq, &sibling_interrupts::SiblingInterrupts];

/// The findings of all rules, ranked by effect; without proofs and without what is unexplained.
pub fn examine_all(facts: &Facts, siblings: &Siblings) -> Vec<Finding> {
    let mut findings: Vec<Finding> = ALL.iter().flat_map(|rule| rule.examine(facts, siblings)).collect();
    rank(&mut findings);
    findings
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_are_unique_and_every_rule_says_what_it_is() {
        let ids: BTreeSet<&str> = ALL.iter().map(|r| r.about().id).collect();
        assert_eq!(ids.len(), ALL.len());
        for rule in ALL {
            let about = rule.about();
            assert!(!about.title.is_empty() && about.docs.len() > 80, "{about:?}");
            assert!(about.id.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{}", about.id);
        }
    }

    #[test]
    fn the_folder_equals_the_list() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/rules");
        let files: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .filter_map(|entry| {
                entry.unwrap().file_name().into_string().unwrap().strip_suffix(".rs").map(str::to_string)
            })
            .filter(|name| name != "mod")
            .collect();
        let listed: BTreeSet<String> = ALL.iter().map(|r| r.about().id.replace('-', "_")).collect();
        assert_eq!(files, listed);
    }
}
