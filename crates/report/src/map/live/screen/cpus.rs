//! The CPUs: a row each where there is room, else a strip of cells for each group.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::{View, cell_of};
use crate::map::live::text::percents;
use crate::map::live::{CpuNow, Group, Now};
use crate::number;

/// Eighths of a cell.
const LEVELS: [char; 9] = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Width of the bar of a CPU that has a row to itself.
const BAR_CELLS: usize = 20;

/// Columns in front of the cells of a strip.
const NAME_COLUMNS: usize = 16;

/// The rows for a screen of this size.
pub(super) fn rows(now: &Now, view: &View, width: u16, height: u16) -> Vec<Line<'static>> {
    let one_each = now.cpus().count() + now.groups.len() + 1;
    match one_each <= usize::from(height / 2) {
        true => one_row_each(now, view),
        false => strips(now, view, usize::from(width)),
    }
}

fn one_row_each(now: &Now, view: &View) -> Vec<Line<'static>> {
    let bold = view.style(Style::new().add_modifier(Modifier::BOLD));
    let (irq, softirq) = if view.totals { ("IRQ", "SOFTIRQ") } else { ("IRQ/s", "SOFTIRQ/s") };
    let head = format!("  CPU {:BAR_CELLS$}    BUSY   STEAL    IDLE {irq:>8} {softirq:>10}", "");
    let mut rows = vec![Line::styled(head, bold)];
    for group in &now.groups {
        rows.push(Line::styled(group.name(), view.style(Style::new().fg(Color::Cyan))));
        rows.extend(group.cpus.iter().map(|cpu| row(now, view, cpu)));
    }
    rows
}

fn row(now: &Now, view: &View, cpu: &CpuNow) -> Line<'static> {
    let [busy, steal, idle] = percents(cpu.time);
    let (irq, softirq) = (cell_of(now, view, cpu.interrupts), cell_of(now, view, cpu.softirqs));
    let share = cpu.time.map_or(0.0, |time| time.busy);
    Line::from(vec![
        Span::raw(format!("{:>5} ", cpu.cpu)),
        Span::styled(bar(share), view.style(heat(share))),
        Span::raw(format!("{busy:>8} ")),
        Span::styled(format!("{steal:>7}"), view.style(stolen(cpu))),
        Span::raw(format!(" {idle:>7} {irq:>8} {softirq:>10}")),
    ])
}

/// A bar of [`BAR_CELLS`] cells, in eighths.
fn bar(share: f64) -> String {
    let eighths = (share.clamp(0.0, 1.0) * (BAR_CELLS * 8) as f64).round() as usize;
    let mut text = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        text.push(['▏', '▎', '▍', '▌', '▋', '▊', '▉'][eighths % 8 - 1]);
    }
    let filled = text.chars().count();
    text + &" ".repeat(BAR_CELLS - filled)
}

/// Two strips a group: busy, and interrupts with softirqs as a share of the most that any CPU takes.
fn strips(now: &Now, view: &View, width: usize) -> Vec<Line<'static>> {
    let most = now.cpus().filter_map(events).max().unwrap_or(0);
    let cells = width.saturating_sub(NAME_COLUMNS).max(8);
    let legend = format!(
        "  each cell is a CPU, core by core; irq: interrupts and softirqs, █ is {}{}",
        number::compact(if view.totals { most as f64 } else { now.rate(most) }),
        if view.totals { "" } else { "/s" }
    );
    let mut rows = vec![Line::styled(legend, view.style(Style::new().add_modifier(Modifier::DIM)))];
    for group in &now.groups {
        for (part, cpus) in group.cpus.chunks(cells).enumerate() {
            rows.push(busy_strip(group, part, cpus, view));
            rows.push(event_strip(cpus, most, view));
        }
    }
    rows
}

fn busy_strip(group: &Group, part: usize, cpus: &[CpuNow], view: &View) -> Line<'static> {
    let name = if part == 0 { group.short_name() } else { String::new() };
    let mut spans = vec![Span::styled(format!("{name:<10} busy "), view.style(Style::new().fg(Color::Cyan)))];
    spans.extend(cpus.iter().map(|cpu| match cpu.time {
        None => Span::raw("?"),
        Some(time) if time.steal > 0.05 => {
            Span::styled(level(time.busy).to_string(), view.style(stolen(cpu)))
        }
        Some(time) => Span::styled(level(time.busy).to_string(), view.style(heat(time.busy))),
    }));
    Line::from(spans)
}

fn event_strip(cpus: &[CpuNow], most: u64, view: &View) -> Line<'static> {
    // The first CPU's number: the cells behind it are its neighbours.
    let first = cpus.first().map_or_else(String::new, |cpu| format!("CPU {}..", cpu.cpu));
    let mut spans = vec![Span::raw(format!("{first:<10}  irq "))];
    spans.extend(cpus.iter().map(|cpu| match events(cpu) {
        None => Span::raw("?"),
        Some(events) => {
            let share = if most > 0 { events as f64 / most as f64 } else { 0.0 };
            Span::styled(level(share).to_string(), view.style(heat(share)))
        }
    }));
    Line::from(spans)
}

/// Interrupts and softirqs together; `None` where either is not known.
fn events(cpu: &CpuNow) -> Option<u64> {
    Some(cpu.interrupts?.saturating_add(cpu.softirqs?))
}

/// A share as a character: a dot below one in a hundred.
fn level(share: f64) -> char {
    match share {
        s if s < 0.01 => LEVELS[0],
        s => LEVELS[((s.min(1.0) * 8.0).ceil() as usize).clamp(1, 8)],
    }
}

fn heat(share: f64) -> Style {
    match share {
        s if s >= 0.9 => Style::new().fg(Color::Red),
        s if s >= 0.5 => Style::new().fg(Color::Yellow),
        s if s >= 0.01 => Style::new().fg(Color::Green),
        _ => Style::new(),
    }
}

fn stolen(cpu: &CpuNow) -> Style {
    match cpu.time.is_some_and(|time| time.steal > 0.05) {
        true => Style::new().fg(Color::Magenta),
        false => Style::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_and_levels_are_as_wide_as_they_should() {
        for share in [-1.0, 0.0, 0.004, 0.3, 0.5, 0.999, 1.0, 7.0] {
            assert_eq!(bar(share).chars().count(), BAR_CELLS, "{share}");
        }
        assert_eq!((level(0.0), level(0.02), level(0.5), level(1.0)), ('·', '▁', '▄', '█'));
    }
}
