//! Numbers as tools print them: read in full, or refused.
//!
//! A form with one reading is read. The one form with two is `1,234`: loads run with LC_ALL=C, where a comma parts thousands, so it is
//! 1234. What no reading fits, and what a unit makes doubtful, is refused.

use super::unit::{Suffix, seconds_of};

/// The figure called `name` from `text`: a number in any form of [`plain`], with a unit that is known in full, or a duration of several
/// units (`1m2.5s`). The error names the text and says what would be right.
pub(super) fn number(name: &str, text: &str) -> Result<f64, String> {
    let text = text.trim();
    let (number, suffix) = split(text);
    let suffix = suffix.trim_start();
    let no_number = || format!("gives '{text}', which is not a number");
    let (value, unit) = match duration(text) {
        Some(seconds) => (seconds, Suffix::of("s")),
        None => (plain(number).ok_or_else(no_number)?, Suffix::of(suffix)),
    };
    let unit = unit.ok_or_else(|| {
        format!("gives '{text}', which is not a number with a known unit ('{suffix}' is none): put only digits in the group")
    })?;
    let factor = unit.factor(name).map_err(|why| format!("gives '{text}', {why}"))?;
    Some(value * factor).filter(|value| value.is_finite()).ok_or_else(no_number)
}

/// A text's leading number, sign and exponent included, and what follows it.
fn split(text: &str) -> (&str, &str) {
    let mut end = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let before_digit = characters.peek().is_some_and(|(_, next)| next.is_ascii_digit());
        let is_sign = at == 0 && matches!(c, '+' | '-' | '\u{2212}');
        if !(is_sign || c.is_ascii_digit() || matches!(c, '.' | ',') || is_separator(c) && before_digit) {
            break;
        }
        end = at + c.len_utf8();
    }
    end += exponent_length(&text[end..]);
    text.split_at(end)
}

/// How long the exponent at the start of `rest` is, bytes; 0 where there is none.
fn exponent_length(rest: &str) -> usize {
    let Some(power) = rest.strip_prefix(['e', 'E']) else { return 0 };
    let unsigned = power.strip_prefix(['+', '-']).unwrap_or(power);
    let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 { 0 } else { rest.len() - unsigned.len() + digits }
}

/// What parts thousands beside comma and point: blanks (U+00A0, U+2009, U+202F too), apostrophes, underscores.
fn is_separator(c: char) -> bool {
    matches!(c, ' ' | '\u{a0}' | '\u{2009}' | '\u{202f}' | '\'' | '\u{2019}' | '_')
}

/// `1234.5`, `1,234.5`, `1.234,5`, `1 234.5`, `1'234.5`, `1_234`, `0,4`, `1.5e+04`; none for all else.
fn plain(text: &str) -> Option<f64> {
    let (sign, digits) = match text.strip_prefix(['-', '\u{2212}']) {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, power) = digits.split_at(digits.find(['e', 'E']).unwrap_or(digits.len()));
    let (whole, fraction) = parts(mantissa)?;
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    format!("{sign}{whole}.{fraction}0{power}").parse().ok().filter(|value: &f64| value.is_finite())
}

/// The digits before and after the decimal point, without separators.
fn parts(mantissa: &str) -> Option<(String, &str)> {
    let is_mark = |c: char| !c.is_ascii_digit();
    let marks: Vec<(usize, char)> =
        mantissa.match_indices(is_mark).filter_map(|(at, m)| Some((at, m.chars().next()?))).collect();
    let Some(&(last_at, last)) = marks.last() else { return Some((mantissa.to_string(), "")) };
    let (before, after) = (&mantissa[..last_at], &mantissa[last_at + last.len_utf8()..]);
    let others = &marks[..marks.len() - 1];
    let is_decimal = match (others, last) {
        ([], '.') => true,
        ([], ',') => !are_groups(mantissa, ','),
        ([], _) => false,
        // Of two kinds, the last one once: it parts the decimals.
        (others, '.' | ',') => others.iter().all(|(_, mark)| *mark != last),
        _ => false,
    };
    if !is_decimal {
        return are_groups(mantissa, last).then(|| (without(mantissa, last), ""));
    }
    match others {
        // As after `0,412`: `012,5` is no number that anybody prints.
        [] if last == ',' => {
            let is_whole = before == "0" || !before.is_empty() && !before.starts_with('0');
            (is_whole && !after.is_empty()).then(|| (before.to_string(), after))
        }
        [] => Some((before.to_string(), after)),
        [(_, mark), ..] => are_groups(before, *mark).then(|| (without(before, *mark), after)),
    }
}

/// Whether `mark`, and nothing else, parts groups of three digits: `1,234,567`, and neither `0,412` nor `12,34`.
fn are_groups(text: &str, mark: char) -> bool {
    let mut groups = text.split(mark);
    let is_digits = |group: &str| group.bytes().all(|b| b.is_ascii_digit());
    let first = groups.next().unwrap_or_default();
    (1..=3).contains(&first.len())
        && is_digits(first)
        && !first.starts_with('0')
        && groups.all(|group| group.len() == 3 && is_digits(group))
}

fn without(text: &str, mark: char) -> String {
    text.chars().filter(|c| *c != mark).collect()
}

/// A duration of several units in s, the larger first: `1h3m`, `1m2.5s`. None for all else, a single unit too.
fn duration(text: &str) -> Option<f64> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text),
    };
    let (mut seconds, mut last_unit_s, mut units) = (0.0, f64::INFINITY, 0);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(digits);
        let end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let unit_s = seconds_of(&after[..end]).filter(|unit_s| *unit_s < last_unit_s)?;
        seconds += number.parse::<f64>().ok()? * unit_s;
        (rest, last_unit_s, units) = (&after[end..], unit_s, units + 1);
    }
    (units > 1).then_some(sign * seconds)
}

#[cfg(test)]
mod tests;
