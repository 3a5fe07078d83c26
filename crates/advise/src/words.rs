//! Numbers in sentences.

use study::{Contrast, Direction, Facts};

use crate::loss::Loss;

/// `2.7 %`, `52 %`: one digit after the point below 10.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// `24 to 30 %`.
pub fn range(from: f64, to: f64) -> String {
    let from = percent(from);
    format!("{} to {}", from.trim_end_matches(" %"), percent(to))
}

/// `16,933/s`, `11/s`, `0.4/s`.
pub fn per_second(rate: f64) -> String {
    if rate > 0.0 && rate < 9.95 {
        return format!("{rate:.1}/s");
    }
    let digits = format!("{rate:.0}");
    let mut grouped = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{grouped}/s")
}

/// `with the server on CPU 0 requests_per_s is 52 % (49 to 54 %) lower than on the other CPUs`.
pub fn slow(facts: &Facts, cpu: u32, contrast: &Contrast) -> String {
    let metric = &facts.evidence.metric;
    match facts.evidence.better {
        Direction::Higher => {
            format!(
                "with the server on CPU {cpu} {metric} is {} lower than on the other CPUs",
                Loss::of(contrast).words()
            )
        }
        Direction::Lower => {
            let more = |ratio: f64| percent(ratio - 1.0);
            let interval = contrast.interval.map(|(a, b)| format!(" ({})", range(a - 1.0, b - 1.0)));
            let interval = interval.unwrap_or_default();
            format!(
                "with the server on CPU {cpu} {metric} is {}{interval} higher than on the other CPUs",
                more(contrast.ratio)
            )
        }
    }
}

/// `CPU`, `CPUs`.
pub fn plural(word: &str, count: usize) -> String {
    if count == 1 { word.to_string() } else { format!("{word}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_people_write_them() {
        assert_eq!(per_second(16_933.2), "16,933/s");
        assert_eq!(per_second(1_234_567.0), "1,234,567/s");
        assert_eq!(per_second(999.0), "999/s");
        assert_eq!(per_second(-1_000.0), "-1,000/s");
        assert_eq!(per_second(-100.0), "-100/s");
        assert_eq!(per_second(0.42), "0.4/s");
        assert_eq!(per_second(0.0), "0/s");
        assert_eq!(percent(0.027), "2.7 %");
        assert_eq!(percent(0.515), "52 %");
        assert_eq!(range(0.02, 0.4), "2.0 to 40 %");
    }
}
