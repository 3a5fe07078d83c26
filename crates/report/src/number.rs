//! Numbers as people read them. One place, so that the terminal and the page never disagree.

use machine::wording::plural;

/// Digits after the point that figures of this size deserve: about four significant digits.
pub fn decimals_for(size: f64) -> usize {
    match size.abs() {
        s if s >= 1000.0 => 0,
        s if s >= 100.0 => 1,
        s if s >= 10.0 => 2,
        s if s >= 1.0 => 3,
        _ => 4,
    }
}

/// A figure with thousands separated: `23,936`, `95.27`. What is no finite number reads `n/a`.
pub fn grouped(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return "n/a".into();
    }
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_once('.').map_or((text.as_str(), ""), |(w, f)| (w, f));
    let mut out = String::new();
    // "-0" is no number that anybody wants to read.
    if value < 0.0 && text.bytes().any(|b| (b'1'..=b'9').contains(&b)) {
        out.push('-');
    }
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// A figure on its own, with the digits that its size deserves.
pub fn figure(value: f64) -> String {
    grouped(value, decimals_for(value))
}

/// A figure with its interval, where there is one: `320.0 [288.0, 352.0]`.
pub fn figure_with_interval(value: f64, bounds: Option<(f64, f64)>) -> String {
    let bounds = bounds.map(|(low, high)| format!(" [{}, {}]", figure(low), figure(high)));
    figure(value) + &bounds.unwrap_or_default()
}

/// A coefficient of a law: four digits after the point, or as many as are needed to see that it is not 0.
pub fn coefficient(value: f64) -> String {
    match value.abs() {
        size if size == 0.0 || size >= 0.001 => figure(value),
        size if size < 1e-9 => "0".into(),
        _ => format!("{value:.1e}"),
    }
}

/// A whole number with thousands separated.
pub fn count(value: usize) -> String {
    grouped(value as f64, 0)
}

/// A count with its noun: `1 package`, `1,024 CPUs`.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{} {}", self::count(count), plural(noun, count))
}

/// A ratio as a change without its unit: `-26.1` for 0.739.
fn percent(ratio: f64) -> String {
    let change = (ratio - 1.0) * 100.0;
    let decimals = if change.abs() < 999.5 { 1 } else { 0 };
    let text = grouped(change, decimals);
    match text.starts_with(['-', 'n']) || text == "0.0" {
        true => text,
        false => format!("+{text}"),
    }
}

/// A ratio as a change: `-26.1 %` for 0.739.
pub fn change(ratio: f64) -> String {
    format!("{} %", percent(ratio))
}

/// An interval of ratios as changes in percent: `[-28.0, -24.3]`; `[no interval]` where there are too few blocks.
pub fn interval(interval: Option<(f64, f64)>) -> String {
    match interval {
        Some((low, high)) => format!("[{}, {}]", percent(low), percent(high)),
        None => "[no interval]".into(),
    }
}

/// A change with its interval: `-26.1 % [-28.0, -24.3]`.
pub fn change_with_interval(ratio: f64, bounds: Option<(f64, f64)>) -> String {
    format!("{} {}", change(ratio), interval(bounds))
}

/// A share as a percentage: `38 %`, `0.4 %`.
pub fn share(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = if percent.abs() < 9.95 && percent.abs() >= 0.05 { 1 } else { 0 };
    let text = grouped(percent, decimals);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

/// A rate in few characters, for cells: `0`, `0.4`, `24`, `424`, `16.9k`, `1.2M`.
pub fn compact(value: f64) -> String {
    let scaled = |v: f64, suffix: &str| match v < 99.95 {
        true => format!("{v:.1}{suffix}"),
        false => format!("{v:.0}{suffix}"),
    };
    match value.abs() {
        _ if !value.is_finite() => "n/a".into(),
        v if v < 0.05 => "0".into(),
        v if v < 9.95 => format!("{value:.1}"),
        v if v < 9_999.5 => grouped(value, 0),
        v if v < 999_500.0 => scaled(value / 1e3, "k"),
        v if v < 999_500_000.0 => scaled(value / 1e6, "M"),
        _ => scaled(value / 1e9, "G"),
    }
}

/// A length of time: `1.6 s`, `45 s`, `1 min 50 s`, `3 h 5 min`.
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return "n/a".into();
    }
    let whole = seconds.round() as u64;
    match whole {
        _ if seconds < 9.95 => format!("{} s", (seconds * 10.0).round() / 10.0),
        0..=119 => format!("{whole} s"),
        120..=7199 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole / 60 % 60),
    }
}

/// A moment, seconds since 1970, as `2026-01-05 13:02 UTC`.
pub fn moment(unix_s: u64) -> String {
    // Gregorian calendar with years that begin in March, so that the leap day comes last.
    let (days, second) = (unix_s / 86_400 + 719_468, unix_s % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", second / 3600, second / 60 % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_grouped_and_rounded_to_their_size() {
        assert_eq!(figure(23_936.4), "23,936");
        assert_eq!(figure(1_234_567.0), "1,234,567");
        assert_eq!(figure(864.0), "864.0");
        assert_eq!(figure(47.298), "47.30");
        assert_eq!(grouped(999.7, 0), "1,000");
        assert_eq!(grouped(-0.01, 1), "0.0");
        assert_eq!(figure(f64::NAN), "n/a");
    }

    #[test]
    fn ratios_read_as_changes() {
        assert_eq!(change_with_interval(0.739, Some((0.72, 0.757))), "-26.1 % [-28.0, -24.3]");
        assert_eq!(change(1.0001), "0.0 %");
        assert_eq!(change(1.026), "+2.6 %");
        assert_eq!(change(25.3), "+2,430 %");
        assert_eq!(interval(None), "[no interval]");
    }

    #[test]
    fn rates_fit_into_cells() {
        let cells = [0.0, 0.4, 24.2, 424.0, 9_999.0, 16_933.0, 424_447.0, 1_200_000.0].map(compact);
        assert_eq!(cells, ["0", "0.4", "24", "424", "9,999", "16.9k", "424k", "1.2M"]);
        assert!(cells.iter().all(|c| c.len() <= 5));
    }

    #[test]
    fn times_and_shares() {
        assert_eq!(
            (duration(1.6), duration(110.0), duration(125.0)),
            ("1.6 s".into(), "110 s".into(), "2 min 5 s".into())
        );
        assert_eq!((share(0.383), share(0.004), share(0.05)), ("38 %".into(), "0.4 %".into(), "5 %".into()));
        assert_eq!(moment(0), "1970-01-01 00:00 UTC");
        assert_eq!(moment(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(moment(1_767_618_120), "2026-01-05 13:02 UTC");
    }
}
