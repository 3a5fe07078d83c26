//! The account of the last moments on a terminal of any size.

mod strip;

use advise::diagnosis::Diagnosis;
use probe::account::Account;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::account::account_text::{self, Section, takers};
use crate::account::diagnosis_text;
use crate::case::table::wrap::wrap;
use crate::fitted::fitted;
use crate::map::arrangement::Arrangement;
use crate::visible;

/// What the lower part shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Page {
    /// Who took, and where the time went.
    #[default]
    Takers,
    /// Threads of the target.
    Threads,
    /// Tasks on its CPUs.
    Tasks,
    /// CPUs and what interrupted them.
    Interrupts,
    /// Functions of timers, calls and work items.
    Functions,
    /// Slices and stretches by length.
    Lengths,
}

impl Page {
    /// All, in the order of their keys, 1 to 6.
    pub const ALL: [Self; 6] =
        [Self::Takers, Self::Threads, Self::Tasks, Self::Interrupts, Self::Functions, Self::Lengths];

    fn title(self) -> &'static str {
        match self {
            Self::Takers => "takers",
            Self::Threads => "threads",
            Self::Tasks => "tasks",
            Self::Interrupts => "interrupts",
            Self::Functions => "functions",
            Self::Lengths => "lengths",
        }
    }

    fn sections(self) -> &'static [Section] {
        match self {
            Self::Takers => &[Section::Sum, Section::Takers],
            Self::Threads => &[Section::Threads, Section::Routes],
            Self::Tasks => &[Section::Tasks],
            Self::Interrupts => &[Section::Cpus, Section::Sources, Section::Lines, Section::Ticks],
            Self::Functions => &[Section::Functions],
            Self::Lengths => &[Section::Lengths, Section::Missing],
        }
    }

    /// The next page.
    pub fn next(self) -> Self {
        let place = Self::ALL.iter().position(|page| *page == self).unwrap_or(0);
        Self::ALL[(place + 1) % Self::ALL.len()]
    }
}

/// The order of threads and tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// By what they lost, or took.
    #[default]
    Taken,
    /// By their time on a CPU.
    OnCpu,
    /// By name.
    Name,
}

impl Sort {
    /// The next order.
    pub fn next(self) -> Self {
        match self {
            Self::Taken => Self::OnCpu,
            Self::OnCpu => Self::Name,
            Self::Name => Self::Taken,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Taken => "by what was taken",
            Self::OnCpu => "by time on a CPU",
            Self::Name => "by name",
        }
    }

    /// Puts threads and tasks into this order.
    pub fn apply(self, account: &mut Account) {
        match self {
            Self::Taken => {}
            Self::OnCpu => {
                account.threads.sort_by_key(|thread| std::cmp::Reverse(thread.on_cpu.total_ns));
                account.tasks.sort_by_key(|task| std::cmp::Reverse(task.on_cpu_ns));
            }
            Self::Name => {
                account.threads.sort_by(|a, b| (&a.comm, a.tid).cmp(&(&b.comm, b.tid)));
                account.tasks.sort_by(|a, b| (&a.comm, a.tid).cmp(&(&b.comm, b.tid)));
            }
        }
    }
}

/// How the screen is looked at; keys change it.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// What the lower part shows.
    pub page: Page,
    /// Order of threads and tasks.
    pub sort: Sort,
    /// Whether the screen stands still.
    pub paused: bool,
    /// Whether it shows everything since the start instead of the last interval.
    pub totals: bool,
    /// First row of the lower part that is shown.
    pub from: usize,
    /// Whether colours may be used.
    pub colour: bool,
    /// What was done last: the file that was written.
    pub message: String,
}

/// Keys, for the last row.
const KEYS: &str = "q quit  p pause  1-6 Tab page  s sort  t totals  f freeze  arrows PgUp PgDn";

/// An account with what it comes to.
#[derive(Debug, Clone)]
pub struct Judged {
    /// What was counted.
    pub account: Account,
    /// What it comes to.
    pub diagnosis: Diagnosis,
}

/// Draws the screen; `head` says who is watched, on which machine and when.
pub fn draw(screen: &mut Frame<'_>, judged: &Judged, arrangement: &Arrangement, view: &View, head: &str) {
    let account = &judged.account;
    let area = screen.area();
    let strip = strip::rows(account, arrangement, view.colour, area.width);
    let strip_rows = (strip.len() as u16).min((area.height / 3).max(1));
    // What was done, or why not, may take more than a row.
    let message = wrap(&view.message, usize::from(area.width).max(1));
    let last_rows = (message.len() as u16).min((area.height / 3).max(1));
    let parts = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(strip_rows),
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(last_rows),
    ])
    .areas::<5>(area);
    screen.render_widget(Paragraph::new(heading(account, view, head)), parts[0]);
    screen.render_widget(Paragraph::new(strip), parts[1]);
    screen.render_widget(Paragraph::new(tabs(view)), parts[2]);
    let body = body(judged, view, usize::from(area.width));
    let from = view.from.min(body.len().saturating_sub(1));
    let shown: Vec<Line<'_>> = body.into_iter().skip(from).take(usize::from(parts[3].height)).collect();
    screen.render_widget(Paragraph::new(shown), parts[3]);
    let dim = Style::new().add_modifier(Modifier::DIM);
    let last = if view.message.is_empty() { vec![KEYS.to_string()] } else { message };
    let last: Vec<Line<'_>> = last.into_iter().map(|row| Line::from(Span::styled(row, dim))).collect();
    screen.render_widget(Paragraph::new(last), parts[4]);
}

fn heading(account: &Account, view: &View, head: &str) -> Line<'static> {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let state = match (view.paused, view.totals) {
        (true, _) => "  PAUSED".to_string(),
        (false, true) => format!("  all of {:.0} s", account.window_s),
        (false, false) => format!("  last {:.1} s", account.window_s),
    };
    let stands_out = if view.colour { bold.fg(Color::Yellow) } else { bold };
    Line::from(vec![
        Span::styled(visible::one_line(head).into_owned(), bold),
        Span::styled(state, stands_out),
    ])
}

fn tabs(view: &View) -> Line<'static> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    for (place, page) in Page::ALL.iter().enumerate() {
        let style = match *page == view.page {
            true => Style::new().add_modifier(Modifier::REVERSED),
            false => Style::new(),
        };
        spans.push(Span::styled(format!(" {} {} ", place + 1, page.title()), style));
    }
    spans.push(Span::raw(format!("  {}", view.sort.words())));
    Line::from(spans)
}

/// The lower part as lines; the same words as without a terminal. Sentences and tables are broken at its width: at their end stands what to
/// do, and what else is known.
fn body(judged: &Judged, view: &View, width: usize) -> Vec<Line<'static>> {
    let mut sorted = judged.account.clone();
    view.sort.apply(&mut sorted);
    let verdict = (view.page == Page::Takers).then(|| {
        let wanted = diagnosis_text::Wanted::default();
        takers::verdict(&sorted, &judged.diagnosis, wanted, width.max(1))
    });
    let sections = view.page.sections().iter();
    let texts = sections.map(|section| account_text::section(&sorted, *section, usize::MAX));
    let texts: Vec<String> = verdict.into_iter().chain(texts).filter(|text| !text.is_empty()).collect();
    let text = if texts.is_empty() { "nothing yet\n".to_string() } else { texts.join("\n") };
    fitted(&text, width).lines().map(|line| Line::from(line.to_string())).collect()
}

#[cfg(test)]
mod tests;
