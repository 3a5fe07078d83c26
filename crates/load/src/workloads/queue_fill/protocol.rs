//! The protocol of the built-in queue server: frames of a kind (1 byte), a length (8 bytes, little-endian) and so many bytes.
//!
//! | client | server |
//! |---|---|
//! | `P`, message | `K`, 8 bytes: messages that are kept now |
//! | `G`, nothing | `M`, the oldest message, which is forgotten; or `E`, nothing: there is none |
//! | `C`, nothing | `N`, 16 bytes: messages, and bytes of messages, that are kept |

/// Kind and length.
pub const HEAD_BYTES: usize = 9;

/// No message is longer, bytes: a length beyond it is no request.
pub const LONGEST_BYTES: u64 = 1 << 30;

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Keep this message behind the others.
    Put,
    /// Give the oldest message.
    Get,
    /// Say what is kept.
    Count,
    /// It is kept.
    Kept,
    /// The oldest message.
    Message,
    /// There is no message.
    Empty,
    /// What is kept.
    Counts,
}

impl Kind {
    const ALL: [(Self, u8); 7] = [
        (Self::Put, b'P'),
        (Self::Get, b'G'),
        (Self::Count, b'C'),
        (Self::Kept, b'K'),
        (Self::Message, b'M'),
        (Self::Empty, b'E'),
        (Self::Counts, b'N'),
    ];

    fn byte(self) -> u8 {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or(0, |(_, byte)| *byte)
    }

    fn of(byte: u8) -> Option<Self> {
        Self::ALL.iter().find(|(_, of)| *of == byte).map(|(kind, _)| *kind)
    }
}

/// The head of a frame.
pub fn head(kind: Kind, bytes: u64) -> [u8; HEAD_BYTES] {
    let mut head = [kind.byte(); HEAD_BYTES];
    head[1..].copy_from_slice(&bytes.to_le_bytes());
    head
}

/// What a frame's head says: its kind and how many bytes follow; none when nobody who speaks the protocol sends it.
pub fn read_head(head: &[u8; HEAD_BYTES]) -> Option<(Kind, u64)> {
    let [kind, bytes @ ..] = head;
    let bytes = u64::from_le_bytes(*bytes);
    Some((Kind::of(*kind)?, bytes)).filter(|_| bytes <= LONGEST_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_was_written_and_others_are_none() {
        for (kind, byte) in Kind::ALL {
            assert_eq!(read_head(&head(kind, 77)), Some((kind, 77)));
            assert_eq!(head(kind, 77)[0], byte);
        }
        assert_eq!(read_head(b"GET / HTT"), None, "a length that no message has");
        assert_eq!(read_head(b"x\0\0\0\0\0\0\0\0"), None);
        assert_eq!(read_head(&head(Kind::Put, LONGEST_BYTES + 1)), None);
    }
}
