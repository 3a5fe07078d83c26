//! Parameters that no kernel knows and that are nearly the name of one that it does.

/// Names that are worth a guess: those that one writes by hand for the sake of placement and latency.
const NAMES: &[&str] = &[
    "isolcpus",
    "nohz_full",
    "nohz",
    "rcu_nocbs",
    "rcu_nocb_poll",
    "irqaffinity",
    "processor.max_cstate",
    "intel_idle.max_cstate",
    "intel_pstate",
    "amd_pstate",
    "mitigations",
    "transparent_hugepage",
    "numa_balancing",
    "hugepages",
    "default_hugepagesz",
    "nowatchdog",
    "nmi_watchdog",
    "nosoftlockup",
    "skew_tick",
    "threadirqs",
    "clocksource",
    "maxcpus",
    "workqueue.unbound_cpus",
    "kthread_cpus",
    "skew_tick",
    "preempt",
    "nosmt",
];

/// Shorter words are near to too much.
const SHORTEST: usize = 4;

/// The name that was probably meant by one that is not known. Two letters may differ, one in short names.
pub(super) fn meant(name: &str) -> Option<&'static str> {
    let allowed = if name.len() < 8 { 1 } else { 2 };
    let near = NAMES.iter().map(|known| (distance(name, known), *known));
    let nearest = near.filter(|(far, _)| (1..=allowed).contains(far)).min();
    nearest.map(|(_, known)| known).filter(|_| name.len() >= SHORTEST)
}

/// Letters that must be added, taken or changed, or swapped with their neighbour, to get from one word to the other
/// (optimal string alignment; Damerau 1964).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let changed = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = changed.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_other_words_are_not() {
        assert_eq!(meant("nohz_ful"), Some("nohz_full"));
        assert_eq!(meant("isolcpu"), Some("isolcpus"));
        assert_eq!(meant("nomst"), Some("nosmt"));
        assert_eq!(meant("rcu_nocps"), Some("rcu_nocbs"));
        assert_eq!(meant("processor.max_cstates"), Some("processor.max_cstate"));
        for word in ["root", "quiet", "isolcpus", "BOOT_IMAGE", "console", "splash", "nhz"] {
            assert_eq!(meant(word), None, "{word}");
        }
    }

    #[test]
    fn each_name_is_one_that_is_decoded() {
        for name in NAMES {
            let known = super::super::effects::of(name, Some("1"), &crate::Machine::default());
            assert!(known.is_some(), "{name}");
        }
    }
}
