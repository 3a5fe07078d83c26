//! Interrupt lines and softirqs, the wanted order from the first row that is wanted.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::{Focus, View, cell};
use crate::display_width::cut;
use crate::map::live::Now;
use crate::visible;

/// The rows for a part of the screen of this size.
pub(super) fn rows(now: &Now, view: &View, width: u16, height: u16) -> Vec<Line<'static>> {
    let Some(room) = usize::from(height).checked_sub(2).filter(|room| *room > 0) else { return Vec::new() };
    let sorted = now.sorted(view.sort);
    let missing = now.missing.iter().map(|missing| format!("not known: {missing}"));
    let notes: Vec<String> = now.offline_words().into_iter().chain(missing).take(room / 3).collect();
    let room = room - notes.len();
    let from = view.lines_from.min(sorted.len().saturating_sub(room));
    let bold = view.style(Style::new().add_modifier(Modifier::BOLD));
    let unit = if view.totals { "COUNT" } else { "PER S" };
    let until = (from + room).min(sorted.len());
    let place = match sorted.len() > room {
        true => format!("  {}-{until} of {}", from + 1, sorted.len()),
        false => String::new(),
    };
    let focus = if view.focus == Focus::Cpus { "" } else { " " };
    let head =
        format!("  NAME      {unit:>8}  {:<22} WHAT (by {}{place}){focus}", "TAKEN BY", view.sort.word());
    let mut rows = vec![Line::default(), Line::styled(head.trim_end().to_string(), bold)];
    for line in &sorted[from..until] {
        let rate = cell(now, view, line.count);
        let what = visible::one_line(&line.title()).into_owned();
        let what = cut(&what, usize::from(width).saturating_sub(46), "…");
        let kind = if line.softirq { Style::new().fg(Color::Blue) } else { Style::new() };
        rows.push(Line::from(vec![
            Span::styled(format!("  {:<9}", visible::one_line(&line.name)), view.style(kind)),
            Span::raw(format!(" {rate:>8}  {:<22} ", line.taken_by())),
            Span::raw(what),
        ]));
    }
    let line = |note: &String| {
        let text = visible::one_line(note).into_owned();
        Line::styled(
            format!("  {}", cut(&text, usize::from(width).saturating_sub(3), "…")),
            view.style(Style::new().fg(Color::Yellow)),
        )
    };
    rows.extend(notes.iter().map(line));
    rows
}
