//! Processes of one program that each take little from the server, but much together: a build, or a script that starts one command after
//! another. Most of them have ended before anybody looks at the process list.

use std::collections::{BTreeMap, BTreeSet};

use machine::wording::plural;

use super::{Took, waited_for};
use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::scene::{MATTERS, Scene};

/// From this number of processes on they are added up.
const AT_LEAST: usize = 2;

/// The processes of one name.
#[derive(Default)]
struct Crowd<'a> {
    processes: usize,
    together: Took<'a>,
    /// Their cgroups, as far as they are known.
    cgroups: BTreeSet<&'a str>,
    /// How many of them have a known cgroup.
    of_known_cgroup: usize,
}

/// One cause for each name whose processes matter together; those that matter by themselves are left out.
pub(super) fn causes(scene: &Scene<'_>, took: &BTreeMap<u32, Took<'_>>) -> Vec<Cause> {
    let mut by_name: BTreeMap<&str, Crowd<'_>> = BTreeMap::new();
    for took in took.values().filter(|took| scene.time.share(took.ns) < MATTERS) {
        let Some(worst) = took.worst else { continue };
        let crowd = by_name.entry(&worst.comm).or_default();
        crowd.processes += 1;
        crowd.together.ns += took.ns;
        crowd.together.slices = crowd.together.slices.saturating_add(took.slices);
        crowd.together.preempted = crowd.together.preempted.saturating_add(took.preempted);
        crowd.together.cpus = crowd.together.cpus.union(&took.cpus);
        if let Some(cgroup) = worst.cgroup.as_deref() {
            crowd.cgroups.insert(cgroup);
            crowd.of_known_cgroup += 1;
        }
    }
    let matters =
        |crowd: &Crowd<'_>| crowd.processes >= AT_LEAST && scene.time.share(crowd.together.ns) >= MATTERS;
    by_name
        .into_iter()
        .filter(|(_, crowd)| matters(crowd))
        .map(|(name, crowd)| cause(scene, name, &crowd))
        .collect()
}

fn cause(scene: &Scene<'_>, name: &str, crowd: &Crowd<'_>) -> Cause {
    let Crowd { processes, together, .. } = crowd;
    let (word, cpus) = (plural("CPU", together.cpus.len()), &together.cpus);
    let claim =
        format!("{processes} processes named {name} run on {word} {cpus} while the server waits for them");
    let subject = Subject::Program { name: name.to_string() };
    let mut cause =
        waited_for(scene, subject, together, claim, "them").figure("processes", *processes as f64);
    if let Some(where_they_are) = in_cgroup(crowd) {
        cause = cause.because(where_they_are);
    }
    let spare = scene.spare().difference(&together.cpus);
    cause.remedy(Remedy::by_hand(match spare.is_empty() {
        true => "Start them with the lowest weight: chrt --idle 0 COMMAND, or systemd-run -p CPUWeight=idle COMMAND".to_string(),
        false => format!("Start them on {} {spare}, which the server does not use: taskset -c {spare} COMMAND", plural("CPU", spare.len())),
    }))
}

/// In words, the cgroup of all of them, or of all whose cgroup is known; `None` if they are in several or in the root cgroup, or if none is known.
fn in_cgroup(crowd: &Crowd<'_>) -> Option<String> {
    let cgroup = crowd.cgroups.first().filter(|path| **path != "/" && crowd.cgroups.len() == 1)?;
    Some(match crowd.of_known_cgroup {
        all if all == crowd.processes => format!("they are in cgroup {cgroup}"),
        1 => format!("1 of them is in cgroup {cgroup}; the cgroup of the others is not known"),
        known => format!("{known} of them are in cgroup {cgroup}; the cgroup of the others is not known"),
    })
}

#[cfg(test)]
mod tests {
    use probe::Situation;

    use crate::diagnosis::diagnose;
    use crate::diagnosis::situation_builder::{SECOND, SituationBuilder, situation};

    /// Processes with these names, each of which took 0.5 % of a second from the server.
    fn crowd(names: &[&str]) -> Situation {
        let pids = 900..;
        names
            .iter()
            .zip(pids)
            .fold(situation(), |situation, (name, pid)| situation.taken_by(name, pid, false, SECOND / 200))
    }

    fn ids(situation: &Situation) -> Vec<String> {
        diagnose(situation).causes.iter().map(|cause| cause.id.to_string()).collect()
    }

    #[test]
    fn many_that_take_little_matter_together() {
        let seen = diagnose(&crowd(&["cc1"; 40]));
        let cause = &seen.causes[0];
        assert_eq!(cause.id.to_string(), "busy-task/program:cc1");
        assert!(cause.claim.starts_with("40 processes named cc1 run on CPU 1"), "{}", cause.claim);
        assert!(
            cause.remedies.iter().all(|remedy| remedy.setting.is_none()),
            "the number of one of them would not help"
        );
        assert!(cause.share.unwrap() > 0.1, "{cause:?}");
    }

    #[test]
    fn few_of_each_name_do_not_matter() {
        assert!(ids(&crowd(&["cc1"])).is_empty());
        assert!(
            ids(&crowd(&["a", "b", "c", "d", "e"])).is_empty(),
            "five programs, each of which takes little"
        );
    }

    #[test]
    fn one_that_matters_by_itself_is_named_by_itself() {
        let seen = crowd(&["cc1"; 40]).taken_by("cc1", 7, false, SECOND / 5);
        let mut ids = ids(&seen);
        ids.sort();
        assert_eq!(ids, ["busy-task/process:7", "busy-task/program:cc1"]);
    }

    #[test]
    fn a_cgroup_is_named_where_all_are_in_it() {
        let mut seen = crowd(&["cc1"; 40]);
        let tasks = &mut seen.account.as_mut().unwrap().tasks;
        tasks.iter_mut().for_each(|task| task.cgroup = Some("/ci.slice".into()));
        let of = |seen: &Situation| diagnose(seen).causes[0].evidence.join("; ");
        assert!(of(&seen).contains("they are in cgroup /ci.slice"), "{}", of(&seen));
        seen.account.as_mut().unwrap().tasks[0].cgroup = Some("/other".into());
        assert!(!of(&seen).contains("cgroup"), "{}", of(&seen));
    }

    #[test]
    fn no_cgroup_is_named_if_none_is_known() {
        let mut seen = crowd(&["cc1"; 40]);
        let of = |seen: &Situation| diagnose(seen).causes[0].evidence.join("; ");
        assert!(!of(&seen).contains("cgroup"), "none is known: {}", of(&seen));
        let tasks = |seen: &mut Situation, from: usize, cgroup: &str| {
            let tasks = &mut seen.account.as_mut().unwrap().tasks;
            tasks[from..].iter_mut().for_each(|task| task.cgroup = Some(cgroup.into()));
        };
        tasks(&mut seen, 3, "/ci.slice");
        let said = "37 of them are in cgroup /ci.slice; the cgroup of the others is not known";
        assert!(of(&seen).contains(said), "{}", of(&seen));
        tasks(&mut seen, 39, "/other");
        assert!(!of(&seen).contains("cgroup"), "the known ones differ: {}", of(&seen));
    }
}
