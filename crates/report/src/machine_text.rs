//! The machine as text for people: what `pinwise map` prints.
//!
//! Sections in the order in which somebody looks for a place for a server: CPUs and memory, devices, interrupts,
//! kernel, idle states, limits, and at the end what is not known and why.

mod device;
mod devices;
mod interrupts;
mod kernel;
mod limits;
mod memory;
mod power;
pub mod process;
mod runs_here;
mod topology;

use machine::devices::Device;
use machine::diff::Difference;
use machine::{CpuSet, Machine, Missing};

use crate::visible;

/// Widest line that is made where text can be broken, characters.
const WIDTH: usize = 110;

/// Renders the whole map. Names from the machine are made safe to show on a terminal.
pub fn render(machine: &Machine) -> String {
    let sections = [
        topology::section(machine),
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
    let told: Vec<String> = sections.into_iter().filter(|section| !section.is_empty()).collect();
    visible::lines(&told.join("\n")).into_owned()
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
    let text = if text.is_empty() { "Nothing of it is known.\n".into() } else { text };
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

/// A headline and a line for each fact that is known; nothing when none is.
fn facts(title: &str, facts: &[(&str, Option<String>)]) -> String {
    let width =
        facts.iter().filter(|(_, value)| value.is_some()).map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines: String = facts
        .iter()
        .filter_map(|(name, value)| Some(wrapped(&format!("  {name:width$}  "), value.as_ref()?, width + 4)))
        .collect();
    if lines.is_empty() { lines } else { format!("{}\n{lines}", visible::one_line(title)) }
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

/// `start` and then `words`, broken at blanks before [`WIDTH`]; further lines begin at column `indent`.
fn wrapped(start: &str, words: &str, indent: usize) -> String {
    // The words may be of several lines: they are broken anew.
    let mut text = visible::one_line(start).into_owned();
    let mut column = text.chars().count();
    let mut at_start = true;
    for word in words.split_whitespace() {
        let length = word.chars().count();
        if !at_start && column + 1 + length > WIDTH {
            text.push('\n');
            text.push_str(&" ".repeat(indent));
            column = indent;
        } else if !at_start {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
        at_start = false;
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// `CPU 3`, `CPUs 0-3,8`, `CPUs 0,4,8,...,76`, `no CPUs`.
pub(crate) fn cpus(set: &CpuSet) -> String {
    match set.len() {
        0 => "no CPUs".into(),
        1 => format!("CPU {set}"),
        _ => format!("CPUs {}", stepped(set).unwrap_or_else(|| set.to_list())),
    }
}

/// Sets with a fixed step above 1, as machines have them that number their packages in turn: `0,4,8,...,76`.
fn stepped(set: &CpuSet) -> Option<String> {
    let all: Vec<u32> = set.iter().collect();
    let step = all.get(1)? - all.first()?;
    let regular = all.windows(2).all(|pair| pair[1] - pair[0] == step);
    let last = all.last()?;
    (regular && step > 1 && all.len() > 5).then(|| format!("{},{},{},...,{last}", all[0], all[1], all[2]))
}

/// `1 package`, `2 packages`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// A size in the largest binary unit that it fills, with as many decimals as say something: `48 KiB`, `1.25 MiB`,
/// `23.5 GiB`, `8 GiB` also for a little less.
pub fn size(bytes: u64) -> String {
    let units = [("TiB", 1u64 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let Some((name, unit)) = units.iter().find(|(_, unit)| bytes >= *unit) else {
        return format!("{bytes} B");
    };
    let count = bytes as f64 / *unit as f64;
    // Two decimals where they are exact, as caches have them; memory that firmware took a part of needs but one.
    let text = match (count * 4.0).fract() == 0.0 {
        true => format!("{count:.2}"),
        false => format!("{count:.1}"),
    };
    format!("{} {name}", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_sets_and_counts_read_well() {
        assert_eq!(size(48 << 10), "48 KiB");
        assert_eq!(size((23 << 30) + (1 << 29)), "23.5 GiB");
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1280 << 10), "1.25 MiB");
        assert_eq!((size((8 << 30) - (10 << 20)), size(100 << 30)), ("8 GiB".into(), "100 GiB".into()));
        assert_eq!(cpus(&CpuSet::new()), "no CPUs");
        assert_eq!(cpus(&CpuSet::single(3)), "CPU 3");
        assert_eq!(cpus(&(0..20).map(|n| n * 4).collect()), "CPUs 0,4,8,...,76");
        assert_eq!(cpus(&[0, 2, 4, 8, 10, 12].into_iter().collect()), "CPUs 0,2,4,8,10,12");
        assert_eq!(counted(1, "core") + &counted(2, "node"), "1 core2 nodes");
    }

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
            "eth0 not told 0000:00:03.0 virtio_net 1 rx 1 tx 37-39 CPUs 0-1 up",
            "without hardware: ifb0 ifb1 lo",
            "interrupt time charged to the interrupted task: its CPU time does not tell it",
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
