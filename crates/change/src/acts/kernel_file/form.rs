//! Files that do not read back what was written: when do two texts mean the same?
//!
//! CPU masks come back padded, CPU lists joined, choices as the whole menu (`always [madvise] never`), controllers
//! as a list that `+name` and `-name` alter, numbers in other widths.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use machine::CpuSet;
use machine::knobs::file::chosen;

/// How a file's content is to be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// CPU mask: `rps_cpus`, `smp_affinity`.
    Mask,
    /// CPU or node list: `smp_affinity_list`, `cpuset.cpus`.
    List,
    /// Words that `+word` and `-word` alter: `cgroup.subtree_control`.
    Switches,
    /// Anything else.
    Plain,
}

fn form(path: &Path) -> Form {
    match path.file_name().and_then(|name| name.to_str()).unwrap_or_default() {
        "smp_affinity" | "default_smp_affinity" | "rps_cpus" | "xps_cpus" | "xps_rxqs" | "cpumask" => {
            Form::Mask
        }
        "smp_affinity_list" | "cpus" | "mems" | "cpulist" | "watchdog_cpumask" => Form::List,
        "cgroup.subtree_control" => Form::Switches,
        name if name.starts_with("cpuset.cpus") || name == "cpuset.mems" => match name {
            "cpuset.cpus.partition" => Form::Plain,
            _ => Form::List,
        },
        _ => Form::Plain,
    }
}

/// Whether two contents of the file mean the same.
pub fn same(path: &Path, a: &str, b: &str) -> bool {
    let sets = |parse: fn(&str) -> Result<CpuSet, _>| match (parse(a), parse(b)) {
        (Ok(a), Ok(b)) => Some(a == b),
        _ => None,
    };
    let by_value = match form(path) {
        Form::Mask => sets(CpuSet::from_mask),
        Form::List => sets(CpuSet::from_list),
        Form::Switches => Some(words(a) == words(b)),
        Form::Plain => None,
    };
    by_value.unwrap_or_else(|| plain(a) == plain(b))
}

/// Whether the content `read_back` is what writing `asked` should leave.
pub fn took_effect(path: &Path, asked: &str, read_back: &str) -> bool {
    if form(path) != Form::Switches {
        return same(path, asked, read_back);
    }
    let on = words(read_back);
    asked.split_whitespace().all(|switch| match switch.split_at_checked(1) {
        Some(("-", word)) => !on.contains(word),
        Some(("+", word)) => on.contains(word),
        _ => on.contains(switch),
    })
}

/// The text to write so that a file which now reads `now` reads `old` again.
pub fn restoring(path: &Path, old: &str, now: &str) -> String {
    if form(path) != Form::Switches {
        return chosen(old).unwrap_or(old).to_string();
    }
    let (old, now) = (words(old), words(now));
    let on = old.difference(&now).map(|word| format!("+{word}"));
    let off = now.difference(&old).map(|word| format!("-{word}"));
    on.chain(off).collect::<Vec<_>>().join(" ")
}

/// The file that the kernel sets to 0 when this one is written, and the other way round (mm/page-writeback.c).
pub fn twin(path: &Path) -> Option<PathBuf> {
    const TWINS: [(&str, &str); 2] =
        [("dirty_ratio", "dirty_bytes"), ("dirty_background_ratio", "dirty_background_bytes")];
    if path.parent() != Some(Path::new("/proc/sys/vm")) {
        return None;
    }
    let name = path.file_name()?.to_str()?;
    let other = TWINS.iter().find_map(|(a, b)| match name {
        _ if name == *a => Some(b),
        _ if name == *b => Some(a),
        _ => None,
    });
    other.map(|other| path.with_file_name(other))
}

