//! The picture, the sheet, the interrupt lines and what is not known, as one HTML page.

use machine::irqs::Irq;
use machine::{CpuSet, Machine};

use super::Heat;
use super::draw;
use super::outline::Outline;
use crate::document;
use crate::map::machine_text;
use crate::markup::blocks::{machine_sheet, table};
use crate::{Html, number};

/// Interrupt lines that the table holds at most, the busiest.
const MOST_LINES: usize = 512;

/// The picture of a machine with more CPUs is wider than the page.
const SHRUNK_UP_TO: usize = 1536;

/// CPUs that are named with their share before the rest is summed up.
const SHARES: usize = 3;

/// A CPU with less of a line is only counted.
const LEAST_SHARE: f64 = 0.01;

/// The page.
pub(super) fn render(machine: &Machine, heat: Option<&Heat>) -> String {
    let headline = Outline::of(machine).headline;
    document::document(&format!("Machine - {headline}"), draw::STYLE, |body| {
        body.within("header", &[], |header| {
            header.element("p", &[("class", &"kicker")], "pinwise map");
            header.element("h1", &[], "The machine");
        });
        body.within("main", &[], |main| {
            section(main, "picture", "Picture", |part| {
                // Shrunk to the page the numbers of a very large machine could not be read: let it be scrolled.
                let class = if machine.cpus.len() > SHRUNK_UP_TO { "drawing whole" } else { "drawing" };
                part.scrolled("div", class, "group", "Picture of the machine", |frame| {
                    frame.add(&super::element(machine, heat));
                });
                machine_sheet(part, "The whole machine as text", &machine_text::render(machine));
            });
            section(main, "interrupts", "Interrupt lines, the busiest first", |part| {
                interrupts(part, machine)
            });
            section(main, "missing", "Not known, and why", |part| missing(part, machine));
        });
        body.element("footer", &[], format!("Made by pinwise {}.", env!("CARGO_PKG_VERSION")));
    })
}

fn section(main: &mut Html, id: &'static str, title: &str, inside: impl FnOnce(&mut Html)) {
    let heading = format!("{id}-title");
    main.within("section", &[("id", &id), ("aria-labelledby", &heading)], |section| {
        section.element("h2", &[("id", &heading)], title);
        inside(section);
    });
}

fn interrupts(part: &mut Html, machine: &Machine) {
    let mut came: Vec<(&Irq, u64)> =
        machine.irqs.iter().map(|irq| (irq, irq.came())).filter(|(_, count)| *count > 0).collect();
    came.sort_by_key(|(irq, count)| (std::cmp::Reverse(*count), irq.irq));
    let (busy, quiet) = (came.len(), machine.irqs.len() - came.len());
    came.truncate(MOST_LINES);
    if came.is_empty() {
        part.element("p", &[], "No count of any line is known, or no line has fired since boot.");
        return;
    }
    let heads = ["IRQ", "since boot", "taken by", "runs on", "may run on", "node", "name"];
    let rows: Vec<Vec<String>> = came.iter().map(|(irq, count)| row(irq, *count)).collect();
    table(part, &heads, &[1], &rows);
    let mut rest = Vec::new();
    if busy > MOST_LINES {
        rest.push(number::counted(busy - MOST_LINES, "less busy line"));
    }
    if quiet > 0 {
        rest.push(format!("{} without a known interrupt since boot", number::counted(quiet, "line")));
    }
    if !rest.is_empty() {
        part.element("p", &[("class", &"caption")], format!("Not in the table: {}.", rest.join("; ")));
    }
}

fn row(irq: &Irq, count: u64) -> Vec<String> {
    let or_dash = |text: String| if text.is_empty() { "-".to_string() } else { text };
    let set = |set: &Option<CpuSet>| or_dash(set.as_ref().map(CpuSet::to_list).unwrap_or_default());
    let managed = if irq.managed == Some(true) { " (managed)" } else { "" };
    vec![
        irq.irq.to_string(),
        number::grouped(count as f64, 0),
        taken_by(irq, count),
        set(&irq.effective),
        set(&irq.affinity) + managed,
        irq.node.map_or("-".into(), |node| node.to_string()),
        or_dash(irq.name.clone()),
    ]
}

/// `CPU 1`, or the shares of the busiest: `CPU 1 80 %, CPU 0 20 %`.
fn taken_by(irq: &Irq, count: u64) -> String {
    let mut shares: Vec<(u32, u64)> = irq.counts.iter().flatten().map(|(cpu, n)| (*cpu, *n)).collect();
    shares.retain(|(_, n)| *n > 0);
    shares.sort_by_key(|(cpu, n)| (std::cmp::Reverse(*n), *cpu));
    if let [(cpu, _)] = shares.as_slice() {
        return format!("CPU {cpu}");
    }
    let share = |n: u64| n as f64 / count as f64;
    let worth_naming =
        |(i, (_, n)): &(usize, &(u32, u64))| *i == 0 || *i < SHARES && share(*n) >= LEAST_SHARE;
    let named: Vec<String> = shares
        .iter()
        .enumerate()
        .take_while(worth_naming)
        .map(|(_, (cpu, n))| format!("CPU {cpu} {}", number::share(share(*n))))
        .collect();
    let rest = shares.len() - named.len();
    let rest = (rest > 0).then(|| format!("{rest} more"));
    named.into_iter().chain(rest).collect::<Vec<_>>().join(", ")
}

fn missing(part: &mut Html, machine: &Machine) {
    if machine.missing.is_empty() {
        part.element("p", &[], "Nothing is known to be missing.");
        return;
    }
    let rows: Vec<Vec<String>> =
        machine.missing.iter().map(|missing| vec![missing.fact.clone(), missing.why.clone()]).collect();
    table(part, &["what", "why"], &[], &rows);
}
