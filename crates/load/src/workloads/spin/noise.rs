//! What a window took from the spinning task, and its figures. Pure.

use std::collections::BTreeMap;

use machine::{CpuSet, Missing};
use probe::noise::Stretch;
use serde::{Deserialize, Serialize};

/// Gaps longer than this count, ns: a reading of the clock takes 20 to 50 ns, an interrupt a microsecond and more.
pub(super) const THRESHOLD_NS: u64 = 1_000;

/// Sums over a window.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Taken {
    /// Its length, ns.
    pub window_ns: u64,
    /// Gaps longer than 1 us.
    pub gaps: u64,
    /// Their sum, ns.
    pub gap_ns: u64,
    /// The longest, ns.
    pub longest_ns: u64,
    /// How many were longer than 1, 10, 100 and 1,000 us.
    pub over: [u64; 4],
    /// How often the kernel moved the task to another CPU.
    pub moves: u64,
    /// CPUs that it ran on.
    pub cpus: CpuSet,
    /// Interrupts of the local timer of the CPU that it was on, while it was there; none where that is not known.
    pub ticks: Option<u64>,
    /// What is not known, and why.
    pub missing: Vec<Missing>,
}

impl Taken {
    /// Nothing yet.
    pub(super) fn none() -> Self {
        Self { ticks: Some(0), ..Self::default() }
    }

    /// Adds a stretch on one CPU, and how often that CPU's timer came meanwhile.
    pub(super) fn add(&mut self, stretch: &Stretch, ticks: Result<u64, String>) {
        if self.window_ns > 0 {
            self.moves += 1;
        }
        self.window_ns += stretch.length_ns;
        self.gaps += stretch.gaps;
        self.gap_ns += stretch.gap_ns;
        self.longest_ns = self.longest_ns.max(stretch.longest_ns);
        for (sum, over) in self.over.iter_mut().zip(stretch.over) {
            *sum += over;
        }
        self.cpus = self.cpus.union(&CpuSet::single(stretch.cpu));
        match ticks {
            Ok(ticks) => self.ticks = self.ticks.map(|sum| sum + ticks),
            Err(why) => {
                self.ticks = None;
                let missing = Missing::new("ticks", why);
                if !self.missing.contains(&missing) {
                    self.missing.push(missing);
                }
            }
        }
    }

    /// The figures by name; none for an empty window.
    pub fn figures(&self) -> BTreeMap<String, f64> {
        if self.window_ns == 0 {
            return BTreeMap::new();
        }
        let window_s = self.window_ns as f64 / 1e9;
        let per_s = |count: u64| count as f64 / window_s;
        // Less than the shortest gap that is seen cannot be distinguished from nothing, and nothing has no ratio to anything.
        let taken_ns = self.gap_ns.max(THRESHOLD_NS);
        let mut figures = BTreeMap::from([
            ("taken_us_per_s", taken_ns as f64 / 1e3 / window_s),
            ("taken_share", self.gap_ns as f64 / self.window_ns as f64),
            ("gaps_over_1us_per_s", per_s(self.over[0])),
            ("gaps_over_10us_per_s", per_s(self.over[1])),
            ("gaps_over_100us_per_s", per_s(self.over[2])),
            ("longest_gap_us", self.longest_ns as f64 / 1e3),
            ("moves", self.moves as f64),
        ]);
        if let Some(ticks) = self.ticks {
            figures.insert("ticks_per_s", per_s(ticks));
            // So many ticks part the window into one stretch more.
            figures.insert("between_ticks_ms", window_s * 1e3 / (ticks + 1) as f64);
        }
        figures.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
    }
}

/// The unit of one of these figures.
pub(crate) fn unit_of(figure: &str) -> &'static str {
    match figure {
        "taken_us_per_s" => "us/s",
        "taken_share" => "share",
        "longest_gap_us" => "us",
        "between_ticks_ms" => "ms",
        "ticks_per_s" => "ticks/s",
        "moves" => "moves",
        _ => "gaps/s",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(cpu: u32, length_ns: u64, gap_ns: u64) -> Stretch {
        Stretch { cpu, length_ns, gaps: 2, gap_ns, longest_ns: gap_ns, over: [2, 1, 0, 0] }
    }

    #[test]
    fn stretches_on_several_cpus_are_one_window() {
        let mut taken = Taken::none();
        taken.add(&stretch(0, 1_500_000_000, 30_000), Ok(375));
        taken.add(&stretch(1, 500_000_000, 90_000), Ok(125));
        assert_eq!((taken.window_ns, taken.moves, taken.cpus.to_list()), (2_000_000_000, 1, "0-1".into()));
        let figures = taken.figures();
        let figure = |name: &str| figures[name];
        assert_eq!((figure("ticks_per_s"), figure("taken_us_per_s")), (250.0, 60.0));
        assert_eq!((figure("gaps_over_1us_per_s"), figure("longest_gap_us")), (2.0, 90.0));
        assert_eq!(figure("between_ticks_ms"), 2000.0 / 501.0);
    }

    #[test]
    fn nothing_taken_is_reported_by_what_would_have_been_seen() {
        let mut taken = Taken::none();
        let quiet = Stretch { gaps: 0, over: [0; 4], ..stretch(2, 1_000_000_000, 0) };
        taken.add(&quiet, Ok(0));
        let figures = taken.figures();
        assert_eq!(
            (figures["taken_us_per_s"], figures["taken_share"], figures["ticks_per_s"]),
            (1.0, 0.0, 0.0)
        );
        assert_eq!(figures["between_ticks_ms"], 1000.0);
    }

    #[test]
    fn ticks_that_are_not_known_are_missing_once_and_never_0() {
        let mut taken = Taken::none();
        taken.add(&stretch(0, 1_000, 0), Ok(3));
        taken.add(&stretch(0, 1_000, 0), Err("no row LOC".into()));
        taken.add(&stretch(0, 1_000, 0), Err("no row LOC".into()));
        assert!(!taken.figures().contains_key("ticks_per_s"));
        assert_eq!((taken.ticks, taken.missing.len()), (None, 1));
        assert!(Taken::none().figures().is_empty());
    }
}
