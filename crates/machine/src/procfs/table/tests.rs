//! The kept table against the parser: whatever is printed, both must say the same.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::procfs::interrupts::{self, Counted};

/// Counts by row name and column, as the parser reads them; nothing if the text is malformed.
type Counts = BTreeMap<(usize, String, usize), u64>;

fn parsed(text: &[u8]) -> Option<(Counts, Vec<usize>)> {
    let text = std::str::from_utf8(text).ok()?;
    // With an odd row the parsed ones are not those of the text, and nothing is learnt.
    let table = interrupts::parse(text).ok().filter(|table| table.odd.is_empty())?;
    let (mut counts, mut columns) = (Counts::new(), Vec::new());
    for (index, row) in table.rows.iter().enumerate() {
        let cells = match (row.counted, table.per_cpu(row)) {
            (_, Some(cells)) => cells.to_vec(),
            (Counted::System(count), _) => vec![count],
            _ => Vec::new(),
        };
        columns.push(cells.len());
        let key = |column: usize| (index, format!("{} {} {}", row.name, row.chip, row.label), column);
        counts.extend(cells.into_iter().enumerate().map(|(column, count)| (key(column), count)));
    }
    Some((counts, columns))
}

/// Reads texts one after the other as a probe does; `piece_lines` lines at a time.
#[derive(Default)]
struct Reader {
    table: Table,
    counts: Option<Counts>,
}

impl Reader {
    fn read(&mut self, text: &str, piece_lines: usize) -> Outcome {
        self.table.begin();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for piece in lines.chunks(piece_lines) {
            self.table.take(piece.concat().as_bytes());
        }
        let outcome = self.table.end();
        assert_eq!(self.table.text(), text.as_bytes(), "whatever happened, the new text is known");
        match outcome {
            Outcome::Same => {
                let counts = self.counts.as_mut().unwrap();
                for moved in self.table.moved() {
                    let at = (moved.row as usize, moved.column as usize);
                    let cell = counts.iter_mut().find(|((row, _, column), _)| (*row, *column) == at);
                    *cell.unwrap().1 = moved.count;
                }
                self.table.clear_moved();
            }
            Outcome::Other => match parsed(self.table.text()) {
                Some((counts, columns)) => {
                    self.counts = Some(counts);
                    self.table.learn(columns);
                }
                None => {
                    self.counts = None;
                    self.table.forget();
                }
            },
        }
        outcome
    }
}

const X86: &str = "           CPU0       CPU1       \n 24:          1          0  IO-APIC   5-edge      ACPI:Ged\nNMI:          0          \
    0   Non-maskable interrupts\nLOC:      60715      64596   Local timer interrupts\nERR:          2\nMIS:          0\n";

#[test]
fn counts_that_move_are_reported_and_nothing_else_is() {
    let mut reader = Reader::default();
    assert_eq!(reader.read(X86, 1), Outcome::Other);
    assert_eq!(reader.read(X86, 9), Outcome::Same);
    let moved = X86.replace("64596", "64601").replace("ERR:          2", "ERR:         13");
    reader.table.begin();
    reader.table.take(moved.as_bytes());
    assert_eq!(reader.table.end(), Outcome::Same);
    let wanted = [Moved { row: 2, column: 1, count: 64601 }, Moved { row: 3, column: 0, count: 13 }];
    assert_eq!(reader.table.moved(), wanted);
    // A count that becomes shorter (it wrapped) is one too.
    reader.table.clear_moved();
    assert_eq!(reader.read(&moved.replace("60715", "    7"), 1), Outcome::Same);
}

#[test]
fn what_differs_outside_of_a_cell_goes_through_the_parser() {
    for (what, text) in [
        ("a device", X86.replace("ACPI:Ged", "ACPI:Gex")),
        ("an IRQ number", X86.replace(" 24:", " 25:")),
        ("a CPU", X86.replace("CPU1", "CPU3")),
        ("a row less", X86.replace("MIS:          0\n", "")),
        ("a row more", format!("{X86}PIN:          0          0   Posted-interrupt notification event\n")),
        ("a wide count", X86.replace("     64596", "123456789012")),
        ("a wide count at the end", X86.replace("     64596   Local", "123456789012   Local")),
        ("a missing column", X86.replace("      64596", "")),
        ("a tab", X86.replace("      64596", "\t     64596")),
        ("no number", X86.replace("64596", "64x96")),
        ("a hole", X86.replace("64596", "6 596")),
        ("a sign", X86.replace(" 64596", "-64596")),
        ("nothing", String::new()),
    ] {
        let mut reader = Reader::default();
        reader.read(X86, 1);
        assert_eq!(reader.read(&text, 2), Outcome::Other, "{what}");
        assert_eq!(reader.counts, parsed(text.as_bytes()).map(|parsed| parsed.0), "{what}");
    }
}

#[test]
fn a_malformed_text_stays_malformed_when_it_is_read_again() {
    let mut reader = Reader::default();
    let bad = X86.replace("LOC:", "LOC ");
    for text in [X86, &bad, &bad, X86] {
        assert_eq!(reader.read(text, 1), Outcome::Other);
    }
    assert_eq!(reader.read(X86, 1), Outcome::Same);
}

