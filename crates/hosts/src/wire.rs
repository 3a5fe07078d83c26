//! Lines of JSON over a pipe, within bounds: what the other end sends is not trusted.

use std::io::{BufRead, ErrorKind, Read, Write};

use machine::{Class, Fault};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The longest line: the documents of 256 processes with their histograms, or a capture of a large machine, are far shorter.
pub const LONGEST_LINE_BYTES: u64 = 256 << 20;

/// Writes a message as one line.
///
/// # Errors
/// The other end does not read any more.
pub fn send(to: &mut dyn Write, message: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// The next message; `None` at the end of the input, also where that cuts a line short.
///
/// # Errors
/// The line is no message, or longer than [`LONGEST_LINE_BYTES`]; the input cannot be read.
pub fn receive<T: DeserializeOwned>(from: &mut dyn BufRead, other_end: &str) -> Result<Option<T>, Fault> {
    let fault = |cause: String, remedy: &str| Fault::new(Class::WorkloadFailed, other_end, cause, remedy);
    let mut line = Vec::new();
    let read = from.take(LONGEST_LINE_BYTES).read_until(b'\n', &mut line);
    match read {
        Ok(_) if line.last() == Some(&b'\n') => {}
        Ok(bytes) if bytes as u64 == LONGEST_LINE_BYTES => {
            return Err(fault(format!("sent a line of more than {LONGEST_LINE_BYTES} bytes"), IMPOSTOR));
        }
        Ok(_) => return Ok(None),
        Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => {
            return Ok(None);
        }
        Err(error) => return Err(fault(error.to_string(), "try again")),
    }
    serde_json::from_slice(&line).map(Some).map_err(|error| {
        let start: String = String::from_utf8_lossy(&line).chars().take(120).collect();
        fault(format!("sent what is not a message ({error}): {}", start.trim_end()), IMPOSTOR)
    })
}

/// What most often prints into the stream.
const IMPOSTOR: &str =
    "its login shell may print something: let ~/.bashrc and its like be silent without a terminal";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Ask, Request};

    fn read(text: &[u8]) -> Result<Option<Request>, Fault> {
        receive(&mut &text[..], "host b")
    }

    #[test]
    fn a_message_comes_through_and_the_end_is_none() {
        let message = Request { id: 1, ask: Ask::Clock };
        let mut pipe = Vec::new();
        send(&mut pipe, &message).unwrap();
        assert_eq!(read(&pipe).unwrap(), Some(message));
        assert_eq!(read(b"").unwrap(), None);
        assert_eq!(read(&pipe[..pipe.len() - 3]).unwrap(), None, "cut short");
    }

    #[test]
    fn what_a_login_shell_prints_is_shown_and_explained() {
        let fault = read(b"Welcome to Ubuntu\n").unwrap_err().to_string();
        assert!(fault.contains("host b") && fault.contains("Welcome to Ubuntu") && fault.contains("bashrc"));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..80)) {
            let _ = read(&bytes);
        }
    }
}
