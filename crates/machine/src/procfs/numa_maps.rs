//! /proc/PID/numa_maps: where the pages of each mapping lie, and under which policy (numa(7), fs/proc/task_mmu.c
//! `show_numa_map`, policies as `mpol_to_str` of mm/mempolicy.c prints them).
//!
//! Line by line, since a process can have a million mappings.

use super::Malformed;

/// One mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping<'a> {
    /// Its first address.
    pub start: u64,
    /// Policy in force, as printed: `default`, `bind:0-1`, `prefer:0`, `prefer (many):0-1`, `interleave:0-3`,
    /// `weighted interleave:0-3`, `local`; with `=static`, `=relative` or `=balancing` behind the mode.
    /// A mapping without one of its own shows that of the process's first thread.
    pub policy: &'a str,
    /// The file behind it, blanks in it written `\040`; `None` for anonymous memory.
    pub file: Option<&'a str>,
    /// Whether it consists of huge pages of hugetlbfs (transparent huge pages are not reported).
    pub huge: bool,
    /// Whether pages of it are mapped by other processes too (`mapmax`).
    pub shared: bool,
    /// Pages on each node, in units of `page_bytes`.
    pub pages: Vec<(u32, u64)>,
    /// Size of the pages that are counted; `None` on kernels before 3.14 or so, which do not report it.
    pub page_bytes: Option<u64>,
}

/// Modes whose names hold a blank.
const TWO_WORDS: [&str; 2] = ["weighted interleave", "prefer (many)"];

/// Parses line `number` (from 1, for the message). Words that are not known are passed over.
pub fn parse_line(number: usize, line: &str) -> Result<Mapping<'_>, Malformed> {
    let bad = |what: &str, why: &str| Malformed::new(number, what, why);
    let (address, rest) = line.split_once(' ').ok_or_else(|| bad(line, "is not an address and policy"))?;
    let start = u64::from_str_radix(address, 16).map_err(|_| bad(address, "is not an address"))?;
    let (policy, words) = policy(rest).ok_or_else(|| bad(rest, "names no policy"))?;
    let mut mapping = Mapping {
        start,
        policy,
        file: None,
        huge: false,
        shared: false,
        pages: Vec::new(),
        page_bytes: None,
    };
    for word in words.split_ascii_whitespace() {
        match word.split_once('=') {
            None => mapping.huge |= word == "huge",
            Some(("file", name)) => mapping.file = Some(name),
            Some(("mapmax", value)) => mapping.shared = decimal(number, word, value)? > 1,
            Some(("kernelpagesize_kB", value)) => {
                let bytes = decimal(number, word, value)?.checked_mul(1024).filter(|bytes| *bytes > 0);
                mapping.page_bytes = Some(bytes.ok_or_else(|| bad(word, "is not a size of a page"))?);
            }
            Some((key, value)) => {
                if let Some(node) = key.strip_prefix('N').and_then(|node| node.parse().ok()) {
                    mapping.pages.push((node, decimal(number, word, value)?));
                }
            }
        }
    }
    Ok(mapping)
}

/// The policy at the front of a text, and what follows.
fn policy(rest: &str) -> Option<(&str, &str)> {
    let mode = TWO_WORDS.iter().find(|mode| rest.starts_with(*mode)).map_or(0, |mode| mode.len());
    let end = rest[mode..].find(' ').map_or(rest.len(), |blank| mode + blank);
    let (policy, words) = rest.split_at(end);
    (!policy.is_empty() && !policy.contains('\t')).then_some((policy, words))
}

fn decimal(line: usize, word: &str, value: &str) -> Result<u64, Malformed> {
    super::decimal(line, word, value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn anonymous_memory_files_and_huge_pages() {
        let heap =
            parse_line(1, "00f4c000 default heap anon=10 dirty=10 N0=6 N1=4 kernelpagesize_kB=4").unwrap();
        assert_eq!((heap.start, heap.policy, heap.file, heap.shared), (0xf4c000, "default", None, false));
        assert_eq!((heap.pages, heap.page_bytes), (vec![(0, 6), (1, 4)], Some(4096)));
        let line = "7f00 bind:0-1 file=/lib/a\\040b.so mapped=87 mapmax=114 N0=87 kernelpagesize_kB=4";
        let file = parse_line(1, line).unwrap();
        assert_eq!((file.policy, file.file, file.shared), ("bind:0-1", Some("/lib/a\\040b.so"), true));
        let line = "2aaaaac00000 interleave:0-1 file=/anon_hugepage\\040(deleted) huge anon=2 dirty=2 N8=2 kernelpagesize_kB=2048";
        let huge = parse_line(1, line).unwrap();
        assert_eq!((huge.huge, huge.pages, huge.page_bytes), (true, vec![(8, 2)], Some(2 << 20)));
        assert!(parse_line(1, "7ffe stack:17").unwrap().pages.is_empty());
    }

    #[test]
    fn every_policy_of_the_kernel() {
        for policy in [
            "default",
            "local",
            "bind:0",
            "bind=static:0-3,8",
            "bind=relative|balancing:1",
            "prefer:1",
            "prefer (many):0-1",
            "interleave:0-3",
            "weighted interleave:0-3",
            "prefer=static:0",
        ] {
            let line = format!("7f00 {policy} anon=1 N0=1 kernelpagesize_kB=4");
            let mapping = parse_line(1, &line).unwrap();
            assert_eq!((mapping.policy, mapping.pages.len()), (policy, 1), "{line}");
            assert_eq!(parse_line(1, &format!("7f00 {policy}")).unwrap().policy, policy);
        }
    }

    #[test]
    fn malformed_lines_name_themselves() {
        for bad in [
            "",
            "7f00",
            "xyz default",
            "7f00 ",
            "7f00 default N0=x",
            "7f00 default N0=-1",
            "7f00 default kernelpagesize_kB=0",
            "7f00 default mapmax=",
            "7f00 default N0=99999999999999999999",
        ] {
            assert_eq!(parse_line(7, bad).unwrap_err().line, 7, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_line_panics(line in "([0-9a-f]{1,17} |default |bind:|N[0-9]{1,12}=|mapmax=|kernelpagesize_kB=|prefer \\(many\\)|.){0,12}") {
            let _ = parse_line(1, &line);
        }

        #[test]
        fn what_is_printed_is_read(start in any::<u64>(), pages in proptest::collection::btree_map(0u32..1024, any::<u64>(), 0..8)) {
            let nodes: String = pages.iter().map(|(node, n)| format!(" N{node}={n}")).collect();
            let line = format!("{start:08x} interleave:0-1023 anon=3{nodes} kernelpagesize_kB=64");
            let mapping = parse_line(1, &line).unwrap();
            prop_assert_eq!(mapping.start, start);
            prop_assert_eq!(mapping.pages, pages.into_iter().collect::<Vec<_>>());
            prop_assert_eq!(mapping.page_bytes, Some(65536));
        }
    }
}