/// What to write, in that order, so that a file with a twin reads `old` again: its own text and that of the twin. `now` is
/// what the two read at present.
///
/// 0 cannot be written to the files in bytes: they read 0 when the ratio is written. And the kernel overlooks a ratio
/// that is written again as it is, so that one which is 0 itself takes bytes out of force by way of 1.
pub fn restoring_pair(
    path: &Path,
    twin: &Path,
    old: (&str, &str),
    now: (&str, &str),
) -> Vec<(PathBuf, String)> {
    let write = |path: &Path, text: &str| (path.to_path_buf(), text.to_string());
    let (ratio, bytes_now) = if is_ratio(path) { (path, now.1) } else { (twin, now.0) };
    match old {
        ("0", "0") if bytes_now == "0" => vec![write(ratio, "0")],
        ("0", "0") => vec![write(ratio, "1"), write(ratio, "0")],
        ("0", in_force) => vec![write(twin, in_force)],
        (text, _) => vec![write(path, text)],
    }
}

/// Whether a pair stands between the two writes of [`restoring_pair`].
pub fn is_half_restored(path: &Path, old: (&str, &str), now: (&str, &str)) -> bool {
    old == ("0", "0") && now == if is_ratio(path) { ("1", "0") } else { ("0", "1") }
}

/// Files that the kernel sets in part where not all can be had, or that it rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Steps {
    /// Pages that are gathered one by one: a count between the old and the asked one.
    Count,
    /// A clock that the driver rounds to one of its own, kHz.
    Clock,
}

fn steps(path: &Path) -> Option<Steps> {
    match path.file_name()?.to_str()? {
        "nr_hugepages" | "nr_hugepages_mempolicy" | "nr_overcommit_hugepages" => Some(Steps::Count),
        "scaling_min_freq" | "scaling_max_freq" | "scaling_setspeed" => Some(Steps::Clock),
        _ => None,
    }
}

/// Whether `now` can be what a write of `asked` left that was cut short, or whose end is not known: only of files that the kernel sets
/// in part. Any other value between the two may be an administrator's.
pub fn is_done_in_part(path: &Path, old: &str, asked: &str, now: &str) -> bool {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let (Some(steps), Some(old), Some(asked), Some(now)) =
        (steps(path), number(old), number(asked), number(now))
    else {
        return false;
    };
    match steps {
        Steps::Count => (old.min(asked)..=old.max(asked)).contains(&now),
        // Tables of clocks have steps of a tenth of the clock at most.
        Steps::Clock => now.abs_diff(asked) <= asked / 10,
    }
}

fn is_ratio(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.ends_with("_ratio"))
}

/// A menu after one of its words was written: the brackets have moved. `None` for what is no menu or lacks the word.
pub fn with_choice(menu: &str, word: &str) -> Option<String> {
    chosen(menu)?;
    let bare = |w: &str| w.trim_matches(['[', ']']).to_string();
    let words: Vec<String> = menu.split_whitespace().map(bare).collect();
    let marked = |w: &String| if w == word { format!("[{w}]") } else { w.clone() };
    words.iter().any(|w| w == word).then(|| words.iter().map(marked).collect::<Vec<_>>().join(" "))
}

/// Name and nice value out of `/autogroup-12 nice 0`, which /proc/PID/autogroup reads and of which it takes the number.
pub fn autogroup(text: &str) -> Option<(&str, i32)> {
    let (name, nice) = text.trim().split_once(" nice ")?;
    Some((name, nice.trim().parse().ok()?))
}

fn words(text: &str) -> BTreeSet<&str> {
    text.split_whitespace().collect()
}

