//! The fields of AMQP 0-9-1 methods (section 4.2.5 of the specification): read where they came, written where they go.

/// Reads fields one after another; none once they end too early.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn octet(&mut self) -> Option<u8> {
        self.take(1).map(|b| b[0])
    }

    pub(super) fn short(&mut self) -> Option<u16> {
        self.take(2).map(|b| u16::from_be_bytes([b[0], b[1]]))
    }

    pub(super) fn long(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_be_bytes)
    }

    pub(super) fn long_long(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_be_bytes)
    }

    /// At most 255 bytes.
    pub(super) fn short_text(&mut self) -> Option<&'a [u8]> {
        let size = self.octet()?;
        self.take(size.into())
    }

    /// Text or a table: its length, then its bytes.
    pub(super) fn long_text(&mut self) -> Option<&'a [u8]> {
        let size = self.long()?;
        self.take(size as usize)
    }
}

/// A value of a table, as far as we send any.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value<'a> {
    Yes(bool),
    Whole(i64),
    Text(&'a str),
    Table(&'a [(&'a str, Value<'a>)]),
}

/// Appends fields.
#[derive(Debug)]
pub(super) struct Writer<'a>(pub(super) &'a mut Vec<u8>);

impl Writer<'_> {
    pub(super) fn octet(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(super) fn short(&mut self, value: u16) {
        self.0.extend(value.to_be_bytes());
    }

    pub(super) fn long(&mut self, value: u32) {
        self.0.extend(value.to_be_bytes());
    }

    pub(super) fn long_long(&mut self, value: u64) {
        self.0.extend(value.to_be_bytes());
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    /// What is beyond 255 bytes is cut off; the options are checked before, so that nothing of ours is.
    pub(super) fn short_text(&mut self, text: &str) {
        let bytes = &text.as_bytes()[..text.len().min(255)];
        self.octet(bytes.len() as u8);
        self.bytes(bytes);
    }

    pub(super) fn long_text(&mut self, bytes: &[u8]) {
        self.long(bytes.len() as u32);
        self.bytes(bytes);
    }

    pub(super) fn table(&mut self, entries: &[(&str, Value<'_>)]) {
        let start = self.0.len();
        self.long(0);
        for (name, value) in entries {
            self.short_text(name);
            match value {
                Value::Yes(yes) => self.bytes(&[b't', u8::from(*yes)]),
                Value::Whole(whole) => {
                    self.octet(b'l');
                    self.bytes(&whole.to_be_bytes());
                }
                Value::Text(text) => {
                    self.octet(b'S');
                    self.long_text(text.as_bytes());
                }
                Value::Table(entries) => {
                    self.octet(b'F');
                    self.table(entries);
                }
            }
        }
        let size = (self.0.len() - start - 4) as u32;
        self.0[start..start + 4].copy_from_slice(&size.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_back_and_never_beyond_the_end() {
        let mut out = Vec::new();
        let mut w = Writer(&mut out);
        w.octet(1);
        w.short(2);
        w.long(3);
        w.long_long(4);
        w.short_text("five");
        w.long_text(b"six");
        for cut in 0..=out.len() {
            let mut r = Reader(&out[..cut]);
            let read = (r.octet(), r.short(), r.long(), r.long_long(), r.short_text(), r.long_text());
            let whole = (Some(1), Some(2), Some(3), Some(4), Some(&b"five"[..]), Some(&b"six"[..]));
            assert_eq!(read == whole, cut == out.len(), "{cut}");
        }
    }

    #[test]
    fn a_table_says_its_size_and_kinds() {
        let mut out = Vec::new();
        let inner = [("yes", Value::Yes(true))];
        Writer(&mut out).table(&[
            ("t", Value::Table(&inner)),
            ("n", Value::Whole(-1)),
            ("s", Value::Text("x")),
        ]);
        let expected: &[u8] =
            b"\0\0\0\x20\x01tF\0\0\0\x06\x03yest\x01\x01nl\xff\xff\xff\xff\xff\xff\xff\xff\x01sS\0\0\0\x01x";
        assert_eq!(out, expected);
    }
}
