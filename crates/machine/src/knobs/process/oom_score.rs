//! How ready the kernel is to end a process when memory is gone.

use super::process_affinity::{process, processes};
use crate::knobs::{About, Knob, MaySet, OwnerId, Target};
use crate::{Act, Class, Fault, ProcessFile, Root};

/// The knob.
#[derive(Debug)]
pub struct OomScore;

static ABOUT: About = About {
    id: "oom-score",
    title: "How ready the kernel is to end a process when memory is gone",
    docs: "Added to the share of memory, in thousandths, by which the OOM killer chooses. Lower for the server that must \
           stay, higher for what may be restarted.",
    unit: "-1000 (never) to 1000 (first)",
    scope: "one process number; children that it starts later inherit it",
    owner: "the process itself (sshd, postgres, systemd-udevd), systemd (OOMScoreAdjust=), kubelet (by QoS class), container \
            engines (--oom-score-adj), ananicy",
    owners: &[OwnerId::Kubelet, OwnerId::Ananicy, OwnerId::Docker, OwnerId::Containerd, OwnerId::CriO],
    risk: "With -1000 on what eats the memory the kernel ends everything else. Processes that share memory (vfork) get the \
           same value. earlyoom and systemd-oomd have rules of their own.",
    may_set: MaySet::OwnProcesses,
    source: "proc_pid_oom_score_adj(5); Documentation/filesystems/proc.rst, 3.1",
};

impl Knob for OomScore {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn targets(&self, root: &Root) -> Result<Vec<Target>, Fault> {
        processes(root)
    }

    fn read(&self, root: &Root, target: &str) -> Result<String, Fault> {
        let pid = process(root, &ABOUT, target)?.pid;
        Ok(root.number::<i32>(format!("/proc/{pid}/oom_score_adj"))?.to_string())
    }

    fn change(&self, root: &Root, target: &str, value: &str) -> Result<Vec<Act>, Fault> {
        let process = process(root, &ABOUT, target)?;
        let value = number_within(&ABOUT, target, value, -1000, 1000)?;
        Ok(vec![Act::WriteProcessFile { process, file: ProcessFile::OomScoreAdj, value }])
    }
}

/// Reads a value that is a number within a range.
pub(in crate::knobs) fn number_within(
    about: &About,
    target: &str,
    value: &str,
    least: i32,
    most: i32,
) -> Result<i32, Fault> {
    match value.trim().parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        parsed => {
            let what = if parsed.is_ok() { "is out of range" } else { "is not a whole number" };
            let (object, cause) = (format!("{} of {target}", about.id), format!("'{value}' {what}"));
            Err(Fault::new(Class::Usage, object, cause, format!("write a number from {least} to {most}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ProcessRef, Tree};

    #[test]
    fn the_process_is_distinguished_and_the_range_held() {
        let stat = "7 (s) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 300 0 0\n";
        let tree = Tree::new().file("/proc/7/stat", stat).file("/proc/7/task/7/stat", stat);
        let root = Root::from_tree(tree.file("/proc/7/oom_score_adj", "-17\n"));
        assert_eq!(OomScore.read(&root, "7").unwrap(), "-17");
        let process = ProcessRef { pid: 7, start_time_ticks: 300 };
        let act = Act::WriteProcessFile { process, file: ProcessFile::OomScoreAdj, value: -1000 };
        assert_eq!(OomScore.change(&root, "7", "-1000").unwrap(), [act]);
        for value in ["-1001", "1001", "", "low"] {
            assert!(
                OomScore.change(&root, "7", value).unwrap_err().remedy.contains("-1000 to 1000"),
                "{value}"
            );
        }
    }
}
