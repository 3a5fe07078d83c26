//! The data of the bars and of the heat below them, as comma-separated values.

use study::evidence::ArmSummary;
use study::{Evidence, Facts};

use crate::case::drawings::bars;
use crate::case::heat::Heat;
use crate::case::page::contrast_cells;
use crate::markup::data_link::{Cell, data_link};
use crate::{Html, number};

/// Cells of the heat that its data have at most: some 200 KB of the page, which holds them itself.
const MOST_CELLS: usize = 2_500;

/// What the bars and the differences show; the figures of the trials are beside the picture of all trials.
pub(super) fn of_bars(html: &mut Html, facts: &Facts) {
    let evidence = &facts.evidence;
    let rows: Vec<Vec<Cell>> = evidence.arms.iter().map(|arm| bar(evidence, arm)).collect();
    let [mean, sd] = ["mean", "sd"].map(|what| format!("{what}_{}", evidence.metric));
    let mut heads = vec!["arm", "cpu", mean.as_str(), sd.as_str(), "trials"];
    heads.extend(contrast_cells::HEADS);
    let of = format!("{} by {}", evidence.metric, bars::column_word(facts));
    data_link(html, &of, "bars.csv", &heads, &rows);
}

fn bar(evidence: &Evidence, arm: &ArmSummary) -> Vec<Cell> {
    let mut row = vec![
        Cell::Text(arm.arm.clone()),
        Cell::Number(arm.cpu.map(f64::from)),
        Cell::Number(Some(arm.figure.mean)),
        Cell::Number(arm.figure.sd),
        Cell::Number(Some(arm.figure.n as f64)),
    ];
    row.extend(contrast_cells::of(bars::drawn_contrast(evidence, arm)));
    row
}

/// The heat as it was counted: events or us a second. What is 0 has no row, and below the link stands what else has none.
pub(super) fn of_heat(html: &mut Html, heat: &Heat) {
    let written = Written::of(heat);
    let rows: Vec<Vec<Cell>> = written.cells.iter().map(|cell| cell.row(heat)).collect();
    let heads = ["row", "cpu", "rate", "unit", "percent_of_cpu"];
    data_link(html, "interrupts by CPU", "interrupts.csv", &heads, &rows);
    html.element("p", &[("class", &"csv caption")], written.words());
}

/// A cell of the heat by its places in it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct HeatCell {
    row: usize,
    cpu: usize,
    /// Of the CPU's time, 0 to 1; `None` where it is not known.
    share: Option<f64>,
}

impl HeatCell {
    fn row(self, heat: &Heat) -> Vec<Cell> {
        let row = &heat.rows[self.row];
        vec![
            Cell::Text(row.title()),
            Cell::Number(Some(f64::from(heat.cpus[self.cpu]))),
            Cell::Number(row.rate(self.cpu)),
            Cell::Text(if row.is_time { "us/s" } else { "events/s" }.into()),
            Cell::Number(self.share.map(|share| share * 100.0)),
        ]
    }
}

/// Which cells of a heat its data have.
#[derive(Debug, Clone, PartialEq)]
struct Written {
    /// By row and then by CPU.
    cells: Vec<HeatCell>,
    /// Cells that are known and not 0, and are left out because they are so many.
    small: usize,
    /// The most that one of those takes of its CPU, 0 to 1.
    most_of_small: f64,
    /// Cells that are not known, and are left out likewise.
    unknown: usize,
}

impl Written {
    /// All cells that are not 0 where there is room for them; else those that take most of their CPU.
    fn of(heat: &Heat) -> Self {
        let mut cells: Vec<HeatCell> = heat
            .rows
            .iter()
            .enumerate()
            .flat_map(|(place, row)| {
                let is_zero = move |cpu: usize| row.rate(cpu) == Some(0.0);
                let cell = move |cpu: usize| HeatCell { row: place, cpu, share: row.share(cpu, heat.cost) };
                (0..heat.cpus.len()).filter(move |cpu| !is_zero(*cpu)).map(cell)
            })
            .collect();
        let size = |cell: &HeatCell| cell.share.unwrap_or(-1.0);
        let left_out = match cells.len() > MOST_CELLS {
            true => {
                cells.sort_by(|a, b| size(b).total_cmp(&size(a)));
                cells.split_off(MOST_CELLS)
            }
            false => Vec::new(),
        };
        cells.sort_by_key(|cell| (cell.row, cell.cpu));
        let small: Vec<f64> = left_out.iter().filter_map(|cell| cell.share).collect();
        Self {
            cells,
            small: small.len(),
            most_of_small: small.iter().copied().fold(0.0, f64::max),
            unknown: left_out.len() - small.len(),
        }
    }

