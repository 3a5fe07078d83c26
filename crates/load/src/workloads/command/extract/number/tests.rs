use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Result<f64, String> {
    number("x", text)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * b.abs()
}

#[test]
fn numbers_in_the_forms_that_tools_print() {
    for (text, value) in [
        ("12", 12.0),
        ("-1.5", -1.5),
        ("-5", -5.0),
        ("\u{2212}5", -5.0),
        ("+.5", 0.5),
        ("5.", 5.0),
        ("12.345", 12.345),
        ("1,234", 1234.0),
        ("1,234.5", 1234.5),
        ("1,234,567.5", 1234567.5),
        ("12.345,67", 12345.67),
        ("1.234.567", 1234567.0),
        ("1.234.567,8", 1234567.8),
        ("0,412", 0.412),
        ("0,4", 0.4),
        ("1,5", 1.5),
        ("1,2345", 1.2345),
        ("1234,567", 1234.567),
        ("12 345.6", 12345.6),
        ("12\u{202f}345,6", 12345.6),
        ("12\u{a0}345", 12345.0),
        ("1'234'567.5", 1234567.5),
        ("12_345", 12345.0),
        ("12.3k", 12300.0),
        ("1.5K", 1500.0),
        ("2 M", 2e6),
        ("3G", 3e9),
        ("1e3", 1e3),
        ("1.5e+04", 15000.0),
        ("1.5E-2", 0.015),
    ] {
        assert_eq!(read(text).unwrap_or_else(|why| panic!("{text}: {why}")), value, "{text}");
    }
}

#[test]
fn times_come_in_the_unit_of_the_name() {
    for (text, name, value) in [
        ("498.1us", "p99_us", 498.1),
        ("498.1\u{b5}s", "p99_us", 498.1),
        ("498.1\u{3bc}s", "p99_us", 498.1),
        ("1.5 ms", "p99_us", 1500.0),
        ("1,234.5ms", "p99_s", 1.2345),
        ("1m2.5s", "total_s", 62.5),
        ("1m2.5s", "total_ms", 62_500.0),
        ("1h3m", "total_s", 3780.0),
        ("1h0m0.5s", "total_s", 3600.5),
        ("-1m2s", "drift_s", -62.0),
        ("1.02m", "total_s", 61.2),
        ("93.9 MB/s", "read_mb_per_s", 93.9),
    ] {
        let found = number(name, text).unwrap_or_else(|why| panic!("{text}: {why}"));
        assert!(close(found, value), "{text}: {found}");
    }
}

#[test]
fn what_has_no_one_reading_is_refused_and_named() {
    for text in [
        "",
        "-",
        ".",
        ",",
        "k",
        "NaN",
        "nan",
        "inf",
        "-nan",
        ",123",
        "12,34,567",
        "1.2.3",
        "1,234.567.8",
        "1.23,45,6",
        "1 2",
        "12 34.5",
        "1234.567,8",
        "012,5",
        "00,5",
        "1_0",
        "1,234'567.8",
        "1,",
        "1e999",
        "12e",
        "0x1F",
        "5 apples",
        "5 3apples",
        "1.5ms2",
        "2s1m",
        "1m1m",
        "1m2",
        "1--2",
        "1.5.ms",
        "12.5 MB/s",
        "10%",
        "1e3.5",
    ] {
        let why = read(text).expect_err(text);
        assert!(why.contains(&format!("'{text}'")), "{text}: {why}");
    }
}

/// `n` with `mark` between groups of three digits.
fn grouped(n: u64, mark: &str) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push_str(mark);
        }
        text.push(digit);
    }
    text
}

proptest! {
    #[test]
    fn any_number_reads_back(n in any::<f64>().prop_filter("finite", |n| n.is_finite())) {
        prop_assert_eq!(read(&n.to_string()).unwrap(), n);
        prop_assert_eq!(read(&format!("{n:e}")).unwrap(), n);
        prop_assert_eq!(read(&format!("{n:E} ")).unwrap(), n);
    }

    #[test]
    fn any_grouped_number_reads_back(n in 0u64..1_000_000_000_000, cents in 0u64..100, which in 0usize..8) {
        let (mark, point) =
            [(",", "."), (".", ","), (" ", "."), (" ", ","), ("'", "."), ("_", "."), ("\u{202f}", ","), ("\u{a0}", ".")][which];
        let value: f64 = format!("{n}.{cents:02}").parse().unwrap();
        prop_assert_eq!(read(&format!("{}{point}{cents:02}", grouped(n, mark))).unwrap(), value);
        prop_assert_eq!(read(&format!("-{}{point}{cents:02}", grouped(n, mark))).unwrap(), -value);
        // A point alone is a decimal point: groups parted by points are those of two points or more.
        if mark != "." || n >= 1_000_000 {
            prop_assert_eq!(read(&grouped(n, mark)).unwrap(), n as f64);
        }
    }

    #[test]
    fn any_time_reads_back(us in 0u32..1_000_000_000, which in 0usize..7) {
        let value = f64::from(us);
        let (unit, size) = [("ns", 1e-3), ("us", 1.0), ("\u{b5}s", 1.0), ("\u{3bc}s", 1.0), ("ms", 1e3), ("s", 1e6), ("m", 6e7)][which];
        let text = format!("{value}{unit}");
        prop_assert!(close(number("t_us", &text).unwrap(), value * size), "{}", text);
        let (h, m, s) = (us % 90, us % 60, f64::from(us % 600_000) / 1e4);
        let whole = f64::from(h) * 3600.0 + f64::from(m) * 60.0 + s;
        let text = format!("{h}h{m}m{s}s");
        prop_assert!((number("t_s", &text).unwrap() - whole).abs() < 1e-6, "{}", text);
    }

    #[test]
    fn garbage_is_a_number_or_an_error(text in "\\PC{0,20}", digits in "[-+0-9.,'_ eEkMusm%/hB]{0,14}", name in "[a-z_]{0,12}") {
        for text in [&text, &digits] {
            match number(&name, text) {
                Ok(value) => prop_assert!(value.is_finite() && text.contains(|c: char| c.is_ascii_digit()), "{}: {}", text, value),
                Err(why) => prop_assert!(why.contains(text.trim()), "{}: {}", text, why),
            }
        }
    }

    #[test]
    fn no_digit_is_left_out(digits in "[0-9][0-9.,'_ ]{0,10}") {
        // Whatever is read has all digits of the text: nothing is cut off without a word.
        if let Ok(value) = read(&digits) {
            let wanted = digits.chars().filter(char::is_ascii_digit).collect::<String>();
            let wanted: f64 = wanted.parse().unwrap();
            let power = if value == 0.0 { 0.0 } else { (wanted / value).log10() };
            prop_assert!((power - power.round()).abs() < 1e-9, "{}: {}", digits, value);
        }
    }
}
