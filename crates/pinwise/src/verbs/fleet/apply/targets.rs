//! The hosts that get a plan: those that are built as the machine that it was made for.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use advise::environment::Captured;
use advise::fleet::{Deviation, Unlike, chosen, unlike};
use hosts::HostSpec;
use machine::{Class, Fault, Plan};
use report::fleet::NotRead;

use super::super::surveyed::{HostFlags, Surveyed, survey};
use crate::verbs::compare::machine_at;

/// The name of the plan's machine among the hosts: none of theirs has a blank.
const MACHINE_OF_PLAN: &str = "the machine of the plan";

/// Most hosts that are named in a refusal.
const MOST_NAMED: usize = 12;

/// The hosts that get the plan, and those that do not.
pub(super) struct Targets {
    /// In the order in which they were named.
    pub(super) hosts: Vec<HostSpec>,
    /// Those that are built otherwise.
    pub(super) unlike: Vec<Unlike>,
    /// Those of which nothing is known.
    pub(super) not_read: Vec<NotRead>,
}

/// Captures the hosts, and holds them to the machine of the plan.
///
/// # Errors
/// That machine is not known, no host can be read, or some are unlike or cannot be read and are not to be left out.
pub(super) fn find(
    flags: &HostFlags,
    plan: &Plan,
    like: Option<&Path>,
    leave_out: bool,
    interrupted: &AtomicBool,
) -> Result<Targets, Fault> {
    let reference = machine_of(plan, like)?;
    let beside = reference.map(|host| (MACHINE_OF_PLAN, host));
    let is_known = beside.is_some();
    let surveyed = survey(flags, beside, interrupted)?;
    let targets = held(surveyed, is_known);
    if !leave_out {
        all_are_alike(&targets)?;
    }
    match targets.hosts.is_empty() {
        true => {
            let cause = "no host is built like the machine that the plan was made for";
            let remedy = "study one of them, and make a plan from that (pinwise fleet study, pinwise plan)";
            Err(Fault::new(Class::MachineLacks, "fleet", cause, remedy))
        }
        false => Ok(targets),
    }
}

/// The machine that the plan was made for; `None` of a plan that names none, as one that was written by hand.
fn machine_of(plan: &Plan, like: Option<&Path>) -> Result<Option<Captured>, Fault> {
    match (like, plan.case.as_deref().map(Path::new)) {
        (Some(like), _) => host_of(like).map(Some),
        (None, None) => Ok(None),
        (None, Some(case)) => host_of(case).map(Some).map_err(|fault| {
            let object = format!("machine of the plan: {}", fault.object);
            let remedy = "name its case or a capture of its machine with --like, or remove the line 'case' from the plan";
            Fault { object, remedy: remedy.into(), ..fault }
        }),
    }
}

/// The machine of a case, or of a capture.
fn host_of(path: &Path) -> Result<Captured, Fault> {
    let of_case = path.join("machine");
    let path = if of_case.is_dir() { of_case.as_path() } else { path };
    if let Err(error) = std::fs::metadata(path) {
        return Err(Fault::io(path.display(), &error, "name a case, or a capture of its machine"));
    }
    machine_at(path)
}

/// Without a machine of the plan the hosts are held to the most usual one among themselves.
fn held(surveyed: Surveyed, is_known: bool) -> Targets {
    let shapes = chosen(&surveyed.fleet, 1);
    let most_usual = shapes.first().and_then(|shape| shape.hosts.first());
    let reference = if is_known { Some(MACHINE_OF_PLAN) } else { most_usual.map(String::as_str) };
    let unlike = unlike(&surveyed.fleet, reference.unwrap_or_default());
    let Surveyed { specs, not_read, .. } = surveyed;
    let is_out = |spec: &HostSpec| {
        unlike.iter().any(|one| one.host == spec.name) || not_read.iter().any(|one| one.host == spec.name)
    };
    let hosts = specs.into_iter().filter(|spec| !is_out(spec)).collect();
    Targets { hosts, unlike, not_read }
}

