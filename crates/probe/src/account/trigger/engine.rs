//! Which part of a recording is kept: some time before a condition held and some after it, then nothing for a while.

/// How much is kept, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Kept of the time up to the end of the interval in which the condition held, ns.
    pub before_ns: u64,
    /// Kept of the time after it, ns.
    pub after_ns: u64,
    /// After a part was kept, conditions are not looked at for so long, ns.
    pub rest_ns: u64,
    /// Parts that are kept at most.
    pub most: u32,
}

/// A part that is to be kept. Times are ns of CLOCK_MONOTONIC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch<M> {
    /// What held.
    pub met: M,
    /// End of the interval in which it held.
    pub met_ns: u64,
    /// The beginning of the part.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
}

/// What follows from an interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action<M> {
    /// Nothing.
    Nothing,
    /// This is to be kept now.
    Save(Stretch<M>),
    /// A condition held, and is passed over: a part was kept a short while ago.
    Rest,
    /// A condition held, and is passed over: as many parts are kept as may be.
    Full,
}

#[derive(Debug)]
enum State<M> {
    /// Conditions are looked at.
    Ready,
    /// One held; what comes after it is awaited.
    Closing { met: M, met_ns: u64 },
    /// Nothing is kept of what happens until then.
    Resting { until_ns: u64 },
}

/// Looks at one interval after the other. `M` says what held.
#[derive(Debug)]
pub struct Engine<M> {
    pace: Pace,
    state: State<M>,
    saved: u32,
}

impl<M> Engine<M> {
    /// One that has kept nothing yet.
    pub fn new(pace: Pace) -> Self {
        Self { pace, state: State::Ready, saved: 0 }
    }

    /// Takes in the interval that ended at `to_ns` of CLOCK_MONOTONIC, and what held in it.
    pub fn step(&mut self, to_ns: u64, met: Option<M>) -> Action<M> {
        match std::mem::replace(&mut self.state, State::Ready) {
            State::Closing { met, met_ns } if to_ns >= met_ns.saturating_add(self.pace.after_ns) => {
                Action::Save(self.save(met, met_ns, to_ns))
            }
            closing @ State::Closing { .. } => {
                self.state = closing;
                Action::Nothing
            }
            // An interval that ends with the rest lies within it.
            State::Resting { until_ns } if to_ns <= until_ns => {
                self.state = State::Resting { until_ns };
                if met.is_some() { Action::Rest } else { Action::Nothing }
            }
            State::Resting { .. } | State::Ready => match met {
                None => Action::Nothing,
                Some(_) if self.is_full() => Action::Full,
                Some(met) if self.pace.after_ns == 0 => Action::Save(self.save(met, to_ns, to_ns)),
                Some(met) => {
                    self.state = State::Closing { met, met_ns: to_ns };
                    Action::Nothing
                }
            },
        }
    }

    /// The recording ended at `to_ns`: what is to be kept of a condition that held shortly before.
    pub fn end(&mut self, to_ns: u64) -> Option<Stretch<M>> {
        match std::mem::replace(&mut self.state, State::Ready) {
            State::Closing { met, met_ns } => Some(self.save(met, met_ns, to_ns)),
            State::Ready | State::Resting { .. } => None,
        }
    }

    /// Whether as many parts are kept as may be.
    pub fn is_full(&self) -> bool {
        self.saved >= self.pace.most
    }

