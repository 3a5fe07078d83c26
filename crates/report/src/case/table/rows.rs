//! The rows of the table: unpinned, each CPU, the other arms, and the positive control.

use advise::Finding;
use machine::CpuSet;
use study::evidence::ArmSummary;
use study::statistics::summary;
use study::{Contrast, Facts, Role, Verdict};

use super::columns::{Cell, Colour, Head, Row, Table};
use super::cpu_use;
use super::wrap::cut;
use crate::case::control_words;
use crate::case::result_words;
use crate::case::unpinned;
use crate::{number, visible};

/// From this many CPUs on, neighbours about which there is nothing to say share a row.
const MOST_SINGLE_ROWS: usize = 32;

/// From this width on, the comparison with the other CPUs has room for its interval.
const WIDE: usize = 110;

/// Longest name of what is compared with, in the head of a column, characters.
const LONGEST_REFERENCE: usize = 16;

/// Reads the table out of the evidence.
pub fn read(facts: &Facts, findings: &[Finding], width: usize) -> Table {
    let reader = Reader { facts, findings, wide: width >= WIDE, decimals: decimals(facts) };
    let level = number::share(1.0 - facts.evidence.precision.alpha);
    let with_interval = format!("change [{level}]");
    let beside = if reader.wide { with_interval.as_str() } else { "change" };
    let against =
        format!("against {}", cut(&visible::one_line(facts.evidence.baseline()), LONGEST_REFERENCE));
    let mut heads = vec![
        ("", "arm", false),
        ("", "mean", true),
        ("", "sd", true),
        (against.as_str(), &with_interval, true),
        ("", "", false),
    ];
    if cpu_use::is_known(facts) {
        heads.insert(3, ("CPUs", "srv/load", true));
    }
    if reader.has_others() {
        let over = if reader.wide { "against other CPUs" } else { "other CPUs" };
        heads.extend([(over, beside, true), ("", "", false)]);
    }
    let heads = heads
        .into_iter()
        .map(|(over, name, right)| Head { over: over.into(), name: name.into(), right })
        .collect();
    let mut rows: Vec<Row> = reader.unpinned().into_iter().collect();
    let pinned: Vec<&ArmSummary> = facts.evidence.arms.iter().filter(|a| a.role == Role::Candidate).collect();
    match pinned.len() > MOST_SINGLE_ROWS {
        false => rows.extend(pinned.iter().map(|arm| reader.arm(arm))),
        true => rows.extend(reader.grouped(&pinned)),
    }
    let last = [Role::Intervention, Role::Dose, Role::MisTuning];
    rows.extend(
        last.iter()
            .flat_map(|role| facts.evidence.arms.iter().filter(|a| a.role == *role))
            .map(|a| reader.arm(a)),
    );
    Table { heads, rows }
}

/// Against the baseline, and against the other CPUs.
type Verdicts = (Option<Verdict>, Option<Verdict>);

struct Reader<'a> {
    facts: &'a Facts,
    findings: &'a [Finding],
    wide: bool,
    decimals: usize,
}

