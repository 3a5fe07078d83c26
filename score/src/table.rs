//! The table of what was named, missed and wrongly claimed.

use advise::diagnosis::Diagnosis;

use crate::explained::Claimed;
use crate::scenario::Scenario;
use crate::verdict::{Judged, Verdict, judge, judge_rules};

/// One scenario, judged.
#[derive(Debug, Clone)]
pub struct Row {
    name: String,
    truth: Option<String>,
    held_out: bool,
    outcome: Result<(Judged, Vec<String>), String>,
}

impl Row {
    /// Of a diagnosis.
    pub fn judged(scenario: &Scenario, diagnosis: &Diagnosis) -> Self {
        let causes = diagnosis.causes.iter().take(4).map(|cause| {
            let share = cause.share.map_or("?".into(), |share| format!("{:.1} %", share * 100.0));
            format!("{} {share}", cause.id)
        });
        let said = causes.chain([format!("limit {:?}", diagnosis.limit)]).collect();
        Self { outcome: Ok((judge(scenario, diagnosis), said)), ..Self::failed(scenario, String::new()) }
    }

    /// Of what an explanation claims of the arm with the cause.
    pub fn explained(scenario: &Scenario, claims: &[Claimed]) -> Self {
        let rules: Vec<&str> = claims.iter().map(|claim| claim.rule.as_str()).collect();
        let said = claims.iter().take(4).map(|claim| match claim.share {
            Some(share) => format!("{} {:.1} %", claim.id, share * 100.0),
            None => format!("{} (cost not known)", claim.id),
        });
        let outcome = Ok((judge_rules(scenario, &rules, &rules), said.collect()));
        Self { outcome, ..Self::failed(scenario, String::new()) }
    }

    /// Of a scenario that could not be played.
    pub fn failed(scenario: &Scenario, why: String) -> Self {
        Self {
            name: scenario.name.clone(),
            truth: scenario.truth.clone(),
            held_out: scenario.held_out,
            outcome: Err(why),
        }
    }

    /// Whether the cause was named within the first two, and nothing that is not true.
    pub fn is_right(&self) -> bool {
        let right = |judged: &Judged| {
            judged.verdict != Verdict::Missed && judged.wrong.is_empty() && judged.wrong_limit.is_none()
        };
        self.outcome.as_ref().is_ok_and(|(judged, _)| right(judged))
    }
}

/// One row as a line.
pub fn line(row: &Row) -> String {
    let name = &row.name;
    match &row.outcome {
        Err(why) => format!("{name:32} NOT PLAYED  {why}"),
        Ok((judged, said)) => {
            let verdict = match judged.verdict {
                Verdict::First => "found",
                Verdict::Second => "second",
                Verdict::Missed => "MISSED",
                Verdict::RightlySilent => "silent",
            };
            let wrong = if judged.wrong.is_empty() {
                String::new()
            } else {
                format!("  WRONG {}", judged.wrong.join(", "))
            };
            let limit = judged.wrong_limit.map(|limit| format!("  LIMIT {limit:?}")).unwrap_or_default();
            let truth = row.truth.as_deref().unwrap_or("(none)");
            format!("{name:32} {verdict:7} {truth:22}{wrong}{limit}  | {}", said.join("; "))
        }
    }
}

/// All rows, and how many are what.
pub fn text(rows: &[Row]) -> String {
    let mut text: String = rows.iter().map(|row| line(row) + "\n").collect();
    for (title, held_out) in [("tuned on", false), ("held out", true)] {
        let of: Vec<&Row> = rows.iter().filter(|row| row.held_out == held_out).collect();
        if of.is_empty() {
            continue;
        }
        let count = |is: &dyn Fn(&Judged) -> bool| {
            of.iter().filter(|row| row.outcome.as_ref().is_ok_and(|(judged, _)| is(judged))).count()
        };
        let with_cause = of.iter().filter(|row| row.truth.is_some() && row.outcome.is_ok()).count();
        text.push_str(&format!(
            "{title}: {} scenarios, {with_cause} with a cause: {} found, {} named second, {} missed; {} with a wrong claim, {} with a wrong limit; {} not played\n",
            of.len(),
            count(&|judged| judged.verdict == Verdict::First),
            count(&|judged| judged.verdict == Verdict::Second),
            count(&|judged| judged.verdict == Verdict::Missed),
            count(&|judged| !judged.wrong.is_empty()),
            count(&|judged| judged.wrong_limit.is_some()),
            of.iter().filter(|row| row.outcome.is_err()).count(),
        ));
    }
    text
}
