//! What terminal and page show of a study's results: each field once, with its title, its numbers, and its place in the JSON document.

mod column;
mod comparisons;
pub(crate) mod cpu_use;
mod other_tables;
mod sequences;
mod turned;

use advise::Finding;
use machine::CpuSet;
use study::evidence::ArmSummary;
use study::statistics::summary::{self, Summary};
use study::{Contrast, Evidence, Facts, Role, Verdict};

use crate::case::{control_words, result_words, unpinned};
use crate::number;
pub use column::Column;
pub(crate) use column::{in_terminal, on_page};
pub use comparisons::{Compared, effects, second_figure};
pub use other_tables::{law, pooled, search};
pub use sequences::{Part, sequences};

/// What a row of the table of arms is about: one arm, both copies of the baseline, or CPUs that share a row.
pub struct Subject<'a> {
    name: String,
    arms: Vec<&'a ArmSummary>,
    /// The deciding figure: one of all, or of CPUs that share a row one each.
    figures: Vec<Summary>,
}

impl<'a> Subject<'a> {
    /// One arm.
    pub(crate) fn arm(arm: &'a ArmSummary) -> Self {
        // That a dose is one its name says.
        let control = if arm.role == Role::MisTuning { " (control)" } else { "" };
        Self { name: format!("{}{control}", arm.arm), arms: vec![arm], figures: vec![arm.figure] }
    }

    /// Both copies of the baseline as one; `None` when none has a figure yet.
    pub(crate) fn baseline(evidence: &'a Evidence) -> Option<Self> {
        let figures = vec![unpinned::pool(evidence)?.figure];
        let arms = evidence.arms.iter().filter(|arm| arm.role == Role::Baseline).collect();
        Some(Self { name: evidence.baseline().into(), arms, figures })
    }

    /// CPUs that share a row.
    pub(crate) fn cpus(arms: Vec<&'a ArmSummary>) -> Self {
        if let [single] = arms[..] {
            return Self::arm(single);
        }
        let figures = arms.iter().map(|arm| arm.figure).collect();
        Self { name: format!("{} CPUs", arms.len()), arms, figures }
    }

    /// What these contrasts say of it, which of CPUs that share a row is the same of each.
    pub(crate) fn verdict(&self, contrasts: &[Contrast]) -> Option<Verdict> {
        self.own(contrasts).first().map(|contrast| contrast.verdict)
    }

    fn own<'b>(&self, contrasts: &'b [Contrast]) -> Vec<&'b Contrast> {
        let of_arm = |arm: &&ArmSummary| contrasts.iter().find(|contrast| contrast.arm == arm.arm);
        self.arms.iter().filter_map(of_arm).collect()
    }
}

type ArmColumn<'a> = Column<'a, Subject<'a>>;

/// The fields of an arm. What is known of no arm is left out, and where it is narrow, the intervals of the second comparison.
pub fn arms<'a>(facts: &'a Facts, findings: &'a [Finding], is_wide: bool) -> Vec<ArmColumn<'a>> {
    let evidence = &facts.evidence;
    let mut columns = figures(evidence);
    if cpu_use::is_known(facts) {
        let text = move |of: &Subject<'_>| cpu_use::of(facts, &of.arms);
        let column = ArmColumn::number("arms/server_cpus/used_cpus", "srv/load", text);
        columns.push(column.over("CPUs").of_terminal());
    }
    columns.extend([
        ArmColumn::number("arms/server_busy", "server busy", |of| busy(of, |arm| arm.server_busy)).of_page(),
        ArmColumn::number("arms/client_busy", "load busy", |of| busy(of, |arm| arm.client_busy)).of_page(),
    ]);
    let ids = ["contrasts/against_baseline/ratio", "contrasts/against_baseline/verdict"];
    let change = change_title(evidence);
    let [size, verdict] = comparison(ids, &change, &evidence.against_baseline, true);
    columns.extend([size.over(&format!("against {}", evidence.baseline())), verdict]);
    // Not with one CPU alone, nor before there are blocks.
    if !evidence.against_other_cpus.is_empty() {
        let ids = ["contrasts/against_other_cpus/ratio", "contrasts/against_other_cpus/verdict"];
        let (over, title) =
            if is_wide { ("against other CPUs", change.as_str()) } else { ("other CPUs", "change") };
        let [size, verdict] = comparison(ids, title, &evidence.against_other_cpus, is_wide);
        columns.extend([size.over(over), verdict]);
    }
    columns.push(ArmColumn::words("", "place", move |of| place(of, facts)).of_page());
    columns.push(ArmColumn::why(move |of| why(of, facts, findings)));
    columns
}

