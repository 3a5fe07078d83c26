//! The machine at the start of the study, and what could not be seen of it.

use machine::CpuSet;
use machine::kernel::Kernel;
use machine::power::idle::IdleState;
use machine::wording::counted;

use super::{About, Page};
use crate::absent::{self, Absent};
use crate::markup::blocks::{facts_list, machine_sheet, table};
use crate::{CaseView, Html, number};

/// See [`About::docs`].
pub struct Machine;

static ABOUT: About = About {
    id: "machine",
    title: "The machine",
    docs: "The machine as it was found at the start of the study, and what could not be measured.",
};

impl Page for Machine {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn render(&self, case: &CaseView) -> Html {
        let mut html = Html::new();
        facts_list(&mut html, &facts(&case.facts.machine));
        if !case.machine_text.is_empty() {
            machine_sheet(&mut html, "The whole machine, as pinwise map prints it", &case.machine_text);
        }
        let mut missing = absent::of_case(case.facts);
        missing.extend(absent::of_machine(&case.facts.machine.missing));
        not_measured(&mut html, &missing, case.facts.trials.len());
        html
    }
}

fn facts(machine: &machine::Machine) -> Vec<(&'static str, String)> {
    let unknown = || "not known".to_string();
    let cpus: CpuSet = machine.cpus.iter().filter(|c| c.online).map(|c| c.id).collect();
    let kernel = &machine.kernel;
    let list = |cpus: &Option<CpuSet>| match cpus {
        Some(cpus) if cpus.is_empty() => "none".to_string(),
        Some(cpus) => cpus.to_list(),
        None => unknown(),
    };
    let nodes = match machine.nodes.len() {
        0 => String::new(),
        n => format!(", {}", counted(n, "NUMA node")),
    };
    let guest = match (&machine.virtualization.guest, machine.virtualization.name()) {
        (Some(true), Some(who)) => format!("yes ({who})"),
        (Some(true), None) => "yes".into(),
        (Some(false), _) => "no".into(),
        (None, _) => unknown(),
    };
    let irq_time = match kernel.irq_time_accounting {
        Some(true) => "charged separately from the interrupted task".to_string(),
        Some(false) => {
            "charged to the interrupted task: a server looks busy while interrupts take its CPU".into()
        }
        None => unknown(),
    };
    let or_unknown = |text: &Option<String>| text.clone().unwrap_or_else(unknown);
    vec![
        ("CPUs online", if cpus.is_empty() { unknown() } else { format!("{cpus} ({}){nodes}", cpus.len()) }),
        ("this process may use", machine.limits.allowed().map_or_else(unknown, |c| c.to_list())),
        (
            "memory",
            machine
                .memory_bytes
                .map_or_else(unknown, |b| format!("{} GiB", number::figure(b as f64 / (1u64 << 30) as f64))),
        ),
        ("virtual machine", guest),
        ("kernel", kernel_words(kernel).unwrap_or_else(unknown)),
        ("command line", or_unknown(&kernel.cmdline)),
        ("HZ", kernel.hz.map_or_else(unknown, |hz| hz.to_string())),
        ("isolated CPUs", list(&machine.isolated())),
        ("tickless CPUs", list(&kernel.nohz_full)),
        ("interrupt time", irq_time),
        (
            "idle driver, governor",
            format!("{}, {}", or_unknown(&machine.idle.driver), or_unknown(&machine.idle.governor)),
        ),
        ("idle states", idle_states(&machine.idle.states)),
    ]
}

/// Release and architecture; `None` where neither is known.
fn kernel_words(kernel: &Kernel) -> Option<String> {
    let known = [&kernel.release, &kernel.architecture].into_iter().flatten();
    let known: Vec<&str> = known.map(String::as_str).collect();
    (!known.is_empty()).then(|| known.join(" "))
}

fn idle_states(states: &[IdleState]) -> String {
    let named: Vec<String> = states
        .iter()
        .map(|s| match s.exit_latency_us {
            Some(us) => format!("{} ({us} us to leave)", s.name),
            None => s.name.clone(),
        })
        .collect();
    if named.is_empty() { "not known".into() } else { named.join(", ") }
}

fn not_measured(html: &mut Html, missing: &[Absent], trials: usize) {
    if missing.is_empty() {
        return;
    }
    html.element("h3", &[("id", &"missing")], "Not measured, and why");
    let rows: Vec<Vec<String>> =
        missing.iter().map(|m| vec![m.fact.clone(), m.why.clone(), m.place(trials)]).collect();
    table(html, &["what", "why", "where"], &[], &rows);
}
