//! A scheduler loaded as a BPF program, which places tasks as it likes within their affinity
//! (Documentation/scheduler/sched-ext.rst, since Linux 6.12).

use super::{Owner, OwnerId, OwnerSetting};
use crate::Root;

const STATE: &str = "/sys/kernel/sched_ext/state";
const NAME: &str = "/sys/kernel/sched_ext/root/ops";

/// The scheduler that is loaded; without settings when there is none.
pub(super) fn read(root: &Root) -> Owner {
    let mut owner = Owner {
        id: Some(OwnerId::SchedExt),
        name: "sched_ext".into(),
        sets: "on which of its allowed CPUs a task runs".into(),
        ..Owner::default()
    };
    if root.line(STATE).is_ok_and(|state| state != "disabled") {
        let told = [super::one_line(root, "state", STATE), super::one_line(root, "scheduler", NAME)];
        owner.settings.extend(told.into_iter().flatten().collect::<Vec<OwnerSetting>>());
    }
    owner
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    #[test]
    fn only_a_loaded_scheduler_is_reported() {
        let of = |tree: Tree| read(&Root::from_tree(tree)).settings;
        assert!(of(Tree::new()).is_empty());
        assert!(of(Tree::new().file(STATE, "disabled\n")).is_empty());
        let settings = of(Tree::new().file(STATE, "enabled\n").file(NAME, "lavd_1.0.4\n"));
        assert_eq!((settings.len(), settings[1].value.as_str()), (2, "lavd_1.0.4"));
    }
}
