//! Cases that earlier versions of pinwise recorded: what their files do not say, read from what they do say. Pure.

use crate::arm::{Arm, BaselineCopy, CopyLetter, Role};

/// Arms of the baseline did not say which copy they are: only their names did, which end in ` A` and ` B`.
pub(super) fn name_copies_of_baseline(arms: &mut [Arm]) {
    for arm in arms.iter_mut().filter(|arm| arm.role == Role::Baseline && arm.copy.is_none()) {
        arm.copy = copy_of(&arm.name);
    }
}

fn copy_of(name: &str) -> Option<BaselineCopy> {
    let endings = [(" A", CopyLetter::A), (" B", CopyLetter::B)];
    endings
        .into_iter()
        .find_map(|(ending, letter)| Some(BaselineCopy { of: name.strip_suffix(ending)?.into(), letter }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arm::all_alike;

    #[test]
    fn an_arm_of_an_earlier_version_has_its_copy_in_its_name() {
        let arms = all_alike(2, &[0].into_iter().collect()).unwrap();
        let mut earlier = arms.clone();
        earlier.iter_mut().for_each(|arm| arm.copy = None);
        name_copies_of_baseline(&mut earlier);
        assert_eq!(earlier, arms);
    }

    #[test]
    fn no_other_name_is_taken_for_a_copy() {
        assert_eq!(["A", "unpinned", "unpinned C"].map(copy_of), [None, None, None]);
    }
}
