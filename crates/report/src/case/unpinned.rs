//! The baseline as it really ran: on an uneven machine it is a mixture of good and bad CPUs, not a mean.

use std::collections::BTreeMap;

use machine::CpuSet;
use machine::wording::plural;
use probe::account::working_threshold;
use study::statistics::summary::{self, Summary};
use study::{Evidence, Role, Verdict};

use crate::number;

/// A CPU counts as used from this share of the server's time on, if such CPUs had most of it.
const USED_FROM_SHARE: f64 = 0.02;

/// That much is most.
const MOST: f64 = 0.9;

/// How many of them are named.
const NAMED: usize = 4;

/// The baseline's trials spread "much more" than those of the pinned arms from this factor on.
const MUCH_MORE: f64 = 3.0;

/// Both baseline arms together.
#[derive(Debug, Clone, PartialEq)]
pub struct Unpinned {
    /// The deciding figure over all baseline trials.
    pub figure: Summary,
    /// The deciding figure of each trial.
    pub values: Vec<f64>,
    /// Share of the server's time on each CPU, largest first.
    pub cpus_used: Vec<(u32, f64)>,
    /// Why its mean should not be taken for a property of the machine; `None` when nothing speaks against it.
    pub mixture: Option<String>,
}

/// Pools the baseline arms; `None` when none has a figure yet.
pub fn pool(evidence: &Evidence) -> Option<Unpinned> {
    let arms: Vec<_> = evidence.arms.iter().filter(|a| a.role == Role::Baseline).collect();
    let values: Vec<f64> = arms.iter().flat_map(|a| a.by_block.iter().copied()).collect();
    let figure = summary::summarise(&values)?;
    let mut shares: BTreeMap<u32, f64> = BTreeMap::new();
    let observed = arms.iter().filter(|a| !a.cpus_used.is_empty()).count().max(1) as f64;
    for (cpu, share) in arms.iter().flat_map(|a| &a.cpus_used) {
        *shares.entry(*cpu).or_default() += share / observed;
    }
    let mut cpus_used: Vec<(u32, f64)> = shares.into_iter().collect();
    cpus_used.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let reasons: Vec<String> =
        [spreads_more(evidence, &figure), uneven_cpus(evidence, &cpus_used)].into_iter().flatten().collect();
    let mixture = (!reasons.is_empty()).then(|| reasons.join("; "));
    Some(Unpinned { figure, values, cpus_used, mixture })
}

impl Unpinned {
    /// The CPUs that it used in words: `38 % of its time on CPU 5, 21 % on CPU 0, 20 % on 3 others`; `None` when that was not observed.
    pub fn cpus_in_words(&self) -> Option<String> {
        let from = used_from(&self.cpus_used);
        let used: Vec<(u32, f64)> =
            self.cpus_used.iter().copied().filter(|(_, share)| *share >= from).collect();
        let (first, more) = used.split_first()?;
        let (named, others) = match more.len() {
            n if n <= NAMED => (more, &more[n..]),
            _ => more.split_at(NAMED - 1),
        };
        let mut words = vec![format!("{} of its time on CPU {}", number::share(first.1), first.0)];
        words.extend(named.iter().map(|(cpu, share)| format!("{} on CPU {cpu}", number::share(*share))));
        if !others.is_empty() {
            let share = others.iter().map(|(_, share)| share).sum::<f64>();
            words.push(format!("{} on {} others", number::share(share), others.len()));
        }
        Some(words.join(", "))
    }
}

/// From which share on a CPU counts as used: of a server on a hundred CPUs, each has less than usual.
fn used_from(cpus_used: &[(u32, f64)]) -> f64 {
    let shares = || cpus_used.iter().map(|(_, share)| *share);
    let of_these: f64 = shares().filter(|share| *share >= USED_FROM_SHARE).sum();
    if of_these >= MOST * shares().sum::<f64>() { USED_FROM_SHARE } else { working_threshold(shares()) }
}

/// Spread between trials against that of the pinned arms.
fn spreads_more(evidence: &Evidence, figure: &Summary) -> Option<String> {
    let pinned: Vec<f64> =
        evidence.arms.iter().filter(|a| a.role == Role::Candidate).filter_map(|a| a.figure.sd).collect();
    let (own, typical) = (figure.sd?, summary::median(&pinned)?);
    let decimals = number::decimals_for(figure.mean);
    (typical > 0.0 && own > MUCH_MORE * typical).then(|| {
        format!(
            "its trials spread {:.0} times as much as those of a pinned server (sd {} against {})",
            own / typical,
            number::grouped(own, decimals),
            number::grouped(typical, decimals),
        )
    })
}

/// CPUs of different speed among those that it used.
fn uneven_cpus(evidence: &Evidence, cpus_used: &[(u32, f64)]) -> Option<String> {
    let from = used_from(cpus_used);
    let used: CpuSet = cpus_used.iter().filter(|(_, share)| *share >= from).map(|(cpu, _)| *cpu).collect();
    let slow: CpuSet =
        evidence.slow_cpus().iter().filter_map(|c| c.cpu).filter(|cpu| used.contains(*cpu)).collect();
    let differ = |c: &&study::Contrast| c.verdict == Verdict::Better || c.verdict == Verdict::Equal;
    let others = evidence
        .against_other_cpus
        .iter()
        .filter(differ)
        .any(|c| c.cpu.is_some_and(|cpu| used.contains(cpu)));
    let share: f64 = cpus_used.iter().filter(|(cpu, _)| slow.contains(*cpu)).map(|(_, share)| share).sum();
    (!slow.is_empty() && (others || used.len() > slow.len())).then(|| {
        let name = plural("slow CPU", slow.len());
        format!("it spent {} of its time on the {name} {slow} and the rest on others", number::share(share))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_words(cpus_used: Vec<(u32, f64)>) -> Option<String> {
        let figure = summary::summarise(&[1.0, 2.0]).unwrap();
        Unpinned { figure, values: Vec::new(), cpus_used, mixture: None }.cpus_in_words()
    }

    #[test]
    fn a_server_on_many_cpus_ran_on_each() {
        let even = (0..128).map(|cpu| (cpu, 1.0 / 128.0)).collect();
        let words = in_words(even).unwrap();
        assert!(words.starts_with("0.8 % of its time on CPU 0, 0.8 % on CPU 1"), "{words}");
        assert!(words.ends_with("on 124 others"), "{words}");
        let mostly_one = in_words(vec![(5, 0.99), (1, 0.01)]);
        assert_eq!(mostly_one.as_deref(), Some("99 % of its time on CPU 5"));
        assert_eq!(in_words(Vec::new()), None);
    }
}
