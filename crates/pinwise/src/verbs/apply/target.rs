//! Which processes the target of a plan means: `server`, a systemd unit, a cgroup, a number.

use machine::knobs::{MaySet, guest};
use machine::plan::SERVER;
use machine::{Class, Fault, Plan, Planned, Root, knobs, processes};

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
    let of_a_process = knobs::find(&planned.knob)
        .is_some_and(|knob| knob.about().may_set == MaySet::OwnProcesses && !guest::is_one(knob));
    let said = planned.target == SERVER;
    let of_guest = planned.target.starts_with(guest::OF_SERVER);
    let asked = match (planned.target.as_str(), server) {
        (target, Some(server)) if of_guest => {
            let pids = processes::find(root, server)?.pids;
            let found = guest::of_server(root, target, &pids)?.ok_or_else(|| {
                let object = format!("{} of {target}", planned.knob);
                let cause = format!("no process of {server} is a virtual machine");
                Fault::new(Class::MachineLacks, object, cause, "name the one that is, by its number or unit")
            })?;
            return Ok(vec![Planned { target: found, ..planned.clone() }]);
        }
        (SERVER, Some(server)) => server,
        (target, None) if said || of_guest => {
            let object = format!("{} of {target}", planned.knob);
            let cause = "the plan is for a server, but no server was named";
            return Err(Fault::new(Class::Usage, object, cause, "add --server UNIT, or --server PID"));
        }
        (target, _) => target,
    };
    // A number in a plan is that process alone, or that thread of it; said to be the server it is all of its children as well.
    let is_number = |text: &str| text.parse::<u32>().is_ok();
    let alone = !said && asked.split('/').count() <= 2 && asked.split('/').all(is_number);
    if !of_a_process || alone {
        return Ok(vec![Planned { target: asked.to_string(), ..planned.clone() }]);
    }
    let found = processes::find(root, asked)?;
    let each = found.pids.iter().map(|pid| Planned { target: pid.to_string(), ..planned.clone() });
    Ok(each.collect())
}

#[cfg(test)]
mod tests {
    use machine::Tree;

    use super::*;

    fn named_of(knob: &str, target: &str, server: Option<&str>) -> Result<Vec<String>, Fault> {
        let planned =
            Planned { knob: knob.into(), target: target.into(), value: "0".into(), ..Planned::default() };
        let plan = Plan { settings: vec![planned], ..Plan::default() };
        let named = named(&Root::from_tree(Tree::new()), plan, server)?;
        Ok(named.settings.into_iter().map(|planned| planned.target).collect())
    }

    #[test]
    fn numbers_are_taken_as_they_are_and_words_are_looked_for() {
        assert_eq!(named_of("process-affinity", "4711", None).unwrap(), ["4711"]);
        assert_eq!(named_of("scheduling-policy", "4711/4712", None).unwrap(), ["4711/4712"]);
        assert_eq!(named_of("vcpu-affinity", "db/vcpu/0", None).unwrap(), ["db/vcpu/0"]);
        assert_eq!(named_of("irq-affinity", "38", None).unwrap(), ["38"]);
        assert_eq!(named_of("swappiness", "machine", None).unwrap(), ["machine"]);
        assert!(named_of("process-affinity", "nginx", None).is_err());
        for (knob, target) in [("process-affinity", "server"), ("vcpu-affinity", "server/vcpu/0")] {
            let fault = named_of(knob, target, None).unwrap_err();
            assert!(fault.remedy.contains("--server"), "{fault}");
        }
        assert!(named_of("process-affinity", "server", Some("4711")).is_err(), "there is no such process");
    }
}
