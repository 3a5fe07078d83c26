//! A plan in force for hours of each day: services and timers of systemd that apply it at their beginning and undo it at their end.
//!
//! The service of the beginning stays active while the plan is in force; stopping it, also by a shutdown, is the undo. A timer that
//! catches up on what it missed (Persistent=) would be wrong: it would apply the plan at 20:00 to a machine that was off from 07:00 on,
//! and not at 10:00 to one that was rebooted then. So the beginning is tried at each boot and whenever the clock is set, and goes ahead only
//! within the hours.

mod time_of_day;
mod words;

use machine::knobs::{self, guest};
use machine::plan::BOOT_PARAMETERS;
use machine::{Plan, Planned, PlannedActs};

use super::page::{Page, acts, is_of_processes};
use super::systemd::unit_of_target;
pub use time_of_day::Hours;

pub(super) fn write(settings: &[&PlannedActs], server: Option<&str>, hours: Hours, page: &mut Page) {
    let mut plan = Plan::default();
    let mut units: Vec<String> = Vec::new();
    for one in settings {
        match of_setting(one, server) {
            Ok(Timed { target, unit, in_part }) => {
                let Planned { knob, value, .. } = one.planned.clone();
                plan.settings.push(Planned { knob, target, value, ..Planned::default() });
                units.extend(unit);
                if let Some(why) = in_part {
                    page.leave_in_part(&one.planned, why);
                }
            }
            Err(why) => page.leave(&one.planned, why),
        }
    }
    if plan.settings.is_empty() {
        return;
    }
    units.sort();
    units.dedup();
    match plan.to_toml() {
        Ok(text) => page.files.extend(words::files(text, &units, hours)),
        Err(fault) => settings.iter().for_each(|one| page.leave(&one.planned, fault.cause.clone())),
    }
}

/// How a setting is made at an hour.
struct Timed {
    /// Its target in the plan that is applied then.
    target: String,
    /// The unit that has to run before.
    unit: Option<String>,
    /// What is missing.
    in_part: Option<&'static str>,
}

/// Errors: why it cannot be made at an hour of each day.
fn of_setting(one: &PlannedActs, server: Option<&str>) -> Result<Timed, String> {
    let Planned { knob: id, target, .. } = &one.planned;
    let knob = knobs::find(id).ok_or_else(|| format!("there is no knob '{id}'"))?;
    let whole = |target: &str| Timed { target: target.into(), unit: None, in_part: None };
    match id.as_str() {
        BOOT_PARAMETERS => return Err("it takes effect when the machine is rebooted, not at an hour".into()),
        "memory-policy" | "unit-environment" | "unit-command" => {
            return Err(
                "it takes effect when the unit is started, not at an hour; write it without --between".into(),
            );
        }
        "irq-affinity" | "irqbalance-banned-irqs" => {
            return Err("interrupts get new numbers at every boot; knob device-irqs names the device".into());
        }
        "kernel-thread-affinity" if target.contains(':') => {
            return Err("a thread number is only valid while the thread runs".into());
        }
        _ => {}
    }
    if guest::is_one(knob) {
        if guest::is_of_server(target) || target.starts_with("pid:") {
            return Err("name the guest in the target, as in GUEST/vcpu/0: a process number is only valid while the process runs".into());
        }
        return Ok(Timed {
            in_part: Some("it is set for the guest that is running when the hours begin"),
            ..whole(target)
        });
    }
    if is_of_processes(&one.planned) {
        let unit = unit_of_target(target, server)?;
        let in_part = Some(
            "it is set for the processes that are running when the hours begin; a restart of the unit ends it",
        );
        return Ok(Timed { target: unit.clone(), unit: Some(unit), in_part });
    }
    acts(one)?;
    Ok(whole(target))
}
