//! Beginnings and ends, in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use probe::events::Event;

/// Something that happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment<'a> {
    /// An event, or the beginning of one that lasts.
    Begins(&'a Event),
    /// The end of one that lasts, ns of CLOCK_MONOTONIC.
    Ends(&'a Event, u64),
}

/// An end that is still to come. Of two at the same time the one that began later comes first: it lies in the other.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct End {
    at_ns: u64,
    began: Reverse<usize>,
}

/// Goes through events that are sorted by their beginning.
pub(super) struct Moments<'a> {
    events: &'a [Event],
    next: usize,
    ends: BinaryHeap<Reverse<End>>,
}

impl<'a> Moments<'a> {
    pub(super) fn of(events: &'a [Event]) -> Self {
        Self { events, next: 0, ends: BinaryHeap::new() }
    }
}

impl<'a> Iterator for Moments<'a> {
    type Item = Moment<'a>;

    fn next(&mut self) -> Option<Moment<'a>> {
        let event = self.events.get(self.next);
        let due = event.map_or(u64::MAX, |event| event.at_ns);
        if self.ends.peek().is_some_and(|Reverse(end)| end.at_ns <= due) {
            let Reverse(end) = self.ends.pop()?;
            let event = self.events.get(end.began.0)?;
            return Some(Moment::Ends(event, end.at_ns));
        }
        let event = event?;
        if event.what.lasts() {
            let at_ns = event.at_ns.saturating_add(event.what.ns());
            self.ends.push(Reverse(End { at_ns, began: Reverse(self.next) }));
        }
        self.next += 1;
        Some(Moment::Begins(event))
    }
}

#[cfg(test)]
mod tests {
    use probe::account::Source;
    use probe::events::What;

    use super::*;

    fn stretch(at_ns: u64, ns: u64, source: Source) -> Event {
        Event { at_ns, cpu: 0, what: What::Interrupt { source, line: None, handled: true, ns } }
    }

    #[test]
    fn what_lies_within_ends_first_and_ends_come_before_beginnings() {
        let events = [
            stretch(10, 20, Source::SoftirqTimer),
            stretch(25, 5, Source::Tick),
            stretch(30, 0, Source::Reschedule),
            Event { at_ns: 40, cpu: 0, what: What::PageFault { tid: 7 } },
        ];
        let seen: Vec<(bool, usize)> = Moments::of(&events)
            .map(|moment| {
                let (begins, event) = match moment {
                    Moment::Begins(event) => (true, event),
                    Moment::Ends(event, _) => (false, event),
                };
                (begins, events.iter().position(|other| other == event).unwrap())
            })
            .collect();
        let expected = [(true, 0), (true, 1), (false, 1), (false, 0), (true, 2), (false, 2), (true, 3)];
        assert_eq!(seen, expected);
    }
}