/// The head of a column of changes.
fn change_title(evidence: &Evidence) -> String {
    format!("change [{}]", result_words::level(evidence))
}

/// The arm, and its deciding figure.
fn figures<'a>(evidence: &Evidence) -> Vec<ArmColumn<'a>> {
    let decimals = decimals(evidence);
    let shown = move |value: f64| number::grouped(value, decimals);
    let trials = |of: &Subject<'_>| of.figures.iter().map(|figure| figure.n).sum::<usize>().to_string();
    let mean = move |of: &Subject<'_>| range(of.figures.iter().map(|figure| figure.mean), shown);
    let sd = move |of: &Subject<'_>| match of.figures[..] {
        [figure] => figure.sd.map_or("-".into(), shown),
        _ => String::new(),
    };
    vec![
        ArmColumn::words("arms/arm", "arm", |of| of.name.clone()),
        ArmColumn::number("arms/figure/n", "trials", trials).of_page(),
        ArmColumn::number("arms/figure/mean", "mean", mean),
        ArmColumn::number("arms/figure/sd", "sd", sd),
    ]
}

/// Change and verdict of one kind of comparison.
fn comparison<'a>(
    ids: [&'static str; 2],
    title: &str,
    contrasts: &'a [Contrast],
    with_interval: bool,
) -> [ArmColumn<'a>; 2] {
    let size = move |of: &Subject<'_>| {
        let own = of.own(contrasts);
        match own[..] {
            [one] if with_interval => number::change_with_interval(one.ratio, one.interval),
            _ => range(own.iter().map(|contrast| contrast.ratio), number::change),
        }
    };
    let word = move |of: &Subject<'_>| of.verdict(contrasts).map_or("", result_words::verdict).to_string();
    [
        ArmColumn::number(ids[0], title, size).coloured_by(move |of| of.verdict(contrasts)),
        ArmColumn::words(ids[1], "", word).page_title("result").coloured_by(move |of| of.verdict(contrasts)),
    ]
}

/// Digits after the point that the figures of this study deserve.
pub(crate) fn decimals(evidence: &Evidence) -> usize {
    let means: Vec<f64> = evidence.arms.iter().map(|arm| arm.figure.mean).collect();
    number::decimals_for(summary::median(&means).unwrap_or(0.0))
}

/// The one value, or the lowest to the highest of several.
fn range(values: impl Iterator<Item = f64>, shown: impl Fn(f64) -> String) -> String {
    let values: Vec<f64> = values.collect();
    match values[..] {
        [] => String::new(),
        [one] => shown(one),
        _ => {
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            format!("{} to {}", shown(low), shown(high))
        }
    }
}

/// How busy the busiest thread of server or load was.
fn busy(of: &Subject<'_>, share: fn(&ArmSummary) -> Option<f64>) -> String {
    let known: Vec<f64> = of.arms.iter().filter_map(|arm| share(arm)).collect();
    summary::median(&known).map_or("not known".into(), number::share)
}

/// Node and siblings of its CPU in words.
fn place(of: &Subject<'_>, facts: &Facts) -> String {
    let [arm] = of.arms[..] else { return String::new() };
    let Some(known) = facts.machine.cpus.iter().find(|cpu| Some(cpu.id) == arm.cpu) else {
        return String::new();
    };
    let several = facts.machine.nodes.len() > 1;
    let node = known.node.filter(|_| several).map(|node| format!("node {node}"));
    let siblings: CpuSet =
        known.siblings.iter().flat_map(|cpus| cpus.iter()).filter(|cpu| *cpu != known.id).collect();
    let siblings = (!siblings.is_empty()).then(|| format!("sibling of {siblings}"));
    [node, siblings].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// What a control did, what explains a CPU, or which CPUs share the row.
fn why(of: &Subject<'_>, facts: &Facts, findings: &[Finding]) -> String {
    let [arm] = of.arms[..] else {
        let cpus: CpuSet = of.arms.iter().filter_map(|arm| arm.cpu).collect();
        return if cpus.is_empty() { String::new() } else { format!("CPUs {cpus}") };
    };
    match arm.role {
        Role::Dose | Role::MisTuning => match &facts.evidence.control {
            Some(control) => {
                let size = control_words::control(control, facts.evidence.better);
                format!("control: {size} against {}", control.contrast.reference)
            }
            None => "control: not judged".into(),
        },
        Role::Candidate => result_words::about(findings, arm.cpu)
            .map(|(number, finding)| format!("{number}: {}", finding.title))
            .unwrap_or_default(),
        Role::Baseline | Role::Intervention => String::new(),
    }
}
