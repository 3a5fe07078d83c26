//! How a session competes with the others, where each session competes as one.

use crate::knobs::process::oom_score::number_within;
use crate::knobs::process::process_affinity::{process, processes};
use crate::knobs::{About, Knob, MaySet, Target, no_such};
use crate::processes::Autogroup;
use crate::{Act, Class, Fault, ProcessFile, Root};

/// The knob.
#[derive(Debug)]
pub struct AutogroupNice;

static ABOUT: About = About {
    id: "autogroup-nice",
    title: "Nice value of a process's whole session",
    docs: "With autogrouping (knob autogroup) sessions compete with each other, and the nice values of processes count \
           within their session only: what renice cannot do, this does.",
    unit: "-20 (largest share) to 19",
    scope: "one process number; holds for every process of its session",
    owner: "nobody but administrators: systemd and the like set weights of cgroups instead",
    owners: &[],
    risk: "All of the session is meant, a shell and what it started. Without effect where the processes are in a cgroup of \
           the cpu controller, as under systemd. A value below 0 can be set and restored by root only.",
    may_set: MaySet::OwnProcesses,
    source: "sched(7), The autogroup feature; kernel/sched/autogroup.c",
};

impl Knob for AutogroupNice {
    fn about(&self) -> &About {
        &ABOUT
    }

    /// Those that are in an autogroup: the file is there and empty for others.
    fn targets(&self, root: &Root) -> Result<Vec<Target>, Fault> {
        let mut targets = processes(root)?;
        targets
            .retain(|target| root.line(path(&target.id)).is_ok_and(|text| Autogroup::parse(&text).is_some()));
        Ok(targets)
    }

    fn read(&self, root: &Root, target: &str) -> Result<String, Fault> {
        let pid = process(root, &ABOUT, target)?.pid;
        let text = match root.line(path(&pid.to_string())) {
            Err(e) if e.is_absent() => return Err(no_such(&ABOUT, target, "this kernel has no autogroups")),
            text => text?,
        };
        let none = || no_such(&ABOUT, target, "the process is in no autogroup");
        Autogroup::parse(&text).map(|group| group.nice.to_string()).ok_or_else(none)
    }

    fn change(&self, root: &Root, target: &str, value: &str) -> Result<Vec<Act>, Fault> {
        self.read(root, target)?;
        let process = process(root, &ABOUT, target)?;
        if root.line("/proc/sys/kernel/sched_autogroup_enabled").is_ok_and(|on| on == "0") {
            let object = format!("{} of {target}", ABOUT.id);
            let remedy = "switch the knob autogroup on first, or use scheduling-policy";
            return Err(Fault::new(Class::MachineLacks, object, "autogrouping is off", remedy));
        }
        let value = number_within(&ABOUT, target, value, -20, 19)?;
        Ok(vec![Act::WriteProcessFile { process, file: ProcessFile::Autogroup, value }])
    }
}

fn path(pid: &str) -> String {
    format!("/proc/{pid}/autogroup")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    #[test]
    fn processes_without_a_group_are_not_offered() {
        let stat = |pid| format!("{pid} (s) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 300 0 0\n");
        let mut tree =
            Tree::new().file("/proc/7/autogroup", "/autogroup-12 nice -3\n").file("/proc/8/autogroup", "");
        for pid in [7, 8, 9] {
            tree = tree.file(&format!("/proc/{pid}/stat"), stat(pid));
            tree = tree.file(&format!("/proc/{pid}/task/{pid}/stat"), stat(pid));
        }
        let on = |on| Root::from_tree(tree.clone().file("/proc/sys/kernel/sched_autogroup_enabled", on));
        let root = on("1\n");
        assert_eq!(AutogroupNice.targets(&root).unwrap().len(), 1);
        assert_eq!(AutogroupNice.read(&root, "7").unwrap(), "-3");
        assert!(AutogroupNice.read(&root, "8").is_err() && AutogroupNice.read(&root, "9").is_err());
        assert_eq!(AutogroupNice.change(&root, "7", "5").unwrap().len(), 1);
        assert!(AutogroupNice.change(&root, "7", "20").is_err());
        assert!(AutogroupNice.change(&on("0\n"), "7", "5").unwrap_err().cause.contains("is off"));
    }
}
