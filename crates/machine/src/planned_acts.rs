//! What the settings of a plan ask a machine for, one by one: the knobs' own acts, so that what is written down for another program and
//! what pinwise would do itself cannot differ.

use std::collections::BTreeSet;

use crate::{Act, Fault, Plan, Planned, Root, knobs};

/// One setting of a plan with its acts.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedActs {
    /// The setting.
    pub planned: Planned,
    /// The acts that it asks for; the fault says why there are none on this machine, as for `server`, whose processes a plan does not name.
    pub acts: Result<Vec<Act>, Fault>,
}

/// The settings of `plan` with their acts on the machine that `root` shows. Of several settings of one object the last one counts.
pub fn of(root: &Root, plan: &Plan) -> Vec<PlannedActs> {
    let mut objects = BTreeSet::new();
    let from_the_last = plan.settings.iter().rev();
    let mut last: Vec<&Planned> =
        from_the_last.filter(|planned| objects.insert((&planned.knob, &planned.target))).collect();
    last.reverse();
    let with_acts = |planned: &Planned| PlannedActs {
        planned: planned.clone(),
        acts: knobs::acts(root, &planned.setting()),
    };
    last.into_iter().map(with_acts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    #[test]
    fn the_last_setting_of_an_object_counts_and_one_without_acts_says_why() {
        let text = "[[setting]]\nknob = \"swappiness\"\nvalue = \"1\"\n[[setting]]\nknob = \"swappiness\"\nvalue = \"10\"\n\
                    [[setting]]\nknob = \"process-affinity\"\ntarget = \"server\"\nvalue = \"0\"\n";
        let root = Root::from_tree(Tree::new().file("/proc/sys/vm/swappiness", "60\n"));
        let all = of(&root, &Plan::parse(text).unwrap());
        assert_eq!(all.len(), 2);
        let act = Act::WriteFile { path: "/proc/sys/vm/swappiness".into(), value: "10".into(), netns: None };
        assert_eq!(all[0].acts, Ok(vec![act]));
        assert!(all[1].acts.as_ref().unwrap_err().object.contains("server"));
    }
}
