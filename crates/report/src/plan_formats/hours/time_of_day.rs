//! Hours of each day, as flags have them.

use std::fmt;
use std::str::FromStr;

/// Hours of each day, by the clock of the machine: from the first to just before the second, over midnight where that is earlier. Written
/// `08:00-18:00`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hours {
    pub(super) from: TimeOfDay,
    pub(super) to: TimeOfDay,
}

/// A time of day, to the minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TimeOfDay {
    hour: u8,
    minute: u8,
}

impl FromStr for Hours {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form =
            || format!("'{text}' is not HH:MM-HH:MM, as in 08:00-18:00 or 22:00-06:00 (midnight: 00:00)");
        let (from, to) = text.split_once('-').ok_or_else(form)?;
        let hours = Self {
            from: TimeOfDay::parse(from).ok_or_else(form)?,
            to: TimeOfDay::parse(to).ok_or_else(form)?,
        };
        match hours.from == hours.to {
            true => {
                Err("the hours end when they begin: leave out --between for a plan that is always in force"
                    .into())
            }
            false => Ok(hours),
        }
    }
}

impl TimeOfDay {
    fn parse(text: &str) -> Option<Self> {
        let (hour, minute) = text.split_once(':')?;
        let number = |text: &str, most: u8| -> Option<u8> {
            let is_plain = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|number| is_plain && *number <= most)
        };
        Some(Self { hour: number(hour, 23)?, minute: number(minute, 59)? })
    }

    /// `0800`, as date(1) prints it by `+%H%M`.
    pub(super) fn digits(self) -> String {
        format!("{:02}{:02}", self.hour, self.minute)
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.hour, self.minute)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_two_times_of_a_day() {
        let hours: Hours = "08:00-18:30".parse().unwrap();
        assert_eq!((hours.from.to_string().as_str(), hours.to.digits().as_str()), ("08:00", "1830"));
        assert!("22:00-06:00".parse::<Hours>().is_ok() && "00:00-23:59".parse::<Hours>().is_ok());
        for wrong in [
            "",
            "8:00-18:00",
            "08:00",
            "08:00-24:00",
            "08:60-09:00",
            "08:00-08:00",
            "08:00-18:00-19:00",
            "+8:00-18:00",
            "08-18",
        ] {
            assert!(wrong.parse::<Hours>().is_err(), "{wrong}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(?s)([0-9:-]|.){0,14}") {
            let _ = text.parse::<Hours>();
        }
    }
}
