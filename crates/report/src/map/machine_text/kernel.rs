//! The kernel: what it is, what its command line really did, its settings.

use machine::kernel::boot::BootParameter;
use machine::kernel::tunables::chosen;
use machine::{CpuSet, Machine};

use super::isolation;
use super::lines::{facts, wrapped};
use super::quantities::cpus;
use crate::grid::{self, Side};

/// The kernel in a few lines, with the boot parameters that did not take effect.
pub(super) fn section(machine: &Machine) -> String {
    let kernel = &machine.kernel;
    let release = [kernel.release.as_deref(), kernel.architecture.as_deref(), kernel.version.as_deref()];
    let tickless = |set: &CpuSet| if set.is_empty() { "none".into() } else { cpus(set) };
    let accounting = kernel.irq_time_accounting.map(|apart| match apart {
        true => "accounted separately from tasks".to_string(),
        false => "charged to the interrupted task, whose CPU time includes it".to_string(),
    });
    let guest = machine.virtualization.guest.map(|guest| match (guest, machine.virtualization.name()) {
        (true, Some(name)) => format!("yes ({name})"),
        (true, None) => "yes".into(),
        (false, _) => "no".into(),
    });
    let steal = machine.virtualization.steal_share;
    let steal = steal.map(|share| format!("{:.1} % of the CPU time since boot", share * 100.0));
    let mut text = facts(
        "Kernel",
        &[
            (
                "release",
                Some(release.into_iter().flatten().collect::<Vec<_>>().join(" ")).filter(|r| !r.is_empty()),
            ),
            ("guest", guest),
            ("steal", steal),
            ("tick", kernel.hz.map(|hz| format!("{hz} Hz"))),
            ("preemption", kernel.preempt.clone()),
            ("clock source", kernel.clocksource.clone()),
            ("SMT control", kernel.smt.clone()),
            ("isolated", isolation::words(machine)),
            ("nohz_full", kernel.nohz_full.as_ref().map(tickless)),
            ("interrupt time", accounting),
            ("command line", kernel.cmdline.clone()),
        ],
    );
    text.push_str(&isolation::lines(machine));
    for parameter in kernel.boot.iter().filter(|parameter| parameter.took_effect == Some(false)) {
        let asked = parameter.asked.as_deref().map(|asked| format!("={asked}")).unwrap_or_default();
        let now = parameter.now.as_deref().unwrap_or("not known");
        let words = format!("did not take effect: now {now} ({})", parameter.source);
        text.push_str(&wrapped(&format!("  {}{asked}  ", parameter.name), &words, 6));
    }
    text
}

/// All of it: decoded command line, observability, settings, mitigations.
pub fn in_full(machine: &Machine) -> String {
    let kernel = &machine.kernel;
    let yes_no = |answer: Option<bool>| answer.map(|yes| if yes { "yes" } else { "no" }.to_string());
    let mut text = section(machine);
    text.push_str(&facts(
        "\nWhat can be observed",
        &[
            ("eBPF types (BTF)", yes_no(kernel.btf)),
            ("run-queue times", yes_no(kernel.schedstat)),
            ("pressure (PSI)", yes_no(kernel.pressure)),
            ("cgroups", kernel.cgroups.clone()),
        ],
    ));
    if !kernel.boot.is_empty() {
        text.push_str("\nBoot parameters: requested and in force\n");
        let head = ["PARAMETER", "REQUESTED", "IN FORCE", "TOOK EFFECT", "BY"];
        let mut rows = vec![head.map(String::from).to_vec()];
        rows.extend(kernel.boot.iter().map(boot_row));
        text.push_str(&grid::lines(&[Side::Left; 5], &rows, 2));
    }
    if !kernel.tunables.is_empty() {
        text.push_str("\nSettings\n");
        let rows: Vec<Vec<String>> = kernel
            .tunables
            .iter()
            .map(|(name, value)| {
                vec![name.clone(), chosen(value).split_whitespace().collect::<Vec<_>>().join(" ")]
            })
            .collect();
        text.push_str(&grid::lines(&[Side::Left, Side::Left], &rows, 2));
    }
    if !kernel.mitigations.is_empty() {
        text.push_str("\nCPU vulnerabilities and their mitigations\n");
        let width = kernel.mitigations.keys().map(|name| name.chars().count()).max().unwrap_or(0);
        for (name, state) in &kernel.mitigations {
            text.push_str(&wrapped(&format!("  {name:width$}  "), state, width + 4));
        }
    }
    text
}

fn boot_row(parameter: &BootParameter) -> Vec<String> {
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".into());
    let took = match parameter.took_effect {
        Some(true) => "yes",
        Some(false) => "NO",
        None => "unknown",
    };
    vec![
        parameter.name.clone(),
        or_dash(&parameter.asked),
        or_dash(&parameter.now),
        took.into(),
        parameter.source.clone(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_without_effect_is_told_at_once() {
        let mut machine = Machine::default();
        machine.kernel.hz = Some(250);
        machine.kernel.nohz_full = Some(CpuSet::new());
        machine.kernel.boot = vec![BootParameter {
            name: "nohz_full".into(),
            asked: Some("2-3".into()),
            now: Some("none".into()),
            took_effect: Some(false),
            source: "/sys/devices/system/cpu/nohz_full".into(),
        }];
        machine.kernel.tunables = [("vm.swappiness".to_string(), "60".to_string())].into();
        let text = section(&machine);
        assert!(text.starts_with("Kernel\n  tick       250 Hz\n  nohz_full  none\n"), "{text}");
        assert!(text.contains("nohz_full=2-3  did not take effect: now none (/sys"), "{text}");
        let text = in_full(&machine);
        assert!(text.contains("  vm.swappiness  60\n"), "{text}");
        assert!(text.contains("nohz_full  2-3        none      NO "), "{text}");
        assert_eq!(in_full(&Machine::default()), "");
    }
}
