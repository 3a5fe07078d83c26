//! What a gate demanded, as JUnit XML: a test case an expectation. One that cannot be decided is an error, one that does not hold a failure.

use std::time::Duration;

use machine::{Class, Fault};
use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};
use study::Facts;
use study::evidence::{Judgement, Outcome};

use crate::case::expectation_words;
use crate::visible;

/// The document; `None` where the study expects nothing.
///
/// # Errors
/// The document cannot be written, which would be a bug.
pub fn render(facts: &Facts) -> Result<Option<String>, Fault> {
    let judgements = &facts.evidence.expectations;
    if judgements.is_empty() {
        return Ok(None);
    }
    let name = visible::one_line(&facts.study.recipe.title()).into_owned();
    let mut suite = TestSuite::new(name.as_str());
    let took_s: f64 = facts.trials.iter().map(|seen| seen.trial.took_s.max(0.0)).sum();
    // Trials of a forged case may have taken longer than a time can say.
    if let Ok(took) = Duration::try_from_secs_f64(took_s) {
        suite.set_time(took);
    }
    suite.add_property(Property::new("pinwise", facts.study.pinwise.as_str()));
    suite.add_test_cases(judgements.iter().map(|judged| case(judged, facts, &name)));
    let mut report = Report::new("pinwise");
    report.add_test_suite(suite);
    report.to_string().map(Some).map_err(|e| Fault::new(Class::Storage, "junit.xml", e, machine::IS_A_BUG))
}

fn case(judged: &Judgement, facts: &Facts, study: &str) -> TestCase {
    let words = visible::one_line(&expectation_words::judged(judged, facts)).into_owned();
    let mut status = match judged.outcome {
        Outcome::Passed => TestCaseStatus::success(),
        Outcome::Failed => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Outcome::CannotTell { .. } => TestCaseStatus::non_success(NonSuccessKind::Error),
    };
    if judged.outcome != Outcome::Passed {
        status.set_message(words.as_str());
    }
    let mut case = TestCase::new(visible::one_line(&judged.expectation.to_string()), status);
    case.set_classname(study).set_system_out(words);
    case
}
