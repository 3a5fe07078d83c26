//! /proc/PID/status and /proc/PID/task/TID/status: `Key:\tvalue` lines (proc_pid_status(5), fs/proc/array.c).

use super::{Malformed, Oddities, decimal, decimal32};
use crate::CpuSet;

/// The lines that are used here. What the kernel did not print, or cannot be read, is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PidStatus<'a> {
    /// Real, effective, saved and file system user.
    pub uids: Option<[u32; 4]>,
    /// Threads of the process.
    pub threads: Option<u64>,
    /// CPUs on which it may run, list form as printed (see [`PidStatus::cpus_allowed`]).
    pub cpus_allowed_list: Option<&'a str>,
    /// NUMA nodes from which it may take memory, list form as printed.
    pub mems_allowed_list: Option<&'a str>,
    /// Context switches because it waited for something.
    pub voluntary_switches: Option<u64>,
    /// Context switches because another task was to run.
    pub involuntary_switches: Option<u64>,
    /// Lines that could not be read.
    pub odd: Oddities,
}

impl PidStatus<'_> {
    /// `cpus_allowed_list` as a set; `None` where it was not printed or is no list.
    pub fn cpus_allowed(&self) -> Option<CpuSet> {
        self.cpus_allowed_list.and_then(|list| CpuSet::from_list(list).ok())
    }

    /// `mems_allowed_list` as a set of node numbers; `None` where it was not printed or is no list.
    pub fn mems_allowed(&self) -> Option<CpuSet> {
        self.mems_allowed_list.and_then(|list| CpuSet::from_list(list).ok())
    }
}

/// The mask of a line of the file that has one in hexadecimal, such as `CapEff` (capabilities(7)) or `SigIgn`; `None` where it was not printed or
/// is no mask.
pub fn mask(text: &str, key: &str) -> Option<u64> {
    let mut values = text.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    values.find_map(|value| u64::from_str_radix(value.trim(), 16).ok())
}

/// Parses the file. Lines that are not known are passed over.
///
/// # Errors
/// None of the known lines can be read.
pub fn parse(text: &str) -> Result<PidStatus<'_>, Malformed> {
    let (mut status, mut odd) = (PidStatus::default(), Oddities::default());
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        // The kernel escapes line ends in the name, so each line is a key and a value.
        let Some((key, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        match key {
            "Uid" => status.uids = odd.keep(uids(number, value)),
            "Threads" => status.threads = odd.keep(decimal(number, key, value)),
            "Cpus_allowed_list" => status.cpus_allowed_list = odd.keep(list(number, key, value)),
            "Mems_allowed_list" => status.mems_allowed_list = odd.keep(list(number, key, value)),
            "voluntary_ctxt_switches" => status.voluntary_switches = odd.keep(decimal(number, key, value)),
            "nonvoluntary_ctxt_switches" => {
                status.involuntary_switches = odd.keep(decimal(number, key, value));
            }
            _ => {}
        }
    }
    match status == PidStatus::default() {
        true => {
            let first = text.lines().next().unwrap_or_default();
            Err(odd.first_or(Malformed::new(1, first, "none of the known lines is there")))
        }
        false => Ok(PidStatus { odd, ..status }),
    }
}

fn uids(line: usize, value: &str) -> Result<[u32; 4], Malformed> {
    let mut uids = [0; 4];
    let mut words = value.split_ascii_whitespace();
    for uid in &mut uids {
        let word = words.next().ok_or_else(|| Malformed::new(line, "Uid", "fewer than four numbers"))?;
        *uid = decimal32(line, "Uid", word)?;
    }
    Ok(uids)
}

