//! What is said of a file of hosts that cannot be taken, within bounds.

use machine::{Class, Fault};

/// Most hosts of a file or a flag: a range of a few characters can stand for any number.
pub(super) const MOST_HOSTS: usize = 10_000;

/// Most characters of a text from outside that an error quotes.
const MOST_QUOTED: usize = 200;

/// The same fault, about a line (from 1) of a file of hosts.
pub(super) fn located(file: &str, line: usize, fault: Fault) -> Fault {
    Fault { object: format!("{file}:{line}: {}", fault.object), ..fault }
}

/// More hosts than a study could ever have.
pub(super) fn too_many(object: &str) -> Fault {
    let cause = format!("there are more than {MOST_HOSTS}");
    Fault::new(
        Class::Usage,
        object,
        cause,
        "name fewer hosts, and see whether a range is longer than it should be",
    )
}

/// The beginning of a text from outside, as much of it as an error quotes.
pub(super) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(MOST_QUOTED) {
        None => text.to_string(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_quotes_the_beginning_of_a_long_text() {
        assert_eq!(excerpt("é"), "é");
        assert_eq!(excerpt(&"é".repeat(MOST_QUOTED)), "é".repeat(MOST_QUOTED));
        assert_eq!(excerpt(&"é".repeat(MOST_QUOTED + 1)), "é".repeat(MOST_QUOTED) + "...");
    }
}
