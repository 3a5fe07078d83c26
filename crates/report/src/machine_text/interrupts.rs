//! Interrupt lines, the busiest first.

use machine::irqs::Irq;
use machine::{CpuSet, Machine};

use super::grid::{self, Side};
use crate::number;

/// How many CPUs are named with their share before the rest is summed up.
const SHARES: usize = 3;

pub(super) fn section(machine: &Machine) -> String {
    if machine.irqs.is_empty() {
        return String::new();
    }
    let mut came: Vec<(&Irq, u64)> =
        machine.irqs.iter().map(|irq| (irq, total(irq))).filter(|(_, n)| *n > 0).collect();
    came.sort_by_key(|(irq, count)| (std::cmp::Reverse(*count), irq.irq));
    let head = ["IRQ", "COUNT", "TAKEN BY", "RUNS ON", "MAY RUN ON", "NODE", "NAME"];
    let mut rows = vec![head.map(String::from).to_vec()];
    rows.extend(came.iter().map(|(irq, count)| row(irq, *count)));
    let mut sides = vec![Side::Left; head.len()];
    (sides[0], sides[1], sides[5]) = (Side::Right, Side::Right, Side::Right);
    let quiet = machine.irqs.len() - came.len();
    let rest = match quiet {
        0 => String::new(),
        1 => "  and 1 line that has not come, or whose count is not known\n".into(),
        n => format!("  and {n} lines that have not come, or whose counts are not known\n"),
    };
    match came.is_empty() {
        true => format!("Interrupts since boot\n{rest}"),
        false => format!("Interrupts since boot\n{}{rest}", grid::lines(&sides, &rows, 2)),
    }
}

fn total(irq: &Irq) -> u64 {
    irq.counts.iter().flat_map(|counts| counts.values()).sum()
}

fn row(irq: &Irq, count: u64) -> Vec<String> {
    let set = |set: &Option<CpuSet>| set.as_ref().map(CpuSet::to_list).filter(|list| !list.is_empty());
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    let managed = if irq.managed == Some(true) { " (managed)" } else { "" };
    vec![
        irq.irq.to_string(),
        number::grouped(count as f64, 0),
        taken_by(irq, count),
        or_dash(set(&irq.effective)),
        or_dash(set(&irq.affinity)) + managed,
        or_dash(irq.node.map(|node| node.to_string())),
        if irq.name.is_empty() { "(no name)".into() } else { irq.name.clone() },
    ]
}

/// `CPU 1`, or the shares of the busiest: `CPU 1 80 %, CPU 0 20 %`.
fn taken_by(irq: &Irq, count: u64) -> String {
    let mut shares: Vec<(u32, u64)> = irq.counts.iter().flatten().map(|(cpu, n)| (*cpu, *n)).collect();
    shares.retain(|(_, n)| *n > 0);
    shares.sort_by_key(|(cpu, n)| (std::cmp::Reverse(*n), *cpu));
    if let [(cpu, _)] = shares[..] {
        return format!("CPU {cpu}");
    }
    let percent = |n: u64| match n as f64 / count as f64 * 100.0 {
        share if share < 1.0 => "<1 %".into(),
        share if share > 99.0 => ">99 %".into(),
        share => format!("{share:.0} %"),
    };
    let mut words: Vec<String> =
        shares.iter().take(SHARES).map(|(cpu, n)| format!("CPU {cpu} {}", percent(*n))).collect();
    if shares.len() > SHARES {
        words.push(format!("{} more", shares.len() - SHARES));
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn irq(number: u32, counts: &[(u32, u64)]) -> Irq {
        Irq {
            irq: number,
            counts: Some(counts.iter().copied().collect::<BTreeMap<_, _>>()),
            ..Irq::default()
        }
    }

    #[test]
    fn the_busiest_first_and_quiet_ones_summed_up() {
        let irqs = vec![irq(1, &[(0, 5)]), irq(2, &[(0, 0)]), irq(3, &[(0, 2000), (1, 3)]), Irq::default()];
        let text = section(&Machine { irqs, ..Machine::default() });
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[2].trim().starts_with("3  2,003  CPU 0 >99 %, CPU 1 <1 %"), "{text}");
        assert!(lines[3].trim().starts_with("1      5  CPU 0"), "{text}");
        assert!(lines[4].contains("and 2 lines"), "{text}");
    }

    #[test]
    fn many_cpus_are_summed_up() {
        let text = taken_by(&irq(1, &[(0, 1), (1, 1), (2, 1), (3, 1), (9, 1)]), 5);
        assert_eq!(text, "CPU 0 20 %, CPU 1 20 %, CPU 2 20 %, 2 more");
    }
}
