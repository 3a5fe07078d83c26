//! Answers of a server as a person reads them: cut and escaped, and whether one is an error of a known protocol. Pure.

/// How much of an answer is shown, characters.
const SHOWN_CHARACTERS: usize = 120;

/// The start of an answer on one line, without characters that a terminal would obey: `-ERR unknown command\r\n`.
pub(crate) fn shown(answer: &[u8]) -> String {
    // A character has at most four bytes, so that nothing beyond these is ever shown.
    let text = String::from_utf8_lossy(&answer[..answer.len().min(4 * SHOWN_CHARACTERS)]);
    // Quotes stand as they are: what is shown is quoted by nobody.
    let escaped =
        |c: char| if matches!(c, '"' | '\'') { c.to_string() } else { c.escape_debug().to_string() };
    let pieces: String = text.chars().map(escaped).collect();
    let mut escaped = pieces.chars();
    let start: String = escaped.by_ref().take(SHOWN_CHARACTERS).collect();
    match escaped.next() {
        Some(_) => start + "...",
        None => start,
    }
}

/// Which protocol an answer is an error of; none where it may be anything else.
///
/// Sources: the Redis serialization protocol (simple errors; NATS and POP3 answer likewise), memcached's protocol.txt (error strings),
/// RFC 9110 (15.5 and 15.6), RFC 5321 (4.2).
pub(crate) fn protocol_of_error(answer: &[u8]) -> Option<&'static str> {
    let line = answer.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match () {
        () if is_redis_error(line) => Some("Redis, NATS or POP3"),
        () if is_memcached_error(line) => Some("memcached"),
        () if http_status(line).is_some_and(|status| (400..600).contains(&status)) => Some("HTTP"),
        () if is_mail_error(line) => Some("SMTP"),
        () => None,
    }
}

/// `-ERR unknown command`, `-NOAUTH Authentication required.`: a code in capitals, as no negative number has.
fn is_redis_error(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"-") else { return false };
    let code = rest.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
    let is_number = [&b"INF"[..], b"NAN", b"INFINITY"].contains(&&rest[..code]);
    code >= 3 && !is_number && rest.get(code).is_none_or(|byte| *byte == b' ')
}

fn is_memcached_error(line: &[u8]) -> bool {
    line == b"ERROR" || line.starts_with(b"CLIENT_ERROR ") || line.starts_with(b"SERVER_ERROR ")
}

/// The status of a line as HTTP/1 begins its answers.
pub(crate) fn http_status(line: &[u8]) -> Option<u16> {
    let rest = line.strip_prefix(b"HTTP/1.")?.get(1..)?.strip_prefix(b" ")?;
    let ends = rest.get(3).is_none_or(|byte| *byte == b' ');
    let digits = rest.get(..3).filter(|digits| ends && digits.iter().all(u8::is_ascii_digit))?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// `500 5.5.2 Error: bad syntax`, `502 Command not implemented`. A number and words alone could be a result.
fn is_mail_error(line: &[u8]) -> bool {
    let is_code = matches!(line, [b'5', b'0'..=b'5', b'0'..=b'9', b' ' | b'-', _, ..]);
    let words = String::from_utf8_lossy(line.get(4..).unwrap_or_default()).to_ascii_lowercase();
    is_code
        && ["5.", "error", "syntax error", "command ", "bad sequence"]
            .iter()
            .any(|start| words.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_protocols_are_known() {
        for (answer, protocol) in [
            ("-ERR unknown command 'x', with args beginning with: \r\n", "Redis"),
            ("-NOAUTH Authentication required.\r\n", "Redis"),
            ("-ERR\r\n", "Redis"),
            ("-ERR 'Unknown Protocol Operation'\r\n", "Redis"),
            ("ERROR\r\n", "memcached"),
            ("CLIENT_ERROR bad command line format\r\n", "memcached"),
            ("SERVER_ERROR out of memory\r\n", "memcached"),
            ("HTTP/1.1 404 Not Found\r\nServer: x\r\n\r\n", "HTTP"),
            ("HTTP/1.0 503\r\n", "HTTP"),
            ("500 5.5.2 Error: bad syntax\r\n", "SMTP"),
            ("500 Syntax error, command unrecognized\r\n", "SMTP"),
            ("502 Command not implemented\n", "SMTP"),
        ] {
            let found = protocol_of_error(answer.as_bytes());
            assert!(found.is_some_and(|found| found.starts_with(protocol)), "{answer:?}: {found:?}");
        }
    }

    #[test]
    fn other_answers_are_none() {
        for answer in [
            "",
            "\n",
            "+OK\r\n",
            "-5\r\n",
            "-\r\n",
            "--help\n",
            "-inf\n",
            "-INF\n",
            "-1 ERR\n",
            "ERRORS 0\n",
            "errors: 0\n",
            "ERROR_COUNT 0\n",
            "HTTP/1.1 200 OK\r\n",
            "HTTP/1.1 301 Moved\r\n",
            "HTTP/2 404\n",
            "404 Not Found\n",
            "500 items\n",
            "512 bytes\n",
            "550\n",
            "250 OK\r\n",
            "$5\r\nhello\r\n",
            "END\r\n",
            "599 command \n",
        ] {
            assert_eq!(protocol_of_error(answer.as_bytes()), None, "{answer:?}");
        }
    }

    #[test]
    fn answers_are_shown_escaped_and_cut() {
        assert_eq!(shown(b"-ERR no\r\n"), r"-ERR no\r\n");
        assert_eq!(shown(b"\x1b[31mred \"x\""), r#"\u{1b}[31mred "x""#);
        let long = shown(&[b'x'; 500]);
        assert_eq!(long, "x".repeat(120) + "...");
        assert_eq!(shown(&[b'x'; 119]), "x".repeat(119));
    }

    proptest::proptest! {
        #[test]
        fn any_answer_is_shown_on_one_line(answer in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..600)) {
            let shown = shown(&answer);
            proptest::prop_assert!(shown.chars().count() <= 123 && !shown.contains(char::is_control));
            let _ = protocol_of_error(&answer);
        }
    }
}
