//! Measured distances for people: how near groups of CPUs are, a map of all pairs, a table of nodes, and what is in doubt.

mod figures;
mod heat_map;
mod matrix;
mod shade;

use machine::Distances;
use machine::distances::{Buffer, CoreDistances, CorePair, MemoryCell, MemoryDistances};
use machine::wording::counted;

use crate::grid::{Side, lines};
use crate::map::machine_text::size;
use crate::terminal_style::Style;
use crate::visible::one_line;
use crate::{absent, number};
use figures::{figure, with_interval};

/// Pairs in doubt that are named.
const DOUBTS_SHOWN: usize = 8;

/// The whole measurement. `style` gives width and colour.
pub fn render(distances: &Distances, style: Style) -> String {
    let style = Style { width: style.width.clamp(60, 200), ..style };
    let mut parts = Vec::new();
    if let Some(cores) = &distances.cores {
        parts.extend([groups(cores), heat_map::section(cores, style), doubts(cores)]);
    }
    parts.extend(distances.memory.as_ref().map(|memory| nodes(memory, style)));
    parts.push(absent::section(&distances.missing));
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// What a map of the machine shows of them, beside what the firmware reports.
pub(crate) fn within_a_map(distances: &Distances) -> String {
    let style = Style { width: 110, colour: false };
    let cores = distances.cores.iter().map(groups);
    let memory = distances.memory.iter().map(|memory| nodes(memory, style));
    let parts: Vec<String> = memory.chain(cores).collect();
    match parts.is_empty() {
        true => String::new(),
        false => format!("\nMeasured distances (pinwise noise)\n{}", parts.join("")),
    }
}

/// A line a group.
fn groups(cores: &CoreDistances) -> String {
    let mut text = format!(
        "From CPU to CPU, one way (half of the round trip of a cache line): median of {} [95 % interval]\n",
        counted(cores.rounds, "round")
    );
    let mut rows = vec![["", "PAIRS", "ns", "LOWEST PAIR", "HIGHEST"].map(String::from).to_vec()];
    for group in &cores.groups {
        rows.push(vec![
            group.relation.words().into(),
            number::count(group.pairs),
            with_interval(&group.ns),
            figure(group.lowest_ns),
            figure(group.highest_ns),
        ]);
    }
    text += &lines(&[Side::Left, Side::Right, Side::Right, Side::Right, Side::Right], &rows, 2);
    text
}

/// Pairs that say less than they seem to, and batches in which a thread was not on its CPU.
fn doubts(cores: &CoreDistances) -> String {
    let mut text = String::new();
    let doubted: Vec<(&CorePair, &String)> =
        cores.pairs.iter().filter_map(|pair| Some((pair, pair.unsure.as_ref()?))).collect();
    if !doubted.is_empty() {
        text += &format!(
            "{} of {} pairs are in doubt\n",
            number::count(doubted.len()),
            number::count(cores.pairs.len())
        );
        for (pair, why) in doubted.iter().take(DOUBTS_SHOWN) {
            text += &format!("  CPU {} to CPU {}: {}\n", pair.from, pair.to, one_line(why));
        }
        if let Some(rest) = doubted.len().checked_sub(DOUBTS_SHOWN).filter(|rest| *rest > 0) {
            text += &format!("  and {} more (--format json)\n", number::count(rest));
        }
    }
    let sum = |of: fn(&CorePair) -> u64| cores.pairs.iter().map(of).fold(0, u64::saturating_add);
    let (batches, slow) = (sum(|pair| pair.batches), sum(|pair| pair.slow_batches));
    text + &format!(
        "{} of {} batches of {} round trips took more than twice their median; they are not left out\n",
        number::count(slow as usize),
        number::count(batches as usize),
        cores.round_trips_a_batch
    )
}

/// Tables of the nodes: latency, reading, writing.
fn nodes(memory: &MemoryDistances, style: Style) -> String {
    let figures: [(&str, matrix::Figure, matrix::Better); 3] = [
        ("latency, ns", |cell| cell.latency_ns.as_ref(), matrix::Better::Low),
        ("reading, MB/s", |cell| cell.read_mb_per_s.as_ref(), matrix::Better::High),
        ("writing, MB/s", |cell| cell.write_mb_per_s.as_ref(), matrix::Better::High),
    ];
    let mut text = format!(
        "From CPUs of a node (rows) to memory of a node (columns): median of {} [95 % interval]\n",
        counted(memory.rounds, "round")
    );
    for (title, figure, better) in figures {
        text += &matrix::table(memory, title, figure, better, style);
    }
    text + &buffers(memory)
}

/// What was measured on: the smallest buffer of each kind.
fn buffers(memory: &MemoryDistances) -> String {
    let mut rows = vec![
        ["", "BUFFER", "TIMES LAST-LEVEL CACHES", "IN HUGE PAGES", "PAGES ON THEIR NODE"]
            .map(String::from)
            .to_vec(),
    ];
    type Kind = fn(&MemoryCell) -> &Buffer;
    let kinds: [(&str, Kind); 2] =
        [("latency", |cell| &cell.latency_buffer), ("bandwidth", |cell| &cell.bandwidth_buffer)];
    for (what, of) in kinds {
        let Some(buffer) = memory.cells.iter().map(of).min_by_key(|buffer| buffer.bytes) else { continue };
        let huge = |bytes: u64| number::share(bytes as f64 / buffer.bytes.max(1) as f64);
        rows.push(vec![
            what.into(),
            size(buffer.bytes),
            buffer.times_caches.map_or("?".into(), |times| number::grouped(times, 1)),
            buffer.huge_bytes.map_or("?".into(), huge),
            match buffer.pages_checked {
                0 => "not checked".into(),
                asked => format!(
                    "{} of {}",
                    number::count(buffer.pages_there as usize),
                    number::count(asked as usize)
                ),
            },
        ]);
    }
    lines(&[Side::Left, Side::Right, Side::Right, Side::Right, Side::Right], &rows, 2)
}

#[cfg(test)]
mod tests;
