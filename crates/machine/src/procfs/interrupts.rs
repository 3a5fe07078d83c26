//! /proc/interrupts: how often each interrupt was taken on each online CPU (proc(5), kernel/irq/proc.c, arch/*/kernel/irq.c).

use std::collections::HashSet;

use super::columns::{self, Header};
use super::{Malformed, Oddities};

/// The parsed table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interrupts<'a> {
    /// CPU numbers of the columns: the online CPUs, rising, with holes.
    pub cpus: Vec<u32>,
    /// Rows in file order.
    pub rows: Vec<Row<'a>>,
    /// Columns, rows and counts that are not here because they could not be read.
    pub odd: Oddities,
    counts: Vec<u64>,
}

/// One row: a numbered interrupt line with its devices, or an interrupt of the kernel's own (`LOC`, `IPI0`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row<'a> {
    /// The part before the colon: an IRQ number or an abbreviation.
    pub name: &'a str,
    /// How the counts of this row are given.
    pub counted: Counted,
    /// Interrupt controller (`IO-APIC`, `IR-PCI-MSIX-0000:3b:00.0`, `GICv3`); empty for named rows.
    pub chip: &'a str,
    /// Number within that controller; empty where the kernel does not print it.
    pub hwirq: &'a str,
    /// Trigger or flow (`edge`, `fasteoi`, `Level`); empty where the kernel does not print it.
    pub trigger: &'a str,
    /// Numbered rows: the devices, separated by `, ` as printed. Named rows: the description, possibly empty.
    pub label: &'a str,
}

/// How the counts of a row are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// One count a CPU column; the index of the first one (see [`Interrupts::per_cpu`]).
    PerCpu(usize),
    /// One count for the whole system (`ERR`, `MIS`).
    System(u64),
    /// No count at all (`FIQ: usb_fiq` of some arm kernels).
    Uncounted,
    /// Another number of counts than there are columns: a CPU went on- or offline while the kernel printed the table,
    /// and which count belongs to which CPU is unknown; or one of them is no number.
    Torn,
}

impl<'a> Row<'a> {
    /// The IRQ number, for numbered rows.
    pub fn irq(&self) -> Option<u32> {
        self.name.parse().ok()
    }

    /// The devices of a numbered row, in the order in which they were attached; nothing for named rows.
    pub fn devices(&self) -> impl Iterator<Item = &'a str> {
        let label = if self.irq().is_some() { self.label } else { "" };
        label.split(", ").map(str::trim).filter(|name| !name.is_empty())
    }
}

impl Interrupts<'_> {
    /// The counts of a row in the order of `cpus`, events since boot (they wrap at 2^32); `None` if it has none for each CPU.
    pub fn per_cpu(&self, row: &Row<'_>) -> Option<&[u64]> {
        match row.counted {
            Counted::PerCpu(first) => self.counts.get(first..first + self.cpus.len()),
            _ => None,
        }
    }
}

/// Parses the whole file.
///
/// # Errors
/// A header that names no CPU columns, rows of which none can be read. A row without a colon or with several words before it
/// is left out; so are the counts of a row of which one is past 64 bits. Of two rows with one IRQ number the first stays: names
/// of the kernel's own may come twice (`LOC` of powerpc).
pub fn parse(text: &str) -> Result<Interrupts<'_>, Malformed> {
    let mut lines = text.lines();
    let mut odd = Oddities::default();
    let header = columns::header(lines.next().unwrap_or_default(), &mut odd)?;
    // A count takes at least eleven characters ('%10u' and a blank).
    let mut counts = Vec::with_capacity(text.len() / 11);
    let mut rows = Vec::with_capacity(64);
    let mut lines = lines.enumerate().filter(|(_, line)| !line.trim().is_empty()).peekable();
    let is_empty = lines.peek().is_none();
    let mut numbers = HashSet::with_capacity(64);
    for (index, line) in lines {
        let row = row(index + 2, line, &header, &mut counts, &mut odd);
        let Some(row) = odd.keep(row) else { continue };
        match row.irq().is_none_or(|irq| numbers.insert(irq)) {
            true => rows.push(row),
            false => odd.add(Malformed::new(index + 2, row.name, "a row before it has this IRQ number")),
        }
    }
    if rows.is_empty() && !is_empty {
        return Err(odd.first_or(Malformed::new(2, "", "there is no row")));
    }
    Ok(Interrupts { cpus: header.cpus, rows, odd, counts })
}

