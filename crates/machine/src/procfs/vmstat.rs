//! /proc/vmstat: what the kernel counts of memory on the whole machine (mm/vmstat.c).

use std::collections::BTreeMap;

use super::{Malformed, decimal};

/// A line of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter<'a> {
    /// The kernel's own name of the counter or gauge. Which there are depends on its version and configuration.
    pub name: &'a str,
    line: usize,
    value: &'a str,
}

impl Counter<'_> {
    /// Its value.
    ///
    /// # Errors
    /// When that is no number.
    pub fn value(&self) -> Result<u64, Malformed> {
        decimal(self.line, self.name, self.value)
    }
}

/// The lines of the file, one after the other: for who wants a few of the two hundred, many times a second. A line without a value is
/// an error.
pub fn counters(text: &str) -> impl Iterator<Item = Result<Counter<'_>, Malformed>> {
    text.lines().zip(1..).map(|(text, line)| {
        let (name, value) = text.split_once(' ').ok_or_else(|| Malformed::new(line, text, "has no value"))?;
        Ok(Counter { name, line, value })
    })
}

/// Parses the file: counters and gauges by name.
pub fn parse(text: &str) -> Result<BTreeMap<&str, u64>, Malformed> {
    counters(text).map(|counter| counter.and_then(|counter| Ok((counter.name, counter.value()?)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counters_by_name() {
        let counters = parse("pswpin 17\npswpout 0\nnuma_hint_faults 3\n").unwrap();
        assert_eq!(counters, BTreeMap::from([("pswpin", 17), ("pswpout", 0), ("numa_hint_faults", 3)]));
    }

    #[test]
    fn a_torn_line_is_reported() {
        for torn in ["pswpin", "pswpin \n", "pswpin 1\npswp", "pswpin -1"] {
            assert!(parse(torn).is_err(), "{torn:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "([a-z_]{0,6} ?[0-9-]{0,22}\n?){0,6}") {
            let _ = parse(&text);
        }
    }
}
