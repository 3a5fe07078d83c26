//! AMQP 0-9-1 frames: type, channel, size, payload, end mark (section 4.2.3 of the specification).

use super::field::Writer;

/// A method frame.
pub(super) const METHOD: u8 = 1;
/// The header of a message's content: class, size, properties.
pub(super) const HEADER: u8 = 2;
/// Bytes of a message.
pub(super) const BODY: u8 = 3;
/// A sign of life.
pub(super) const HEARTBEAT: u8 = 8;

/// What every frame ends with.
const END: u8 = 0xce;
/// Type, channel and size, before the payload.
const HEAD_BYTES: usize = 7;
/// What a frame has beside its payload.
pub(super) const OVERHEAD_BYTES: usize = HEAD_BYTES + 1;

/// One frame, in the bytes that it came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame<'a> {
    pub(super) kind: u8,
    pub(super) channel: u16,
    pub(super) payload: &'a [u8],
}

impl Frame<'_> {
    /// All of it, bytes.
    pub(super) fn len(&self) -> usize {
        self.payload.len() + OVERHEAD_BYTES
    }
}

/// The first frame of `came`; none while more must come. Fails when no server that keeps the rules sends these bytes: another type, more
/// than `longest` bytes, another end.
pub(super) fn first(came: &[u8], longest: usize) -> Result<Option<Frame<'_>>, String> {
    let Some(&kind) = came.first() else { return Ok(None) };
    if !matches!(kind, METHOD | HEADER | BODY | HEARTBEAT) {
        return Err(no_frame(came));
    }
    let Some((head, rest)) = came.split_at_checked(HEAD_BYTES) else { return Ok(None) };
    let channel = u16::from_be_bytes([head[1], head[2]]);
    let size = u32::from_be_bytes([head[3], head[4], head[5], head[6]]) as usize;
    if size.saturating_add(OVERHEAD_BYTES) > longest {
        return Err(format!("a frame of {size} bytes came, and at most {longest} were agreed on"));
    }
    match (rest.get(..size), rest.get(size)) {
        (Some(payload), Some(&END)) => Ok(Some(Frame { kind, channel, payload })),
        (_, None) => Ok(None),
        _ => Err("a frame came that does not end where it says".into()),
    }
}

/// A broker that speaks another version answers with the header of its own.
fn no_frame(came: &[u8]) -> String {
    match came.starts_with(b"AMQP".get(..came.len().min(4)).unwrap_or_default()) {
        true => "it speaks another version of AMQP than 0-9-1".into(),
        false => {
            let shown = String::from_utf8_lossy(&came[..came.len().min(20)]).into_owned();
            format!("it does not speak AMQP: {shown:?} came")
        }
    }
}

/// Appends a frame; `fill` writes its payload.
pub(super) fn put(out: &mut Vec<u8>, kind: u8, channel: u16, fill: impl FnOnce(&mut Writer<'_>)) {
    let start = out.len();
    out.push(kind);
    out.extend(channel.to_be_bytes());
    out.extend([0; 4]);
    fill(&mut Writer(out));
    let size = (out.len() - start - HEAD_BYTES) as u32;
    out[start + 3..start + HEAD_BYTES].copy_from_slice(&size.to_be_bytes());
    out.push(END);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_read_back() {
        let mut out = Vec::new();
        put(&mut out, BODY, 513, |w| w.bytes(b"hello"));
        assert_eq!(out, b"\x03\x02\x01\0\0\0\x05hello\xce");
        let frame = first(&out, 100).unwrap().unwrap();
        assert_eq!(frame, Frame { kind: BODY, channel: 513, payload: b"hello" });
        assert_eq!(frame.len(), out.len());
        for cut in 0..out.len() {
            assert_eq!(first(&out[..cut], 100), Ok(None), "{cut} bytes are not enough");
        }
    }

    #[test]
    fn what_no_broker_sends_is_refused_in_words() {
        let error = |came: &[u8]| first(came, 100).unwrap_err();
        assert!(error(b"AMQP\x01\x01\0\x09").contains("another version"));
        assert!(error(b"A").contains("another version"));
        assert!(error(b"HTTP/1.1 400").contains("HTTP/1.1 400"));
        assert!(error(b"\x01\0\0\0\0\x10\0").contains("4096 bytes"), "before its payload is there");
        assert!(error(b"\x01\0\0\0\0\0\x01x\xcf").contains("does not end"));
        assert!(error(b"\x01\0\0\xff\xff\xff\xff").contains("4294967295"));
    }
}