    /// What a cell without a row in the data is.
    fn words(&self) -> String {
        let mut without = vec!["those that are 0".to_string()];
        if self.small > 0 {
            let (cells, most) = (number::counted(self.small, "small one"), number::share(self.most_of_small));
            without.push(format!("{cells} of at most {most} of a CPU"));
        }
        if self.unknown > 0 {
            without.push(format!("{} that are not known", number::count(self.unknown)));
        }
        format!("Cells without a row in the data: {}.", without.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::heat::{EventCost, Row};

    fn heat(cpus: u32, lines: usize, rate: impl Fn(usize, u32) -> Option<f64>) -> Heat {
        let row = |line: usize| Row {
            probe: "interrupts".into(),
            name: line.to_string(),
            label: format!("mlx5_comp{line}@pci:0000:81:00.0"),
            is_time: false,
            rates: (0..cpus).map(|cpu| rate(line, cpu)).collect(),
            differs: true,
        };
        Heat {
            cpus: (0..cpus).collect(),
            rows: (0..lines).map(row).collect(),
            left_out: 0,
            cost: EventCost { us: 5.0, is_measured: false },
        }
    }

    #[test]
    fn lines_that_are_each_of_one_cpu_have_one_row_each() {
        // 200 lines of a card on 1,024 CPUs, each served by one of them.
        let heat = heat(1024, 200, |line, cpu| Some(if cpu as usize == line * 5 { 9_000.0 } else { 0.0 }));
        let written = Written::of(&heat);
        let places: Vec<(usize, usize)> = written.cells.iter().map(|cell| (cell.row, cell.cpu)).collect();
        assert_eq!(places, (0..200).map(|line| (line, line * 5)).collect::<Vec<_>>());
        assert_eq!((written.small, written.unknown), (0, 0));
        assert_eq!(written.words(), "Cells without a row in the data: those that are 0.");
    }

    #[test]
    fn of_lines_that_are_everywhere_the_largest_cells_are_kept_and_the_others_counted() {
        let heat = heat(1024, 200, |line, cpu| match (line, cpu) {
            (3, 1000) => Some(100_000.0),
            (7, _) => None,
            _ => Some(1.0 + f64::from(cpu)),
        });
        let written = Written::of(&heat);
        assert_eq!(written.cells.len(), MOST_CELLS);
        assert!(written.cells.iter().any(|cell| (cell.row, cell.cpu) == (3, 1000)));
        assert_eq!((written.small, written.unknown), (199 * 1024 - MOST_CELLS, 1024));
        assert!(written.cells.iter().all(|cell| cell.share.unwrap() >= written.most_of_small));
        assert!(written.cells.is_sorted_by_key(|cell| (cell.row, cell.cpu)));
        let words = written.words();
        assert!(words.contains("201,276 small ones of at most 0.5 % of a CPU"), "{words}");
        assert!(words.ends_with("1,024 that are not known."), "{words}");
        let mut html = Html::new();
        of_heat(&mut html, &heat);
        assert!(html.as_str().len() < 300_000, "{} bytes", html.as_str().len());
    }

    #[test]
    fn a_cell_that_is_not_known_is_no_zero() {
        let heat = heat(3, 1, |_, cpu| [Some(0.0), None, Some(2.0)][cpu as usize]);
        let written = Written::of(&heat);
        let rows: Vec<Vec<Cell>> = written.cells.iter().map(|cell| cell.row(&heat)).collect();
        assert_eq!(rows.len(), 2);
        assert_eq!((&rows[0][1], &rows[0][2]), (&Cell::Number(Some(1.0)), &Cell::Number(None)));
        assert_eq!((&rows[1][1], &rows[1][2]), (&Cell::Number(Some(2.0)), &Cell::Number(Some(2.0))));
    }
}
