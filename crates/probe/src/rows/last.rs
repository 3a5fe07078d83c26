//! What a row read last, and how far it moved from there.

use std::collections::BTreeMap;

use super::{Columns, Kind};
use crate::recording::{Frame, Moved};

/// No CPU takes more interrupts than this a second: a 32-bit count that fell further behind did not wrap, it began again.
const MOST_EVENTS_PER_S: u64 = 10_000_000;

/// Half of what a 32-bit number can count. A step of more, in either direction, is as well one back: after a long time between
/// two frames the rate alone would let it pass.
const MOST_EVENTS: u64 = (1 << 31) - 1;

/// No package takes more energy than this in a second (10 kW): a counter that would have taken more did not wrap, it began again.
const MOST_UJ_PER_S: u64 = 10_000_000_000;

/// The last reading of a row.
pub(super) struct LastSeen {
    pub columns: Columns,
    pub values: Vec<u64>,
    /// Number of the frame that it was read in.
    pub frame: usize,
    /// Last values of CPUs that went away: the kernel goes on counting from there when they come back.
    pub parked: BTreeMap<u32, u64>,
}

impl LastSeen {
    /// A row that is seen for the first time.
    pub fn first(columns: &Columns, values: &[u64], frame: usize) -> Self {
        Self { columns: columns.clone(), values: values.to_vec(), frame, parked: BTreeMap::new() }
    }

    /// Takes the values of all columns.
    pub fn take(&mut self, columns: &Columns, values: &[u64], book: &mut Book<'_>) {
        if self.columns.same(columns) {
            for ((cpu, old), new) in columns.cpus().iter().zip(&mut self.values).zip(values) {
                if old != new || book.was_away {
                    book.cell(*cpu, *old, *new);
                    *old = *new;
                }
            }
            return;
        }
        let gone = self.columns.cpus().iter().copied().zip(self.values.iter().copied());
        self.parked.extend(gone);
        for (cpu, new) in columns.cpus().iter().zip(values) {
            if let Some(old) = self.parked.remove(cpu) {
                book.cell(*cpu, old, *new);
            }
        }
        self.columns = columns.clone();
        self.values = values.to_vec();
    }

    /// Takes the value of one column.
    pub fn take_one(&mut self, column: usize, new: u64, book: &mut Book<'_>) {
        if let (Some(cpu), Some(old)) = (self.columns.cpus().get(column), self.values.get_mut(column))
            && *old != new
        {
            book.cell(*cpu, *old, new);
            *old = new;
        }
    }
}

/// Books the movements of one row into a frame.
pub(super) struct Book<'a> {
    pub frame: &'a mut Frame,
    pub id: u32,
    pub kind: Kind,
    /// Since the frame before, ns.
    pub elapsed_ns: u64,
    /// A row that was away (driver unloaded) starts again, whatever its counts say.
    pub was_away: bool,
}

impl Book<'_> {
    fn cell(&mut self, cpu: u32, old: u64, new: u64) {
        let (row, step) = (self.id, step(self.kind, old, new, self.elapsed_ns));
        match step.filter(|_| !self.was_away) {
            None => self.frame.restarted.push((row, cpu)),
            Some(0) => {}
            Some(delta) => self.frame.moved.push(Moved { row, cpu, delta }),
        }
    }
}

/// How far a counter moved; `None` if it began again, or moved further than it can have counted.
fn step(kind: Kind, old: u64, new: u64, elapsed_ns: u64) -> Option<i64> {
    // At least a second: what is late by a little is no reason to call a count lost.
    let within = |most_per_s: u64| most_per_s.saturating_mul(elapsed_ns / 1_000_000_000 + 1);
    let (moved, most) = match kind {
        Kind::Wraps32 => (moved32(old, new)?, within(MOST_EVENTS_PER_S).min(MOST_EVENTS)),
        _ if new >= old => return Some((new - old) as i64),
        Kind::Grows | Kind::Gauge => return Some(new.wrapping_sub(old) as i64),
        Kind::EnergyUpTo(most) => (most.checked_sub(old)?.checked_add(new)?, within(MOST_UJ_PER_S)),
    };
    (moved <= most).then_some(moved as i64)
}

/// How far a 32-bit count moved up, past its end if need be. One that is larger than 32 bits does not wrap there.
fn moved32(old: u64, new: u64) -> Option<u64> {
    if let Some(up) = new.checked_sub(old) {
        return Some(up);
    }
    let (old, new) = (u32::try_from(old).ok()?, u32::try_from(new).ok()?);
    Some(u64::from(new.wrapping_sub(old)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_32_bit_count_wraps_and_a_smaller_one_begins_again() {
        let top = u64::from(u32::MAX);
        assert_eq!(step(Kind::Wraps32, top - 2, 4, 0), Some(7));
        assert_eq!(step(Kind::Wraps32, 5_000, 3, 0), None);
        assert_eq!(step(Kind::Wraps32, 3_000_000_000, 3, 0), None);
        assert_eq!(step(Kind::Wraps32, top + 10, 3, 0), None);
        assert_eq!(step(Kind::Wraps32, 5, 9, 0), Some(4));
    }

    #[test]
    fn a_32_bit_count_moves_less_than_half_its_range_and_no_faster_than_a_cpu() {
        let (top, day) = (u64::from(u32::MAX), 86_400_000_000_000);
        assert_eq!(step(Kind::Wraps32, 3_000_000_000, 3, day), Some(1_294_967_299));
        assert_eq!(step(Kind::Wraps32, 5_000, 3, day), None, "it began again, however long ago");
        assert_eq!(step(Kind::Wraps32, 1, 1 << 31, day), Some((1 << 31) - 1));
        assert_eq!(step(Kind::Wraps32, 0, 1 << 31, day), None);
        assert_eq!(step(Kind::Wraps32, 5, top - 5, 0), None, "a step back past 0 looks like one far up");
        assert_eq!(step(Kind::Wraps32, 5, 1 << 40, day), None);
        assert_eq!(step(Kind::Wraps32, top + 5, top + 9, 0), Some(4), "a kernel that counts further");
    }

    #[test]
    fn energy_wraps_after_its_range_and_a_smaller_one_begins_again() {
        let kind = Kind::EnergyUpTo(262_143_328_850);
        assert_eq!(step(kind, 262_143_328_800, 40, 0), Some(90));
        assert_eq!(step(kind, 5_000, 3, 0), None, "262 kJ in a second");
        assert_eq!(step(kind, 5_000, 3, 60_000_000_000), Some(262_143_323_853), "in a minute they could be");
        assert_eq!(step(kind, 262_143_328_851, 3, 0), None, "it was above its own range");
        assert_eq!(step(kind, 5, 9, 0), Some(4));
    }

    proptest::proptest! {
        #[test]
        fn what_was_taken_is_what_is_told_wherever_the_counter_stood(
            range in 65_000_000_000u64..300_000_000_000, at in 0u64.., taken in 0u64..10_000_000_000,
        ) {
            let old = at % (range + 1);
            let new = if old + taken > range { old + taken - range } else { old + taken };
            proptest::prop_assert_eq!(step(Kind::EnergyUpTo(range), old, new, 0), Some(taken as i64));
        }
    }

    #[test]
    fn a_64_bit_count_may_go_back_a_little() {
        assert_eq!(step(Kind::Grows, 1000, 990, 0), Some(-10));
        assert_eq!(step(Kind::Grows, u64::MAX - 1, u64::MAX, 0), Some(1));
    }
}
