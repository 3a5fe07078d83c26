//! Rows of /proc/interrupts: what kind of interrupt each is, and how people call it.
//!
//! Sources: arch/x86/kernel/irq.c (`arch_show_interrupts`), arch/arm64/kernel/smp.c (`ipi_types`).

use crate::own_line::OwnLine;

/// Where interrupts of a row come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A device's numbered interrupt; it has an affinity that can be set.
    Device,
    /// The CPU's own timer; it cannot be moved, only what arms it.
    Timer,
    /// Another CPU asked for something: reschedule, function call, TLB shootdown, irq work.
    InterProcessor,
    /// Anything else: NMI, performance counters, thermal events, a hypervisor's calls.
    Other,
}

/// What kind of interrupt a row counts, from its name and the kernel's text beside it.
pub fn kind(name: &str, label: &str) -> Kind {
    let numbered = !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
    match name {
        _ if numbered => of_line(label),
        "LOC" | "HVS" => Kind::Timer,
        "RES" | "CAL" | "TLB" | "IWI" => Kind::InterProcessor,
        _ if name.starts_with("IPI") && label.contains("imer") => Kind::Timer,
        _ if name.starts_with("IPI") => Kind::InterProcessor,
        _ => Kind::Other,
    }
}

/// The kind of a row with a number. Its text names the line, mostly alone: by its chip, which is not kept, those of Xen's guests would be known.
fn of_line(label: &str) -> Kind {
    match label.split([' ', ',']).find_map(|word| OwnLine::of(word, "")) {
        None => Kind::Device,
        Some(OwnLine::Timer) => Kind::Timer,
        Some(OwnLine::Calls) => Kind::InterProcessor,
        Some(OwnLine::Counters) => Kind::Other,
    }
}

/// Whether a row counts function-call interrupts: the way in which RPS hands packets to another CPU.
pub fn is_function_call(name: &str, label: &str) -> bool {
    name == "CAL" || (name.starts_with("IPI") && label.contains("Function call"))
}

/// Whether a row counts interrupts that announce to a CPU a task that was woken for it. Which of them the kernel uses depends on whether the
/// CPU polls while idle and whether its cache is shared with the waker (kernel/sched/core.c, `ttwu_queue_wakelist`).
pub fn announces_wake_ups(name: &str, label: &str) -> bool {
    let is_reschedule = name == "RES" || (name.starts_with("IPI") && label.contains("Rescheduling"));
    is_reschedule || is_function_call(name, label)
}

/// The row in words: `IRQ 85 (p7p1-rx-0)`, `local timer interrupts (LOC)`.
pub fn words(name: &str, label: &str) -> String {
    let known = match name {
        "LOC" => "local timer interrupts",
        "RES" => "reschedule interrupts",
        "CAL" => "function-call interrupts",
        "TLB" => "TLB shootdown interrupts",
        "IWI" => "irq-work interrupts",
        _ => label,
    };
    match (kind(name, label), known.is_empty()) {
        (Kind::Device, true) => format!("IRQ {name}"),
        (Kind::Device, false) => format!("IRQ {name} ({known})"),
        (_, true) => format!("{name} interrupts"),
        (_, false) => format!("{known} ({name})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_told_apart_on_x86_and_arm64() {
        assert_eq!(kind("85", "p7p1-rx-0"), Kind::Device);
        assert_eq!(kind("LOC", "Local timer interrupts"), Kind::Timer);
        assert_eq!(kind("13", "GICv3 27 Level arch_timer"), Kind::Timer);
        assert_eq!(kind("13", "arch_timer"), Kind::Timer);
        assert_eq!(kind("5", "riscv-timer"), Kind::Timer);
        assert_eq!(kind("7", "arm-pmu"), Kind::Other, "a counter of the CPU, which no affinity moves");
        assert_eq!(kind("IPI0", "Rescheduling interrupts"), Kind::InterProcessor);
        assert_eq!(kind("IPI4", "Timer broadcast interrupts"), Kind::Timer);
        assert_eq!(kind("NMI", "Non-maskable interrupts"), Kind::Other);
        assert_eq!(kind("", ""), Kind::Other);
        assert!(is_function_call("CAL", "") && is_function_call("IPI1", "Function call interrupts"));
        assert!(!is_function_call("RES", "Rescheduling interrupts"));
        assert!(announces_wake_ups("RES", "Rescheduling interrupts") && announces_wake_ups("CAL", ""));
        assert!(announces_wake_ups("IPI0", "Rescheduling interrupts") && !announces_wake_ups("TLB", ""));
    }

    #[test]
    fn rows_are_named_as_people_name_them() {
        assert_eq!(words("85", "p7p1-rx-0"), "IRQ 85 (p7p1-rx-0)");
        assert_eq!(words("85", ""), "IRQ 85");
        assert_eq!(words("LOC", "Local timer interrupts"), "local timer interrupts (LOC)");
        assert_eq!(words("XYZ", ""), "XYZ interrupts");
    }
}
