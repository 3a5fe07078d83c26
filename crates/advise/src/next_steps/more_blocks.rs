//! Whether more blocks decide what is open, and how many.

use std::collections::BTreeSet;

use study::statistics::signed_rank::MOST_BLOCKS;
use study::{Contrast, Facts, Trust, Verdict, design, looks};

use super::Step;

/// Most blocks that one step proposes, as a multiple of those that the study was planned with.
const MOST_TIMES_PLANNED: usize = 2;
/// A larger number of blocks than this is none that anybody could run: the ratio lies on the margin.
const MOST_NAMED: f64 = 1e5;

/// Running more blocks, or that so many would be needed that something else comes first; `None` where everything is decided, and where blocks
/// cannot be added.
pub(super) fn more_blocks(facts: &Facts) -> Option<Step> {
    let (study, evidence) = (&facts.study, &facts.evidence);
    let is_open = match evidence.trust {
        Trust::Sound => looks::undecided(evidence) > 0,
        Trust::TooFew { .. } | Trust::Untrustworthy { .. } => true,
    };
    let claims = evidence.against_baseline.len().max(evidence.against_other_cpus.len());
    // They are judged by themselves, at the level that is set aside for them.
    let level = looks::set_aside(study.recipe.precision.alpha, study.added.len() as u32);
    let fewest = design::fewest_blocks(claims, level) + 1;
    let most = (MOST_TIMES_PLANNED * study.planned_blocks()).max(fewest);
    let can = |blocks: usize| {
        is_open && study.may_have_more(blocks).is_ok() && study.order.len() + blocks <= MOST_BLOCKS
    };
    let wanted = wanted(facts);
    let within = wanted.iter().copied().filter(|blocks| *blocks <= most as f64).reduce(f64::max);
    let blocks = match (within, wanted.iter().copied().reduce(f64::min)) {
        (Some(blocks), _) => (blocks as usize).clamp(fewest, most),
        // Of a study with too few blocks the width says little yet.
        (None, Some(_)) if evidence.trust != Trust::Sound => most,
        (None, Some(needed)) => return can(fewest).then(|| too_many(facts, needed)),
        (None, None) => fewest,
    };
    can(blocks).then_some(Step::AddBlocks { blocks })
}

fn too_many(facts: &Facts, needed: f64) -> Step {
    let blocks = (needed <= MOST_NAMED).then_some(needed as usize);
    let about_s =
        blocks.zip(block_s(facts)).map(|(blocks, block_s)| (blocks as f64 * block_s).round() as u64);
    Step::TooManyBlocks { blocks, about_s }
}

/// How long a block takes, with the trials that were run again, s; `None` where that is not known.
fn block_s(facts: &Facts) -> Option<f64> {
    let blocks: BTreeSet<usize> = facts.trials.iter().map(|seen| seen.trial.block).collect();
    let took_s: f64 = facts.trials.iter().map(|seen| seen.trial.took_s).sum();
    (took_s > 0.0 && !blocks.is_empty()).then(|| took_s / blocks.len() as f64)
}

/// About how many blocks by themselves decide each comparison that is open and has an interval.
fn wanted(facts: &Facts) -> Vec<f64> {
    let evidence = &facts.evidence;
    let all = evidence.against_baseline.iter().chain(&evidence.against_other_cpus);
    let open = all.filter(|contrast| contrast.verdict == Verdict::Undecided);
    open.filter_map(|contrast| blocks_to_decide(contrast, evidence.precision.margin)).collect()
}

/// About how many blocks an undecided comparison needs by themselves, if its ratio is what was estimated: an interval shrinks with the
/// root of the blocks, until it lies on one side of the margin. Infinite where the ratio lies on the margin; `None` without an interval.
fn blocks_to_decide(contrast: &Contrast, margin: f64) -> Option<f64> {
    let (low, high) = contrast.interval?;
    let half = (high.ln() - low.ln()) / 2.0;
    let distance = (contrast.ratio.ln().abs() - margin.ln_1p()).abs();
    let blocks = (contrast.blocks as f64 * (half / distance).powi(2)).ceil();
    (!blocks.is_nan()).then_some(blocks)
}

