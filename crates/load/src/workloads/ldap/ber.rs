//! The pieces of BER (X.690, as RFC 4511 section 5.1 narrows it: definite lengths, tags of one byte) that the driver needs.

/// Appends one element: tag, length, and what `content` appends. Lengths are the shortest possible, as libldap writes them.
pub(super) fn element(out: &mut Vec<u8>, tag: u8, content: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(&[tag, 0]);
    let from = out.len();
    content(out);
    let length = out.len() - from;
    if length < 0x80 {
        out[from - 1] = length as u8;
        return;
    }
    // The one byte kept free is too few: what lies behind it moves.
    let bytes = (length as u64).to_be_bytes();
    let bytes = &bytes[length.leading_zeros() as usize / 8..];
    out[from - 1] = 0x80 | bytes.len() as u8;
    out.extend_from_slice(bytes);
    out[from..].rotate_right(bytes.len());
}

/// Appends an element of these bytes.
pub(super) fn octets(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    element(out, tag, |out| out.extend_from_slice(bytes));
}

/// Appends a number that is not negative.
pub(super) fn number(out: &mut Vec<u8>, tag: u8, number: u32) {
    let bytes = number.to_be_bytes();
    // Two's complement: the first bit is the sign, so a number may need a zero byte in front.
    let skip = (0..3).take_while(|at| bytes[*at] == 0 && bytes[at + 1] < 0x80).count();
    match bytes[skip] < 0x80 {
        true => octets(out, tag, &bytes[skip..]),
        false => element(out, tag, |out| {
            out.push(0);
            out.extend_from_slice(&bytes);
        }),
    }
}

/// Why bytes cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// The end is not there yet.
    Torn,
    /// It is no BER, or not what LDAP allows of it.
    Malformed,
}

/// Elements one after the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    /// The next element: its tag and its content.
    pub(super) fn next(&mut self) -> Result<(u8, &'a [u8]), Unreadable> {
        let [tag, first, rest @ ..] = self.0 else { return Err(self.unfinished()) };
        if tag & 0x1f == 0x1f {
            return Err(Unreadable::Malformed);
        }
        let (length, rest) = match *first {
            short @ ..0x80 => (usize::from(short), rest),
            // Indefinite, or more than 4 GB.
            0x80 | 0x85.. => return Err(Unreadable::Malformed),
            long => {
                let (bytes, rest) =
                    rest.split_at_checked(usize::from(long & 0x7f)).ok_or(Unreadable::Torn)?;
                (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
            }
        };
        let (content, rest) = rest.split_at_checked(length).ok_or(Unreadable::Torn)?;
        self.0 = rest;
        Ok((*tag, content))
    }

    /// The content of the next element, which has to have this tag.
    pub(super) fn expect(&mut self, tag: u8) -> Result<&'a [u8], Unreadable> {
        match self.next()? {
            (found, content) if found == tag => Ok(content),
            _ => Err(Unreadable::Malformed),
        }
    }

    fn unfinished(&self) -> Unreadable {
        match self.0.first() {
            Some(tag) if tag & 0x1f == 0x1f => Unreadable::Malformed,
            _ => Unreadable::Torn,
        }
    }
}

/// The number in the content of an element; none when it is negative or does not fit.
pub(super) fn number_of(content: &[u8]) -> Option<u32> {
    match content {
        [] | [0x80..=0xff, ..] => None,
        [0, rest @ ..] | rest if rest.len() <= 4 => {
            Some(rest.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_have_the_shortest_form() {
        let of = |value| {
            let mut out = Vec::new();
            number(&mut out, 2, value);
            out
        };
        assert_eq!(of(0), [2, 1, 0]);
        assert_eq!(of(127), [2, 1, 127]);
        assert_eq!(of(128), [2, 2, 0, 128]);
        assert_eq!(of(256), [2, 2, 1, 0]);
        assert_eq!(of(0x7fff_ffff), [2, 4, 0x7f, 0xff, 0xff, 0xff]);
        assert_eq!(of(0x8000_0000), [2, 5, 0, 0x80, 0, 0, 0]);
    }

    #[test]
    fn what_ldap_does_not_allow_is_malformed() {
        for bytes in [&[0x30, 0x80][..], &[0x30, 0x85, 0, 0], &[0x1f], &[0x3f, 0x81]] {
            assert_eq!(Reader(bytes).next(), Err(Unreadable::Malformed), "{bytes:x?}");
        }
        for bytes in
            [&[][..], &[0x30], &[0x30, 2, 0], &[0x30, 0x82, 1], &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff, 0]]
        {
            assert_eq!(Reader(bytes).next(), Err(Unreadable::Torn), "{bytes:x?}");
        }
        assert_eq!(Reader(&[4, 0x84, 0, 0, 0, 1, 9]).next(), Ok((4, &[9][..])), "a longer form is allowed");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(value: u32, content in prop::collection::vec(any::<u8>(), 0..70_000)) {
            let mut out = vec![7];
            element(&mut out, 0x30, |out| {
                number(out, 0x02, value);
                octets(out, 0x04, &content);
            });
            let mut message = Reader(&out[1..]);
            let mut inner = Reader(message.expect(0x30).unwrap());
            prop_assert!(message.0.is_empty());
            prop_assert_eq!(number_of(inner.expect(0x02).unwrap()), Some(value));
            prop_assert_eq!(inner.expect(0x04).unwrap(), &content[..]);
            prop_assert!(inner.0.is_empty());
        }

        #[test]
        fn nothing_panics(bytes: Vec<u8>) {
            let mut reader = Reader(&bytes);
            while let Ok((_, content)) = reader.next() {
                let _ = number_of(content);
            }
        }
    }
}
