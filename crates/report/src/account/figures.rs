//! Times, counts and shares of an account in words.

use probe::account::Extreme;

use crate::number;

/// A length of time as people read it: `940 ns`, `12.3 us`, `1.20 ms`, `3.05 s`.
pub(crate) fn time(ns: u64) -> String {
    let ns = ns as f64;
    match ns {
        _ if ns < 1e3 => format!("{ns:.0} ns"),
        _ if ns < 1e6 => format!("{} us", digits(ns / 1e3)),
        _ if ns < 1e9 => format!("{} ms", digits(ns / 1e6)),
        _ => format!("{} s", digits(ns / 1e9)),
    }
}

fn digits(value: f64) -> String {
    match value {
        _ if value < 10.0 => format!("{value:.2}"),
        _ if value < 100.0 => format!("{value:.1}"),
        _ => number::grouped(value, 0),
    }
}

/// The same where it may not be known.
pub(crate) fn time_or_dash(ns: Option<u64>) -> String {
    ns.map_or("-".into(), time)
}

/// The longest of some stretches; `<=` where it is only known that none was longer.
pub(crate) fn longest(longest: Option<Extreme>) -> String {
    match longest {
        Some(Extreme::Exactly(ns)) => time(ns),
        Some(Extreme::Bound(ns)) => format!("<={}", time(ns)),
        None => "-".into(),
    }
}

/// The shortest, likewise.
pub(crate) fn shortest(shortest: Option<Extreme>) -> String {
    match shortest {
        Some(Extreme::Bound(ns)) => format!(">={}", time(ns)),
        other => longest(other),
    }
}

/// A count with its digits in groups.
pub(crate) fn count(count: u64) -> String {
    number::grouped(count as f64, 0)
}

/// A share of a whole in per cent: `0` when there is nothing, `<0.01 %` when there is little.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    match (part, whole) {
        (0, _) | (_, 0) => "0 %".into(),
        _ => share(part as f64 / whole as f64),
    }
}

/// A share of 1 in per cent.
pub(crate) fn share(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        _ if percent == 0.0 => "0 %".into(),
        _ if percent < 0.01 => "<0.01 %".into(),
        _ if percent < 10.0 => format!("{percent:.2} %"),
        _ => format!("{percent:.1} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_their_unit() {
        let shown = [940, 12_345, 1_200_000, 3_050_000_000, 123_456].map(time);
        assert_eq!(shown, ["940 ns", "12.3 us", "1.20 ms", "3.05 s", "123 us"]);
    }

    #[test]
    fn nothing_and_little_are_told_apart() {
        assert_eq!(percent(0, 10), "0 %");
        assert_eq!(percent(1, 1_000_000), "<0.01 %");
        assert_eq!(percent(5, 100), "5.00 %");
        assert_eq!(percent(50, 100), "50.0 %");
    }
}
