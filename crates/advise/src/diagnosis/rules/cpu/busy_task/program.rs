//! Processes of one program that each take little from the server, but much together: a build, or a script that starts one command after
//! another. Most of them have ended before anybody looks at the process list.

use std::collections::{BTreeMap, BTreeSet};

use machine::wording::plural;

use super::{Took, waited_for};
use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::scene::{MATTERS, Scene};

/// From this number of processes on they are added up.
const AT_LEAST: usize = 2;
/// Programs of which none matters by itself do so together from this share of the server's time on.
const MANY: f64 = 0.1;
/// So many of them are named.
const NAMED: usize = 3;

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

/// One cause for each name whose processes matter together, and one for all other names, if they take much together. Processes that matter by
/// themselves are left out.
pub(super) fn causes(scene: &Scene<'_>, took: &BTreeMap<u32, Took<'_>>) -> Vec<Cause> {
    let mut by_name: BTreeMap<&str, Crowd<'_>> = BTreeMap::new();
    for took in took.values().filter(|took| scene.time.share(took.ns) < MATTERS) {
        let Some(worst) = took.worst else { continue };
        let crowd = by_name.entry(&worst.comm).or_default();
        crowd.processes += 1;
        add(&mut crowd.together, took);
        if let Some(cgroup) = worst.cgroup.as_deref() {
            crowd.cgroups.insert(cgroup);
            crowd.of_known_cgroup += 1;
        }
    }
    let matters =
        |crowd: &Crowd<'_>| crowd.processes >= AT_LEAST && scene.time.share(crowd.together.ns) >= MATTERS;
    let (large, small): (Vec<_>, Vec<_>) = by_name.into_iter().partition(|(_, crowd)| matters(crowd));
    let mut causes: Vec<Cause> = large.iter().map(|(name, crowd)| cause(scene, name, crowd)).collect();
    causes.extend(of_all_others(scene, &small));
    causes
}

fn add(sum: &mut Took<'_>, more: &Took<'_>) {
    sum.ns += more.ns;
    sum.slices = sum.slices.saturating_add(more.slices);
    sum.preempted = sum.preempted.saturating_add(more.preempted);
    sum.cpus = sum.cpus.union(&more.cpus);
}

/// Programs that each take little, if they take much together.
fn of_all_others(scene: &Scene<'_>, small: &[(&str, Crowd<'_>)]) -> Option<Cause> {
    let mut together = Took::default();
    small.iter().for_each(|(_, crowd)| add(&mut together, &crowd.together));
    if small.len() < AT_LEAST || scene.time.share(together.ns) < MANY {
        return None;
    }
    let processes: usize = small.iter().map(|(_, crowd)| crowd.processes).sum();
    let (word, cpus) = (plural("CPU", together.cpus.len()), &together.cpus);
    let claim = format!(
        "{processes} processes of {} programs, each of which takes little, run on {word} {cpus} while the server waits for them",
        small.len()
    );
    let mut by_time: Vec<(&str, f64)> =
        small.iter().map(|(name, crowd)| (*name, crowd.together.ns)).collect();
    by_time.sort_by(|a, b| b.1.total_cmp(&a.1));
    let most: Vec<&str> = by_time.iter().take(NAMED).map(|(name, _)| *name).collect();
    let cause = waited_for(scene, Subject::Machine, &together, claim, "them")
        .because(format!("those that take most are {}", most.join(", ")))
        .figure("processes", processes as f64);
    Some(cause.remedy(elsewhere(scene, &together)))
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
    cause.remedy(elsewhere(scene, together))
}

fn elsewhere(scene: &Scene<'_>, together: &Took<'_>) -> Remedy {
    let room = scene.spare_for_others().difference(&together.cpus);
    Remedy::by_hand(match room.is_empty() {
        true => "Start them with the lowest weight: chrt --idle 0 COMMAND, or systemd-run -p CPUWeight=idle COMMAND".to_string(),
        false => format!("Start them on {} {room}, which the server does not use: taskset -c {room} COMMAND", plural("CPU", room.len())),
    })
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
    fn many_programs_that_each_take_little_matter_together() {
        let names: Vec<String> = (0..60).map(|nth| format!("job-{nth}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let seen = diagnose(&crowd(&names));
        assert_eq!(seen.causes[0].id.to_string(), "busy-task/machine");
        let claim = &seen.causes[0].claim;
        assert!(claim.starts_with("60 processes of 60 programs, each of which takes little"), "{claim}");
        assert!(!seen.ruled_out.contains(&"busy-task"));
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
