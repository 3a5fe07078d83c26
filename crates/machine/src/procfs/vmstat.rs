//! /proc/vmstat: what the kernel counts of memory on the whole machine (mm/vmstat.c).

use std::collections::BTreeMap;

use super::{Malformed, decimal};

/// Parses the file: counters and gauges by the kernel's own names. Which there are depends on its version and configuration.
pub fn parse(text: &str) -> Result<BTreeMap<&str, u64>, Malformed> {
    let mut counters = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let (name, value) =
            line.split_once(' ').ok_or_else(|| Malformed::new(index + 1, line, "has no value"))?;
        counters.insert(name, decimal(index + 1, name, value)?);
    }
    Ok(counters)
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
    fn a_torn_line_is_told() {
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
