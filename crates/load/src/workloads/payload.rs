//! Messages that are sent through a server, and whether they came back as they were: lane and number in front, then bytes that are the same
//! in each message.

use crate::clock::monotonic_ns;

/// Lane and number: the smallest message.
pub(crate) const MARK_BYTES: usize = 12;

/// The body of every message, but for its mark.
#[derive(Debug, Clone)]
pub(crate) struct Bodies {
    /// As long as a body; its first [`MARK_BYTES`] are not used.
    filler: Vec<u8>,
}

impl Bodies {
    /// Bodies of this size, at least [`MARK_BYTES`]. No short pattern repeats in them, so that a shifted body differs.
    pub(crate) fn new(bytes: usize) -> Self {
        let mut x = 0x2545_f491u32;
        let next = || {
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
            (x >> 24) as u8
        };
        Self { filler: std::iter::repeat_with(next).take(bytes.max(MARK_BYTES)).collect() }
    }

    pub(crate) fn len(&self) -> usize {
        self.filler.len()
    }

    /// Appends the bytes `from..to` of this mark's body.
    pub(crate) fn put(&self, out: &mut Vec<u8>, mark: &[u8; MARK_BYTES], from: usize, to: usize) {
        out.extend(mark.get(from..to.min(MARK_BYTES)).unwrap_or_default());
        out.extend(self.filler.get(from.max(MARK_BYTES)..to).unwrap_or_default());
    }

    /// Whether `part` is what this mark's body has at `from`.
    pub(crate) fn same(&self, mark: &[u8; MARK_BYTES], from: usize, part: &[u8]) -> bool {
        let (in_mark, behind) = part.split_at(part.len().min(MARK_BYTES.saturating_sub(from)));
        let filler_from = from + in_mark.len();
        (in_mark.is_empty() || mark.get(from..from + in_mark.len()) == Some(in_mark))
            && self.filler.get(filler_from..filler_from + behind.len()) == Some(behind)
    }
}

/// A number for the names of what messages go through, which another process or an earlier run does not have. A connection adds its own.
pub(crate) fn of_this_run() -> u64 {
    (monotonic_ns() << 16) ^ u64::from(std::process::id())
}

/// The mark of a lane's message.
pub(crate) fn mark(lane: u32, number: u64) -> [u8; MARK_BYTES] {
    let mut mark = [0; MARK_BYTES];
    mark[..4].copy_from_slice(&lane.to_be_bytes());
    mark[4..].copy_from_slice(&number.to_be_bytes());
    mark
}

/// The number that a body says it has; none when it is too short for one.
pub(crate) fn number(body: &[u8]) -> Option<u64> {
    let bytes: [u8; 8] = body.get(4..MARK_BYTES)?.try_into().ok()?;
    Some(u64::from_be_bytes(bytes))
}

/// Which message a body says it is, in words; `of` says what the protocol calls a lane.
pub(crate) fn name(body: &[u8], of: impl FnOnce(u32) -> String) -> String {
    match (body.first_chunk::<4>(), number(body)) {
        (Some(lane), Some(number)) => format!("message {number} of {}", of(u32::from_be_bytes(*lane))),
        _ => "a message without a number".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_in_any_two_parts_is_the_same_body_and_no_other() {
        for bytes in [12, 13, 40] {
            let (bodies, of) = (Bodies::new(bytes), mark(3, 77));
            let mut body = Vec::new();
            bodies.put(&mut body, &of, 0, bytes);
            assert_eq!(body.len(), bytes);
            for cut in 0..=bytes {
                let mut parts = Vec::new();
                bodies.put(&mut parts, &of, 0, cut);
                bodies.put(&mut parts, &of, cut, bytes);
                assert_eq!(parts, body);
                assert!(bodies.same(&of, 0, &body[..cut]) && bodies.same(&of, cut, &body[cut..]), "{cut}");
                assert!(cut == 0 || !bodies.same(&mark(3, 78), 0, &body[..cut]) || cut < 12);
                if let Some(last) = body.get(cut) {
                    assert!(!bodies.same(&of, cut, &[last ^ 1]));
                }
            }
            assert!(!bodies.same(&of, bytes, b"x"), "more than the body");
        }
    }

    #[test]
    fn a_strange_message_is_named() {
        let of = |lane| format!("channel {}", lane + 1);
        assert_eq!(name(&mark(4, 9), of), "message 9 of channel 5");
        assert!(name(b"short", of).contains("without a number"));
    }
}
