//! How the study was made and what its words mean, with this study's own numbers.

use study::statistics::summary::{self, median};
use study::{Evidence, Facts, Verdict};

use super::{About, Page};
use crate::case::result_words::{self, verdict};
use crate::case::screening_words;
use crate::markup::blocks::facts_list;
use crate::{CaseView, Html, number};

/// See [`About::docs`].
pub struct Methods;

static ABOUT: About = About {
    id: "methods",
    title: "How it was measured",
    docs: "Design, estimator, margins, warm-up, and what the words mean.",
};

impl Page for Methods {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn render(&self, case: &CaseView) -> Html {
        let mut html = Html::new();
        facts_list(&mut html, &how(case.facts));
        html.element("h3", &[], "What the words mean");
        let mut words = words(case.facts);
        if !case.findings.is_empty() || !case.explained.explanations.is_empty() {
            words.extend(words_of_findings());
        }
        facts_list(&mut html, &words);
        html
    }
}

fn how(facts: &Facts) -> Vec<(&'static str, String)> {
    let (study, evidence) = (&facts.study, &facts.evidence);
    let recipe = &study.recipe;
    let trials: Vec<f64> = facts.trials.iter().map(|s| s.trial.took_s).collect();
    vec![
        ("figure", result_words::figure(&evidence.metric, "", evidence.better)),
        (
            "design",
            design(facts),
        ),
        ("screening", screening(facts)),
        (
            "trials",
            format!(
                "{} of {} run, {} complete blocks; window of {} after a warm-up of at most {}; a trial took {}",
                facts.trials.len(),
                facts.planned(),
                evidence.blocks,
                number::duration(recipe.budget.window_s),
                number::duration(recipe.budget.warm_up_cap_s),
                median(&trials).map_or("n/a".into(), number::duration),
            ),
        ),
        ("warm-up", warm_up(facts)),
        (
            "estimator",
            "within-block log ratios of an arm to its reference; Hodges-Lehmann estimate with the exact signed-rank (Wilcoxon) interval. Means and standard deviations describe; they decide nothing".into(),
        ),
        ("error", error(evidence)),
        ("margin", format!("differences up to {} count as equal", number::share(evidence.precision.margin))),
        ("other load", other_load(facts)),
        ("counters", counters(facts)),
    ]
}

/// The chance of a false claim, and among which comparisons.
fn error(evidence: &Evidence) -> String {
    let alpha = number::share(evidence.precision.alpha);
    let baseline = format!("every arm against {}", evidence.baseline());
    let families = match evidence.against_other_cpus.is_empty() {
        true => format!("among the comparisons of {baseline}"),
        false => format!(
            "in each of two families ({baseline}; every CPU against the median of the other CPUs of its block)"
        ),
    };
    let intervals = result_words::intervals(evidence, &[]);
    format!(
        "chance of even one false claim at most {alpha} {families}, adjusted by Holm. {}",
        intervals.trim_end_matches('.')
    )
}

/// How often the counters were read, and what that cost.
fn counters(facts: &Facts) -> String {
    let observed = facts.trials.iter().filter_map(|seen| seen.observation.as_ref());
    let sampling: Vec<f64> = observed.map(|observation| observation.sampling_share).collect();
    let Some(cost) = median(&sampling) else { return "not read: no trial has an observation".into() };
    format!(
        "{} samples a second during the window, which took {} of one CPU; rates are medians over the trials of an arm",
        number::compact(facts.study.recipe.samples_per_s),
        number::share(cost),
    )
}

