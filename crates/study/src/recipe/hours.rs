//! Hours of each day in which trials may begin. Pure.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use machine::{Class, Fault};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Seconds of a day, but for those on which clocks are changed.
const DAY_S: u32 = 24 * 3600;

/// Hours of each day, by the clock of the machine: from the first to just before the second, over midnight where that is earlier. Written
/// `02:00-04:00`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hours {
    /// Minutes since midnight.
    from_min: u16,
    /// Minutes since midnight.
    to_min: u16,
}

impl Hours {
    /// How long it takes until they begin, s, where it is `now_s` seconds after midnight; `None` within them.
    pub fn wait_s(self, now_s: u32) -> Option<u32> {
        let (from, to) = (u32::from(self.from_min) * 60, u32::from(self.to_min) * 60);
        let now = now_s % DAY_S;
        let after = |moment: u32, since: u32| (moment + DAY_S - since) % DAY_S;
        match after(now, from) < after(to, from) {
            true => None,
            false => Some(after(from, now)),
        }
    }

    /// When they begin: `02:00`.
    pub fn begin(self) -> String {
        time_of_day(self.from_min)
    }
}

fn time_of_day(minutes: u16) -> String {
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

/// Minutes since midnight of `HH:MM`.
fn minutes(text: &str) -> Option<u16> {
    let (hour, minute) = text.split_once(':')?;
    let number = |text: &str, most: u16| -> Option<u16> {
        let is_plain = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|number| is_plain && *number <= most)
    };
    Some(number(hour, 23)? * 60 + number(minute, 59)?)
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", time_of_day(self.from_min), time_of_day(self.to_min))
    }
}

impl FromStr for Hours {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        let wrong =
            |cause: &str, remedy: &str| Fault::new(Class::Usage, format!("hours {text:?}"), cause, remedy);
        let form = || {
            wrong("they are not HH:MM-HH:MM", "write them as in 02:00-04:00 or 22:00-06:00 (midnight: 00:00)")
        };
        let (from, to) = text.split_once('-').ok_or_else(form)?;
        let hours = Self { from_min: minutes(from).ok_or_else(form)?, to_min: minutes(to).ok_or_else(form)? };
        match hours.from_min == hours.to_min {
            true => {
                Err(wrong("they end when they begin", "leave them out of a study that may run at any time"))
            }
            false => Ok(hours),
        }
    }
}

impl TryFrom<String> for Hours {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse().map_err(|fault: Fault| fault.to_string())
    }
}

impl From<Hours> for String {
    fn from(hours: Hours) -> Self {
        hours.to_string()
    }
}

impl JsonSchema for Hours {
    fn schema_name() -> Cow<'static, str> {
        "Hours".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Hours of each day, by the clock of the machine: 02:00-04:00, or over midnight 22:00-06:00.",
            "type": "string",
            "pattern": "^[0-2][0-9]:[0-5][0-9]-[0-2][0-9]:[0-5][0-9]$"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hours(text: &str) -> Hours {
        text.parse().unwrap()
    }

    #[test]
    fn within_them_there_is_no_wait_and_else_the_time_until_they_begin() {
        let night = hours("02:00-04:00");
        for (now_s, wait_s) in [
            (2 * 3600, None),
            (4 * 3600 - 1, None),
            (4 * 3600, Some(22 * 3600)),
            (3600, Some(3600)),
            (0, Some(2 * 3600)),
            (23 * 3600 + 1, Some(3 * 3600 - 1)),
        ] {
            assert_eq!(night.wait_s(now_s), wait_s, "at {now_s} s");
        }
    }

    #[test]
    fn they_may_go_over_midnight() {
        let night = hours("22:30-01:15");
        assert_eq!(night.wait_s(23 * 3600), None);
        assert_eq!(night.wait_s(0), None);
        assert_eq!(night.wait_s(75 * 60 - 1), None);
        assert_eq!(night.wait_s(75 * 60), Some(22 * 3600 + 1800 - 75 * 60));
        assert_eq!((night.begin().as_str(), night.to_string().as_str()), ("22:30", "22:30-01:15"));
    }

    #[test]
    fn what_is_no_pair_of_times_is_refused_with_the_form() {
        for text in [
            "",
            "2:00-4:00",
            "02:00",
            "24:00-01:00",
            "02:00-02:60",
            "02:00-02:00",
            "a-b",
            "02:00-04:00-05:00",
        ] {
            let fault = text.parse::<Hours>().unwrap_err();
            assert!(fault.class == Class::Usage && !fault.remedy.is_empty(), "{fault}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic_and_what_is_read_is_written_again(text in "(?s).{0,12}", a in 0u16..1440, b in 0u16..1440) {
            let _ = text.parse::<Hours>();
            let written = format!("{}-{}", time_of_day(a), time_of_day(b));
            match written.parse::<Hours>() {
                Ok(read) => proptest::prop_assert_eq!(read.to_string(), written),
                Err(_) => proptest::prop_assert_eq!(a, b),
            }
        }

        #[test]
        fn after_the_wait_they_have_begun(a in 0u16..1440, b in 0u16..1440, now_s in 0u32..200_000) {
            proptest::prop_assume!(a != b);
            let hours = Hours { from_min: a, to_min: b };
            if let Some(wait_s) = hours.wait_s(now_s) {
                proptest::prop_assert_eq!(hours.wait_s(now_s + wait_s), None);
                proptest::prop_assert!(hours.wait_s(now_s + wait_s - 1).is_some());
            }
        }
    }
}
