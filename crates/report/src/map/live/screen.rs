//! One frame on a terminal of any size.

mod cpus;
mod lines;

use machine::wording::{counted, plural};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::now::{Now, Sort};
use super::text::known;
use crate::{number, visible};

/// How the frame is looked at; keys change it.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// Order of the lines.
    pub sort: Sort,
    /// Whether the frame stands still.
    pub paused: bool,
    /// Whether it shows totals instead of the last interval.
    pub totals: bool,
    /// Which part the arrows move.
    pub focus: Focus,
    /// First row of the CPUs that is shown.
    pub cpus_from: usize,
    /// First row of the lines that is shown.
    pub lines_from: usize,
    /// Whether colours may be used.
    pub colour: bool,
}

/// A part of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Focus {
    /// Interrupt lines and softirqs.
    #[default]
    Lines,
    /// CPUs.
    Cpus,
}

impl View {
    /// Moves the part that has the focus by some rows, as far as there are any.
    pub fn scroll(&mut self, rows: isize, now: &Now) {
        let (from, last) = match self.focus {
            Focus::Lines => (&mut self.lines_from, now.lines.len()),
            Focus::Cpus => (&mut self.cpus_from, now.cpus().count() + now.groups.len()),
        };
        *from = from.saturating_add_signed(rows).min(last.saturating_sub(1));
    }

    fn style(&self, style: Style) -> Style {
        // Without colours, what stands out is bold.
        match (self.colour, style.fg) {
            (false, Some(_)) => Style::new().add_modifier(style.add_modifier | Modifier::BOLD),
            (false, None) => Style::new().add_modifier(style.add_modifier),
            (true, _) => style,
        }
    }
}

/// Keys, for the last row.
const KEYS: &str = "q quit  p pause  s sort  t totals  r reset  Tab CPUs/lines  arrows PgUp PgDn";

/// Draws the frame; `head` says which machine it is and when.
pub fn draw(screen: &mut Frame<'_>, now: &Now, view: &View, head: &str) {
    let area = screen.area();
    let rows = cpus::rows(now, view, area.width, area.height);
    // The CPUs get what they need, but half of the screen at most; the lines get the rest.
    let cpu_rows = (rows.len() as u16).min((area.height / 2).max(3));
    let parts = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(cpu_rows),
        Constraint::Min(0),
        Constraint::Length(1),
    ])
    .areas::<4>(area);
    screen.render_widget(Paragraph::new(heading(now, view, head)), parts[0]);
    let from = view.cpus_from.min(rows.len().saturating_sub(usize::from(cpu_rows)));
    screen.render_widget(Paragraph::new(rows.into_iter().skip(from).collect::<Vec<_>>()), parts[1]);
    screen.render_widget(Paragraph::new(lines::rows(now, view, parts[2].width, parts[2].height)), parts[2]);
    let keys = Span::styled(KEYS, view.style(Style::new().add_modifier(Modifier::DIM)));
    screen.render_widget(Paragraph::new(Line::from(keys)), parts[3]);
}

fn heading(now: &Now, view: &View, head: &str) -> Vec<Line<'static>> {
    let state = match (view.paused, view.totals) {
        (true, _) => "  PAUSED".to_string(),
        (false, true) => format!("  totals of {}", number::duration(now.window_s)),
        (false, false) => String::new(),
    };
    let head = visible::one_line(head).into_owned();
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let shares: Vec<f64> = now.cpus().filter_map(|cpu| Some(cpu.time?.busy)).collect();
    let (irqs, softirqs) =
        (sum(now.cpus().map(|cpu| cpu.interrupts)), sum(now.cpus().map(|cpu| cpu.softirqs)));
    let busy = match shares.is_empty() {
        true => "CPU use not known".to_string(),
        false => format!("{:.1} of {} busy", shares.iter().sum::<f64>(), counted(shares.len(), "CPU")),
    };
    let summary = format!(
        "{busy}, {}, {}",
        amount(now, view, irqs, "interrupt"),
        amount(now, view, softirqs, "softirq")
    );
    vec![
        Line::from(vec![
            Span::styled(head, view.style(bold)),
            Span::styled(state, view.style(bold.fg(Color::Yellow))),
        ]),
        Line::from(summary),
    ]
}

/// The sum over the CPUs of which it is known; `None` where it is known of none.
fn sum(counts: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    counts.flatten().reduce(u64::saturating_add)
}

/// `1,234 interrupts/s`, or `1,234 interrupts`.
fn amount(now: &Now, view: &View, count: Option<u64>, noun: &str) -> String {
    let Some(count) = count else { return format!("{noun}s not known") };
    match view.totals {
        true => format!("{} {}", number::grouped(count as f64, 0), plural(noun, count)),
        false => format!("{} {noun}s/s", number::compact(now.rate(count))),
    }
}

/// A count in a cell; `?` where it is not known.
fn cell_of(now: &Now, view: &View, count: Option<u64>) -> String {
    known(count.map(|count| cell(now, view, count)))
}

/// A known count in a cell: a rate, or the total.
fn cell(now: &Now, view: &View, count: u64) -> String {
    number::compact(if view.totals { count as f64 } else { now.rate(count) })
}
