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
                Resolution is one tick of USER_HZ (10 ms). A CPU whose time is no number is not in the row. System rows: ctxt context switches, intr interrupts, processes created.",
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
        into.odd(FILE, &self.stat.odd);
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
        for (index, name) in COLUMNS.iter().enumerate() {
            self.cpus.clear();
            self.values.clear();
            for (cpu, time) in &self.stat.cpus {
                // A time that is past 64 bits in us would stand still there.
                if let Some(us) = time.get(index).and_then(|ticks| ticks.checked_mul(tick_us)) {
                    self.cpus.push(*cpu);
                    self.values.push(us);
                }
            }
            if !self.cpus.is_empty() {
                let columns = into.columns(&self.cpus);
                let row = Row { name, label: "", unit: "us", kind: Kind::Grows };
                into.counter(row, &columns, &self.values);
            } else if !self.stat.cpus.iter().any(|(_, time)| index < time.ticks().len()) {
                into.missing(format_args!("stat/{name}"), "this kernel does not print the column");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use machine::Tree;

    use super::*;

    const SOUND: &str = "cpu  40 0 20 60 0 0 0 10 0 0\ncpu0 20 0 10 30 0 0 0 5 0 0\ncpu1 20 0 10 30 0 0 0 5 0 0\nctxt 9\nprocesses 7\n";

    /// What two readings have in common, and what is missing.
    fn seen(text: &str) -> (crate::Observation, Vec<String>) {
        let root = Root::from_tree(Tree::new().file(FILE, text));
        let mut rows = Rows::new(&root, None);
        for at_ns in [1_000_000, 2_000_000] {
            rows.begin_frame(at_ns, at_ns, 0, true);
            rows.begin_probe("stat");
            Stat.read(&root, &mut rows).unwrap();
            rows.end_frame(0, 0);
        }
        let seen = rows.into_recording().window(1_000_000, 2_000_000);
        let missing = seen.missing.iter().map(|missing| missing.fact.clone()).collect();
        (seen, missing)
    }

    #[test]
    fn an_odd_total_is_missing_by_itself_and_named_once() {
        let (sound, missing) = seen(SOUND);
        assert_eq!((sound.still.len(), missing), (10, vec![]));
        let (odd, missing) = seen(&SOUND.replace("processes 7", "processes -2045677862"));
        assert_eq!(missing, ["/proc/stat processes"]);
        assert_eq!((&odd.still, odd.system.len()), (&sound.still, 1));
        assert_eq!(odd.system("stat", "processes"), None);
    }

    #[test]
    fn an_odd_time_is_that_of_one_cpu_and_column() {
        let text = SOUND.replace("cpu1 20 0 10 30 0 0 0 5", "cpu1 20 0 10 30 0 0 0 -5");
        let root = Root::from_tree(Tree::new().file(FILE, text));
        let mut rows = Rows::new(&root, None);
        rows.begin_frame(1, 1, 0, true);
        rows.begin_probe("stat");
        Stat.read(&root, &mut rows).unwrap();
        rows.end_frame(0, 0);
        let cpus = |name: &str| {
            let row = rows.latest().find(|(_, head, _, _)| head.name == name);
            row.map(|(_, _, cpus, values)| (cpus.to_vec(), values.to_vec()))
        };
        assert_eq!(cpus("steal"), Some((vec![0], vec![50_000])));
        assert_eq!(cpus("softirq"), Some((vec![0, 1], vec![0, 0])));
        let past = SOUND.replace("cpu1 20 0 10 30 0 0 0 5", "cpu1 20 0 10 30 0 0 0 18446744073709551615");
        assert_eq!(seen(&past).0.still.len(), 10, "it stands still on CPU 0");
    }
}
