//! /proc/vmstat: what the kernel counts of memory on the whole machine (mm/vmstat.c).

use std::collections::BTreeMap;

use super::{Malformed, Oddities, decimal};

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
/// an error, and so is one whose name is none: it may be that of any counter.
pub fn counters(text: &str) -> impl Iterator<Item = Result<Counter<'_>, Malformed>> {
    text.lines().zip(1..).map(|(text, line)| {
        let (name, value) = text.split_once(' ').ok_or_else(|| Malformed::new(line, text, "has no value"))?;
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Err(Malformed::new(line, name, "is not a name of a counter"));
        }
        Ok(Counter { name, line, value })
    })
}

/// Counters and gauges by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Vmstat<'a> {
    /// Those that the file has; `None` where one is no number.
    pub counters: BTreeMap<&'a str, Option<u64>>,
    /// Lines without a value, and values that are no numbers.
    pub odd: Oddities,
}

impl Vmstat<'_> {
    /// The sum of the counters with these names; `None` where there are none, or one of them is not known.
    pub fn sum(&self, belongs: impl Fn(&str) -> bool) -> Option<u64> {
        let mut sum: Option<u64> = None;
        for (_, value) in self.counters.iter().filter(|(name, _)| belongs(name)) {
            sum = Some(sum.unwrap_or(0).checked_add((*value)?)?);
        }
        sum
    }
}

/// Parses the file.
///
/// # Errors
/// No counter of it can be read.
pub fn parse(text: &str) -> Result<Vmstat<'_>, Malformed> {
    let mut vmstat = Vmstat::default();
    for counter in counters(text) {
        if let Some(counter) = vmstat.odd.keep(counter) {
            let value = vmstat.odd.keep(counter.value());
            vmstat.counters.insert(counter.name, value);
        }
    }
    match vmstat.counters.values().all(Option::is_none) && !vmstat.odd.is_empty() {
        true => Err(vmstat.odd.first_or(Malformed::new(1, "", "there is no counter"))),
        false => Ok(vmstat),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counters_by_name() {
        let vmstat = parse("pswpin 17\npswpout 0\nnuma_hint_faults 3\n").unwrap();
        let known = [("pswpin", Some(17)), ("pswpout", Some(0)), ("numa_hint_faults", Some(3))];
        assert_eq!(vmstat, Vmstat { counters: BTreeMap::from(known), odd: Oddities::default() });
        assert_eq!(vmstat.sum(|name| name.starts_with("pswp")), Some(17));
        assert_eq!(vmstat.sum(|name| name == "allocstall"), None);
    }

    #[test]
    fn an_odd_line_is_missing_by_itself() {
        for (torn, line) in [("pswpin", 1), ("pswpin \n", 1), ("pswpin -1", 1)] {
            assert_eq!(parse(torn).unwrap_err().line, line, "{torn:?}");
        }
        let vmstat = parse("pswpin 1\nallocstall_dma -1\nallocstall_normal 2\npswp").unwrap();
        assert_eq!(vmstat.odd.first().iter().map(|odd| odd.line).collect::<Vec<_>>(), [2, 4]);
        assert_eq!(vmstat.counters.get("pswpin"), Some(&Some(1)));
        let vmstat = parse("psw\u{fffd}in 1\npswpout 2\n").unwrap();
        assert_eq!((vmstat.counters.len(), vmstat.odd.first()[0].line), (1, 1));
        assert_eq!(vmstat.sum(|name| name.starts_with("allocstall")), None, "one of two is not known");
        let most = format!("a {most}\nb {most}\n", most = u64::MAX);
        assert_eq!(parse(&most).unwrap().sum(|_| true), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "([a-z_]{0,6} ?[0-9-]{0,22}\n?){0,6}") {
            let _ = parse(&text);
        }
    }
}
