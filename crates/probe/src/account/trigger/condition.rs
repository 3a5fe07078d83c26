//! Conditions as they are written: `run queue > 5ms`, `preempted >= 10%`, `taker hog > 5%`, `SIGUSR1`.

use std::fmt;
use std::str::FromStr;

use super::figure::Figure;
use super::seen::Seen;
use super::value::Value;
use crate::account::Account;

/// The word for the signal that asks for a part of the recording.
const SIGNAL: &str = "SIGUSR1";

/// The longest condition that is read, bytes.
const LONGEST_BYTES: usize = 200;

/// How a figure is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `<`
    Below,
    /// `<=`
    AtMost,
}

impl Comparison {
    fn symbol(self) -> &'static str {
        match self {
            Self::Above => ">",
            Self::AtLeast => ">=",
            Self::Below => "<",
            Self::AtMost => "<=",
        }
    }

    /// The comparison at the beginning of a text, and what follows it.
    fn first(text: &str) -> Option<(Self, &str)> {
        // Longer symbols first.
        let all = [Self::AtLeast, Self::AtMost, Self::Above, Self::Below];
        all.into_iter().find_map(|comparison| Some((comparison, text.strip_prefix(comparison.symbol())?)))
    }

    /// Whether it holds for all that a figure may have been.
    fn holds(self, seen: &Seen, amount: u64) -> bool {
        match self {
            Self::Above => seen.at_least > amount,
            Self::AtLeast => seen.at_least >= amount,
            Self::Below => seen.at_most < amount,
            Self::AtMost => seen.at_most <= amount,
        }
    }
}

/// A figure of an interval, compared with a value of the same unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trigger {
    /// Which figure.
    pub figure: Figure,
    /// How it is compared.
    pub comparison: Comparison,
    /// With what.
    pub value: Value,
}

impl Trigger {
    /// What the figure was in an interval in which the condition held. `None` where it did not, and where that is not known: a figure
    /// that is known within bounds must meet it wherever it lies between them.
    pub fn met(&self, interval: &Account) -> Option<Seen> {
        let seen = self.figure.seen(interval)?;
        self.comparison.holds(&seen, self.value.amount).then_some(seen)
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.figure, self.comparison.symbol(), self.value)
    }
}

impl FromStr for Trigger {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = |why: String| Err(format!("{why}; {}", possible()));
        if text.len() > LONGEST_BYTES {
            return refused(format!("it is longer than {LONGEST_BYTES} bytes"));
        }
        // The last one: a taker's name may have such a character in it.
        let compared = text.rfind(['<', '>']).map(|at| text.split_at(at));
        let compared = compared.and_then(|(figure, rest)| Some((figure, Comparison::first(rest)?)));
        let Some((figure, (comparison, value_text))) = compared else {
            return refused("it compares nothing".into());
        };
        let Some(value) = Value::read(value_text.trim()) else {
            return refused(format!("'{}' is no value", value_text.trim()));
        };
        match Figure::read(figure, value.unit) {
            Some(figure) => Ok(Self { figure, comparison, value }),
            None => refused(format!("there is no figure '{}' with the unit of {value}", figure.trim())),
        }
    }
}

fn possible() -> String {
    format!("give FIGURE > VALUE (or >=, <, <=) or {SIGNAL}. Figures {}", Figure::possible())
}

/// When a part of a recording is to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum When {
    /// The recorder receives SIGUSR1.
    Signal,
    /// A condition holds in an interval.
    Holds(Trigger),
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signal => f.write_str(SIGNAL),
            Self::Holds(trigger) => trigger.fmt(f),
        }
    }
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == SIGNAL { Ok(Self::Signal) } else { text.parse().map(Self::Holds) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::account::trigger::{Unit, Wait};

    #[test]
    fn conditions_are_read_and_printed_again() {
        for text in [
            "SIGUSR1",
            "run queue > 5ms",
            "run queue >= 2.5%",
            "p99 wait > 10ms",
            "preempted > 10%",
            "mean throttled < 80ms",
            "taker kernel thread kworker > 0.5%",
            "interrupts/s > 20000",
            "unreported switches <= 4",
        ] {
            assert_eq!(text.parse::<When>().map(|when| when.to_string()), Ok(text.to_string()));
        }
        let read: Trigger = "run queue>5000us".parse().unwrap();
        let value = Value { unit: Unit::Time, amount: 5_000_000 };
        assert_eq!(
            read,
            Trigger { figure: Figure::Longest(Wait::RunQueue), comparison: Comparison::Above, value }
        );
        assert_eq!("p99 wakeup > 10ms".parse::<When>().unwrap().to_string(), "p99 wait > 10ms");
    }

    #[test]
    fn what_is_no_condition_is_refused_with_what_is_possible() {
        let long = format!("taker {} > 5%", "x".repeat(LONGEST_BYTES));
        for (text, why) in [
            ("", "compares nothing"),
            ("preempted", "compares nothing"),
            ("preempted = 10%", "compares nothing"),
            ("preempted > ", "'' is no value"),
            ("preempted > ten%", "'ten%' is no value"),
            ("preempted > 10", "no figure 'preempted'"),
            ("latency > 10ms", "no figure 'latency'"),
            ("> 10ms", "no figure ''"),
            ("sigusr1", "compares nothing"),
            (long.as_str(), "longer than"),
        ] {
            let refused = text.parse::<When>().unwrap_err();
            let words = [why, "run queue", "taker NAME", "interrupts/s", "SIGUSR1", "us, ms or s"];
            assert!(words.iter().all(|word| refused.contains(word)), "{text}: {refused}");
        }
    }

    #[test]
    fn a_figure_that_is_known_within_bounds_meets_only_what_all_between_them_meet() {
        let seen = Seen { unit: Unit::Time, at_least: 4, at_most: 6 };
        let holds = |comparison: Comparison, amount| comparison.holds(&seen, amount);
        assert!(holds(Comparison::Above, 3) && !holds(Comparison::Above, 4));
        assert!(holds(Comparison::AtLeast, 4) && !holds(Comparison::AtLeast, 5));
        assert!(holds(Comparison::Below, 7) && !holds(Comparison::Below, 6));
        assert!(holds(Comparison::AtMost, 6) && !holds(Comparison::AtMost, 5));
    }

    fn figure() -> impl Strategy<Value = (String, Unit)> {
        let named = prop::sample::select(vec![
            ("run queue", Unit::Time),
            ("throttled", Unit::Share),
            ("wait", Unit::Time),
            ("interrupts/s", Unit::Number),
        ]);
        let taker = "taker [!-~]([ -~]{0,12}[!-~])?".prop_map(|name| (name, Unit::Share));
        prop_oneof![named.prop_map(|(name, unit)| (name.to_string(), unit)), taker]
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            let _ = text.parse::<When>();
        }

        #[test]
        fn no_text_that_looks_like_one_makes_it_panic(text in "(run queue|p99|taker|é) ?[<>=]{0,3} ?[0-9.]{0,30}(us|ms|s|%|µs)?") {
            let _ = text.parse::<When>();
        }

        #[test]
        fn what_is_printed_is_read_as_the_same(
            (name, unit) in figure(),
            symbol in prop::sample::select(vec![">", ">=", "<", "<="]),
            amount in any::<u64>(),
        ) {
            let text = format!("{name} {symbol} {}", Value { unit, amount });
            let read: Trigger = text.parse().unwrap();
            prop_assert_eq!(read.to_string(), text);
            prop_assert_eq!(read.value.amount, amount);
        }
    }
}