#[cfg(test)]
mod tests {
    use study::case::added_blocks::Added;

    use super::*;
    use crate::case_builder::CaseBuilder;

    /// A study of so many planned blocks, of which one comparison is open: a ratio of 1 in 10 blocks, with so wide an interval.
    fn open(planned: usize, half_width: f64) -> Facts {
        let mut facts = CaseBuilder::of_cpus(2).build();
        let open = &mut facts.evidence.against_baseline[0];
        (open.verdict, open.ratio, open.blocks) = (Verdict::Undecided, 1.0, 10);
        open.interval = Some(((-half_width).exp(), half_width.exp()));
        facts.study.order = vec![Vec::new(); planned];
        facts
    }

    #[test]
    fn what_is_undecided_gets_blocks_until_there_are_too_many() {
        let margin = 0.03f64.ln_1p();
        // Twice as wide as the margin: four times as many blocks.
        assert_eq!(more_blocks(&open(20, margin * 1.999)), Some(Step::AddBlocks { blocks: 40 }));
        // No fewer than a claim takes.
        let Some(Step::AddBlocks { blocks }) = more_blocks(&open(20, margin * 0.1)) else { panic!("none") };
        assert!((design::fewest_blocks(2, 0.05)..40).contains(&blocks), "{blocks}");
        let mut full = open(MOST_BLOCKS, margin * 1.999);
        full.study.added = vec![Added { first_block: 0, blocks: MOST_BLOCKS, made_unix_s: 0 }];
        assert_eq!(more_blocks(&full), None);
    }

    #[test]
    fn blocks_that_would_not_decide_it_are_not_offered_and_how_many_would_is_named() {
        let margin = 0.03f64.ln_1p();
        let mut facts = open(20, margin * 4.999);
        for seen in &mut facts.trials {
            seen.trial.took_s = 2.0;
        }
        let arms = facts.study.arms.len() as u64;
        let about_s = Some(250 * arms * 2);
        assert_eq!(more_blocks(&facts), Some(Step::TooManyBlocks { blocks: Some(250), about_s }));
        // One that a few more decide is reason enough to run them.
        let mut easier = facts.evidence.against_baseline[0].clone();
        easier.interval = Some(((-margin * 1.499).exp(), (margin * 1.499).exp()));
        facts.evidence.against_baseline.push(easier);
        assert_eq!(more_blocks(&facts), Some(Step::AddBlocks { blocks: 23 }));
    }

    #[test]
    fn on_the_margin_no_number_of_blocks_decides() {
        let mut facts = open(20, 0.1);
        facts.evidence.against_baseline[0].ratio = 1.03;
        assert_eq!(more_blocks(&facts), Some(Step::TooManyBlocks { blocks: None, about_s: None }));
    }

    #[test]
    fn blocks_that_decide_go_with_the_square_of_the_width() {
        let contrast = |ratio: f64, interval| {
            let facts = CaseBuilder::of_cpus(2).build();
            Contrast { ratio, interval, blocks: 10, ..facts.evidence.against_baseline[0].clone() }
        };
        let of =
            |ratio, half: f64| blocks_to_decide(&contrast(ratio, Some(((-half).exp(), half.exp()))), 0.03);
        let distance = 0.03f64.ln_1p();
        assert_eq!(of(1.0, distance * 0.999), Some(10.0));
        assert_eq!(of(1.0, distance * 1.999), Some(40.0));
        assert!(of(1.03, distance).is_some_and(|blocks| blocks > 1e6));
        assert_eq!(blocks_to_decide(&contrast(1.0, None), 0.03), None);
        assert_eq!(blocks_to_decide(&contrast(f64::NAN, Some((1.0, 1.0))), 0.03), None);
    }
}
