//! Several cases on one sheet, for people.

use std::collections::BTreeSet;

use advise::environment::Environment;
use serde::Serialize;
use study::comparison::{Comparison, Curve, Figure, Point, SharedArm};
use study::recipe::Fill;
use study::statistics::scaling::Scaling;

use crate::case::table::Style;
use crate::case::table::columns::{Cell, Colour, Head, Row, Table, print};
use crate::case::table::wrap::wrap;
use crate::case::{environment_text, result_words};
use crate::display_width;
use crate::{number, visible};

/// What stands where a case has no figure.
const NONE: &str = "-";

/// Cases side by side, with what differs between them beside what was studied.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedCases {
    /// What differs between their environments.
    pub environment: Environment,
    /// What was measured.
    #[serde(flatten)]
    pub comparison: Comparison,
}

/// Renders the sheet for a terminal, with what differs between the cases first: `full` for all of that. Names of cases and arms cannot
/// drive it.
pub fn render(cases: &ComparedCases, full: bool, style: Style) -> String {
    let style = Style { width: style.width.clamp(60, 160), ..style };
    let sheet = &cases.comparison;
    let mut out = Sheet { sheet, style, text: String::new() };
    out.environment(&cases.environment, full);
    out.cases();
    let fills: BTreeSet<Fill> = sheet.curves.iter().map(|curve| curve.fill).collect();
    fills.into_iter().for_each(|fill| out.curves(fill));
    out.arms();
    out.notes();
    out.text
}

/// The text so far.
struct Sheet<'a> {
    sheet: &'a Comparison,
    style: Style,
    text: String,
}