    fn save(&mut self, met: M, met_ns: u64, now_ns: u64) -> Stretch<M> {
        self.saved = self.saved.saturating_add(1);
        self.state = State::Resting { until_ns: now_ns.saturating_add(self.pace.rest_ns) };
        let from_ns = met_ns.saturating_sub(self.pace.before_ns);
        let to_ns = met_ns.saturating_add(self.pace.after_ns).min(now_ns);
        Stretch { met, met_ns, from_ns, to_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace { before_ns: 30, after_ns: 5, rest_ns: 60, most: 3 };

    /// Intervals of 1 that end at 100, 101, ..; a condition holds in those that end at one of `met`. What is kept: by what, from, to.
    fn kept(
        engine: &mut Engine<u64>,
        met: &[u64],
        intervals: std::ops::RangeInclusive<u64>,
    ) -> Vec<(u64, u64, u64)> {
        let steps =
            intervals.filter_map(|to_ns| match engine.step(to_ns, met.contains(&to_ns).then_some(to_ns)) {
                Action::Save(stretch) => Some((stretch.met, stretch.from_ns, stretch.to_ns)),
                Action::Nothing | Action::Rest | Action::Full => None,
            });
        steps.collect()
    }

    #[test]
    fn what_came_before_and_after_is_kept_once_it_is_there() {
        let mut engine = Engine::new(PACE);
        assert!(kept(&mut engine, &[110], 100..=114).is_empty());
        assert_eq!(kept(&mut engine, &[110], 115..=200), [(110, 80, 115)]);
    }

    #[test]
    fn where_no_condition_ever_holds_nothing_is_kept() {
        let mut engine = Engine::new(PACE);
        assert!(kept(&mut engine, &[], 100..=1_000).is_empty());
        assert_eq!(engine.end(1_000), None);
    }

    #[test]
    fn one_that_holds_again_while_its_end_is_awaited_or_within_the_rest_is_passed_over() {
        let mut engine = Engine::new(PACE);
        let all: Vec<u64> = (110..=175).collect();
        assert_eq!(kept(&mut engine, &all, 100..=200), [(110, 80, 115)], "the rest is from 115 to 175");
    }

    #[test]
    fn one_that_holds_only_within_the_rest_is_named_and_keeps_nothing() {
        let mut engine = Engine::new(PACE);
        kept(&mut engine, &[110], 100..=115);
        assert_eq!(engine.step(116, Some(116)), Action::Rest);
        assert_eq!(engine.step(117, None), Action::Nothing);
        assert_eq!(engine.step(175, Some(175)), Action::Rest);
        assert!(kept(&mut engine, &[], 176..=400).is_empty());
    }

    #[test]
    fn one_that_holds_again_after_the_rest_is_kept_again() {
        let mut engine = Engine::new(PACE);
        assert_eq!(kept(&mut engine, &[110, 176], 100..=300), [(110, 80, 115), (176, 146, 181)]);
    }

    #[test]
    fn no_more_than_so_many_are_kept() {
        let mut engine = Engine::new(PACE);
        let always: Vec<u64> = (100..=2_000).collect();
        assert_eq!(kept(&mut engine, &always, 100..=2_000).len(), 3);
        assert!(engine.is_full());
        assert_eq!(engine.step(3_000, Some(3_000)), Action::Full);
        assert_eq!(engine.step(3_001, None), Action::Nothing);
    }

    #[test]
    fn at_the_end_of_the_recording_what_is_there_is_kept() {
        let mut engine = Engine::new(PACE);
        kept(&mut engine, &[110], 100..=112);
        let rest = Stretch { met: 110, met_ns: 110, from_ns: 80, to_ns: 112 };
        assert_eq!(engine.end(112), Some(rest));
        assert_eq!(engine.end(113), None);
    }

    #[test]
    fn an_interval_longer_than_all_times_is_kept_with_the_next() {
        let mut engine = Engine::new(PACE);
        assert_eq!(engine.step(1_000, Some(1_000)), Action::Nothing);
        let stretch = Stretch { met: 1_000, met_ns: 1_000, from_ns: 970, to_ns: 1_005 };
        assert_eq!(engine.step(2_000, None), Action::Save(stretch));
        let mut at_once = Engine::new(Pace { after_ns: 0, ..PACE });
        assert_eq!(kept(&mut at_once, &[110], 100..=120), [(110, 80, 110)]);
    }
}
