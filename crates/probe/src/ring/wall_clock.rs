//! Times of the wall clock, in UTC: rings are read on other machines too.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::clock;

/// Days from the first of March of the year 0 to the first of January 1970.
const DAYS_TO_1970: i64 = 719_468;

/// Days of 400 years.
const DAYS_OF_400_YEARS: i64 = 146_097;

const DAY_S: i64 = 86_400;

/// What the wall clock said when CLOCK_MONOTONIC read `monotonic_ns`, a moment ago; ns since 1970.
pub fn unix_ns_at(monotonic_ns: u64) -> u64 {
    let now_unix_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    now_unix_ns.saturating_sub(clock::monotonic_ns().saturating_sub(monotonic_ns))
}

/// `2026-11-21 10:00:05 UTC`, of ns since 1970.
pub fn utc(unix_ns: u64) -> String {
    let unix_s = (unix_ns / 1_000_000_000) as i64;
    let (year, month, day) = date(unix_s / DAY_S);
    let second = unix_s % DAY_S;
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Reads `2026-11-21 10:00:05`, `2026-11-21T10:00Z`, `10:00` (on the day of `near_unix_ns`) or `@1795255205`, all in UTC; ns since
/// 1970.
///
/// # Errors
/// When it is none of these.
pub fn moment(text: &str, near_unix_ns: u64) -> Result<u64, String> {
    let refused = || {
        "give a time in UTC, as 10:00, '2026-11-21 10:00:05', 2026-11-21T10:00:05Z or @1795255205".to_string()
    };
    let unix_s = match text.strip_prefix('@') {
        Some(seconds) => seconds.parse().ok(),
        None => in_words(text.trim_end_matches(['Z', 'z']), near_unix_ns),
    };
    let unix_ns = unix_s.and_then(|seconds: i64| u64::try_from(seconds).ok()?.checked_mul(1_000_000_000));
    unix_ns.ok_or_else(refused)
}

fn in_words(text: &str, near_unix_ns: u64) -> Option<i64> {
    let (day, time) = match text.split_once(['T', 't', ' ']) {
        Some((day, time)) => (day_number(day)?, time),
        None => ((near_unix_ns / 1_000_000_000) as i64 / DAY_S, text),
    };
    let mut parts = time.split(':').map(|part| part.parse::<u32>().ok());
    let (hour, minute) = (parts.next()??, parts.next()??);
    let second = parts.next().unwrap_or(Some(0))?;
    let sound = hour < 24 && minute < 60 && second < 60 && parts.next().is_none();
    sound.then(|| day * DAY_S + i64::from(hour * 3_600 + minute * 60 + second))
}

/// Year, month and day of a day since 1970. Years begin in March, so that the leap day is the last.
fn date(days: i64) -> (i64, i64, i64) {
    let day = days + DAYS_TO_1970;
    let era = day.div_euclid(DAYS_OF_400_YEARS);
    let day = day.rem_euclid(DAYS_OF_400_YEARS);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

/// The day since 1970 of `2026-11-21`.
fn day_number(text: &str) -> Option<i64> {
    let mut parts = text.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || parts.next().is_some() {
        return None;
    }
    let (in_march_years, months) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = in_march_years / 4 - in_march_years / 100 + in_march_years / 400;
    let number = 365 * in_march_years + leap_days + (153 * months + 2) / 5 + day - 1 - DAYS_TO_1970;
    // A day that the month does not have is another one.
    (date(number) == (year, month, day)).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_as_they_are_written() {
        let times = [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399, "2000-02-28 23:59:59 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_709_164_800, "2024-02-29 00:00:00 UTC"),
            (1_795_255_205, "2026-11-21 10:00:05 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ];
        for (unix_s, text) in times {
            assert_eq!(utc(unix_s * 1_000_000_000), text);
            assert_eq!(moment(text.trim_end_matches(" UTC"), 0), Ok(unix_s * 1_000_000_000));
        }
        for day in (0..60_000).step_by(7) {
            let text = utc(day * 86_400 * 1_000_000_000);
            assert_eq!(day_number(&text[..10]), Some(day as i64), "{text}");
        }
    }

    #[test]
    fn a_time_without_a_day_is_of_the_day_that_is_near() {
        let near = 1_795_255_205 * 1_000_000_000;
        assert_eq!(moment("11:30", near).map(utc), Ok("2026-11-21 11:30:00 UTC".into()));
        assert_eq!(moment("2026-11-21T10:00Z", near).map(utc), Ok("2026-11-21 10:00:00 UTC".into()));
        assert_eq!(moment("@1795255205", 0), Ok(near));
        for bad in
            ["", "10", "25:00", "10:60", "2026-02-29 10:00", "2026-13-01 10:00", "@x", "@-5", "1:2:3:4"]
        {
            assert!(moment(bad, near).is_err(), "{bad}");
        }
    }
}
