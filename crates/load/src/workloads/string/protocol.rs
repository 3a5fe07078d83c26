//! What the string server answers: the line turned round, and a digest that only the work can give.

use std::io::Write;

use super::work::digest;

/// The longest line, without its end, that the server takes, bytes.
pub const LONGEST_LINE_BYTES: usize = 4096;

/// How many different lines the client sends in turn.
pub const LINES: usize = 64;

/// Appends the answer to `line` (without its end) to `out`: the line reversed, a blank, 16 hexadecimal digits of
/// [`digest`] after `rounds` rounds, a line feed.
pub fn answer(line: &[u8], rounds: u64, out: &mut Vec<u8>) {
    out.extend(line.iter().rev());
    // Writing to a Vec cannot fail.
    let _ = writeln!(out, " {:016x}", digest(line, rounds));
}

/// The answer to a line that is too long.
pub fn too_long() -> &'static [u8] {
    b"error: line too long\n"
}

/// The `n`th request line of the load generator, its end included. They differ, so that a server cannot answer
/// from a cache of one, and an answer that belongs to another request is noticed.
pub fn request(n: usize) -> Vec<u8> {
    format!("pinwise asks {:08x} a short line\n", (n as u32).wrapping_mul(0x9e37_79b1)).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_depends_on_the_line_and_on_the_work() {
        let of = |line: &[u8], rounds| {
            let mut out = Vec::new();
            answer(line, rounds, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert!(of(b"abc", 10).starts_with("cba ") && of(b"abc", 10).ends_with('\n'));
        assert_eq!(of(b"abc", 10).len(), 3 + 1 + 16 + 1);
        assert_eq!(of(b"abc", 10), of(b"abc", 10));
        assert_ne!(of(b"abc", 10), of(b"abc", 11));
        assert_ne!(of(b"abc", 10)[4..], of(b"abd", 10)[4..]);
    }

    #[test]
    fn request_lines_differ_and_end() {
        let lines: std::collections::BTreeSet<Vec<u8>> = (0..LINES).map(request).collect();
        assert_eq!(lines.len(), LINES);
        assert!(lines.iter().all(|l| l.ends_with(b"\n") && l.iter().filter(|b| **b == b'\n').count() == 1));
    }
}
