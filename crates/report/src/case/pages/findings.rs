//! What the rules say: claim, evidence, prediction against observation, standing, remedy.

use advise::{Finding, Standing};
use study::{Facts, Proof, Trust};

use super::{About, Page};
use crate::case::next_steps;
use crate::case::result_words;
use crate::markup::blocks::{commands, facts_list, table};
use crate::{CaseView, Html};

/// See [`About::docs`].
pub struct Findings;

static ABOUT: About = About {
    id: "findings",
    title: "Why",
    docs: "Each finding with its evidence, what its mechanism predicts, what was observed, and what can be done.",
};

impl Page for Findings {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn render(&self, case: &CaseView) -> Html {
        let mut html = Html::new();
        if case.findings.is_empty() && is_unexplained(case.facts) {
            html.element("p", &[], "No rule explains why some CPUs are slower than others.");
        }
        for (i, finding) in case.findings.iter().enumerate() {
            html.within("article", &[("class", &"finding")], |article| one(article, case, i + 1, finding));
        }
        html
    }
}

/// Whether there is something that a finding would explain: a CPU that is claimed to be slow.
fn is_unexplained(facts: &Facts) -> bool {
    let is_trusted = !matches!(facts.evidence.trust, Trust::Untrustworthy { .. });
    is_trusted && !facts.evidence.slow_cpus().is_empty()
}

fn one(html: &mut Html, case: &CaseView, number: usize, finding: &Finding) {
    html.within("h3", &[], |h| {
        h.text(format!("{number}. {} ", finding.title));
        let class = match finding.standing {
            Standing::Proved | Standing::Imitated | Standing::Supported => "standing strong",
            _ => "standing",
        };
        h.element("span", &[("class", &class)], finding.standing.word());
    });
    html.element("p", &[], &finding.claim);
    html.element("p", &[("class", &"mechanism")], &finding.mechanism);
    evidence(html, finding);
    facts_list(html, &result_words::parts(finding));
    commands(html, &finding.commands);
    match (&finding.proof, &finding.intervention) {
        (Some(proof), _) => outcomes(html, proof),
        (None, Some(intervention)) => {
            html.element("p", &[], format!("To prove or refute it: {}.", intervention.what));
            commands(html, &[next_steps::prove_command(&case.case_dir)]);
        }
        (None, None) => {}
    }
}

fn evidence(html: &mut Html, finding: &Finding) {
    if finding.evidence.is_empty() {
        return;
    }
    let slow = finding.cpu.map_or("here".to_string(), |cpu| format!("CPU {cpu}"));
    let rows: Vec<Vec<String>> = finding
        .evidence
        .iter()
        .map(|line| {
            vec![
                line.what.clone(),
                result_words::counter_value(line.bad),
                result_words::counter_value(line.good),
                line.unit.clone(),
            ]
        })
        .collect();
    table(html, &["counter", &slow, "other CPUs", "unit"], &[1, 2], &rows);
}

fn outcomes(html: &mut Html, proof: &Proof) {
    html.element(
        "p",
        &[],
        format!("The intervention: {}. Its trials are in {}.", proof.intervention.what, proof.trials),
    );
    let rows: Vec<Vec<String>> = proof
        .outcomes
        .iter()
        .map(|outcome| vec![outcome.prediction.words.clone(), result_words::outcome_in_words(outcome)])
        .collect();
    table(html, &["prediction", "what came out"], &[], &rows);
}
