//! How the scheduler treats the threads of a process.

use crate::knobs::process::process_affinity::{chosen, processes, values};
use crate::knobs::{About, Knob, MaySet, OwnerId, Target};
use crate::procfs::pid_stat;
use crate::{Act, Class, Fault, Root, Scheduling};

/// The knob.
#[derive(Debug)]
pub struct SchedulingPolicy;

static ABOUT: About = About {
    id: "scheduling-policy",
    title: "Scheduling policy and priority of a process or thread",
    docs: "A real-time policy (fifo, rr) keeps ordinary neighbours off the CPU; batch and idle make room for others. \
           Interrupts and softirqs run before all of them.",
    unit: "other:NICE, batch:NICE (-20 to 19), idle, fifo:PRIORITY, rr:PRIORITY (1 to 99)",
    scope: "one process number with all its threads, or PID/TID for one thread",
    owner: "the process itself, systemd (CPUSchedulingPolicy=, Nice=), rtkit, chrt in its start script, ananicy, tuned \
            ([scheduler]), tuna",
    owners: &[OwnerId::Rtkit, OwnerId::Ananicy, OwnerId::Tuned, OwnerId::Tuna],
    risk: "A real-time thread that does not sleep starves its CPU (all but 5 %, sched_rt_runtime_us). With \
           autogrouping, nice counts within one session only.",
    may_set: MaySet::OwnProcesses,
    source: "sched(7); sched_setattr(2); proc_pid_stat(5), fields 19, 40 and 41",
};

impl Knob for SchedulingPolicy {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn targets(&self, root: &Root) -> Result<Vec<Target>, Fault> {
        processes(root)
    }

    /// The value; those of its threads joined by ` | ` where they differ, which no change takes.
    fn read(&self, root: &Root, target: &str) -> Result<String, Fault> {
        values(root, &chosen(root, &ABOUT, target)?, "stat", |path, text| {
            let told = pid_stat::parse(text).map_err(|e| e.to_string()).and_then(|stat| words(&stat));
            told.map_err(|why| Fault::new(Class::MachineLacks, path, why, "leave this thread's policy alone"))
        })
    }

    fn change(&self, root: &Root, target: &str, value: &str) -> Result<Vec<Act>, Fault> {
        let threads = chosen(root, &ABOUT, target)?;
        let scheduling = parse(value).map_err(|why| {
            Fault::new(
                Class::Usage,
                format!("{} of {target}", ABOUT.id),
                why,
                format!("write {}", ABOUT.unit),
            )
        })?;
        Ok(threads.into_iter().map(|thread| Act::SetScheduling { thread, scheduling }).collect())
    }
}

fn words(stat: &pid_stat::PidStat) -> Result<String, String> {
    let missing = || "the line ends before policy and priority".to_string();
    let (nice, priority) = (stat.nice.ok_or_else(missing)?, stat.realtime_priority.ok_or_else(missing)?);
    // Numbers of include/uapi/linux/sched.h.
    match stat.policy.ok_or_else(missing)? {
        0 => Ok(format!("other:{nice}")),
        1 => Ok(format!("fifo:{priority}")),
        2 => Ok(format!("rr:{priority}")),
        3 => Ok(format!("batch:{nice}")),
        5 => Ok("idle".into()),
        other => Err(format!(
            "scheduling policy {other} has no name here (deadline and ext are not changed by pinwise)"
        )),
    }
}

/// A policy in the form of plans: `fifo:50`. Errors: why it is none.
pub fn parse(value: &str) -> Result<Scheduling, String> {
    let (policy, number) = value.trim().split_once(':').unwrap_or((value.trim(), ""));
    let within = |least: i32, most: i32| match number.parse() {
        Ok(n) if (least..=most).contains(&n) => Ok(n),
        _ => Err(format!("'{value}': the number after the colon is to be {least} to {most}")),
    };
    match policy {
        "other" => within(-20, 19).map(|nice| Scheduling::Other { nice }),
        "batch" => within(-20, 19).map(|nice| Scheduling::Batch { nice }),
        "fifo" => within(1, 99).map(|priority| Scheduling::Fifo { priority }),
        "rr" => within(1, 99).map(|priority| Scheduling::RoundRobin { priority }),
        "idle" if number.is_empty() => Ok(Scheduling::Idle),
        _ => Err(format!("'{value}' is not a policy")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    fn stat(id: u32, nice: i32, priority: i32, policy: u32) -> String {
        let zeros = "0 ".repeat(17);
        format!(
            "{id} (s) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 {nice} 2 0 100 {zeros}{priority} {policy} 0 0 0\n"
        )
    }

    fn root() -> Root {
        Root::from_tree(
            Tree::new()
                .file("/proc/7/task/7/stat", stat(7, -5, 0, 0))
                .file("/proc/7/task/9/stat", stat(9, 0, 40, 1))
                .file("/proc/8/task/8/stat", stat(8, 0, 0, 6)),
        )
    }

    #[test]
    fn values_are_those_that_a_change_takes() {
        let read = |target| SchedulingPolicy.read(&root(), target).unwrap();
        assert_eq!(
            (read("7/7").as_str(), read("7/9").as_str(), read("7").as_str()),
            ("other:-5", "fifo:40", "fifo:40 | other:-5")
        );
        for value in ["other:-5", "batch:19", "idle", "fifo:40", "rr:1"] {
            let acts = SchedulingPolicy.change(&root(), "7/9", value).unwrap();
            assert!(matches!(&acts[..], [Act::SetScheduling { thread, .. }] if thread.tid == 9), "{value}");
        }
        assert_eq!(SchedulingPolicy.change(&root(), "7", "idle").unwrap().len(), 2);
    }

    #[test]
    fn what_is_no_policy_or_out_of_range_is_refused() {
        for value in [
            "",
            "fifo",
            "fifo:0",
            "fifo:100",
            "other:20",
            "other:-21",
            "idle:1",
            "deadline:1",
            "fifo:x",
            "fifo:40 | other:-5",
        ] {
            let fault = SchedulingPolicy.change(&root(), "7", value).unwrap_err();
            assert!(fault.class == Class::Usage && fault.remedy.contains("fifo:PRIORITY"), "{fault}");
        }
        assert!(SchedulingPolicy.read(&root(), "8").unwrap_err().cause.contains("policy 6"));
        assert!(
            SchedulingPolicy.change(&root(), "7/8", "idle").unwrap_err().cause.contains("no such thread")
        );
    }
}
