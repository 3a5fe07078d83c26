//! Names from outside as values of labels.

use serde::Serialize;

/// The longest value of a label, characters.
const MOST_CHARACTERS: usize = 120;

/// What stands for a character that no screen should get.
const REPLACEMENT: char = '\u{fffd}';

/// A name as it is a value of a label, and a key of sums: two names that read alike are one, since no two samples may have the same labels.
pub(super) fn of_name(name: &str) -> String {
    let shown =
        |c: char| if machine::untrusted::text::is_hidden(c) || c.is_control() { REPLACEMENT } else { c };
    name.chars().take(MOST_CHARACTERS).map(shown).collect()
}

/// Threads of one kind: the name without the number at its end.
pub(super) fn of_group(comm: &str) -> String {
    let base = comm.trim_end_matches(|c: char| c.is_ascii_digit() || "-_/:#. ".contains(c));
    of_name(if base.is_empty() { comm } else { base })
}

/// What is one of a few, as JSON names it.
pub(super) fn of_kind(kind: &impl Serialize) -> String {
    match serde_json::to_value(kind) {
        Ok(serde_json::Value::String(name)) => name,
        _ => "unknown".into(),
    }
}

#[cfg(test)]
mod tests {
    use probe::account::{SleepReason, Source, TakerKind};

    use super::*;

    #[test]
    fn what_no_screen_should_get_is_replaced_and_long_names_are_cut() {
        assert_eq!(of_name("a\x1b[31m\r\nb\"\\"), "a\u{fffd}[31m\u{fffd}\u{fffd}b\"\\");
        assert_eq!(of_name(&"ä".repeat(200)).chars().count(), MOST_CHARACTERS);
    }

    #[test]
    fn threads_of_one_kind_have_one_name() {
        let names = ["worker-12", "worker-3", "io/7", "nginx", "42", "pool #1"];
        assert_eq!(names.map(of_group), ["worker", "worker", "io", "nginx", "42", "pool"]);
    }

    #[test]
    fn kinds_are_named_as_in_json() {
        assert_eq!(of_kind(&Source::SoftirqNetRx), "softirq_net_rx");
        assert_eq!(of_kind(&TakerKind::IdleCpu), "idle_cpu");
        assert_eq!(of_kind(&SleepReason::Futex), "futex");
    }
}
