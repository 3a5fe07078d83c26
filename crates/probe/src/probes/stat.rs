//! CPU time by kind and CPU, from /proc/stat.

use machine::procfs::stat::{self, COLUMNS};
use machine::{Missing, Root};

use super::{About, Probe, unreadable};
use crate::rows::{Kind, Row, Rows};

const FILE: &str = "/proc/stat";

/// The probe `stat`.
pub(super) struct Stat;

impl Probe for Stat {
    fn about(&self) -> &About {
        &About {
            id: "stat",
            title: "time of each CPU by kind: user, system, idle, irq, softirq, steal",
            docs: "Rows are the columns of /proc/stat in us: user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice (user \
                includes guest). Unless the kernel has IRQ_TIME_ACCOUNTING, time is sampled at the tick: what the tick finds is charged a \
                whole tick, and the time of interrupts is charged to the task that they interrupt. So a server reads 95 % busy on the \
                slow CPU and on the fast one, and irq stays near 0 whatever the interrupts take. idle and iowait may go back a little. \
                Resolution is one tick of USER_HZ (10 ms). System rows: ctxt context switches, intr interrupts, processes created.",
            files: &[FILE],
            dear: false,
        }
    }

    fn needs(&self, root: &Root) -> Vec<Missing> {
        unreadable(root, &[FILE])
    }

    fn read(&self, root: &Root, into: &mut Rows) -> Result<(), Missing> {
        let mut memory = into.recall::<Memory>();
        let answer = memory.read(root, into);
        into.remember(memory);
        answer
    }
}

/// Room that is used again in every frame.
#[derive(Default)]
struct Memory {
    text: Vec<u8>,
    stat: stat::Stat,
    cpus: Vec<u32>,
    values: Vec<u64>,
}

impl Memory {
    fn read(&mut self, root: &Root, into: &mut Rows) -> Result<(), Missing> {
        into.read_into(root, FILE, &mut self.text)?;
        let text = String::from_utf8_lossy(&self.text);
        stat::parse_into(&text, &mut self.stat).map_err(|e| Missing::new(FILE, e))?;
        self.times(into);
        for (name, label, value) in [
            ("ctxt", "context switches", self.stat.context_switches),
            ("intr", "interrupts of all lines", self.stat.interrupts),
            ("processes", "processes and threads created", self.stat.forks),
        ] {
            if let Some(value) = value {
                into.system(Row { name, label, unit: "events", kind: Kind::Grows }, value);
            }
        }
        Ok(())
    }

    fn times(&mut self, into: &mut Rows) {
        let tick_us = into.tick_ns() / 1_000;
        self.cpus.clear();
        self.cpus.extend(self.stat.cpus.iter().map(|(cpu, _)| *cpu));
        let columns = into.columns(&self.cpus);
        for (index, name) in COLUMNS.iter().enumerate() {
            self.values.clear();
            let ticks = self.stat.cpus.iter().map_while(|(_, time)| time.get(index));
            self.values.extend(ticks.map(|ticks| ticks.saturating_mul(tick_us)));
            match !self.cpus.is_empty() && self.values.len() == self.cpus.len() {
                true => {
                    let row = Row { name, label: "", unit: "us", kind: Kind::Grows };
                    into.counter(row, &columns, &self.values);
                }
                false => into.missing(format_args!("stat/{name}"), "this kernel does not print the column"),
            }
        }
    }
}