impl Sheet<'_> {
    fn heading(&mut self, title: &str) {
        let title = Cell::coloured(visible::one_line(title), Colour::Bold).painted(self.style);
        self.text.push_str(&format!("\n{title}\n"));
    }

    fn paragraph(&mut self, first: &str, text: &str) {
        let indent = " ".repeat(display_width::width(first));
        for (i, line) in wrap(&visible::one_line(text), self.style.width - indent.len()).iter().enumerate() {
            self.text.push_str(&format!("{}{line}\n", if i == 0 { first } else { &indent }));
        }
    }

    fn table(&mut self, heads: Vec<Head>, rows: Vec<Row>) {
        self.text.push_str(&print(&Table { heads, rows }, self.style));
    }

    fn name(&self, case: usize) -> String {
        self.sheet.cases.get(case).map(|case| visible::one_line(&case.name).into_owned()).unwrap_or_default()
    }

    /// The cases themselves: what their figures may be divided by.
    fn cases(&mut self) {
        let sheet = self.sheet;
        self.heading(&result_words::figure(&sheet.metric, &sheet.unit, sheet.better));
        let heads = vec![
            head("case", false),
            head("CPUs", true),
            head("GHz", true),
            head("blocks", true),
            head("study", false),
        ];
        let rows = sheet.cases.iter().map(|case| {
            row([
                visible::one_line(&case.name).into_owned(),
                case.cpus.map_or(NONE.into(), |cpus| cpus.to_string()),
                case.ghz.map_or(NONE.into(), |ghz| format!("{ghz:.2}")),
                case.blocks.to_string(),
                visible::one_line(&case.title).into_owned(),
            ])
        });
        self.table(heads, rows.collect());
    }

    /// All curves of one order of filling.
    fn curves(&mut self, fill: Fill) {
        let curves: Vec<&Curve> = self.sheet.curves.iter().filter(|curve| curve.fill == fill).collect();
        let level = number::share(self.sheet.level);
        self.heading(&format!("By number of server CPUs, {} [{level}]", fill.word()));
        self.by_cpus(&curves, &|point| Some(figure(&point.figure)));
        if curves.len() > 1 {
            self.heading(&format!("Relative to {}, at the same number of CPUs", self.name(curves[0].case)));
            self.by_cpus(&curves, &|point| point.to_first.map(|ratio| format!("{ratio:.2} x")));
        }
        self.heading("Efficiency: what each CPU does, as a share of one CPU alone");
        self.by_cpus(&curves, &|point| point.efficiency.map(number::share));
        self.shares(&curves);
        self.laws(&curves);
    }

    /// By CPU, and by CPU and GHz, where there is such a figure.
    fn shares(&mut self, curves: &[&Curve]) {
        let has = |of: &dyn Fn(&Point) -> Option<f64>| {
            curves.iter().any(|c| c.points.iter().any(|p| of(p).is_some()))
        };
        if !has(&|point| point.per_cpu) {
            return;
        }
        self.heading("Per CPU");
        self.by_cpus(curves, &|point| point.per_cpu.map(number::figure));
        if has(&|point| point.per_cpu_ghz) {
            self.heading("Per CPU and GHz");
            self.by_cpus(curves, &|point| point.per_cpu_ghz.map(number::figure));
        }
    }

    /// A row a number of CPUs, a column a case.
    fn by_cpus(&mut self, curves: &[&Curve], cell: &dyn Fn(&Point) -> Option<String>) {
        let sizes: BTreeSet<usize> = curves.iter().flat_map(|c| c.points.iter().map(|p| p.cpus)).collect();
        let names = curves.iter().map(|curve| head(self.name(curve.case), true));
        let heads = std::iter::once(head("CPUs", true)).chain(names).collect();
        let rows = sizes.iter().map(|cpus| {
            let of = |curve: &&Curve| {
                let point = curve.points.iter().find(|point| point.cpus == *cpus);
                point.and_then(cell).unwrap_or_else(|| NONE.into())
            };
            row(std::iter::once(cpus.to_string()).chain(curves.iter().map(of)))
        });
        self.table(heads, rows.collect());
    }

    /// The law's numbers side by side, then knee and peak in words.
    fn laws(&mut self, curves: &[&Curve]) {
        self.heading("The law g N / (1 + a (N - 1) + b N (N - 1))");
        let heads = vec![
            head("case", false),
            head("g, one CPU", true),
            head("a, contention", true),
            head("b, coherency", true),
        ];
        let fitted = curves.iter().filter_map(|curve| Some((self.name(curve.case), curve.law.as_ref()?)));
        let rows: Vec<Row> = fitted.map(|(name, law)| row(numbers(name, law))).collect();
        if !rows.is_empty() {
            self.table(heads, rows);
        }
        for curve in curves {
            let words = match &curve.law {
                Some(law) => result_words::knee_and_peak(law),
                None => format!("no law: {}", curve.why.as_deref().unwrap_or("it was not fitted")),
            };
            self.paragraph("  ", &format!("{}: {words}", self.name(curve.case)));
        }
    }

    /// Arms that several cases have.
    fn arms(&mut self) {
        let sheet = self.sheet;
        if sheet.arms.is_empty() {
            return;
        }
        self.heading(&format!(
            "Arms that several cases have, with their ratio to the first of these cases [{}]",
            number::share(sheet.level)
        ));
        let names = (0..sheet.cases.len()).map(|case| head(self.name(case), true));
        let heads = std::iter::once(head("server", false)).chain(names).collect();
        self.table(heads, sheet.arms.iter().map(shared).collect());
    }

    /// What differs between the cases beside what was studied.
    fn environment(&mut self, environment: &Environment, full: bool) {
        self.heading(environment_text::heading(environment));
        let names: Vec<String> = self.sheet.cases.iter().map(|case| case.name.clone()).collect();
        for line in environment_text::lines(environment, &names, full) {
            self.paragraph("  - ", &line);
        }
    }

    /// What may and may not be read from the sheet.
    fn notes(&mut self) {
        self.heading("What may be compared");
        self.paragraph(
            "  - ",
            "No difference between cases is claimed: their trials share no block. Each interval covers only its own machine during its \
             own study; that two of them do not overlap is no test.",
        );
        for case in &self.sheet.cases {
            if let Some(why) = &case.ghz_missing {
                self.paragraph("  - ", &format!("{}: no figures per GHz: {why}", case.name));
            }
        }
        self.sheet.notes.iter().for_each(|note| self.paragraph("  - ", note));
    }
}

fn numbers(name: String, law: &Scaling) -> [String; 4] {
    let [a, b] = [law.a, law.b].map(|e| result_words::estimate(&e, number::coefficient));
    [name, result_words::estimate(&law.g, number::figure), a, b]
}

fn shared(arm: &SharedArm) -> Row {
    let cells = arm.figures.iter().zip(&arm.to_first).map(|(of, ratio)| match (of, ratio) {
        (None, _) => NONE.to_string(),
        (Some(of), None) => figure(of),
        (Some(of), Some(ratio)) => format!("{} {ratio:.2} x", figure(of)),
    });
    row(std::iter::once(visible::one_line(&arm.arm).into_owned()).chain(cells))
}

fn figure(of: &Figure) -> String {
    number::figure_with_interval(of.value, of.interval)
}