fn row<'a>(
    number: usize,
    line: &'a str,
    header: &Header,
    counts: &mut Vec<u64>,
    odd: &mut Oddities,
) -> Result<Row<'a>, Malformed> {
    let (name, rest) =
        line.split_once(':').ok_or_else(|| Malformed::new(number, line, "a row needs a name and ':'"))?;
    let name = name.trim();
    if name.is_empty() {
        return Err(Malformed::new(number, line, "the row has no name"));
    }
    if name.contains([' ', '\t']) {
        // Its own colon is damaged, and the one that was found belongs to a PCI address behind the counts.
        return Err(Malformed::new(number, name, "a row's name is one word"));
    }
    let first = counts.len();
    let (taken, tail) = columns::counts((number, name), rest, header.columns(), counts, odd);
    let counted = match taken {
        Some(_) => counted(name, &counts[first..], header.columns(), first, tail),
        None => Counted::Uncounted,
    };
    match counted {
        Counted::PerCpu(_) => header.keep_known(counts, first),
        _ => counts.truncate(first),
    }
    let mut row = Row { name, counted, chip: "", hwirq: "", trigger: "", label: tail.trim() };
    if counted == Counted::Torn {
        row.label = "";
    } else if name.bytes().all(|b| b.is_ascii_digit()) {
        source(&mut row, tail);
    }
    Ok(row)
}

fn counted(name: &str, counts: &[u64], cpus: usize, first: usize, tail: &str) -> Counted {
    // ERR, MIS (x86) and Err (arm) are one number for the system, also where one CPU is online.
    let system = matches!(name, "ERR" | "MIS" | "Err");
    let is_number = |word: &str| word.bytes().all(|b| b.is_ascii_digit());
    match counts {
        // Its first count is damaged: a row without counts is of the kernel's own and has a name behind it.
        [] if is_number(name) || tail.split_ascii_whitespace().any(is_number) => Counted::Torn,
        [] => Counted::Uncounted,
        _ if columns::starts_with_count(tail) => Counted::Torn,
        [total] if system || (cpus > 1 && tail.trim().is_empty()) => Counted::System(*total),
        _ if counts.len() == cpus => Counted::PerCpu(first),
        _ => Counted::Torn,
    }
}

/// Takes the text behind the counts of a numbered row apart: `CHIP [HWIRQ][-FLOW] [Level|Edge]  DEVICE, DEVICE`. Chips
/// without numbers of their own (event channels of Xen) have blanks where the number would be.
fn source<'a>(row: &mut Row<'a>, tail: &'a str) {
    let (chip, mut rest) = word(tail);
    row.chip = chip;
    let (second, after_second) = word(rest);
    if let Some((hwirq, flow)) = hardware_number(second) {
        (row.hwirq, row.trigger, rest) = (hwirq, flow, after_second);
    } else if let Some((hwirq, flow)) = hardware_number(word(after_second).0)
        && rest.starts_with(' ')
        && !rest.starts_with("  ")
    {
        // A controller whose name has a blank in it; devices are always set off by two.
        let end = second.as_ptr() as usize + second.len() - chip.as_ptr() as usize;
        let start = tail.len() - tail.trim_start().len();
        row.chip = &tail[start..start + end];
        (row.hwirq, row.trigger, rest) = (hwirq, flow, word(after_second).1);
    } else if let Some(flow) = flow_alone(second) {
        (row.trigger, rest) = (flow, after_second);
    }
    if let (level @ ("Level" | "Edge" | "None"), after) = word(rest) {
        (row.trigger, rest) = (level, after);
    }
    row.label = rest.trim();
}

/// The first word and the text right behind it.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    text.split_at(text.find([' ', '\t']).unwrap_or(text.len()))
}

/// `5` or `5-edge`; not `3-0050`, which is an I2C device behind a kernel that prints no number.
fn hardware_number(word: &str) -> Option<(&str, &str)> {
    let (number, flow) = word.split_once('-').unwrap_or((word, ""));
    let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    (is_number && !flow.starts_with(|c: char| c.is_ascii_digit())).then_some((number, flow))
}

/// `-event`: the flow of a line whose chip has no numbers.
fn flow_alone(word: &str) -> Option<&str> {
    word.strip_prefix('-').filter(|flow| flow.starts_with(|c: char| c.is_ascii_lowercase()))
}

#[cfg(test)]
mod tests;
