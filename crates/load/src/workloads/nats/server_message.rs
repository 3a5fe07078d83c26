//! What a NATS server says: lines of text that end with CR LF, and behind a `MSG` line so many bytes (client protocol of NATS).

use serde::Deserialize;

/// A line longer than this is none, bytes: `INFO` of a large cluster names all its servers.
const LONGEST_LINE_BYTES: usize = 64 << 10;

/// How much of what is not understood is shown, bytes.
const SHOWN_BYTES: usize = 60;

/// One thing that the server says, in the bytes that it came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Said<'a> {
    /// Who it is and what it takes; at the start, and whenever that changes.
    Info(Info),
    /// A message for one of our subscriptions.
    Message {
        subject: &'a [u8],
        /// The number that we gave the subscription.
        subscription: u64,
        payload: &'a [u8],
    },
    /// It asks for a sign of life.
    Ping,
    /// Everything that stood before our PING is done.
    Pong,
    /// Something is done; only said when asked for.
    Ok,
    /// Something is refused; the words are the server's.
    Err(&'a [u8]),
}

/// What of `INFO` matters to a client. What is not said is not asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub(super) struct Info {
    /// The largest message that it takes, bytes; 0 where it does not say.
    pub(super) max_payload: u64,
    pub(super) auth_required: bool,
    pub(super) tls_required: bool,
    /// Lame duck mode: it is about to end, and asks its clients to go elsewhere.
    #[serde(rename = "ldm")]
    pub(super) ends_soon: bool,
}

/// The first thing in `came`, and how many bytes it is; none while more must come. Fails when no NATS server says that, or when a message has
/// more than `longest_payload` bytes.
pub(super) fn first(came: &[u8], longest_payload: usize) -> Result<Option<(usize, Said<'_>)>, String> {
    let Some(end) = came.iter().position(|byte| *byte == b'\n') else {
        return match came.len() > LONGEST_LINE_BYTES {
            true => Err(format!("a line has no end after {LONGEST_LINE_BYTES} bytes")),
            false => Ok(None),
        };
    };
    let line = came[..end].strip_suffix(b"\r").unwrap_or(&came[..end]);
    let behind = end + 1;
    let (operation, rest) = word(line);
    let whole = |said| Ok(Some((behind, said)));
    match operation {
        _ if is(operation, b"MSG") => message(came, behind, rest, longest_payload),
        _ if is(operation, b"PING") => whole(Said::Ping),
        _ if is(operation, b"PONG") => whole(Said::Pong),
        _ if is(operation, b"+OK") => whole(Said::Ok),
        _ if is(operation, b"-ERR") => whole(Said::Err(rest.trim_ascii())),
        _ if is(operation, b"INFO") => {
            let info =
                serde_json::from_slice(rest).map_err(|why| format!("its INFO cannot be read: {why}"))?;
            whole(Said::Info(info))
        }
        _ => Err(format!("it does not speak NATS: {:?} came", shown(line))),
    }
}

/// The bytes of a message behind its line: `subject subscription [reply-to] size`.
fn message<'a>(
    came: &'a [u8],
    behind: usize,
    line: &'a [u8],
    longest_payload: usize,
) -> Result<Option<(usize, Said<'a>)>, String> {
    let malformed = || format!("a line of a message cannot be read: {:?}", shown(line));
    let (subject, rest) = word(line);
    let (subscription, rest) = word(rest);
    let (third, rest) = word(rest);
    let (fourth, rest) = word(rest);
    let size = if fourth.is_empty() { third } else { fourth };
    let subscription = number(subscription).filter(|_| rest.is_empty()).ok_or_else(malformed)?;
    let size = number(size).and_then(|size| usize::try_from(size).ok()).ok_or_else(malformed)?;
    if size > longest_payload {
        return Err(format!("a message of {size} bytes came, where {longest_payload} are the most"));
    }
    match (came.get(behind..behind + size), came.get(behind + size..behind + size + 2)) {
        (Some(payload), Some(b"\r\n")) => {
            Ok(Some((behind + size + 2, Said::Message { subject, subscription, payload })))
        }
        (_, None) => Ok(None),
        _ => Err("a message came that does not end where it says".into()),
    }
}

fn is(operation: &[u8], name: &[u8]) -> bool {
    operation.eq_ignore_ascii_case(name)
}

/// The first word, and what stands behind it.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = text.iter().position(|byte| !is_blank(byte)).unwrap_or(text.len());
    let text = &text[start..];
    text.split_at(text.iter().position(is_blank).unwrap_or(text.len()))
}

fn number(digits: &[u8]) -> Option<u64> {
    let digits = digits.iter().all(u8::is_ascii_digit).then_some(digits)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The start of some bytes as text.
pub(super) fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_BYTES)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_whole_is_read_and_what_is_not_is_waited_for() {
        let message = |payload| Said::Message { subject: b"a.b", subscription: 12, payload };
        for (came, said) in [
            (&b"MSG a.b 12 5\r\nhello\r\n"[..], message(b"hello")),
            (b"msg\ta.b  12 reply.to 5\r\nhe\r\no\r\n", message(b"he\r\no")),
            (b"MSG a.b 12 0\r\n\r\n", message(b"")),
            (b"PING\r\n", Said::Ping),
            (b"PONG\r\n", Said::Pong),
            (b"+OK\r\n", Said::Ok),
            (b"-ERR 'Slow Consumer'\r\n", Said::Err(b"'Slow Consumer'")),
            (b"INFO {\"max_payload\":7} \r\n", Said::Info(Info { max_payload: 7, ..Info::default() })),
        ] {
            assert_eq!(first(came, 5), Ok(Some((came.len(), said))), "{}", shown(came));
            for cut in 0..came.len() {
                assert_eq!(first(&came[..cut], 5), Ok(None), "{} cut at {cut}", shown(came));
            }
        }
    }

    #[test]
    fn what_no_server_says_is_refused_in_words() {
        let error = |came: &[u8]| first(came, 5).unwrap_err();
        assert!(error(b"HTTP/1.1 400 Bad Request\r\n").contains("HTTP/1.1 400"));
        assert!(error(b"INFO {\r\n").contains("INFO"));
        assert!(error(b"MSG a 1 6\r\n").contains("6 bytes"), "before its bytes are there");
        assert!(error(b"MSG a 1 2\r\nabc\r\n").contains("does not end"));
        for line in
            ["MSG a 1", "MSG a b 2", "MSG a 1 -2", "MSG a 1 r 2 3", "MSG", "MSG a 1 99999999999999999999"]
        {
            assert!(error(format!("{line}\r\n").as_bytes()).contains("cannot be read"), "{line}");
        }
        assert!(error(&vec![b'x'; LONGEST_LINE_BYTES + 1]).contains("no end"));
    }
}
