//! Interrupt lines, the busiest first: a dozen on the map, all of them in full.

use machine::irqs::Irq;
use machine::wording::plural;
use machine::{CpuSet, Machine};

use crate::grid::{self, Side};
use crate::number;

/// How many CPUs are named with their share before the rest is summed up.
const SHARES: usize = 3;

/// How many lines the map shows: the busiest.
const SHOWN: usize = 12;

/// The busiest lines, the rest summed up.
pub(super) fn section(machine: &Machine) -> String {
    let came = busiest_first(machine).into_iter().filter(|irq| irq.came() > 0);
    let came: Vec<&Irq> = came.take(SHOWN).collect();
    let rest: Vec<&Irq> =
        machine.irqs.iter().filter(|irq| !came.iter().any(|shown| shown.irq == irq.irq)).collect();
    if machine.irqs.is_empty() {
        return String::new();
    }
    let sum = rest.iter().map(|irq| irq.came()).fold(0, u64::saturating_add);
    let rest = match (rest.len(), sum) {
        (0, _) => String::new(),
        (1, 0) => "  and 1 line that has not fired, or whose count is not known\n".into(),
        (n, 0) => format!("  and {n} lines that have not fired, or whose counts are not known\n"),
        (n, sum) => format!(
            "  and {n} more, {} {} in all (pinwise map --irqs)\n",
            number::grouped(sum as f64, 0),
            plural("interrupt", sum)
        ),
    };
    match came.is_empty() {
        true => format!("Interrupts since boot\n{rest}"),
        false => format!("Interrupts since boot\n{}{rest}", table(&came)),
    }
}

/// Every line, with controller, hint and owner.
pub fn in_full(machine: &Machine) -> String {
    if machine.irqs.is_empty() {
        return String::new();
    }
    let head =
        ["IRQ", "COUNT", "TAKEN BY", "RUNS ON", "MAY RUN ON", "HINT", "NODE", "DEVICE", "CHIP", "NAME"];
    let mut rows = vec![head.map(String::from).to_vec()];
    let moved = moved_by_irqbalance(machine);
    if moved.is_some() {
        rows[0].push("IRQBALANCE".into());
    }
    for irq in busiest_first(machine) {
        let mut cells = row(irq, irq.came());
        let name = cells.pop().unwrap_or_default();
        let node = cells.pop().unwrap_or_default();
        cells.push(or_dash(listed(&irq.hint)));
        cells.push(node);
        cells
            .push(or_dash(Some(irq.devices.join(",")).filter(|names| !names.is_empty()).or(irq.pci.clone())));
        cells.push(or_dash(irq.chip.clone()));
        cells.push(name);
        cells.extend(
            moved.map(|moved| if moved.contains(&irq.irq) { "moves it" } else { "leaves it" }.into()),
        );
        rows.push(cells);
    }
    let mut sides = vec![Side::Left; rows[0].len()];
    (sides[0], sides[1], sides[6]) = (Side::Right, Side::Right, Side::Right);
    format!("Interrupts since boot\n{}", grid::lines(&sides, &rows, 2))
}

/// Lines that irqbalance moves; `None` where it does not run, or balances once and ends.
fn moved_by_irqbalance(machine: &Machine) -> Option<&[u32]> {
    let running = machine.owners.iter().filter(|owner| owner.pid.is_some());
    let irqbalance = running.filter_map(|owner| owner.irqbalance.as_ref()).find(|running| !running.oneshot);
    irqbalance.map(|irqbalance| irqbalance.moves.as_slice())
}

fn busiest_first(machine: &Machine) -> Vec<&Irq> {
    let mut irqs: Vec<&Irq> = machine.irqs.iter().collect();
    irqs.sort_by_key(|irq| (std::cmp::Reverse(irq.came()), irq.irq));
    irqs
}