/// Looks over a list without building the set: ten times a second nobody asks for it.
fn list<'a>(line: usize, key: &str, value: &'a str) -> Result<&'a str, Malformed> {
    match value.bytes().all(|b| b.is_ascii_digit() || b == b',' || b == b'-') {
        true => Ok(value),
        false => Err(Malformed::new(line, key, format_args!("{:?} is not a list", super::cut(value)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "Name:\tredis-server\nUmask:\t0022\nState:\tS (sleeping)\nUid:\t107\t107\t107\t107\nThreads:\t5\nCpus_allowed:\tf\n\
        Cpus_allowed_list:\t0-1,8\nMems_allowed:\t1\nMems_allowed_list:\t0\nvoluntary_ctxt_switches:\t42\nnonvoluntary_ctxt_switches:\t7\n";

    #[test]
    fn the_lines_that_are_used() {
        let status = parse(TEXT).unwrap();
        assert_eq!((status.uids, status.threads), (Some([107; 4]), Some(5)));
        assert_eq!((status.voluntary_switches, status.involuntary_switches), (Some(42), Some(7)));
        assert_eq!(status.cpus_allowed_list, Some("0-1,8"));
        assert_eq!(status.cpus_allowed().unwrap().iter().collect::<Vec<_>>(), [0, 1, 8]);
        assert_eq!(status.mems_allowed().unwrap().len(), 1);
    }

    #[test]
    fn masks_are_read_by_their_key() {
        let text = "Name:\tx\nSigIgn:\t0000000000001001\nCapEff:\t000001ffffffffff\n";
        assert_eq!((mask(text, "SigIgn"), mask(text, "CapEff")), (Some(0x1001), Some(0x1ff_ffff_ffff)));
        assert_eq!(
            (mask(text, "CapBnd"), mask(text, "Cap"), mask("CapEff:\tmany\n", "CapEff")),
            (None, None, None)
        );
    }

    #[test]
    fn a_line_that_is_not_there_is_not_zero() {
        let status = parse("Name:\tinit\nThreads:\t1\n").unwrap();
        assert_eq!((status.voluntary_switches, status.cpus_allowed()), (None, None));
    }

    #[test]
    fn malformed_values_name_their_line() {
        for (bad, line) in [
            ("Threads:\tmany\n", 1),
            ("Name:\tx\nUid:\t1\t2\t3\n", 2),
            ("Uid:\t1\t2\t3\t99999999999\n", 1),
            ("Name:\tx\nCpus_allowed_list:\tall\n", 2),
            ("voluntary_ctxt_switches:\t-1\n", 1),
            ("", 1),
            ("nothing\n", 1),
        ] {
            assert_eq!(parse(bad).unwrap_err().line, line, "{bad:?}");
        }
    }

    #[test]
    fn an_odd_line_is_missing_by_itself() {
        let sound = parse(TEXT).unwrap();
        assert!(sound.odd.is_empty());
        let text = TEXT.replace("voluntary_ctxt_switches:\t42", "voluntary_ctxt_switches:\t4 2");
        let odd = parse(&text).unwrap();
        assert_eq!((odd.voluntary_switches, odd.odd.first()[0].line), (None, 10));
        let healed = PidStatus { voluntary_switches: Some(42), odd: Oddities::default(), ..odd };
        assert_eq!(healed, sound);
        assert_eq!(parse(&TEXT.replace("0-1,8", "0-1;8")).unwrap().threads, Some(5));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(Uid:|Threads:|Cpus_allowed_list:|[0-9\t\n,-]|.){0,60}") {
            let _ = parse(&text).map(|status| status.cpus_allowed());
        }

        #[test]
        fn what_is_printed_is_read(cpus in proptest::collection::btree_set(0u32..5000, 1..40), switches in any::<u64>()) {
            let set: CpuSet = cpus.into_iter().collect();
            let text = format!("Cpus_allowed_list:\t{set}\nvoluntary_ctxt_switches:\t{switches}\n");
            let status = parse(&text).unwrap();
            prop_assert_eq!(status.cpus_allowed(), Some(set));
            prop_assert_eq!(status.voluntary_switches, Some(switches));
        }
    }
}
