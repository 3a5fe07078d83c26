//! Values with their units: whole numbers of the smallest part that is kept, so that what is printed is read again as the same.

use std::fmt;

/// Units of time, the first that fits an amount is printed: name, and by how many digits it is longer than a ns.
const TIMES: [(&str, u32); 3] = [("s", 9), ("ms", 6), ("us", 3)];

/// A percent is so many digits longer than a millionth.
const PERCENT_DIGITS: u32 = 4;

/// What a figure is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// ns; read and printed as us, ms or s.
    Time,
    /// Millionths; read and printed as %.
    Share,
    /// How many, or how many a second.
    Number,
}

/// A value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value {
    /// What it is measured in.
    pub unit: Unit,
    /// How much of that: ns, millionths, or a number.
    pub amount: u64,
}

impl Value {
    /// Reads `5ms`, `1.5s`, `250us`, `10%` or `20000`; `None` where it is none of these, or finer than what is kept.
    pub(super) fn read(text: &str) -> Option<Self> {
        // Longer units first: each of time ends in an s.
        let units = [
            ("us", Unit::Time, 3),
            ("ms", Unit::Time, 6),
            ("s", Unit::Time, 9),
            ("%", Unit::Share, PERCENT_DIGITS),
        ];
        let found = units
            .into_iter()
            .find_map(|(name, unit, digits)| Some((text.strip_suffix(name)?.trim_end(), unit, digits)));
        let (number, unit, digits) = found.unwrap_or((text, Unit::Number, 0));
        Some(Self { unit, amount: amount(number, digits)? })
    }

    /// The same with three digits at most, rounded down.
    pub(super) fn rough(self) -> Self {
        let dropped = self.amount.checked_ilog10().unwrap_or(0).saturating_sub(2);
        let step = 10_u64.pow(dropped);
        Self { amount: self.amount / step * step, ..self }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unit {
            Unit::Time => {
                let fits = |(_, digits): &(&str, u32)| self.amount >= 10_u64.pow(*digits);
                let (name, digits) = TIMES.into_iter().find(fits).unwrap_or(("us", 3));
                write!(f, "{}{name}", decimal(self.amount, digits))
            }
            Unit::Share => write!(f, "{}%", decimal(self.amount, PERCENT_DIGITS)),
            Unit::Number => write!(f, "{}", self.amount),
        }
    }
}

/// `12.5` in parts of which a whole has so many digits; `None` where it has more digits behind the point, or is no number.
fn amount(text: &str, digits: u32) -> Option<u64> {
    let (whole, rest) = match text.split_once('.') {
        Some((whole, rest)) if !rest.is_empty() => (whole, rest),
        Some(_) => return None,
        None => (text, ""),
    };
    let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let missing_digits = digits.checked_sub(u32::try_from(rest.len()).ok()?)?;
    if whole.is_empty() || !are_digits(whole) || !are_digits(rest) {
        return None;
    }
    let parts = if rest.is_empty() { 0 } else { rest.parse::<u64>().ok()? * 10_u64.pow(missing_digits) };
    whole.parse::<u64>().ok()?.checked_mul(10_u64.pow(digits))?.checked_add(parts)
}

/// The same back as text.
fn decimal(amount: u64, digits: u32) -> String {
    let one = 10_u64.pow(digits);
    let (whole, parts) = (amount / one, amount % one);
    if parts == 0 {
        return whole.to_string();
    }
    let parts = format!("{parts:0width$}", width = digits as usize);
    format!("{whole}.{}", parts.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(Unit, u64)> {
        Value::read(text).map(|value| (value.unit, value.amount))
    }

    #[test]
    fn values_are_read_with_their_units() {
        assert_eq!(read("5ms"), Some((Unit::Time, 5_000_000)));
        assert_eq!(read("1.5 s"), Some((Unit::Time, 1_500_000_000)));
        assert_eq!(read("0.25us"), Some((Unit::Time, 250)));
        assert_eq!(read("10%"), Some((Unit::Share, 100_000)));
        assert_eq!(read("0.0001%"), Some((Unit::Share, 1)));
        assert_eq!(read("20000"), Some((Unit::Number, 20_000)));
        let bad = [
            "",
            "ms",
            "%",
            "-5ms",
            "5 m s",
            "5m",
            "1e3",
            "1.",
            ".5s",
            "1.5",
            "0.0001us",
            "1.2.3s",
            "99999999999s",
        ];
        for text in bad {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn values_are_printed_in_the_largest_unit_that_fits() {
        let printed = |unit, amount| Value { unit, amount }.to_string();
        let times = [0, 250, 5_000_000, 1_500_000_000, 999_999_999].map(|ns| printed(Unit::Time, ns));
        assert_eq!(times, ["0us", "0.25us", "5ms", "1.5s", "999.999999ms"]);
        assert_eq!([1, 482_139].map(|ppm| printed(Unit::Share, ppm)), ["0.0001%", "48.2139%"]);
    }

    #[test]
    fn a_rough_value_has_three_digits() {
        let rough = |amount| Value { unit: Unit::Number, amount }.rough().amount;
        assert_eq!([0, 7, 999, 1_239, u64::MAX].map(rough), [0, 7, 999, 1_230, 18_400_000_000_000_000_000]);
    }
}
