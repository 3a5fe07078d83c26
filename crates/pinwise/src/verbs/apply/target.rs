//! Which processes the words of a plan mean: `server`, a systemd unit, a cgroup, a number.

use machine::plan::SERVER;
use machine::{Class, Fault, Plan, Planned, Root, knobs, processes};

/// What the scope of knobs that are set for a process begins with.
const OF_A_PROCESS: &str = "one process";

/// The plan with a setting for each process that its targets name.
///
/// Errors: `server` is not said; there is no such unit, process or cgroup.
pub fn named(root: &Root, plan: Plan, server: Option<&str>) -> Result<Plan, Fault> {
    let mut settings = Vec::with_capacity(plan.settings.len());
    for planned in &plan.settings {
        settings.extend(each_process(root, planned, server)?);
    }
    Ok(Plan { settings, ..plan })
}

fn each_process(root: &Root, planned: &Planned, server: Option<&str>) -> Result<Vec<Planned>, Fault> {
    let of_a_process =
        knobs::find(&planned.knob).is_some_and(|knob| knob.about().scope.starts_with(OF_A_PROCESS));
    let asked = match (planned.target.as_str(), server) {
        (SERVER, Some(server)) => server,
        (SERVER, None) => {
            let object = format!("{} of {SERVER}", planned.knob);
            let cause = "the plan is for a server, and which that is has not been said";
            return Err(Fault::new(Class::Usage, object, cause, "add --server UNIT, or --server PID"));
        }
        (target, _) => target,
    };
    if !of_a_process || asked.parse::<u32>().is_ok() {
        return Ok(vec![Planned { target: asked.to_string(), ..planned.clone() }]);
    }
    let found = processes::find(root, asked)?;
    let each = found.pids.iter().map(|pid| Planned { target: pid.to_string(), ..planned.clone() });
    Ok(each.collect())
}
