//! A strip of cells, one for each CPU, arranged as the machine is.

use std::collections::BTreeMap;

use probe::account::{Account, CpuAccount};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use crate::map::arrangement::Arrangement;

/// The cell of a CPU that was offline most of the time.
const OFFLINE: &str = "-";

/// What most of a CPU's time went to, as a cell.
fn cell(cpu: &CpuAccount, colour: bool) -> Span<'static> {
    if cpu.offline_ns() > cpu.online_ns() {
        return Span::raw(OFFLINE);
    }
    let share = |ns: u64| ns as f64 / cpu.online_ns().max(1) as f64;
    let busy = share(cpu.target_ns + cpu.other_ns + cpu.interrupted_ns);
    let full = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let height = ((busy * 8.0).round() as usize).min(8);
    let kind = match () {
        _ if share(cpu.interrupted_ns) > 0.1 => Color::Red,
        _ if cpu.target_ns >= cpu.other_ns && cpu.target_ns > 0 => Color::Green,
        _ if cpu.other_ns > 0 => Color::Yellow,
        _ => Color::Reset,
    };
    let style = match (colour, kind) {
        (true, kind) => Style::new().fg(kind),
        (false, Color::Red) => Style::new().add_modifier(Modifier::REVERSED),
        (false, _) => Style::new(),
    };
    Span::styled(full[height].to_string(), style)
}

/// The strip, a row or more for each package and node: a cell's neighbours are its neighbours in the machine.
pub(super) fn rows(
    account: &Account,
    arrangement: &Arrangement,
    colour: bool,
    width: u16,
) -> Vec<Line<'static>> {
    let by_cpu: BTreeMap<u32, &CpuAccount> = account.cpus.iter().map(|cpu| (cpu.cpu, cpu)).collect();
    let cpus: Vec<u32> = by_cpu.keys().copied().collect();
    let mut lines = Vec::new();
    for (package, node, cpus) in arrangement.groups(&cpus) {
        let named =
            |what: &str, number: Option<u32>| number.map_or(String::new(), |n| format!("{what} {n} "));
        let name = named("package", package) + &named("node", node);
        let shown: Vec<&CpuAccount> = cpus.iter().filter_map(|cpu| by_cpu.get(cpu).copied()).collect();
        let room = usize::from(width).saturating_sub(name.len() + 1).max(8);
        for (row, part) in shown.chunks(room).enumerate() {
            let label = if row == 0 { name.clone() } else { " ".repeat(name.len()) };
            let mut spans = vec![Span::raw(label)];
            spans.extend(part.iter().map(|cpu| cell(cpu, colour)));
            lines.push(Line::from(spans));
        }
    }
    let legend = match (colour, account.together.is_some()) {
        (true, true) => "height: busy; green: mostly the target, yellow: others, red: interrupts > 10 %",
        (true, false) => "height: busy; yellow: tasks, red: interrupts > 10 %",
        (false, _) => "height: busy; reversed: interrupts > 10 %",
    };
    let offline = if account.changed_cpus.is_empty() { "" } else { "; -: offline" };
    let legend = format!("{legend}{offline}");
    lines.push(Line::from(Span::styled(legend, Style::new().add_modifier(Modifier::DIM))));
    lines
}
