//! The rows of the table: unpinned, each CPU, the other arms, and the positive control.

use advise::Finding;
use study::evidence::ArmSummary;
use study::{Evidence, Facts, Role, Verdict};

use super::columns::Table;
use crate::case::result_fields::{self, Subject};
use crate::case::result_words;

/// From this many CPUs on, neighbours about which there is nothing to say share a row.
const MOST_SINGLE_ROWS: usize = 32;

/// From this width on, the comparison with the other CPUs has room for its interval.
const WIDE: usize = 110;

/// Reads the table out of the evidence.
pub fn read(facts: &Facts, findings: &[Finding], width: usize) -> Table {
    let evidence = &facts.evidence;
    let of_role = |role: Role| evidence.arms.iter().filter(move |arm| arm.role == role);
    let pinned: Vec<&ArmSummary> = of_role(Role::Candidate).collect();
    let mut rows: Vec<Subject<'_>> = Subject::baseline(evidence).into_iter().collect();
    match pinned.len() > MOST_SINGLE_ROWS {
        false => rows.extend(pinned.into_iter().map(Subject::arm)),
        true => rows.extend(grouped(evidence, findings, pinned)),
    }
    let last = [Role::Intervention, Role::Dose, Role::MisTuning];
    rows.extend(last.into_iter().flat_map(of_role).map(Subject::arm));
    result_fields::in_terminal(&result_fields::arms(facts, findings, width >= WIDE), &rows)
}

/// Against the baseline, and against the other CPUs.
type Verdicts = [Option<Verdict>; 2];

/// CPUs about which there is something to say one by one; the others by what their verdicts are.
fn grouped<'a>(evidence: &Evidence, findings: &[Finding], arms: Vec<&'a ArmSummary>) -> Vec<Subject<'a>> {
    let mut rows = Vec::new();
    let mut groups: Vec<(Verdicts, Vec<&'a ArmSummary>)> = Vec::new();
    for arm in arms {
        let own = Subject::arm(arm);
        let verdicts = [&evidence.against_baseline, &evidence.against_other_cpus].map(|of| own.verdict(of));
        let is_special = matches!(verdicts[1], Some(Verdict::Worse | Verdict::Better))
            || result_words::about(findings, arm.cpu).is_some();
        if is_special || arm.cpu.is_none() {
            rows.push(own);
            continue;
        }
        match groups.iter_mut().find(|(known, _)| *known == verdicts) {
            Some((_, members)) => members.push(arm),
            None => groups.push((verdicts, vec![arm])),
        }
    }
    rows.extend(groups.into_iter().map(|(_, members)| Subject::cpus(members)));
    rows
}
