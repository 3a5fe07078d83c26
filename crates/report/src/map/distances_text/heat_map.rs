//! The map of all pairs: figures where they fit, else a digit a pair, else pairs of groups of CPUs.

use std::collections::HashMap;

use machine::CpuSet;
use machine::distances::{CoreDistances, CorePair, Relation};

use super::figures::figure;
use super::shade::{STEPS, Shades, painted};
use crate::terminal_style::Style;

/// Columns of a figure and the blank before it.
const FIGURE_COLUMNS: usize = 6;

/// Figures beyond this many rows are no map any more.
const MOST_WITH_FIGURES: usize = 32;

/// How CPUs are put together until there is room.
const FOLDS: [Option<Relation>; 5] =
    [None, Some(Relation::Core), Some(Relation::Cache), Some(Relation::Node), Some(Relation::Package)];

/// The map; empty where nothing distinguishes the pairs.
pub(super) fn section(cores: &CoreDistances, style: Style) -> String {
    let pairs: HashMap<(u32, u32), &CorePair> =
        cores.pairs.iter().map(|pair| ((pair.from, pair.to), pair)).collect();
    let fits = |map: &Map| map.margin() + 1 + map.groups.len() <= style.width;
    let maps = FOLDS.iter().map(|fold| Map::of(cores, &pairs, *fold));
    // Nothing is larger than a terminal once whole packages are put together.
    maps.into_iter().find(fits).map_or(String::new(), |map| map.text(style))
}

/// Groups of CPUs and what is known of each pair of them.
struct Map {
    groups: Vec<Vec<u32>>,
    /// By row and column; within a group, of its CPUs among each other.
    cells: Vec<Vec<Option<f64>>>,
}

impl Map {
    fn of(cores: &CoreDistances, pairs: &HashMap<(u32, u32), &CorePair>, fold: Option<Relation>) -> Self {
        let mut groups: Vec<Vec<u32>> = Vec::new();
        for cpu in &cores.cpus {
            let near = |first: &u32| {
                let relation = pairs.get(&(*first, *cpu)).map(|pair| pair.relation);
                relation.zip(fold).is_some_and(|(relation, fold)| relation <= fold)
            };
            match groups.last_mut().filter(|group| group.first().is_some_and(near)) {
                Some(group) => group.push(*cpu),
                None => groups.push(vec![*cpu]),
            }
        }
        let between = |row: &[u32], column: &[u32]| {
            let both = row.iter().flat_map(|from| column.iter().map(move |to| (*from, *to)));
            let mut known: Vec<f64> = both.filter_map(|pair| Some(pairs.get(&pair)?.ns.median)).collect();
            known.sort_by(f64::total_cmp);
            known.get(known.len() / 2).copied()
        };
        let row = |row: &Vec<u32>| groups.iter().map(|column| between(row, column)).collect();
        let cells = groups.iter().map(row).collect();
        Self { groups, cells }
    }

    fn label(group: &[u32]) -> String {
        group.iter().copied().collect::<CpuSet>().to_list()
    }

    /// Columns of the names of the rows.
    fn margin(&self) -> usize {
        self.groups.iter().map(|group| Self::label(group).len()).max().unwrap_or(0).max(3) + 2
    }

    fn text(&self, style: Style) -> String {
        let Some(shades) = Shades::of(self.cells.iter().flatten().flatten().copied()) else {
            return String::new();
        };
        let widest = self.groups.iter().map(|group| Self::label(group).len() + 2).max().unwrap_or(0);
        let column = FIGURE_COLUMNS.max(widest);
        let with_figures = self.groups.len() <= MOST_WITH_FIGURES
            && self.margin() + self.groups.len() * column <= style.width;
        match with_figures {
            true => self.figures(column, shades, style),
            false => self.digits(shades, style),
        }
    }

    fn figures(&self, column: usize, shades: Shades, style: Style) -> String {
        let margin = self.margin();
        let mut text = "CPU that asks (rows), CPU that answers (columns), ns\n".to_string();
        let names = self.groups.iter().map(|group| format!("{:>column$}", Self::label(group)));
        text += &format!("{:margin$}{}\n", "", names.collect::<String>());
        for (row, group) in self.cells.iter().zip(&self.groups) {
            text += &format!("{:>margin$}", Self::label(group));
            for (to, cell) in row.iter().enumerate() {
                text += &match cell {
                    Some(ns) => painted(&format!("{:>column$}", figure(*ns)), shades.step(*ns), style),
                    None => format!("{:>column$}", if self.groups[to] == *group { "-" } else { "?" }),
                };
            }
            text.push('\n');
        }
        text
    }

    fn digits(&self, shades: Shades, style: Style) -> String {
        let margin = self.margin();
        let mut text =
            "CPU that asks (rows), CPU that answers (columns, read downwards); steps of ns\n ".to_string();
        let highest = self.cells.iter().flatten().flatten().map(|ns| shades.step(*ns)).max().unwrap_or(0);
        for step in 0..=highest.min(STEPS - 1) {
            let from = figure(shades.begins(step));
            text += &format!(" {}={from}", painted(&format!("{step}"), step, style));
        }
        text += " and more\n";
        text += &self.heads(margin);
        for (row, group) in self.cells.iter().zip(&self.groups) {
            text += &format!("{:>1$} ", Self::label(group), margin - 1);
            for (to, cell) in row.iter().enumerate() {
                text += &match cell {
                    Some(ns) => painted(&shades.step(*ns).to_string(), shades.step(*ns), style),
                    None => if self.groups[to] == *group { "·" } else { "?" }.to_string(),
                };
            }
            text.push('\n');
        }
        text
    }

    /// The first CPU of each column, its digits below each other.
    fn heads(&self, margin: usize) -> String {
        let names: Vec<String> =
            self.groups.iter().map(|group| group.first().map_or("?".into(), u32::to_string)).collect();
        let height = names.iter().map(String::len).max().unwrap_or(0);
        let line = |level: usize| {
            let digit = |name: &String| {
                let blanks = height - name.len();
                name.chars().nth(level.wrapping_sub(blanks)).filter(|_| level >= blanks).unwrap_or(' ')
            };
            format!("{:margin$}{}\n", "", names.iter().map(digit).collect::<String>())
        };
        (0..height).map(line).collect()
    }
}
