//! How much load a process is taken for when a CPU and its clock are chosen.

use crate::knobs::process::process_affinity::{chosen, processes, values};
use crate::knobs::{About, Knob, MaySet, Target, no_such};
use crate::{Act, Class, Fault, Root, UtilClamp};

/// The knob.
#[derive(Debug)]
pub struct UtilizationClamp;

static ABOUT: About = About {
    id: "utilization-clamp",
    title: "Load that a process is taken for when CPU and clock are chosen",
    docs: "A server that sleeps much looks light: schedutil keeps its CPU's clock low, and hybrid machines put it on small \
           cores. A minimum of 1024 has it taken for a full load whenever it runs; a maximum keeps batch work slow.",
    unit: "MIN-MAX, of 1024: 512-1024; 0-1024 is no clamp",
    scope: "one process number with all its threads, or PID/TID for one thread",
    owner: "the process itself (Android's and games' frameworks), uclampset in its start script; cpu.uclamp.min and .max of its \
            cgroup bound it",
    owners: &[],
    risk: "Counts with the governor schedutil and on machines with CPUs of different size only. Power and heat. Where it was \
           set to the kernel's default by hand, undo makes it the default itself.",
    may_set: MaySet::OwnProcesses,
    source: "Documentation/scheduler/sched-util-clamp.rst; sched_setattr(2)",
};

impl Knob for UtilizationClamp {
    fn about(&self) -> &About {
        &ABOUT
    }

    /// None where the kernel was built without it, as the first process that can be read shows.
    fn targets(&self, root: &Root) -> Result<Vec<Target>, Fault> {
        let targets = processes(root)?;
        let first =
            targets.iter().find_map(|target| root.read(format!("/proc/{0}/task/{0}/sched", target.id)).ok());
        Ok(if first.is_some_and(|text| clamp(&text).is_some()) { targets } else { Vec::new() })
    }

    /// The value; those of its threads joined by ` | ` where they differ, which no change takes.
    fn read(&self, root: &Root, target: &str) -> Result<String, Fault> {
        values(root, &chosen(root, &ABOUT, target)?, "sched", |_, text| {
            let none =
                || no_such(&ABOUT, target, "this kernel has no utilization clamps (CONFIG_UCLAMP_TASK)");
            clamp(text).map(|clamp| format!("{}-{}", clamp.min, clamp.max)).ok_or_else(none)
        })
    }

    fn change(&self, root: &Root, target: &str, value: &str) -> Result<Vec<Act>, Fault> {
        self.read(root, target)?;
        let threads = chosen(root, &ABOUT, target)?;
        let clamp = parse(value).ok_or_else(|| {
            let (object, cause) = (format!("{} of {target}", ABOUT.id), format!("'{value}' is no clamp"));
            Fault::new(Class::Usage, object, cause, format!("write {}", ABOUT.unit))
        })?;
        Ok(threads.into_iter().map(|thread| Act::SetUtilClamp { thread, clamp }).collect())
    }
}

/// What was asked for, out of /proc/PID/task/TID/sched (kernel/sched/debug.c, proc_sched_show_task).
fn clamp(text: &str) -> Option<UtilClamp> {
    let of = |wanted: &str| {
        let (_, value) =
            text.lines().filter_map(|l| l.split_once(':')).find(|(key, _)| key.trim() == wanted)?;
        value.trim().parse().ok()
    };
    Some(UtilClamp { min: of("uclamp.min")?, max: of("uclamp.max")? })
}

fn parse(value: &str) -> Option<UtilClamp> {
    let (min, max) = value.trim().split_once('-')?;
    let clamp = UtilClamp { min: min.parse().ok()?, max: max.parse().ok()? };
    (clamp.min <= clamp.max && clamp.max <= 1024).then_some(clamp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    #[test]
    fn a_kernel_without_clamps_offers_none() {
        let stat = "7 (s) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 300 0 0\n";
        let tree = Tree::new().file("/proc/7/stat", stat).file("/proc/7/task/7/stat", stat);
        let with = |text| Root::from_tree(tree.clone().file("/proc/7/task/7/sched", text));
        let root = with(
            "uclamp.min                   :   128\nuclamp.max                   :  1024\n\
             effective uclamp.min         :     0\n",
        );
        assert_eq!(UtilizationClamp.targets(&root).unwrap().len(), 1);
        assert_eq!(UtilizationClamp.read(&root, "7").unwrap(), "128-1024");
        let clamp = UtilClamp { min: 512, max: 1024 };
        let acts = UtilizationClamp.change(&root, "7", "512-1024").unwrap();
        assert!(matches!(acts[..], [Act::SetUtilClamp { clamp: asked, .. }] if asked == clamp));
        for value in ["", "512", "600-500", "0-1025", "-1-5"] {
            assert!(UtilizationClamp.change(&root, "7", value).is_err(), "{value}");
        }
        let without = with("se.vruntime : 1.0\n");
        assert_eq!(UtilizationClamp.targets(&without).unwrap(), []);
        assert!(
            UtilizationClamp
                .change(&without, "7", "0-1024")
                .unwrap_err()
                .cause
                .contains("CONFIG_UCLAMP_TASK")
        );
    }
}