/// Blanks of any kind count as one, a menu as its choice, `010` and `10` as the same number.
fn plain(text: &str) -> Vec<String> {
    let number = |word: &str| word.parse::<i128>().map_or_else(|_| word.to_string(), |n| n.to_string());
    match chosen(text) {
        Some(word) => vec![number(word)],
        None => text.split_whitespace().map(number).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RPS: &str = "/sys/class/net/eth0/queues/rx-0/rps_cpus";
    const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
    const SWITCHES: &str = "/sys/fs/cgroup/cgroup.subtree_control";

    #[test]
    fn masks_and_lists_compare_by_value() {
        assert!(same(RPS.as_ref(), "3", "00000000,00000003"));
        assert!(!same(RPS.as_ref(), "3", "2"));
        assert!(same("/proc/irq/3/smp_affinity_list".as_ref(), "0,1,2", "0-2\n"));
        assert!(same("/sys/fs/cgroup/cpuset/x/cpuset.cpus".as_ref(), "", "\n"));
    }

    #[test]
    fn a_malformed_mask_is_compared_as_text() {
        assert!(same(RPS.as_ref(), "zz", "zz\n"));
        assert!(!same(RPS.as_ref(), "zz", "0"));
    }

    #[test]
    fn a_menu_counts_as_its_choice_and_is_restored_by_it() {
        assert!(took_effect(THP.as_ref(), "never", "always madvise [never]\n"));
        assert!(!took_effect(THP.as_ref(), "never", "always [madvise] never"));
        assert_eq!(restoring(THP.as_ref(), "always [madvise] never", "always madvise [never]"), "madvise");
    }

    #[test]
    fn blanks_and_leading_zeros_do_not_matter() {
        let path = Path::new("/proc/sys/net/ipv4/tcp_rmem");
        assert!(same(path, "4096 131072 6291456", "4096\t131072\t6291456\n"));
        assert!(same(path, "010", "10"));
        assert!(!same(path, "1 2", "12"));
    }

    #[test]
    fn controllers_are_switched_one_by_one() {
        assert!(took_effect(SWITCHES.as_ref(), "+cpuset", "cpuset cpu io"));
        assert!(!took_effect(SWITCHES.as_ref(), "-cpuset", "cpuset cpu io"));
        assert_eq!(restoring(SWITCHES.as_ref(), "cpu io", "cpuset cpu io"), "-cpuset");
        assert_eq!(restoring(SWITCHES.as_ref(), "cpu io", "io"), "+cpu");
    }

    #[test]
    fn twins_are_known_from_both_sides_and_nowhere_else() {
        let (ratio, bytes) = (Path::new("/proc/sys/vm/dirty_ratio"), Path::new("/proc/sys/vm/dirty_bytes"));
        assert_eq!((twin(ratio).as_deref(), twin(bytes).as_deref()), (Some(bytes), Some(ratio)));
        assert_eq!(twin("/proc/sys/vm/swappiness".as_ref()), None);
        assert_eq!(twin("/cg/dirty_ratio".as_ref()), None);
        let writes = |path, old, now| restoring_pair(path, &twin(path).unwrap(), old, now);
        let write = |path: &Path, text: &str| (path.to_path_buf(), text.to_string());
        assert_eq!(writes(bytes, ("0", "20"), ("9", "0")), [write(ratio, "20")]);
        assert_eq!(writes(ratio, ("20", "0"), ("30", "0")), [write(ratio, "20")]);
        assert_eq!(writes(ratio, ("0", "0"), ("30", "0")), [write(ratio, "0")]);
        assert_eq!(writes(bytes, ("0", "0"), ("9", "0")), [write(ratio, "1"), write(ratio, "0")]);
        assert!(
            is_half_restored(bytes, ("0", "0"), ("0", "1"))
                && !is_half_restored(bytes, ("0", "0"), ("0", "2"))
        );
    }

    #[test]
    fn only_what_the_kernel_sets_in_part_may_lie_between() {
        let pages = Path::new("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages");
        let of = |path, now| is_done_in_part(path, "0", "64", now);
        assert!(of(pages, "17") && of(pages, "64") && of(pages, "0"));
        assert!(!of(pages, "65") && !of(pages, "x"));
        assert!(!of("/proc/sys/vm/swappiness".as_ref(), "17"), "an administrator may have set it");
        let clock = Path::new("/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq");
        let rounded = |now| is_done_in_part(clock, "3000000", "2450000", now);
        assert!(rounded("2400000") && rounded("2500000") && !rounded("2000000"));
    }

    #[test]
    fn a_menu_moves_its_brackets_and_an_autogroup_has_a_name() {
        assert_eq!(with_choice("always [madvise] never", "never").unwrap(), "always madvise [never]");
        assert_eq!((with_choice("always [madvise]", "x"), with_choice("3", "3")), (None, None));
        assert_eq!(autogroup("/autogroup-12 nice -5\n"), Some(("/autogroup-12", -5)));
        assert_eq!(autogroup(""), None);
    }
}
