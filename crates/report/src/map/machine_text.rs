//! The machine as text for people: what `pinwise map` prints.
//!
//! Sections in the order in which somebody looks for a place for a server: CPUs and memory, devices, interrupts,
//! kernel, idle states, limits, and at the end what is not known and why.

mod device;
mod devices;
mod interrupts;
mod isolation;
mod kernel;
mod limits;
mod lines;
mod memory;
mod power;
pub mod process;
mod quantities;
mod runs_here;
mod topology;
mod words;

use machine::devices::Device;
use machine::diff::Difference;
use machine::{Machine, Missing};

use crate::visible;
use lines::wrapped;
pub(crate) use quantities::cpus;
pub use quantities::size;

/// Renders the whole map. Names from the machine are made safe to show on a terminal.
pub fn render(machine: &Machine) -> String {
    let sections = [
        topology::section(machine),
        words::section(machine),
        devices::section(machine),
        interrupts::section(machine),
        kernel::section(machine),
        power::section(machine),
        limits::section(machine),
        runs_here::guests(machine),
        runs_here::containers(machine),
        runs_here::owners(machine),
        runs_here::kernel_threads(machine),
        missing(&machine.missing),
    ];
    let filled: Vec<String> = sections.into_iter().filter(|section| !section.is_empty()).collect();
    visible::lines(&filled.join("\n")).into_owned()
}

/// One part of the map in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// Every interrupt line.
    Irqs,
    /// Idle states, what latency limits leave of them, clock policies.
    Power,
    /// Command line decoded, settings, mitigations.
    Kernel,
    /// One device with its queues and interrupts.
    Device(&'a Device),
}

/// Renders one part in full.
pub fn in_full(machine: &Machine, part: Part) -> String {
    let text = match part {
        Part::Irqs => interrupts::in_full(machine),
        Part::Power => power::in_full(machine),
        Part::Kernel => kernel::in_full(machine),
        Part::Device(device) => device::in_full(machine, device),
    };
    let text = if text.is_empty() { "Nothing is known about it.\n".into() } else { text };
    visible::lines(&text).into_owned()
}

/// Renders what differs between two machines, a line a fact.
pub fn differences(differences: &[Difference]) -> String {
    if differences.is_empty() {
        return "No difference.\n".into();
    }
    /// Longer values are cut here, and whole in JSON.
    const LONGEST: usize = 40;
    let words = |value: &Option<String>| match value {
        None => "-".into(),
        Some(text) if text.chars().count() <= LONGEST => text.clone(),
        Some(text) => text.chars().take(LONGEST - 3).chain("...".chars()).collect(),
    };
    let mut rows = vec![["FACT", "BEFORE", "AFTER"].map(String::from).to_vec()];
    rows.extend(differences.iter().map(|d| vec![d.fact.clone(), words(&d.before), words(&d.after)]));
    visible::lines(&crate::grid::lines(&[crate::grid::Side::Left; 3], &rows, 0)).into_owned()
}

fn missing(missing: &[Missing]) -> String {
    if missing.is_empty() {
        return String::new();
    }
    let mut text = String::from("Not known\n");
    for missing in missing {
        text.push_str(&wrapped(&format!("  {}: ", missing.fact), &missing.why, 6));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::lines::WIDTH;
    use super::*;

    #[test]
    fn long_reasons_are_broken_and_hostile_names_are_written_out() {
        let why = "word ".repeat(60) + "\x1b[2J";
        let machine = Machine { missing: vec![Missing::new("fact", why)], ..Machine::default() };
        let text = render(&machine);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(!text.contains('\x1b') && text.contains("\\u{1b}"), "{text}");
    }

    #[test]
    fn a_real_machine_reads_like_this() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/machines/vm-2cpu");
        let machine = Machine::read(&machine::Root::at(std::path::Path::new(path)).unwrap());
        let text = render(&machine);
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        for line in [
            "2 CPUs online, 2 cores, 1 package, 1 NUMA node, 23.5 GiB of memory",
            "package 0 CPUs 0-1",
            "L3 32 MiB CPUs 0-1",
            "L2 unified 2 x 512 KiB of one CPU each",
            "eth0 unknown 0000:00:03.0 virtio_net 1 rx 1 tx 37-39 CPUs 0-1 up",
            "without hardware: ifb0 ifb1 lo",
            "interrupt time charged to the interrupted task, whose CPU time includes it",
            "affinity CPUs 0-1, memory nodes 0",
        ] {
            assert!(text.lines().any(|l| words(l) == line), "{line}\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
    }

    #[test]
    fn a_machine_of_which_nothing_is_known_is_rendered_too() {
        let machine = Machine::read(&machine::Root::from_tree(machine::Tree::new()));
        let text = render(&machine);
        assert!(text.contains("Not known") && text.contains("NUMA nodes"), "{text}");
        assert!(!text.contains("None"), "{text}");
    }
}
