//! What /proc/interrupts and /proc/softirqs share: a header of CPU columns and rows of counts.

use super::Malformed;

/// Reads the header, `CPU0 CPU1 CPU5 ...`: rising numbers, with holes where CPUs are offline.
pub(super) fn header(line: &str) -> Result<Vec<u32>, Malformed> {
    let mut cpus: Vec<u32> = Vec::with_capacity(line.len() / 8);
    for word in line.split_ascii_whitespace() {
        let cpu = word
            .strip_prefix("CPU")
            .filter(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
            .and_then(|digits| digits.parse::<u32>().ok())
            .filter(|cpu| *cpu < crate::cpuset::HIGHEST)
            .ok_or_else(|| Malformed::new(1, word, "the header must name CPU columns (CPU0 CPU1 ...)"))?;
        if cpus.last().is_some_and(|last| *last >= cpu) {
            return Err(Malformed::new(1, word, "the CPU columns are not in rising order"));
        }
        cpus.push(cpu);
    }
    match cpus.is_empty() {
        true => Err(Malformed::new(1, line, "the header names no CPU")),
        false => Ok(cpus),
    }
}

/// Reads up to `limit` counts from the front of `text`, appends them to `into`, and returns how many there were and the
/// text behind them. It stops at the first word that is no plain decimal number.
pub(super) fn counts<'a>(
    line: usize,
    text: &'a str,
    limit: usize,
    into: &mut Vec<u64>,
) -> Result<(usize, &'a str), Malformed> {
    let bytes = text.as_bytes();
    let (mut at, mut taken) = (0, 0);
    while taken < limit {
        let start = at + bytes[at..].iter().take_while(|b| is_blank(**b)).count();
        let Some((value, end)) = number(bytes, start) else { break };
        into.push(value.ok_or_else(|| Malformed::new(line, &text[start..end], "the count is past 64 bits"))?);
        at = end;
        taken += 1;
    }
    Ok((taken, &text[at..]))
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

    #[test]
    fn a_header_may_have_holes_and_must_be_a_header() {
        assert_eq!(header("     CPU0  CPU2  CPU1025 ").unwrap(), [0, 2, 1025]);
        for bad in
            ["", "   ", "CPU", "CPU0 CPU0", "CPU1 CPU0", "CPU0 cpu1", "CPU-1", "CPU99999999999", "24: 1 2"]
        {
            assert!(header(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn counts_stop_at_the_limit_and_at_words() {
        let mut into = vec![];
        assert_eq!(counts(1, "  1\t22 333 IO-APIC", 3, &mut into).unwrap(), (3, " IO-APIC"));
        assert_eq!(counts(1, " 4 5-edge", 3, &mut into).unwrap(), (1, " 5-edge"));
        assert_eq!(counts(1, "", 3, &mut into).unwrap(), (0, ""));
        assert_eq!(into, [1, 22, 333, 4]);
        assert!(counts(1, "18446744073709551616", 1, &mut into).is_err());
        assert!(starts_with_count("  7 x") && !starts_with_count("7-edge") && !starts_with_count(""));
    }
}
