//! Softirqs by kind and CPU, from /proc/softirqs.

use std::sync::Arc;

use machine::procfs::softirqs;
use machine::procfs::table::Outcome;
use machine::{CpuSet, Missing, Root};

use super::{About, Probe, unreadable};
use crate::kept_table::{Booked, KeptTable};
use crate::online::{ONLINE, online_now};
use crate::rows::{Kind, Row, Rows};

const FILE: &str = "/proc/softirqs";

/// The probe `softirqs`.
pub(super) struct Softirqs;

impl Probe for Softirqs {
    fn about(&self) -> &About {
        &About {
            id: "softirqs",
            title: "softirq runs on each CPU, by kind: network receive, block, timer, scheduler, RCU",
            docs: "Counts how often a handler was entered, not for how long: one NET_RX run may take one packet or three hundred, so the \
                count on the CPU that does the receive work can be lower than on one that does little. Read it beside the time \
                rows softirq and CAL. The kernel prints every possible CPU; offline ones are left out here.",
            files: &[FILE, ONLINE],
            dear: false,
        }
    }

    fn needs(&self, root: &Root) -> Vec<Missing> {
        unreadable(root, &[FILE, ONLINE])
    }

    fn read(&self, root: &Root, into: &mut Rows) -> Result<(), Missing> {
        let mut memory = into.recall::<Memory>();
        let answer = memory.read(root, into);
        into.remember(memory);
        answer
    }
}

/// What is remembered from frame to frame.
#[derive(Default)]
struct Memory {
    kept: KeptTable,
    /// CPUs that were online when the table was learnt.
    online: Option<Arc<CpuSet>>,
    /// For each column of the file, the value of a row that it is; offline CPUs have none.
    values: Vec<Option<usize>>,
}

impl Memory {
    fn read(&mut self, root: &Root, into: &mut Rows) -> Result<(), Missing> {
        let outcome = self.kept.read(root, FILE, into)?;
        let online = online_now(root, into)?;
        let values = &self.values;
        if outcome == Outcome::Same
            && self.online.as_ref().is_some_and(|known| Arc::ptr_eq(known, &online))
            && self.kept.book_moved(into, |column| values.get(column).copied().flatten())
        {
            return Ok(());
        }
        self.online = Some(online.clone());
        let text = self.kept.text();
        match softirqs::parse(&text) {
            Ok(table) => {
                into.odd(FILE, &table.odd);
                let (values, booked) = book(&table, &online, into);
                self.values = values;
                // The rows of an odd table are not those of its text: it is parsed in every frame.
                match table.odd.is_empty() {
                    true => self.kept.learn(&booked),
                    false => self.kept.forget(),
                }
                Ok(())
            }
            Err(malformed) => {
                let missing = Missing::new(FILE, malformed);
                self.kept.forget();
                Err(missing)
            }
        }
    }
}

fn book(
    table: &softirqs::Softirqs<'_>,
    online: &CpuSet,
    into: &mut Rows,
) -> (Vec<Option<usize>>, Vec<Booked>) {
    let mut cpus = Vec::new();
    let mut place = |cpu: &u32| {
        online.contains(*cpu).then(|| {
            cpus.push(*cpu);
            cpus.len() - 1
        })
    };
    let places: Vec<Option<usize>> = table.cpus.iter().map(&mut place).collect();
    let columns = into.columns(&cpus);
    let mut booked = Vec::new();
    for (name, counts) in table.rows() {
        let seen = counts.iter().zip(&places).filter(|(_, place)| place.is_some());
        let values: Vec<u64> = seen.map(|(count, _)| *count).collect();
        let row = Row { name, label: "", unit: "events", kind: Kind::Wraps32 };
        booked.push(Booked { id: Some(into.counter(row, &columns, &values)), columns: counts.len() });
    }
    (places, booked)
}
