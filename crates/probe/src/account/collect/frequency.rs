//! The frequency of CPUs, looked at now and then.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use machine::{Missing, Root};
use serde::{Deserialize, Serialize};

use crate::probes::cpufreq::{self, NO_FILE};

/// How often it is looked at. On x86 the kernel answers from what the last tick measured and wakes nobody.
const EVERY: Duration = Duration::from_secs(1);

/// What readings of a CPU's frequency said, MHz. Source: cpufreq/scaling_cur_freq, which is a mean over the last ticks on x86, and
/// elsewhere what the driver asked for last.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Frequency {
    /// How many readings.
    pub readings: u64,
    /// The lowest.
    pub lowest_mhz: f64,
    /// Their mean.
    pub mean_mhz: f64,
    /// The highest.
    pub highest_mhz: f64,
}

impl Frequency {
    fn of(mhz: f64) -> Self {
        Self { readings: 1, lowest_mhz: mhz, mean_mhz: mhz, highest_mhz: mhz }
    }

    /// The readings since an earlier moment. Their extremes are known where there was one only; else they lie within those of all.
    pub(in crate::account) fn since(&self, before: &Self) -> Option<Self> {
        let readings = self.readings.checked_sub(before.readings).filter(|readings| *readings > 0)?;
        let sum = self.mean_mhz * self.readings as f64 - before.mean_mhz * before.readings as f64;
        let mean_mhz = sum / readings as f64;
        Some(match readings {
            1 => Self::of(mean_mhz),
            _ => Self { readings, mean_mhz, ..*self },
        })
    }

    /// These readings and others.
    pub(in crate::account) fn and(&self, other: &Self) -> Self {
        let readings = self.readings.saturating_add(other.readings);
        let sum = self.mean_mhz * self.readings as f64 + other.mean_mhz * other.readings as f64;
        Self {
            readings,
            lowest_mhz: self.lowest_mhz.min(other.lowest_mhz),
            mean_mhz: sum / readings as f64,
            highest_mhz: self.highest_mhz.max(other.highest_mhz),
        }
    }
}

/// Looks at the frequency of CPUs.
#[derive(Debug)]
pub(in crate::account) struct Frequencies {
    /// By CPU, of those that have one (no cpufreq driver, most guests: none).
    files: Vec<(u32, String)>,
    looked: Option<Instant>,
    /// What was seen since they were taken last, by CPU.
    seen: BTreeMap<u32, Frequency>,
}

impl Frequencies {
    /// Of these CPUs.
    pub(in crate::account) fn of(root: &Root, cpus: &[u32]) -> Self {
        Self { files: cpufreq::find(root, cpus), looked: None, seen: BTreeMap::new() }
    }

    /// Looks, unless it did so a moment ago. What cannot be read now (a CPU that went offline) is passed over.
    pub(in crate::account) fn look(&mut self, root: &Root) {
        if self.looked.is_some_and(|looked| looked.elapsed() < EVERY) {
            return;
        }
        self.looked = Some(Instant::now());
        for (cpu, path) in &self.files {
            let Some(khz) =
                root.read(path).ok().and_then(|text| text.trim().parse::<u64>().ok()).filter(|khz| *khz > 0)
            else {
                continue;
            };
            let read = Frequency::of(khz as f64 / 1e3);
            self.seen.entry(*cpu).and_modify(|seen| *seen = seen.and(&read)).or_insert(read);
        }
    }

    /// Why there is none.
    pub(in crate::account) fn missing() -> Missing {
        Missing::new("frequency of CPUs", NO_FILE)
    }

    /// All readings until now.
    pub(in crate::account) fn seen(&self) -> &BTreeMap<u32, Frequency> {
        &self.seen
    }
}

#[cfg(test)]
mod tests {
    use machine::{Machine, Tree};

    use super::*;
    use crate::account::{Account, Names, Snapshot};

    #[test]
    fn readings_are_summed_up() {
        let file = "/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq";
        let saying = |khz: &str| Root::from_tree(Tree::new().file(file, khz));
        let mut frequencies = Frequencies::of(&saying("2000000\n"), &[0, 1]);
        for khz in ["2000000\n", "3000000\n", "1500500\n"] {
            frequencies.looked = None;
            frequencies.look(&saying(khz));
        }
        frequencies.looked = None;
        frequencies.look(&Root::from_tree(Tree::new()));
        assert_eq!(frequencies.seen().keys().collect::<Vec<_>>(), [&1]);
        let seen = frequencies.seen()[&1];
        assert_eq!((seen.readings, seen.lowest_mhz, seen.highest_mhz), (3, 1500.5, 3000.0));
        assert!((seen.mean_mhz - 6500.5 / 3.0).abs() < 1e-9, "{seen:?}");
        let two = Frequency::of(2000.0).and(&Frequency::of(3000.0));
        let last = seen.since(&two).unwrap();
        assert!(last.readings == 1 && (last.mean_mhz - 1500.5).abs() < 1e-6, "{last:?}");
        assert_eq!(two.since(&two), None);
    }

    #[test]
    fn it_looks_once_a_second_at_most() {
        let tree = Tree::new().file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2000000\n");
        let root = Root::from_tree(tree);
        let mut frequencies = Frequencies::of(&root, &[0]);
        frequencies.look(&root);
        frequencies.look(&root);
        assert_eq!(frequencies.seen()[&0].readings, 1);
    }

    #[test]
    fn that_there_is_none_is_told_where_it_was_looked_for() {
        let reported = |frequency| {
            let snapshot = Snapshot { frequency, ..Snapshot::default() };
            Account::of(&snapshot, false, &Names::of(&Machine::default()), &[]).missing
        };
        assert!(reported(Some(BTreeMap::new())).contains(&Frequencies::missing()));
        assert!(!reported(None).contains(&Frequencies::missing()));
    }

    #[test]
    fn what_makes_no_sense_is_not_a_frequency() {
        for text in ["<unknown>\n", "0\n", ""] {
            let tree = Tree::new().file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", text);
            let root = Root::from_tree(tree);
            let mut frequencies = Frequencies::of(&root, &[0]);
            frequencies.look(&root);
            assert!(frequencies.seen().is_empty(), "{text:?}");
        }
    }
}