impl Reader<'_> {
    /// Whether CPUs were compared with each other: not with one CPU alone, nor before there are blocks.
    fn has_others(&self) -> bool {
        !self.facts.evidence.against_other_cpus.is_empty()
    }

    /// `0.96/0.20`: CPU time of the server, and of the load; none where no arm has it.
    fn cpus(&self, arms: &[&ArmSummary]) -> Option<Cell> {
        cpu_use::is_known(self.facts).then(|| Cell::plain(cpu_use::of(self.facts, arms)))
    }

    fn unpinned(&self) -> Option<Row> {
        let figure = unpinned::pool(&self.facts.evidence)?.figure;
        let mut cells = vec![Cell::plain(visible::one_line(self.facts.evidence.baseline()))];
        cells.extend(self.mean_and_sd(figure.mean, figure.sd));
        let baselines: Vec<&ArmSummary> =
            self.facts.evidence.arms.iter().filter(|arm| arm.role == Role::Baseline).collect();
        cells.extend(self.cpus(&baselines));
        Some(Row { cells, why: String::new() })
    }

    fn arm(&self, arm: &ArmSummary) -> Row {
        let evidence = &self.facts.evidence;
        let name = visible::one_line(&arm.arm);
        let mut cells = vec![match arm.role {
            // That a dose is one its name says.
            Role::MisTuning => Cell::plain(format!("{name} (control)")),
            _ => Cell::plain(name),
        }];
        cells.extend(self.mean_and_sd(arm.figure.mean, arm.figure.sd));
        cells.extend(self.cpus(&[arm]));
        let base = find(&evidence.against_baseline, &arm.arm);
        let others = find(&evidence.against_other_cpus, &arm.arm);
        cells.extend(self.contrast(base, true));
        if self.has_others() {
            cells.extend(self.contrast(others, self.wide));
        }
        Row { cells, why: self.why(arm) }
    }

    fn why(&self, arm: &ArmSummary) -> String {
        match arm.role {
            Role::Dose | Role::MisTuning => match &self.facts.evidence.control {
                Some(control) => {
                    let size = control_words::control(control, self.facts.evidence.better);
                    format!("control: {size} against {}", visible::one_line(&control.contrast.reference))
                }
                None => "control: not judged".into(),
            },
            Role::Candidate => result_words::about(self.findings, arm.cpu)
                .map(|(number, finding)| format!("{number}: {}", visible::one_line(&finding.title)))
                .unwrap_or_default(),
            _ => String::new(),
        }
    }

    fn mean_and_sd(&self, mean: f64, sd: Option<f64>) -> [Cell; 2] {
        let sd = sd.map_or("-".into(), |sd| number::grouped(sd, self.decimals));
        [Cell::plain(number::grouped(mean, self.decimals)), Cell::plain(sd)]
    }

    fn contrast(&self, contrast: Option<&Contrast>, with_interval: bool) -> [Cell; 2] {
        let Some(contrast) = contrast else { return [Cell::plain(""), Cell::plain("")] };
        let size = match with_interval {
            true => number::change_with_interval(contrast.ratio, contrast.interval),
            false => number::change(contrast.ratio),
        };
        let (word, colour) = word(contrast.verdict);
        [Cell::coloured(size, colour), Cell::coloured(word, colour)]
    }

    /// CPUs about which there is something to say one by one; the others by what their verdicts are.
    fn grouped(&self, arms: &[&ArmSummary]) -> Vec<Row> {
        let verdicts = |arm: &ArmSummary| {
            let evidence = &self.facts.evidence;
            let of = |contrasts| find(contrasts, &arm.arm).map(|c| c.verdict);
            (of(&evidence.against_baseline), of(&evidence.against_other_cpus))
        };
        let mut rows = Vec::new();
        let mut groups: Vec<(Verdicts, Vec<&ArmSummary>)> = Vec::new();
        for arm in arms {
            let special = matches!(verdicts(arm).1, Some(Verdict::Worse | Verdict::Better))
                || result_words::about(self.findings, arm.cpu).is_some();
            if special || arm.cpu.is_none() {
                rows.push(self.arm(arm));
                continue;
            }
            match groups.iter_mut().find(|(v, _)| *v == verdicts(arm)) {
                Some((_, members)) => members.push(arm),
                None => groups.push((verdicts(arm), vec![arm])),
            }
        }
        rows.extend(groups.iter().map(|(_, members)| self.group(members)));
        rows
    }

    /// One row for several CPUs: the range of their means and of their changes.
    fn group(&self, members: &[&ArmSummary]) -> Row {
        if let [single] = members {
            return self.arm(single);
        }
        let cpus: CpuSet = members.iter().filter_map(|a| a.cpu).collect();
        let range = |values: Vec<f64>, shown: &dyn Fn(f64) -> String| {
            let (low, high) = (
                values.iter().copied().fold(f64::INFINITY, f64::min),
                values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            );
            match values.is_empty() {
                true => String::new(),
                false => format!("{} to {}", shown(low), shown(high)),
            }
        };
        let mut cells = vec![Cell::plain(format!("{} CPUs", members.len()))];
        let means = members.iter().map(|a| a.figure.mean).collect();
        cells.push(Cell::plain(range(means, &|m| number::grouped(m, self.decimals))));
        cells.push(Cell::plain(""));
        cells.extend(self.cpus(members));
        for contrasts in [&self.facts.evidence.against_baseline, &self.facts.evidence.against_other_cpus] {
            let own: Vec<&Contrast> = members.iter().filter_map(|a| find(contrasts, &a.arm)).collect();
            let (verdict, colour) = own.first().map_or(("", Colour::Plain), |c| word(c.verdict));
            let size = range(own.iter().map(|c| c.ratio).collect(), &number::change);
            cells.extend([Cell::coloured(size, colour), Cell::coloured(verdict, colour)]);
        }
        Row { cells, why: format!("CPUs {cpus}") }
    }
}

fn find<'a>(contrasts: &'a [Contrast], arm: &str) -> Option<&'a Contrast> {
    contrasts.iter().find(|c| c.arm == arm)
}

/// The verdict in one short word, and its colour.
fn word(verdict: Verdict) -> (&'static str, Colour) {
    let colour = match verdict {
        Verdict::Better => Colour::Better,
        Verdict::Worse => Colour::Worse,
        Verdict::Equal => Colour::Plain,
        Verdict::Undecided | Verdict::NotAsAsked | Verdict::CannotTell | Verdict::Untrustworthy => {
            Colour::Dim
        }
    };
    (result_words::verdict(verdict), colour)
}

/// Digits after the point that the figures of this study deserve.
fn decimals(facts: &Facts) -> usize {
    let means: Vec<f64> = facts.evidence.arms.iter().map(|a| a.figure.mean).collect();
    number::decimals_for(summary::median(&means).unwrap_or(0.0))
}
