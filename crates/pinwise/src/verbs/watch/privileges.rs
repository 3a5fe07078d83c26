//! Whether programs in the kernel are sure to be refused to this process, for want of capabilities (capabilities(7)).

use machine::procfs::pid_status;
use machine::{Missing, Root};

/// Capabilities by their number in include/uapi/linux/capability.h.
const SYS_ADMIN: u64 = 1 << 21;
const PERFMON: u64 = 1 << 38;
const BPF: u64 = 1 << 39;

/// Why programs are refused to a process that has no right to load any, by `begin`, which loads them. A process that may have the right is not
/// tried, nor one of which /proc does not say what it has: others have to be asked first then, so that the window is the programs' own.
pub(super) fn refused<T>(root: &Root, begin: impl FnOnce() -> Result<T, Missing>) -> Option<Missing> {
    if may_load(root) { None } else { begin().err() }
}

/// Whether this process may load programs, as far as its capabilities say.
fn may_load(root: &Root) -> bool {
    let status = root.read("/proc/self/status").unwrap_or_default();
    let effective = pid_status::mask(&status, "CapEff");
    effective.is_none_or(|mask| mask & SYS_ADMIN != 0 || mask & (BPF | PERFMON) == BPF | PERFMON)
}

#[cfg(test)]
mod tests {
    use machine::Tree;

    use super::*;

    fn process(status: &str) -> Root {
        Root::from_tree(Tree::new().file("/proc/self/status", status))
    }

    #[test]
    fn who_may_load_no_programs_is_refused_before_anything_else_is_read() {
        let why = || Missing::new("kernel events", "run it as root");
        for mask in ["0000000000000000", "0000008000000000", "0000004000000000", "0000000000001000"] {
            let root = process(&format!("Name:\tpinwise\nCapPrm:\t000001ffffffffff\nCapEff:\t{mask}\n"));
            assert_eq!(refused(&root, || Err::<(), _>(why())), Some(why()), "{mask}");
            assert_eq!(refused(&root, || Ok(())), None, "the kernel has the last word: {mask}");
        }
    }

    #[test]
    fn who_may_load_some_or_is_not_known_is_not_tried() {
        let untried = |root: Root| refused(&root, || -> Result<(), Missing> { panic!("it is tried") });
        for mask in ["000001ffffffffff", "0000000000200000", "000000c000000000"] {
            assert_eq!(untried(process(&format!("Name:\tpinwise\nCapEff:\t{mask}\n"))), None, "{mask}");
        }
        for unknown in ["Name:\tpinwise\n", "CapEff:\tmany\n"] {
            assert_eq!(untried(process(unknown)), None, "{unknown}");
        }
        assert_eq!(untried(Root::from_tree(Tree::new())), None);
    }
}
