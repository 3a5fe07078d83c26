//! How the CPUs of a large machine were chosen, in words.

use std::collections::BTreeMap;

use machine::CpuSet;
use study::Screening;

use crate::case::control_words::cpus;

/// Sentences: how many were screened, which looked slow, and which stand for which.
pub fn sentences(screening: &Screening) -> Vec<String> {
    let slow: CpuSet = screening.slow.iter().copied().collect();
    // One that answered nothing has no figure, and looks slow.
    let known = screening.figures.keys().copied().collect::<CpuSet>().union(&slow);
    let screened = known.len();
    let looked = match slow.len() {
        0 => "none looked slow".into(),
        1 => format!("{} looked slow and gets full blocks", cpus(&slow)),
        _ => format!("{} looked slow and get full blocks", cpus(&slow)),
    };
    let mut by_kind: BTreeMap<&CpuSet, CpuSet> = BTreeMap::new();
    for sample in &screening.samples {
        by_kind.entry(&sample.stands_for).or_default().insert(sample.cpu);
    }
    let kinds: Vec<String> = by_kind
        .iter()
        .map(|(kind, samples)| {
            let stand = if samples.len() == 1 { "stands" } else { "stand" };
            format!("{} {stand} for {} ({})", cpus(samples), kind.to_list(), kind.len())
        })
        .collect();
    let mut sentences = vec![format!("Each of {screened} CPUs was screened by a short trial: {looked}.")];
    if !kinds.is_empty() {
        sentences.push(format!("{}; these are alike as far as the map shows.", kinds.join(", ")));
    }
    let stood_for = by_kind.keys().fold(slow, |all, kind| all.union(kind));
    let left_out = known.difference(&stood_for);
    if !left_out.is_empty() {
        let (are, kinds, them) = match left_out.len() {
            1 => ("is", "another kind", "it"),
            _ => ("are", "other kinds", "them"),
        };
        sentences.push(format!(
            "{} did not look slow and {are} of {kinds}; no CPU stands for {them}.",
            cpus(&left_out)
        ));
    }
    if !screening.failed.is_empty() {
        sentences.push(format!(
            "{} could not be screened: the server or the load failed there.",
            cpus(&screening.failed)
        ));
    }
    sentences
}

#[cfg(test)]
mod tests {
    use study::screening::Sample;

    use super::*;

    #[test]
    fn it_says_how_many_stand_for_how_many() {
        let kind = |list: &str| CpuSet::from_list(list).unwrap();
        let sample = |cpu, list| Sample { cpu, stands_for: kind(list) };
        let screening = Screening {
            figures: (0..64).map(|cpu| (cpu, 1.0)).collect(),
            slow: vec![37],
            samples: vec![sample(0, "0-31"), sample(16, "0-31"), sample(32, "32-36,38-63")],
            failed: CpuSet::new(),
        };
        let expected = [
            "Each of 64 CPUs was screened by a short trial: CPU 37 looked slow and gets full blocks.",
            "CPUs 0,16 stand for 0-31 (32), CPU 32 stands for 32-36,38-63 (31); these are alike as far as the map shows.",
        ];
        assert_eq!(sentences(&screening), expected);
    }
}
