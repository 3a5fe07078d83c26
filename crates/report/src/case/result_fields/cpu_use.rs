//! CPU time of server and load in each arm, in one column of the table.

use study::Facts;
use study::evidence::{ArmSummary, CpuUse};

/// Marks one full thread of a party that may use more CPUs.
const FULL_THREAD: char = '*';

/// Whether it is known of any arm.
pub(super) fn is_known(facts: &Facts) -> bool {
    facts.evidence.arms.iter().any(|arm| arm.server_cpus.used_cpus.or(arm.load_cpus.used_cpus).is_some())
}

/// `0.96/0.20`: the server's and the load's in these arms, in CPUs; empty where neither is known.
pub(super) fn of(facts: &Facts, arms: &[&ArmSummary]) -> String {
    let typical = |of: fn(&ArmSummary) -> CpuUse| {
        let uses: Vec<CpuUse> = arms.iter().map(|arm| of(arm)).collect();
        CpuUse::typical(&uses)
    };
    let server = typical(|arm| arm.server_cpus);
    let load = typical(|arm| arm.load_cpus);
    // A load that is not placed may use all there are.
    let all = Some(facts.machine.usable().len() as f64).filter(|cpus| *cpus > 0.0);
    let load = CpuUse { may_use_cpus: load.may_use_cpus.or(all), ..load };
    match server.used_cpus.or(load.used_cpus) {
        Some(_) => format!("{}/{}", in_cpus(&server), in_cpus(&load)),
        None => String::new(),
    }
}

fn in_cpus(cpu_use: &CpuUse) -> String {
    let mark = if cpu_use.is_one_full_thread() { FULL_THREAD.to_string() } else { String::new() };
    cpu_use.used_cpus.map_or("-".into(), |cpus| format!("{cpus:.2}{mark}"))
}

/// What the column means, in one line; none without the column.
pub(crate) fn legend(facts: &Facts) -> Option<&'static str> {
    let is_marked = |arm: &ArmSummary| of(facts, &[arm]).contains(FULL_THREAD);
    is_known(facts).then(|| match facts.evidence.arms.iter().any(is_marked) {
        true => "CPUs: CPU time of all threads. *: one thread is full, although more CPUs may be used.",
        false => "CPUs: CPU time of all threads.",
    })
}