fn design(facts: &Facts) -> String {
    let study = &facts.study;
    let seed = study.recipe.seed.map_or("not recorded".into(), |s| s.to_string());
    let controls = "the baseline stands in each such block twice (A/A control), one arm is mis-tuned on purpose (positive control)";
    match &study.recipe.search {
        None if study.boots.is_some() => format!(
            "a split plot over boots: {} blocks planned, in each of which the machine is started once for every choice of kernel parameters and twice for \
             the baseline's, in random order; in each boot its arms run {} in random order, the server started anew for each trial; the A/A \
             control is of two boots, one arm is mis-tuned on purpose (positive control); seed {seed}",
            study.planned_blocks(),
            match study.recipe.budget.trials_a_boot {
                1 => "once".to_string(),
                times => format!("{times} times"),
            },
        ),
        None => format!(
            "randomised complete blocks: {} blocks planned, each with every one of {} arms once in random order; {controls}; the server is started anew for each trial; seed {seed}",
            study.planned_blocks(),
            study.arms.len(),
        ),
        Some(search) => format!(
            "a search: at most {} trials of placements in blocks of {}, then {} fresh blocks of the winner with all controls, in random order within each; only the fresh blocks are compared; {controls}; the server is started anew for each trial; seed {seed}",
            search.trials, search.arms_a_block, study.recipe.budget.blocks,
        ),
    }
}

fn warm_up(facts: &Facts) -> String {
    let left_out: Vec<f64> = facts.trials.iter().filter_map(|s| s.trial.warm_up.left_out_s).collect();
    let capped = facts.trials.iter().filter(|s| s.trial.warm_up.capped).count();
    let how = facts.trials.iter().map(|s| s.trial.warm_up.how.as_str()).find(|how| !how.is_empty());
    match median(&left_out) {
        Some(s) => format!(
            "detected, not assumed: {} left out (median); the cap was reached in {capped} of {} trials{}",
            number::duration(s),
            facts.trials.len(),
            how.map(|how| format!("; {how}")).unwrap_or_default(),
        ),
        None => how.map_or("not known".into(), str::to_string),
    }
}

/// What else ran meanwhile, and what a hypervisor took.
fn other_load(facts: &Facts) -> String {
    let of = |value: &dyn Fn(&study::AsRun) -> Option<f64>| {
        let values: Vec<f64> = facts.trials.iter().filter_map(|s| value(&s.trial.as_run)).collect();
        summary::summarise(&values)
    };
    let busy = of(&|r| r.others_busy_cpus).map(|s| {
        let [median, min, max] = [s.median, s.min, s.max].map(|v| number::grouped(v, 2));
        format!("everything but the server, load generator included, took {median} CPUs ({min} to {max} over the trials)")
    });
    let steal = of(&|r| r.steal_share).map(|s| {
        format!("steal {} ({} to {})", number::share(s.median), number::share(s.min), number::share(s.max))
    });
    let known: Vec<String> = [busy, steal].into_iter().flatten().collect();
    if known.is_empty() { "not known".into() } else { known.join("; ") }
}

fn screening(facts: &Facts) -> String {
    match &facts.screening {
        Some(screening) => screening_words::sentences(screening).join(" "),
        None => "none: every placement that is compared has full blocks".into(),
    }
}

fn words(facts: &Facts) -> Vec<(&'static str, String)> {
    let margin = number::share(facts.evidence.precision.margin);
    let or_more = format!("by more than {margin}, with the error stated above");
    vec![
        ("better, worse", format!("better or worse {or_more}")),
        (verdict(Verdict::Equal), format!("no difference larger than {margin}: two one-sided tests (TOST) both say so. This is an answer, not the absence of one")),
        (verdict(Verdict::Undecided), "the trials do not decide it; more blocks may".into()),
        (verdict(Verdict::NotAsAsked), "the server did not run where the arm, or what it is compared with, says: the figures are about another placement".into()),
        (verdict(Verdict::CannotTell), "the positive control was not seen, so no result may be called equal; or it helped, and then no claim is made".into()),
        (verdict(Verdict::Untrustworthy), "the baseline differed from itself, so something other than the placement moves the figure and no claim is made".into()),
    ]
}

/// How far a finding can be relied on.
fn words_of_findings() -> Vec<(&'static str, String)> {
    vec![
        ("proved", "the cause was moved, and the loss moved with it, as predicted".into()),
        ("imitated", "the cause could not be moved, but an imitation of it on a good CPU cost as much".into()),
        ("supported", "the counter moved, the size that the mechanism predicts agrees with what was observed, and nothing else differs as much".into()),
        ("possible", "the counter moved on a slow CPU".into()),
    ]
}
