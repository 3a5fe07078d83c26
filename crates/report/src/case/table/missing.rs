//! What could not be measured, and why.

use study::Facts;

use super::page::Page;
use crate::absent::{self, Absent, Of};

/// What a machine may not have at all, by the fact that probes report then, and what people call it.
const OF_THE_MACHINE: [(&str, &str); 4] = [
    ("cpufreq", "cpufreq"),
    ("cpuidle", "cpuidle"),
    ("energy counters (RAPL)", "RAPL"),
    ("/proc/pressure/irq", "pressure of interrupts"),
];

/// Prints it: in one line what the machine does not have, each time that it is studied, and the rest by itself.
pub(super) fn print(out: &mut Page, facts: &Facts) {
    let missing = absent::of_case(facts);
    if missing.is_empty() {
        return;
    }
    out.heading("Not measured");
    let observed = facts.trials.iter().filter(|seen| seen.trial.failed.is_none()).count();
    let name = |absent: &Absent| {
        let is_always = absent.of == Of::Trial && absent.alike == 0 && absent.trials >= observed;
        let known = OF_THE_MACHINE.iter().find(|(fact, _)| is_always && *fact == absent.fact);
        known.map(|(_, name)| *name)
    };
    for absent in missing.iter().filter(|absent| name(absent).is_none()) {
        let text = format!("{}: {} [{}]", absent.fact, absent.why, absent.place(facts.trials.len()));
        out.paragraph("  - ", &text);
    }
    let names: Vec<&str> = missing.iter().filter_map(name).collect();
    if let Some((last, before)) = names.split_last() {
        let machine =
            if facts.machine.virtualization.guest == Some(true) { "this guest" } else { "this machine" };
        let names =
            if before.is_empty() { last.to_string() } else { format!("{} or {last}", before.join(", ")) };
        out.paragraph("  - ", &format!("{machine} has no {names} (why: report.html)"));
    }
}
