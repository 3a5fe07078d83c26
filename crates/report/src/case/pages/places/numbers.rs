//! The numbers of the picture of the machine: as tables, and as data.

use std::collections::BTreeMap;

use machine::topology::cpus::Cpu;
use study::Facts;

use super::placements::Tried;
use super::{Shown, words};
use crate::case::page::contrast_cells;
use crate::case::result_words;
use crate::map::picture::Overlay;
use crate::markup::blocks::table;
use crate::markup::data_link::{Cell, data_link};
use crate::{Html, number};

/// The placements that have letters; the data have all.
pub(super) fn lettered(html: &mut Html, facts: &Facts, shown: &Shown) {
    if shown.lettered.is_empty() {
        return;
    }
    let evidence = &facts.evidence;
    let margin = evidence.precision.margin;
    let rows: Vec<Vec<String>> = shown
        .lettered
        .iter()
        .enumerate()
        .map(|(place, tried)| {
            let contrast = tried.own_contrast();
            let best = if shown.placements.is_best(tried) { " (the largest gain)" } else { "" };
            vec![
                Overlay::letter(place).to_string(),
                tried.arm.title().to_string(),
                tried.cpus.to_list(),
                format!("{}{best}", words::of_tried(tried, margin)),
                words::change(tried).unwrap_or("-".into()),
                contrast.map_or("-".into(), |contrast| number::interval(contrast.interval)),
            ]
        })
        .collect();
    let against = format!("against {}", evidence.baseline());
    let level = format!("{} interval", result_words::level(evidence));
    table(html, &["letter", "placement", "server on CPUs", "result", &against, &level], &[4, 5], &rows);
    let heads = [&["placement", "server_cpus", "result"][..], &contrast_cells::HEADS].concat();
    let data: Vec<Vec<Cell>> = shown
        .placements
        .sets
        .iter()
        .map(|tried| {
            let mut row = vec![text(tried.arm.title()), text(&tried.cpus.to_list())];
            row.extend(result(Some(tried), margin));
            row
        })
        .collect();
    data_link(html, "the placements", "placements.csv", &heads, &data);
}

/// Each CPU of which something is known.
pub(super) fn by_cpu(html: &mut Html, facts: &Facts, shown: &Shown, interrupts: Option<&BTreeMap<u32, f64>>) {
    let margin = facts.evidence.precision.margin;
    let online: Vec<&Cpu> = facts.machine.cpus.iter().filter(|cpu| cpu.online).collect();
    let rows: Vec<Vec<String>> = online.iter().map(|cpu| row(cpu, shown, interrupts, margin)).collect();
    let level = format!("{} interval", result_words::level(&facts.evidence));
    let heads = ["CPU", "package", "node", "result", "change", &level, "interrupts take", "placements"];
    let (heads, rows) = without_empty(&heads, rows);
    let is_number = |head: &&str| !["result", "placements"].contains(head);
    let numbers: Vec<usize> = (1..heads.len()).filter(|i| is_number(&heads[*i])).collect();
    html.within("details", &[], |details| {
        details.element("summary", &[], "The numbers of the machine's CPUs");
        table(details, &heads, &numbers, &rows);
    });
    let of_cpu = ["cpu", "package", "node", "result"];
    let heads = [&of_cpu[..], &contrast_cells::HEADS, &["interrupts_percent"]].concat();
    let whole = |number: Option<u32>| Cell::Number(number.map(f64::from));
    let data: Vec<Vec<Cell>> = online
        .iter()
        .map(|cpu| {
            let mut row = vec![whole(Some(cpu.id)), whole(cpu.package), whole(cpu.node)];
            row.extend(result(shown.on(cpu.id), margin));
            let share = interrupts.and_then(|by_cpu| by_cpu.get(&cpu.id));
            row.push(Cell::Number(share.map(|share| share * 100.0)));
            row
        })
        .collect();
    data_link(html, "the machine's CPUs", "machine.csv", &heads, &data);
}

fn row(cpu: &Cpu, shown: &Shown, interrupts: Option<&BTreeMap<u32, f64>>, margin: f64) -> Vec<String> {
    let or_empty = |number: Option<u32>| number.map(|number| number.to_string()).unwrap_or_default();
    let own = shown.on(cpu.id);
    let contrast = own.and_then(Tried::own_contrast);
    let share =
        interrupts.map(|by_cpu| by_cpu.get(&cpu.id).map_or("?".into(), |share| number::share(*share)));
    let letters: Vec<String> =
        shown.letters_on(cpu.id).map(|(place, _)| Overlay::letter(place).to_string()).collect();
    vec![
        cpu.id.to_string(),
        or_empty(cpu.package),
        or_empty(cpu.node),
        own.map(|tried| words::of_tried(tried, margin)).unwrap_or_default(),
        own.and_then(words::change).unwrap_or_default(),
        contrast.map(|contrast| number::interval(contrast.interval)).unwrap_or_default(),
        share.unwrap_or_default(),
        letters.join(" "),
    ]
}

/// The table without columns in which no row has anything.
fn without_empty<'a>(heads: &[&'a str], rows: Vec<Vec<String>>) -> (Vec<&'a str>, Vec<Vec<String>>) {
    let is_used = |column: usize| rows.iter().any(|row| row.get(column).is_some_and(|cell| !cell.is_empty()));
    let used: Vec<usize> = (0..heads.len()).filter(|column| is_used(*column)).collect();
    let of = |row: &Vec<String>| used.iter().filter_map(|column| row.get(*column).cloned()).collect();
    (used.iter().map(|column| heads[*column]).collect(), rows.iter().map(of).collect())
}

fn text(text: &str) -> Cell {
    Cell::Text(text.into())
}

/// Result, change, both ends of its interval, and what it is against.
fn result(tried: Option<&Tried>, margin: f64) -> Vec<Cell> {
    let contrast = tried.and_then(Tried::own_contrast);
    let words = tried.map(|tried| words::of_tried(tried, margin)).unwrap_or_default();
    std::iter::once(Cell::Text(words)).chain(contrast_cells::of(contrast)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_without_anything_are_left_out() {
        let row = |cells: [&str; 3]| cells.map(String::from).to_vec();
        let (heads, rows) =
            without_empty(&["CPU", "node", "result"], vec![row(["0", "", "worse"]), row(["1", "", ""])]);
        assert_eq!(
            (heads, rows),
            (
                vec!["CPU", "result"],
                vec![row(["0", "worse", ""])[..2].to_vec(), row(["1", "", ""])[..2].to_vec()]
            )
        );
    }
}
