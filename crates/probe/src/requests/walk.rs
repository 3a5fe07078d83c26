//! A walk through a table of the kernel that may change meanwhile. Pure.

use std::fmt::Display;

/// Entries of a table that are read at most: twice as many as the largest has room for. Entries that are removed meanwhile make the kernel
/// begin anew with those that it has shown.
pub(super) const MOST_READ: usize = 1 << 17;

/// Shows entries to `see`, those of a table that changes perhaps twice; `most` are read. Why some may not have been shown; `None`: all
/// were.
pub(super) fn walk<K, V, E: Display>(
    entries: impl Iterator<Item = Result<(K, V), E>>,
    most: usize,
    mut see: impl FnMut(K, V),
) -> Option<String> {
    let mut why = None;
    for (read, entry) in entries.enumerate() {
        if read == most {
            return Some(format!("they changed so fast that {most} readings did not reach the last one"));
        }
        match entry {
            Ok((key, value)) => see(key, value),
            Err(e) => why = Some(e.to_string()),
        }
    }
    why
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is shown of these entries, and why there may be more.
    fn walked(entries: impl Iterator<Item = Result<(u32, u32), &'static str>>) -> (Vec<u32>, Option<String>) {
        let mut seen = Vec::new();
        let why = walk(entries, 3, |key, _| seen.push(key));
        (seen, why)
    }

    #[test]
    fn a_table_that_never_ends_is_left_and_one_that_is_as_long_is_not() {
        let (seen, why) = walked((0..).map(|key| Ok((key % 2, 0))));
        assert_eq!(seen, [0, 1, 0]);
        assert!(why.unwrap().contains("3 readings"));
        assert_eq!(walked((0..3).map(|key| Ok((key, 0)))), (vec![0, 1, 2], None));
    }

    #[test]
    fn an_entry_that_cannot_be_read_is_said_and_the_others_are_shown() {
        let (seen, why) = walked([Ok((1, 0)), Err("refused"), Ok((2, 0))].into_iter());
        assert_eq!((seen, why.as_deref()), (vec![1, 2], Some("refused")));
    }
}
