//! What the sink makes of the packets of one run: pure.

use super::control::{Counts, INTERVAL_NS};
use super::packet::{Form, Strange};

/// Intervals of a day: what comes later counts in the last one.
const LAST_INTERVAL: u64 = 863_999;

/// Counts of one run.
pub(super) struct Tally {
    form: Form,
    /// Numbers from here on were never sent.
    most: u64,
    from_ns: u64,
    /// A bit for each number that has come.
    come: Vec<u64>,
    highest: Option<u64>,
    counts: Counts,
}

impl Tally {
    /// Of packets with numbers below `most`, sent from `from_ns` (CLOCK_MONOTONIC) on.
    pub(super) fn new(form: Form, most: u64, from_ns: u64) -> Self {
        Self { form, most, from_ns, come: Vec::new(), highest: None, counts: Counts::default() }
    }

    /// What it has counted so far.
    pub(super) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Counts what came at once.
    pub(super) fn add<'a>(&mut self, now_ns: u64, payloads: impl Iterator<Item = &'a [u8]>) {
        let before = self.counts.arrived;
        payloads.for_each(|payload| self.judge(payload));
        let interval = (now_ns.saturating_sub(self.from_ns) / INTERVAL_NS).min(LAST_INTERVAL) as usize;
        if self.counts.intervals.len() <= interval {
            self.counts.intervals.resize(interval + 1, 0);
        }
        self.counts.intervals[interval] += self.counts.arrived - before;
    }

    fn judge(&mut self, payload: &[u8]) {
        match self.form.judge(payload) {
            Ok(number) if number < self.most => self.one(number),
            Ok(number) => self.wrong(format!("packet {number} came and was never sent")),
            Err(Strange::Changed(why)) => self.wrong(why),
            Err(Strange::OtherRun) => self.counts.of_other_runs += 1,
        }
    }

    fn one(&mut self, number: u64) {
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        if self.come.len() <= word {
            self.come.resize((word + 1).max(self.come.len() * 2), 0);
        }
        if self.come[word] & bit != 0 {
            self.counts.doubled += 1;
            self.counts.first_wrong.get_or_insert_with(|| format!("packet {number} came twice"));
            return;
        }
        self.come[word] |= bit;
        self.counts.arrived += 1;
        self.counts.out_of_order += u64::from(self.highest.is_some_and(|highest| number < highest));
        self.highest = self.highest.max(Some(number));
    }

    fn wrong(&mut self, why: String) {
        self.counts.wrong += 1;
        self.counts.first_wrong.get_or_insert(why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(form: &Form, numbers: &[u64]) -> Vec<Vec<u8>> {
        let of = |number: &u64| {
            let mut packet = form.first();
            Form::number(&mut packet, *number);
            packet
        };
        numbers.iter().map(of).collect()
    }

    #[test]
    fn each_packet_counts_once_and_in_its_interval() {
        let form = Form::new(1, 18);
        let mut tally = Tally::new(form.clone(), 1000, 50);
        let add = |tally: &mut Tally, at_ns: u64, numbers: &[u64]| {
            let packets = packets(&form, numbers);
            tally.add(at_ns, packets.iter().map(Vec::as_slice));
        };
        add(&mut tally, 60, &[0, 1, 3]);
        add(&mut tally, 50 + 2 * INTERVAL_NS, &[2, 999]);
        let counts = tally.counts();
        assert_eq!((counts.arrived, counts.doubled, counts.wrong, counts.out_of_order), (5, 0, 0, 1));
        assert_eq!(counts.intervals, [3, 0, 2]);
        add(&mut tally, 60, &[3, 1000]);
        let counts = tally.counts();
        assert_eq!((counts.arrived, counts.doubled, counts.wrong), (5, 1, 1));
        assert_eq!(counts.first_wrong.as_deref(), Some("packet 3 came twice"));
    }

    #[test]
    fn what_is_left_of_another_run_is_no_packet_of_this_one() {
        let mut tally = Tally::new(Form::new(2, 18), 10, 0);
        let packets = packets(&Form::new(1, 18), &[0, 1]);
        tally.add(0, packets.iter().map(Vec::as_slice));
        assert_eq!((tally.counts().arrived, tally.counts().of_other_runs), (0, 2));
    }
}