fn table(irqs: &[&Irq]) -> String {
    let head = ["IRQ", "COUNT", "TAKEN BY", "RUNS ON", "MAY RUN ON", "NODE", "NAME"];
    let mut rows = vec![head.map(String::from).to_vec()];
    rows.extend(irqs.iter().map(|irq| row(irq, irq.came())));
    let mut sides = vec![Side::Left; head.len()];
    (sides[0], sides[1], sides[5]) = (Side::Right, Side::Right, Side::Right);
    grid::lines(&sides, &rows, 2)
}

fn listed(set: &Option<CpuSet>) -> Option<String> {
    set.as_ref().map(CpuSet::to_list).filter(|list| !list.is_empty())
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".into())
}

fn row(irq: &Irq, count: u64) -> Vec<String> {
    let managed = if irq.managed == Some(true) { " (managed)" } else { "" };
    let name = if irq.name.is_empty() { "(no name)".into() } else { irq.name.clone() };
    vec![
        irq.irq.to_string(),
        irq.counts.as_ref().map_or("-".into(), |_| number::grouped(count as f64, 0)),
        or_dash(Some(taken_by(irq, count)).filter(|text| !text.is_empty())),
        or_dash(listed(&irq.effective)),
        or_dash(listed(&irq.affinity)) + managed,
        or_dash(irq.node.map(|node| node.to_string())),
        // The device says more than `virtio2-input.0` does.
        match irq.devices.iter().find(|device| !name.contains(device.as_str())) {
            Some(_) => format!("{name} ({})", irq.devices.join(",")),
            None => name,
        },
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
    fn counts_without_bound_are_added_up() {
        let forged = |number| irq(number, &[(0, u64::MAX), (1, u64::MAX)]);
        let machine = Machine { irqs: (0..SHOWN as u32 + 2).map(forged).collect(), ..Machine::default() };
        assert!(section(&machine).contains("and 2 more, 18,446,744,073,709,551,6"), "{}", section(&machine));
        assert_eq!(in_full(&machine).lines().count(), 2 + machine.irqs.len());
    }

    #[test]
    fn in_full_every_line_has_its_device_and_what_is_not_known_a_dash() {
        let mut lines = vec![irq(38, &[(1, 7)]), Irq { irq: 40, ..Irq::default() }];
        (lines[0].name, lines[0].devices) = ("virtio2-input.0".into(), vec!["eth0".into()]);
        let machine = Machine { irqs: lines, ..Machine::default() };
        assert!(section(&machine).contains("virtio2-input.0 (eth0)"), "{}", section(&machine));
        let text = in_full(&machine);
        let words = |n: usize| text.lines().nth(n).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words(2), "38 7 CPU 1 - - - - eth0 - virtio2-input.0 (eth0)");
        assert_eq!(words(3), "40 - - - - - - - - (no name)");
    }

    #[test]
    fn irqbalance_has_a_column_where_it_runs() {
        use machine::processes::{Irqbalance, Owner};
        let text_of = |pid, oneshot| {
            let irqbalance = Some(Irqbalance { moves: vec![38], oneshot, ..Irqbalance::default() });
            let owners = vec![Owner { pid, irqbalance, ..Owner::default() }];
            in_full(&Machine { irqs: vec![irq(38, &[]), irq(40, &[])], owners, ..Machine::default() })
        };
        let text = text_of(Some(400), false);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].ends_with("IRQBALANCE"), "{text}");
        assert!(lines[2].ends_with(" moves it") && lines[3].ends_with(" leaves it"), "{text}");
        assert!(
            !text_of(None, false).contains("IRQBALANCE") && !text_of(Some(400), true).contains("IRQBALANCE")
        );
    }

    #[test]
    fn many_cpus_are_summed_up() {
        let text = taken_by(&irq(1, &[(0, 1), (1, 1), (2, 1), (3, 1), (9, 1)]), 5);
        assert_eq!(text, "CPU 0 20 %, CPU 1 20 %, CPU 2 20 %, 2 more");
    }
}
