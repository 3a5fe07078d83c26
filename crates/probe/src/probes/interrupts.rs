//! Interrupts by line and CPU, from /proc/interrupts.

use machine::procfs::interrupts::{self, Counted};
use machine::procfs::table::Outcome;
use machine::{Missing, Root};

use super::{About, Probe, unreadable};
use crate::kept_table::{Booked, KeptTable};
use crate::rows::{Kind, Row, Rows};

const FILE: &str = "/proc/interrupts";

/// How often the table is read again when a CPU came or went while the kernel printed it.
const TRIES: usize = 3;

/// The probe `interrupts`.
pub(super) struct Interrupts;

impl Probe for Interrupts {
    fn about(&self) -> &About {
        &About {
            id: "interrupts",
            title: "interrupts taken by each CPU, by line: devices, timer, inter-processor",
            docs: "Rows are IRQ numbers (label: the devices) and the kernel's own interrupts: LOC timer, RES rescheduling, CAL function \
                calls, TLB shootdowns, NMI, on arm64 IPI0 and so on. ERR and MIS count for the whole system. The counts are 32 bits in the \
                kernel and wrap; an IRQ number that is given to another device is another row. Not every interrupt is a \
                loss: a timer interrupt costs a few us, a network interrupt brings softirq work after it (see softirqs).",
            files: &[FILE],
            dear: false,
        }
    }

    fn needs(&self, root: &Root) -> Vec<Missing> {
        unreadable(root, &[FILE])
    }

    fn read(&self, root: &Root, into: &mut Rows) -> Result<(), Missing> {
        let mut kept = into.recall::<Memory>();
        let answer = read(root, &mut kept.0, into);
        into.remember(kept);
        answer
    }
}

/// What is remembered from frame to frame.
#[derive(Default)]
struct Memory(KeptTable);

fn read(root: &Root, kept: &mut KeptTable, into: &mut Rows) -> Result<(), Missing> {
    for tries_left in (0..TRIES).rev() {
        if kept.read(root, FILE, into)? == Outcome::Same && kept.book_moved(into, Some) {
            return Ok(());
        }
        let parsed = interrupts::parse(&kept.text()).map(|table| {
            let torn = table.rows.iter().any(|row| row.counted == Counted::Torn);
            let last = !torn || tries_left == 0;
            if last {
                into.odd(FILE, &table.odd);
            }
            // The rows of an odd table are not those of its text: it is parsed in every frame.
            (torn || !table.odd.is_empty(), last.then(|| book(&table, into)))
        });
        match parsed {
            Ok((false, Some(booked))) => {
                kept.learn(&booked);
                return Ok(());
            }
            Ok((_, last)) => {
                kept.forget();
                if last.is_some() {
                    return Ok(());
                }
            }
            Err(malformed) => {
                kept.forget();
                return Err(Missing::new(FILE, malformed));
            }
        }
    }
    Ok(())
}

fn book(table: &interrupts::Interrupts<'_>, into: &mut Rows) -> Vec<Booked> {
    let columns = into.columns(&table.cpus);
    let mut booked = Vec::with_capacity(table.rows.len());
    for row in &table.rows {
        let about = Row { name: row.name, label: row.label, unit: "events", kind: Kind::Wraps32 };
        let (id, columns) = match (row.counted, table.per_cpu(row)) {
            (_, Some(counts)) => (Some(into.counter(about, &columns, counts)), counts.len()),
            (Counted::System(count), _) => (Some(into.system(about, count)), 1),
            (Counted::Torn, _) => {
                let why = "it does not have one count for each CPU: one came or went while the kernel printed the row, or a count is no number";
                into.missing(format_args!("interrupts/{}", row.name), why);
                (None, 0)
            }
            _ => (None, 0),
        };
        booked.push(Booked { id, columns });
    }
    booked
}
