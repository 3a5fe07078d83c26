//! What /proc/interrupts and /proc/softirqs share: a header of CPU columns and rows of counts.

use super::{Malformed, Oddities};

/// The header of a table: which CPU each of its columns belongs to.
#[derive(Debug)]
pub(super) struct Header {
    /// CPUs of the columns that are known, rising.
    pub cpus: Vec<u32>,
    /// For each column of the text, whether its CPU is known.
    known: Vec<bool>,
}

impl Header {
    /// Columns of the text.
    pub fn columns(&self) -> usize {
        self.known.len()
    }

    /// Takes the counts of columns whose CPU is not known out of a row, which has one for each column and begins at `first`.
    pub fn keep_known(&self, counts: &mut Vec<u64>, first: usize) {
        if self.cpus.len() == self.known.len() {
            return;
        }
        let mut place = first;
        for (column, known) in self.known.iter().enumerate() {
            if *known && let Some(count) = counts.get(first + column).copied() {
                counts[place] = count;
                place += 1;
            }
        }
        counts.truncate(place);
    }
}

/// Reads the header, `CPU0 CPU1 CPU5 ...`: rising numbers, with holes where CPUs are offline. A word that is none, or that
/// does not stand in the order, is a column whose CPU is not known.
pub(super) fn header(line: &str, odd: &mut Oddities) -> Result<Header, Malformed> {
    let words: Vec<(&str, Option<u32>)> =
        line.split_ascii_whitespace().map(|word| (word, cpu(word))).collect();
    let number = |at: usize| words.get(at).and_then(|(_, cpu)| *cpu);
    let mut header = Header { cpus: Vec::with_capacity(words.len()), known: Vec::with_capacity(words.len()) };
    for (at, (word, cpu)) in words.iter().enumerate() {
        let (before, behind) = (at.checked_sub(1).and_then(number), number(at + 1));
        // Of two that do not rise, either may be the wrong one.
        let rises = |cpu: &u32| {
            before.is_none_or(|before| before < *cpu) && behind.is_none_or(|behind| *cpu < behind)
        };
        let placed = cpu.filter(rises);
        match (cpu, placed) {
            (_, Some(cpu)) => header.cpus.push(cpu),
            (None, _) => odd.add(Malformed::new(1, word, "the header must name CPU columns (CPU0 CPU1 ...)")),
            (Some(_), None) => odd.add(Malformed::new(1, word, OUT_OF_ORDER)),
        }
        header.known.push(placed.is_some());
    }
    if !header.cpus.is_sorted_by(|a, b| a < b) {
        return Err(Malformed::new(1, line, OUT_OF_ORDER));
    }
    match header.cpus.is_empty() {
        true => Err(odd.first_or(Malformed::new(1, line, "the header names no CPU"))),
        false => Ok(header),
    }
}

const OUT_OF_ORDER: &str = "the CPU columns are not in rising order";

/// The number of `CPU5`.
fn cpu(word: &str) -> Option<u32> {
    let digits = word.strip_prefix("CPU")?;
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|cpu| plain && *cpu < crate::cpuset::HIGHEST)
}

/// Reads up to `limit` counts from the front of `text`, appends them to `into`, and returns how many there were and the
/// text behind them. It stops at the first word that is no plain decimal number. A number past 64 bits is an oddity of `row`:
/// none of its counts is known then, and `None` is returned in place of how many there were.
pub(super) fn counts<'a>(
    (line, row): (usize, &str),
    text: &'a str,
    limit: usize,
    into: &mut Vec<u64>,
    odd: &mut Oddities,
) -> (Option<usize>, &'a str) {
    let bytes = text.as_bytes();
    let (mut at, mut taken, mut fits) = (0, 0, true);
    while taken < limit {
        let start = at + bytes[at..].iter().take_while(|b| is_blank(**b)).count();
        let Some((value, end)) = number(bytes, start) else { break };
        if value.is_none() && fits {
            odd.add(Malformed::new(line, row, "a count is past 64 bits"));
            fits = false;
        }
        into.extend(value);
        at = end;
        taken += 1;
    }
    (fits.then_some(taken), &text[at..])
}

/// Whether the first word of `text` is a plain decimal number.
pub(super) fn starts_with_count(text: &str) -> bool {
    let text = text.trim_start_matches([' ', '\t']);
    number(text.as_bytes(), 0).is_some()
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// The number that begins at `start` and where it ends; `None` if the word there is none, `Some((None, _))` if it overflows.
fn number(bytes: &[u8], start: usize) -> Option<(Option<u64>, usize)> {
    let mut value = Some(0u64);
    let mut at = start;
    while let Some(digit) = bytes.get(at).filter(|b| b.is_ascii_digit()) {
        value = value.and_then(|v| v.checked_mul(10)).and_then(|v| v.checked_add(u64::from(digit - b'0')));
        at += 1;
    }
    let ends = bytes.get(at).is_none_or(|b| is_blank(*b));
    (at > start && ends).then_some((value, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(line: &str) -> (Vec<u32>, Oddities) {
        let mut odd = Oddities::default();
        let cpus = header(line, &mut odd).map(|header| header.cpus).unwrap_or_default();
        (cpus, odd)
    }

    #[test]
    fn a_header_may_have_holes_and_must_be_a_header() {
        assert_eq!(cpus("     CPU0  CPU2  CPU1025 "), (vec![0, 2, 1025], Oddities::default()));
        for bad in ["", "   ", "CPU", "CPU0 CPU0", "CPU1 CPU0", "CPU-1", "CPU99999999999", "24: 1 2"] {
            assert!(header(bad, &mut Oddities::default()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_odd_column_is_missing_by_itself() {
        assert_eq!(cpus("CPU0 cpu1 CPU2").0, [0, 2]);
        // Either of two that do not rise may be the wrong one.
        assert_eq!(cpus("CPU0 CPU1 CPU0 CPU3").0, [0, 3]);
        assert_eq!(cpus("CPU0 CPU9 CPU2 CPU3").0, [0, 3]);
        let mut odd = Oddities::default();
        let header = header("CPU0 CPU? CPU2", &mut odd).unwrap();
        assert_eq!((header.columns(), odd.first()[0].what.as_str()), (3, "CPU?"));
        let mut counts = vec![7, 10, 11, 12];
        header.keep_known(&mut counts, 1);
        assert_eq!(counts, [7, 10, 12]);
    }

    #[test]
    fn counts_stop_at_the_limit_and_at_words() {
        let (mut into, mut odd) = (vec![], Oddities::default());
        let mut read = |text: &'static str, limit| counts((1, "9"), text, limit, &mut into, &mut odd);
        assert_eq!(read("  1\t22 333 IO-APIC", 3), (Some(3), " IO-APIC"));
        assert_eq!(read(" 4 5-edge", 3), (Some(1), " 5-edge"));
        assert_eq!(read("", 3), (Some(0), ""));
        assert_eq!(read(" 18446744073709551616 7 x", 2), (None, " x"));
        assert_eq!(into, [1, 22, 333, 4, 7]);
        assert_eq!(odd.first().len(), 1);
        assert!(starts_with_count("  7 x") && !starts_with_count("7-edge") && !starts_with_count(""));
    }
}
