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
        let text = into.read(root, FILE)?;
        let stat = stat::parse(&text).map_err(|e| Missing::new(FILE, e))?;
        let tick_us = into.tick_ns() / 1_000;
        let cpus: Vec<u32> = stat.cpus.iter().map(|(cpu, _)| *cpu).collect();
        let columns = into.columns(&cpus);
        for (index, name) in COLUMNS.iter().enumerate() {
            let us = |ticks: u64| ticks.saturating_mul(tick_us);
            let values: Option<Vec<u64>> =
                stat.cpus.iter().map(|(_, time)| time.get(index).map(us)).collect();
            match values {
                Some(values) if !values.is_empty() => {
                    into.counter(Row { name, label: "", unit: "us", kind: Kind::Grows }, &columns, &values);
                }
                _ => into.missing(format_args!("stat/{name}"), "this kernel does not print the column"),
            }
        }
        for (name, label, value) in [
            ("ctxt", "context switches", stat.context_switches),
            ("intr", "interrupts of all lines", stat.interrupts),
            ("processes", "processes and threads created", stat.forks),
        ] {
            if let Some(value) = value {
                into.system(Row { name, label, unit: "events", kind: Kind::Grows }, value);
            }
        }
        Ok(())
    }
}
