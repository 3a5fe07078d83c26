//! Messages of netlink, most of them generic, as bytes: attributes, requests, answers (include/uapi/linux/netlink.h, genetlink.h).

use std::io;

/// `NLM_F_REQUEST`, `NLM_F_ACK`, `NLMSG_ERROR`, `NLA_F_NESTED` of netlink.h.
pub(crate) const REQUEST: u16 = 1;
const ACKNOWLEDGE: u16 = 4;
const ERROR: u16 = 2;
const NESTED: u16 = 0x8000;

/// One request. Who asks for an acknowledgement gets one at its end ([`acknowledged`]).
pub(crate) fn request(family: u16, command: u8, body: &[u8], acknowledge: bool) -> Vec<u8> {
    let flags = if acknowledge { REQUEST | ACKNOWLEDGE } else { REQUEST };
    message(family, flags, &[&[command, 1, 0, 0][..], body].concat())
}

/// A message with its header (`nlmsghdr`).
pub(crate) fn message(kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
    let length = 16 + body.len();
    let mut message = Vec::with_capacity(length);
    message.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_ne_bytes());
    message.extend_from_slice(&kind.to_ne_bytes());
    message.extend_from_slice(&flags.to_ne_bytes());
    message.extend_from_slice(&[0; 8]);
    message.extend_from_slice(body);
    message
}

/// The attributes of an answer, or the error that it is.
pub(crate) fn answer(message: &[u8]) -> io::Result<&[u8]> {
    match error_in(message)? {
        None => message.get(20..).ok_or_else(torn),
        Some(0) => Err(io::Error::new(io::ErrorKind::InvalidData, "an acknowledgement without an answer")),
        Some(code) => Err(refused(code)),
    }
}

/// Whether a request that asked for it was carried out. Errors: what the kernel refused it with.
pub fn acknowledged(message: &[u8]) -> io::Result<()> {
    match error_in(message)? {
        Some(0) => Ok(()),
        Some(code) => Err(refused(code)),
        None => Err(io::Error::new(io::ErrorKind::InvalidData, "an answer where an acknowledgement was due")),
    }
}

/// The code of an error message; 0 acknowledges.
fn error_in(message: &[u8]) -> io::Result<Option<i32>> {
    let kind =
        message.get(4..6).and_then(|b| Some(u16::from_ne_bytes(b.try_into().ok()?))).ok_or_else(torn)?;
    if kind != ERROR {
        return Ok(None);
    }
    let code = message.get(16..20).and_then(|b| Some(i32::from_ne_bytes(b.try_into().ok()?)));
    code.ok_or_else(torn).map(Some)
}

fn torn() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a torn netlink message")
}

fn refused(code: i32) -> io::Error {
    io::Error::from_raw_os_error(code.saturating_neg())
}

/// Text with the NUL that the kernel wants.
pub(super) fn terminated(text: &str) -> Vec<u8> {
    text.bytes().chain([0]).collect()
}

/// Appends one attribute: length, kind, value, padding to four bytes.
pub(crate) fn attribute(to: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
    to.extend_from_slice(&length.to_ne_bytes());
    to.extend_from_slice(&kind.to_ne_bytes());
    to.extend_from_slice(value);
    to.resize(to.len().next_multiple_of(4), 0);
}

/// Appends one attribute that holds attributes.
pub(super) fn nested(to: &mut Vec<u8>, kind: u16, fill: impl FnOnce(&mut Vec<u8>)) {
    let mut inside = Vec::new();
    fill(&mut inside);
    attribute(to, kind | NESTED, &inside);
}

/// The attributes of a message; a torn one ends the walk.
pub(crate) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(bytes.get(2..4)?.try_into().ok()?);
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind & !NESTED, value))
    })
}

/// A number of one, two or four bytes.
pub(crate) fn number(value: &[u8]) -> Option<u32> {
    match value.len() {
        1 => value.first().map(|byte| u32::from(*byte)),
        2 => Some(u32::from(u16::from_ne_bytes(value.try_into().ok()?))),
        4 => Some(u32::from_ne_bytes(value.try_into().ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_go_out_as_they_come_in() {
        let mut bytes = Vec::new();
        attribute(&mut bytes, 7, &3u32.to_ne_bytes());
        nested(&mut bytes, 8, |inside| inside.extend_from_slice(b"abc"));
        attribute(&mut bytes, 11, &[1]);
        let read: Vec<_> = attributes(&bytes).collect();
        assert_eq!(read, [(7, &3u32.to_ne_bytes()[..]), (8, &b"abc"[..]), (11, &[1][..])]);
        assert_eq!((number(read[0].1), number(read[1].1), number(read[2].1)), (Some(3), None, Some(1)));
    }

    #[test]
    fn errors_acknowledgements_and_torn_messages_are_distinguished() {
        let of = |code: i32| {
            let mut message = vec![36, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            message.extend_from_slice(&code.to_ne_bytes());
            message
        };
        let refused = of(-libc::EOPNOTSUPP);
        assert_eq!(answer(&refused).unwrap_err().raw_os_error(), Some(libc::EOPNOTSUPP));
        assert_eq!(acknowledged(&refused).unwrap_err().raw_os_error(), Some(libc::EOPNOTSUPP));
        assert!(acknowledged(&of(0)).is_ok() && answer(&of(0)).is_err());
        assert!(acknowledged(&request(20, 17, &[], false)).is_err());
        for length in 0..20 {
            assert!(answer(&refused[..length]).is_err() && acknowledged(&refused[..length]).is_err());
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_the_walk_panic_or_endless(bytes in proptest::collection::vec(0..=255u8, 0..64)) {
            proptest::prop_assert!(attributes(&bytes).count() <= 16);
            let _ = (answer(&bytes), acknowledged(&bytes));
        }
    }
}
