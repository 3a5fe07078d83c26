//! Counts, shares and rates in words, as messages and reports write them.

use std::fmt::Display;

/// The noun as it follows this count: `CPU` after 1, `CPUs` after any other; `processes` for what ends in `s`.
pub fn plural<N: Copy + PartialEq + From<u8>>(noun: &str, count: N) -> String {
    match noun {
        _ if count == N::from(1) => noun.to_string(),
        _ if noun.ends_with('s') => format!("{noun}es"),
        _ => format!("{noun}s"),
    }
}

/// A count with its noun: `1 package`, `2 packages`.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    format!("{count} {}", plural(noun, count))
}

/// The speed of a link: `25 Gbit/s`, `100 Mbit/s`.
pub fn link_speed(mbit_per_s: u64) -> String {
    match mbit_per_s {
        _ if mbit_per_s >= 1000 && mbit_per_s.is_multiple_of(1000) => format!("{} Gbit/s", mbit_per_s / 1000),
        _ => format!("{mbit_per_s} Mbit/s"),
    }
}

/// A share of 1 as a percentage, with one decimal below 10 %: `2.7 %`, `52 %`.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// A share of 1 as a percentage without decimals: `3 %`, `52 %`.
pub fn whole_percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A range of shares: `24 to 30 %`.
pub fn percent_range(from: f64, to: f64) -> String {
    let from = percent(from);
    format!("{} to {}", from.trim_end_matches(" %"), percent(to))
}

/// A rate with its digits in groups: `16,933/s`, `11/s`, `0.4/s`.
pub fn per_second(rate: f64) -> String {
    format!("{}/s", in_groups(rate))
}

/// The rate of things, which are named in the plural: `16,933 packets/s`.
pub fn things_per_second(rate: f64, things: &str) -> String {
    format!("{} {things}/s", in_groups(rate))
}

fn in_groups(rate: f64) -> String {
    if rate > 0.0 && rate < 9.95 {
        return format!("{rate:.1}");
    }
    let digits = format!("{rate:.0}");
    let mut grouped = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_follow_their_count() {
        assert_eq!([plural("CPU", 0), plural("CPU", 1), plural("CPU", 2)], ["CPUs", "CPU", "CPUs"]);
        assert_eq!(
            (counted(1_usize, "process"), counted(2_u64, "process")),
            ("1 process".into(), "2 processes".into())
        );
        assert_eq!((counted(1.0, "CPU"), counted(1.5, "CPU")), ("1 CPU".into(), "1.5 CPUs".into()));
    }

    #[test]
    fn speeds_of_links_are_in_the_unit_that_fits() {
        assert_eq!(
            [100, 1000, 2500, 25_000].map(link_speed),
            ["100 Mbit/s", "1 Gbit/s", "2500 Mbit/s", "25 Gbit/s"]
        );
    }

    #[test]
    fn shares_are_percentages() {
        assert_eq!(
            [0.0, 0.027, 0.0994, 0.0996, 0.515].map(percent),
            ["0.0 %", "2.7 %", "9.9 %", "10 %", "52 %"]
        );
        assert_eq!([0.0, 0.027, 0.515, 1.0].map(whole_percent), ["0 %", "3 %", "52 %", "100 %"]);
        assert_eq!(percent_range(0.02, 0.4), "2.0 to 40 %");
    }

    #[test]
    fn rates_have_their_digits_in_groups() {
        assert_eq!(per_second(16_933.2), "16,933/s");
        assert_eq!(per_second(1_234_567.0), "1,234,567/s");
        assert_eq!(per_second(999.0), "999/s");
        assert_eq!(per_second(-1_000.0), "-1,000/s");
        assert_eq!(per_second(-100.0), "-100/s");
        assert_eq!(per_second(0.42), "0.4/s");
        assert_eq!(per_second(0.0), "0/s");
        assert_eq!(things_per_second(16_933.2, "packets"), "16,933 packets/s");
    }
}
