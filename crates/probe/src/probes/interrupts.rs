//! Interrupts by line and CPU, from /proc/interrupts.

use machine::procfs::interrupts::{self, Counted};
use machine::{Missing, Root};

use super::{About, Probe, unreadable};
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
        for tries_left in (0..TRIES).rev() {
            let text = into.read(root, FILE)?;
            let table = interrupts::parse(&text).map_err(|e| Missing::new(FILE, e))?;
            let torn = table.rows.iter().any(|row| row.counted == Counted::Torn);
            if !torn || tries_left == 0 {
                book(&table, into);
                break;
            }
        }
        Ok(())
    }
}

fn book(table: &interrupts::Interrupts<'_>, into: &mut Rows) {
    let columns = into.columns(&table.cpus);
    for row in &table.rows {
        let about = Row { name: row.name, label: row.label, unit: "events", kind: Kind::Wraps32 };
        match (row.counted, table.per_cpu(row)) {
            (_, Some(counts)) => into.counter(about, &columns, counts),
            (Counted::System(count), _) => into.system(about, count),
            (Counted::Torn, _) => {
                let why = "a CPU came or went while the kernel printed the row";
                into.missing(format_args!("interrupts/{}", row.name), why);
            }
            _ => {}
        }
    }
}