/// Refuses a fleet of which a part would not get the plan.
fn all_are_alike(targets: &Targets) -> Result<(), Fault> {
    let Targets { unlike, not_read, .. } = targets;
    let remedy = "leave them out with --skip-unlike";
    if let Some(first) = not_read.first() {
        let mut cause = "hosts cannot be read, so whether the plan fits them is not known".to_string();
        for one in not_read.iter().take(MOST_NAMED) {
            cause.push_str(&format!("\n{}", one.fault));
        }
        return Err(Fault::new(first.fault.class, "fleet", cause, remedy));
    }
    if unlike.is_empty() {
        return Ok(());
    }
    let mut cause =
        "hosts are not built like the machine that the plan was made for: its CPU numbers mean other CPUs there"
            .to_string();
    for one in unlike.iter().take(MOST_NAMED) {
        cause.push_str(&format!("\n{}", words(one)));
    }
    if unlike.len() > MOST_NAMED {
        cause.push_str(&format!("\nand {} more", unlike.len() - MOST_NAMED));
    }
    let remedy = format!("{remedy}, and make a separate plan for them");
    Err(Fault::new(Class::Usage, "fleet", cause, remedy))
}

/// A host with the first of what is otherwise there.
pub(super) fn words(unlike: &Unlike) -> String {
    let what = match unlike.why.first() {
        None => String::new(),
        Some(Deviation::Shape { here, there }) => format!("{here}, and not {there}"),
        Some(Deviation::Feature { feature, subject, here, there }) => {
            let of = if subject.is_empty() { String::new() } else { format!(" of {subject}") };
            format!("{}{of} is {here}, and not {there}", feature.name())
        }
    };
    format!("host {}: {what}", unlike.host)
}

#[cfg(test)]
mod tests {
    use advise::fleet::{Fleet, Shape};

    use super::*;

    fn surveyed(shapes: &[(&str, &[&str])], not_read: &[&str]) -> Surveyed {
        let shape = |(id, hosts): &(&str, &[&str])| Shape {
            id: id.to_string(),
            title: format!("of {id}"),
            hosts: hosts.iter().map(ToString::to_string).collect(),
            differences: Vec::new(),
            features: std::collections::BTreeMap::new(),
            varies: Vec::new(),
            columns: Vec::new(),
        };
        let fault = |host: &&str| NotRead {
            host: host.to_string(),
            fault: Fault::new(Class::WorkloadFailed, format!("host {host}"), "is down", ""),
        };
        let specs = ["d", "c", "b", "a"].map(HostSpec::named).to_vec();
        let fleet = Fleet { shapes: shapes.iter().map(shape).collect() };
        Surveyed { specs, fleet, not_read: not_read.iter().map(fault).collect() }
    }

    fn names(targets: &Targets) -> Vec<&str> {
        targets.hosts.iter().map(|host| host.name.as_str()).collect()
    }

    #[test]
    fn hosts_that_are_built_otherwise_or_not_known_do_not_get_the_plan() {
        let targets = held(surveyed(&[("x", &["a", MACHINE_OF_PLAN]), ("y", &["b", "c"])], &["d"]), true);
        assert_eq!(names(&targets), ["a"]);
        let why = all_are_alike(&targets).unwrap_err().to_string();
        assert!(why.contains("host d: is down") && why.contains("--skip-unlike"), "{why}");
        let targets = Targets { not_read: Vec::new(), ..targets };
        let why = all_are_alike(&targets).unwrap_err().to_string();
        assert!(why.contains("host b: of y, and not of x") && why.contains("host c"), "{why}");
    }

    #[test]
    fn without_a_machine_of_the_plan_the_shape_of_most_hosts_counts() {
        let targets = held(surveyed(&[("y", &["b", "c", "d"]), ("x", &["a"])], &[]), false);
        assert_eq!(names(&targets), ["d", "c", "b"], "in the order of the file");
        assert!(all_are_alike(&targets).is_err());
        let targets = held(surveyed(&[("y", &["a", "b", "c", "d"])], &[]), false);
        all_are_alike(&targets).unwrap();
    }

    #[test]
    fn a_plan_whose_case_is_not_here_is_refused_with_what_to_do() {
        let plan = Plan { case: Some("/nonexistent/case".into()), ..Plan::default() };
        let fault = machine_of(&plan, None).unwrap_err().to_string();
        assert!(fault.contains("/nonexistent/case") && fault.contains("--like"), "{fault}");
        assert!(machine_of(&Plan::default(), None).unwrap().is_none());
        let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/machines/corsair");
        assert!(machine_of(&plan, Some(Path::new(capture))).unwrap().is_some());
    }
}