fn head(name: impl Into<String>, right: bool) -> Head {
    Head { over: String::new(), name: name.into(), right }
}

fn row(cells: impl IntoIterator<Item = String>) -> Row {
    Row { cells: cells.into_iter().map(Cell::plain).collect(), why: String::new() }
}

#[cfg(test)]
mod tests {
    use advise::environment::{Difference, What};
    use advise::fleet::FeatureId;
    use study::comparison::Compared;
    use study::{Direction, Role, Trust};

    use super::*;

    fn point(cpus: usize, value: f64, to_first: Option<f64>) -> Point {
        let figure = Figure { value, interval: Some((value * 0.9, value * 1.1)), trials: 8 };
        let per_cpu = Some(value / cpus as f64);
        Point { cpus, figure, per_cpu, per_cpu_ghz: None, efficiency: Some(0.5), to_first }
    }

    fn sheet() -> Comparison {
        let case = |name: &str| Compared {
            name: name.into(),
            title: "scans".into(),
            cpus: Some(8),
            ghz: None,
            ghz_missing: Some("the map has no clock".into()),
            blocks: 8,
            trust: Trust::Sound,
        };
        let curve = |case, points| Curve {
            case,
            fill: Fill::CoresFirst,
            points,
            law: None,
            why: Some("three numbers are fitted".into()),
        };
        let only = Figure { value: 100.0, interval: None, trials: 2 };
        Comparison {
            metric: "scans_per_s".into(),
            unit: String::new(),
            better: Direction::Higher,
            level: 0.95,
            cases: vec![case("opteron"), case("xeon\u{1b}[2J")],
            curves: vec![
                curve(0, vec![point(1, 320.0, None), point(4, 220.0, None)]),
                curve(1, vec![point(1, 625.0, Some(1.953)), point(2, 159.0, None)]),
            ],
            arms: vec![SharedArm {
                arm: "unpinned A".into(),
                role: Role::Baseline,
                figures: vec![Some(only), None],
                to_first: vec![None, None],
            }],
            recipes: Vec::new(),
            notes: vec!["the intervals of the laws are at different levels: opteron 0.95, xeon 0.99".into()],
        }
    }

    fn environment() -> Environment {
        let of = String::new();
        let governor = Difference {
            what: What::Feature { feature: FeatureId::FrequencyGovernor, of },
            host: None,
            values: vec![Some("powersave".into()), None],
            weight: 8.0,
        };
        Environment { machines_compared: 2, differences: vec![governor], cannot_tell: Vec::new() }
    }

    fn rendered(style: Style) -> String {
        render(&ComparedCases { environment: environment(), comparison: sheet() }, false, style)
    }

    #[test]
    fn figures_stand_side_by_side_and_what_is_not_there_is_a_dash() {
        let text = rendered(Style { width: 100, ..Style::default() });
        let line =
            |start: &str| text.lines().find(|line| line.trim_start().starts_with(start)).unwrap_or_default();
        assert!(line("1  320.0 [288.0, 352.0]").contains("625.0 [562.5, 687.5]"), "{text}");
        assert!(line("2  ").contains("-  159.0 [143.1, 174.9]"), "{text}");
        assert!(
            text.contains("1.95 x") && text.contains("Per CPU\n") && !text.contains("Per CPU and GHz"),
            "{text}"
        );
        assert!(text.contains("100.0") && !text.contains("100.0 ["), "no interval, none shown: {text}");
    }

    #[test]
    fn it_says_what_may_not_be_read_from_it() {
        let text = rendered(Style::default());
        for words in [
            "No difference between cases is claimed",
            "at different levels",
            "no figures per GHz",
            "no law: three",
            "frequency governor: opteron powersave; xeon",
            "not known",
        ] {
            assert!(text.replace("\n    ", " ").contains(words), "{words}: {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }

    #[test]
    fn what_differs_stands_before_all_figures() {
        let text = rendered(Style::default());
        let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}: {text}"));
        assert!(at("frequency governor") < at("scans_per_s"), "{text}");
        let same = Environment { machines_compared: 2, ..Environment::default() };
        let same = ComparedCases { environment: same, comparison: sheet() };
        let text = render(&same, false, Style::default());
        // Two machines may be alike.
        assert!(text.starts_with("\nNo difference in machine, kernel or settings"), "{text}");
    }

    #[test]
    fn names_cannot_drive_the_terminal() {
        assert!(!rendered(Style::default()).contains('\u{1b}'));
    }
}