#[test]
fn rows_that_are_not_in_the_grid_may_not_change_unseen() {
    let text = "  CPU0 CPU4\n  9: 1 2 GIC 9-edge  a\n 10:          1          2 GIC 9-edge  b\nFIQ:              usb\n";
    let mut reader = Reader::default();
    reader.read(text, 1);
    assert_eq!(reader.read(text, 1), Outcome::Same);
    let in_the_grid = text.replace("         2 GIC", "        33 GIC");
    assert_eq!(reader.read(&in_the_grid, 1), Outcome::Same);
    assert_eq!(reader.read(&in_the_grid.replace("1 2 GIC", "1 3 GIC"), 1), Outcome::Other);
    assert_eq!(reader.counts, parsed(in_the_grid.replace("1 2 GIC", "1 3 GIC").as_bytes()).map(|p| p.0));
}

#[test]
fn a_reading_that_is_repeated_loses_nothing() {
    let mut reader = Reader::default();
    reader.read(X86, 1);
    for count in ["64600", "64600", "64700"] {
        reader.table.begin();
        reader.table.take(X86.replace("64596", count).as_bytes());
        assert_eq!(reader.table.end(), Outcome::Same);
    }
    let counts: Vec<u64> = reader.table.moved().iter().map(|moved| moved.count).collect();
    assert_eq!(counts, [64600, 64700]);
}

/// A table as the kernel prints it: numbered rows, named rows in the form of x86, and rows for the whole system.
fn printed(cpus: &[u32], rows: &[(u32, Vec<u64>)], err: u64) -> String {
    let mut text =
        format!("{:5}", "") + &cpus.iter().map(|cpu| format!("CPU{cpu:<8}")).collect::<String>() + "\n";
    for (irq, counts) in rows {
        let counts = &counts[..cpus.len()];
        text += &match irq % 3 {
            0 => format!(
                "{:>4}: {} Timer\n",
                "LOC",
                counts.iter().map(|n| format!("{n:>10} ")).collect::<String>()
            ),
            _ => format!(
                "{irq:>4}:{} PCI-MSI {irq}-edge  nic\n",
                counts.iter().map(|n| format!(" {n:>10}")).collect::<String>()
            ),
        };
    }
    text + &format!(" ERR: {err:>10}\n MIS: {:>10}\n", 0)
}

fn count() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0u64..100, 4 => 0u64..4_294_967_296, 1 => 100_000_000_000u64..999_999_999_999]
}

proptest! {
    #[test]
    fn the_fast_way_and_the_parser_agree_on_every_history(
        cpus in proptest::collection::btree_set(0u32..300, 1..12),
        start in proptest::collection::vec((1u32..400, proptest::collection::vec(count(), 12)), 1..8),
        steps in proptest::collection::vec(
            (0usize..8, 0usize..12, count(), 0u32..20, 0u64..3, 1usize..6), 1..12),
    ) {
        let (mut cpus, mut rows, mut reader) = (cpus.into_iter().collect::<Vec<u32>>(), start, Reader::default());
        reader.read(&printed(&cpus, &rows, 0), 3);
        for (row, column, count, event, err, piece) in steps {
            let at = row % rows.len();
            let mut text = None;
            match event {
                0 => drop(cpus.pop().filter(|_| cpus.len() > 1)),
                1 => cpus.push(cpus.last().map_or(0, |cpu| cpu + 1)),
                2 => rows[at].0 += 1,
                3 => drop((rows.len() > 1).then(|| rows.remove(at))),
                // A CPU that went away in the middle of the table: that row is missing a column.
                4 => {
                    let good = printed(&cpus, &rows, err);
                    let mut lines: Vec<String> = good.lines().map(String::from).collect();
                    let cut = 1 + at;
                    let from = lines[cut].find(':').map_or(0, |colon| colon + 1);
                    lines[cut].replace_range(from..from + CELL_BYTES, "");
                    text = Some(lines.join("\n") + "\n");
                }
                _ => rows[at].1[column] = count,
            }
            cpus.truncate(12);
            if cpus.is_empty() {
                cpus.push(7);
            }
            let text = text.unwrap_or_else(|| printed(&cpus, &rows, err));
            reader.read(&text, piece);
            prop_assert_eq!(&reader.counts, &parsed(text.as_bytes()).map(|parsed| parsed.0));
        }
    }

    #[test]
    fn no_damage_is_taken_for_a_count(
        damage in proptest::collection::vec((0usize..400, "[0-9 :\n\ta-z-]"), 1..6), piece in 1usize..4,
    ) {
        let mut reader = Reader::default();
        reader.read(X86, 1);
        let mut text = X86.to_string();
        for (at, byte) in damage {
            let at = at % text.len();
            text.replace_range(at..at + 1, &byte);
            reader.read(&text, piece);
            prop_assert_eq!(&reader.counts, &parsed(text.as_bytes()).map(|parsed| parsed.0));
        }
    }

    #[test]
    fn no_text_panics(texts in proptest::collection::vec("(CPU[0-9]|LOC:|[0-9]{1,3}| {1,10}|:|\n|.){0,60}", 1..5)) {
        let mut reader = Reader::default();
        for text in texts {
            reader.read(&text, 1);
        }
    }
}
