//! Levels: what the factors of a recipe come to on a machine. What each does is in `recipe::factor`. Pure.

mod level;
mod relations;

use machine::{Class, CpuSet, Fault, Machine};

pub(crate) use self::level::memory_policy;
pub use self::level::{Level, placed};
use crate::recipe::Factor;

/// The levels of several factors that are combined, by the factors' names.
///
/// # Errors
/// A level that this machine cannot have, two of a factor that are one, a factor without any; two factors that say the same thing.
pub fn of_factors(
    factors: &[Factor],
    machine: &Machine,
    load: Option<&CpuSet>,
) -> Result<Vec<(String, Vec<Level>)>, Fault> {
    let levels = factors
        .iter()
        .map(|factor| Ok((factor.name(), factor.levels(machine, load)?)))
        .collect::<Result<Vec<_>, Fault>>()?;
    go_together(&levels)?;
    Ok(match (factors, levels.as_slice(), load) {
        // Beside other factors they would multiply, and a load that the recipe has placed stays there.
        ([Factor::EachCpu(factor)], [(name, each)], None) => {
            let relations = relations::of(&factor.tried(machine)?, machine);
            vec![(name.clone(), [each.as_slice(), &relations].concat())]
        }
        _ => levels,
    })
}

/// Two factors that both place the server have no combination.
fn go_together(levels: &[(String, Vec<Level>)]) -> Result<(), Fault> {
    let say = |what: fn(&Level) -> bool| -> Vec<&str> {
        levels.iter().filter(|(_, of)| of.iter().any(what)).map(|(name, _)| name.as_str()).collect()
    };
    for (what, who) in [
        ("the server's CPUs", say(|level| level.server.is_some())),
        ("the load's CPUs", say(|level| level.load.is_some())),
        ("the server's memory", say(|level| level.memory.is_some())),
        ("the CPUs of the kernel's own work", say(|level| level.housekeeping.is_some())),
        ("the parameters that the kernel is booted with", say(|level| level.boot.is_some())),
    ] {
        if who.len() > 1 {
            let cause = format!("the factors {} all set {what}", who.join(" and "));
            let remedy = "make one factor of kind places of them, with a level for each pair";
            return Err(Fault::new(Class::Usage, "factors", cause, remedy));
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests;
