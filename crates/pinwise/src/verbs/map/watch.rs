//! `pinwise map --watch`: the map while it lives, on a terminal or as frames for a file or a pipe.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use machine::{Class, Fault, Machine, Root};
use probe::Meter;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use report::map::live::screen::{Focus, View};
use report::map::live::{Live, Now, PROBES, screen, text};
use serde::Serialize;

use crate::format::Format;
use crate::interrupt;
use crate::output::{self, Answer};
use crate::terminal;

/// How long a signal may wait to be seen.
const ATTENTION: Duration = Duration::from_millis(200);

/// Rows that a page key moves.
const PAGE_ROWS: isize = 15;

// Flags of `pinwise map --watch`.
#[derive(Debug, clap::Args)]
pub struct Flags {
    /// Show interrupts, softirqs and CPU time of the whole machine live, for SECONDS or until q or Ctrl-C
    #[arg(
        long, value_name = "SECONDS", num_args = 0..=1,
        conflicts_with_all = ["from", "output", "process", "part", "diff", "distances"]
    )]
    watch: Option<Option<u64>>,
    /// With --watch: time between frames, ms
    #[arg(long, value_name = "MS", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(100..=3_600_000))]
    interval_ms: u64,
    /// With --watch: stop after this time, s
    #[arg(long = "for", value_name = "SECONDS", requires = "watch")]
    for_s: Option<u64>,
}

impl Flags {
    /// Whether the map is to be shown live.
    pub fn wanted(&self) -> bool {
        self.watch.is_some()
    }

    fn ends(&self) -> Option<Instant> {
        let seconds = self.for_s.or(self.watch.flatten())?;
        Instant::now().checked_add(Duration::from_secs(seconds))
    }
}

/// One frame as JSON.
#[derive(Serialize)]
struct Line<'a> {
    /// When it ended, seconds since 1970.
    at_unix_s: f64,
    #[serde(flatten)]
    now: &'a Now,
}

/// Shows frames until time is over, a key or a signal ends it, or nobody reads them any more.
pub fn run(flags: &Flags, format: Format) -> Result<Answer, Fault> {
    let stop = interrupt::flag()?;
    let machine = Machine::read(&Root::live());
    let mut watch = Watch {
        meter: Meter::new(Root::live(), &PROBES),
        live: Live::new(&machine),
        place: place(&machine),
        interval: Duration::from_millis(flags.interval_ms),
        ends: flags.ends(),
        due: Instant::now(),
        stop,
    };
    watch.read();
    match std::io::stdout().is_terminal() && format != Format::Json {
        true => watch.on_terminal(),
        false => watch.as_frames(format),
    }
}

/// `web7, Linux 6.12.0`.
fn place(machine: &Machine) -> String {
    let name = Root::live().fact("nodename").unwrap_or_default();
    let release = machine.kernel.release.as_deref().unwrap_or("of unknown release");
    format!("{name}, Linux {release}")
}

struct Watch {
    meter: Meter,
    live: Live,
    place: String,
    interval: Duration,
    ends: Option<Instant>,
    due: Instant,
    stop: Arc<AtomicBool>,
}

impl Watch {
    /// Reads, and fixes the next instant: a late frame does not shift those after it.
    fn read(&mut self) {
        self.live.take(&self.meter.read());
        let now = Instant::now();
        while self.due <= now {
            self.due += self.interval;
        }
    }

    /// Whether time is over or a signal came.
    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Acquire) || self.ends.is_some_and(|ends| Instant::now() >= ends)
    }

    /// What the end means for the exit code.
    fn answer(&self) -> Result<Answer, Fault> {
        match self.stop.load(Ordering::Acquire) {
            false => Ok(Answer::Done),
            true => Err(Fault::new(Class::Interrupted, "map --watch", "stopped by a signal", "")),
        }
    }

    /// Until the next frame is due, at most [`ATTENTION`].
    fn wait(&self) -> Duration {
        let until = self.ends.map_or(self.due, |ends| ends.min(self.due));
        until.saturating_duration_since(Instant::now()).min(ATTENTION)
    }

    fn as_frames(&mut self, format: Format) -> Result<Answer, Fault> {
        loop {
            // A frame that is due when time is over is still shown.
            while Instant::now() < self.due && !self.is_over() {
                std::thread::sleep(self.wait());
            }
            if Instant::now() < self.due {
                return self.answer();
            }
            self.read();
            let now = self.live.rates();
            let frame = match format {
                Format::Json => output::one_line(&Line { at_unix_s: terminal::unix_s(), now: &now })?,
                _ => text::render(&now, &self.head(), Default::default()),
            };
            if !output::piece(&frame)? {
                return Ok(Answer::Done);
            }
        }
    }

    fn on_terminal(&mut self) -> Result<Answer, Fault> {
        terminal::with(|terminal| self.show(terminal))?;
        self.answer()
    }

    fn show(&mut self, terminal: &mut ratatui::DefaultTerminal) -> std::io::Result<()> {
        let mut view = View { colour: output::style().colour, ..View::default() };
        let (mut now, mut head) = (self.live.rates(), self.head());
        loop {
            terminal.draw(|frame| {
                screen::draw(frame, &now, &view, &head);
                terminal::guard(frame);
            })?;
            let mut changed = false;
            while !changed {
                if self.is_over() {
                    return Ok(());
                }
                if terminal::poll(self.wait())? {
                    match self.take_key(event::read()?, &mut view, &now) {
                        Key::Quit => return Ok(()),
                        Key::Changed => changed = true,
                        Key::Nothing => {}
                    }
                }
                if Instant::now() >= self.due {
                    self.read();
                    changed = true;
                }
            }
            if !view.paused {
                now = if view.totals { self.live.totals() } else { self.live.rates() };
                head = self.head();
            }
        }
    }

    fn take_key(&mut self, event: Event, view: &mut View, now: &Now) -> Key {
        let Event::Key(KeyEvent {
            code, modifiers, kind: KeyEventKind::Press | KeyEventKind::Repeat, ..
        }) = event
        else {
            return if matches!(event, Event::Resize(..)) { Key::Changed } else { Key::Nothing };
        };
        match code {
            KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => {
                self.stop.store(true, Ordering::Release);
                return Key::Quit;
            }
            KeyCode::Char('q') | KeyCode::Esc => return Key::Quit,
            KeyCode::Char('p') | KeyCode::Char(' ') => view.paused = !view.paused,
            KeyCode::Char('s') => view.sort = view.sort.next(),
            KeyCode::Char('t') => view.totals = !view.totals,
            KeyCode::Char('r') => {
                self.live.reset();
                view.totals = true;
            }
            KeyCode::Tab => {
                view.focus = if view.focus == Focus::Lines { Focus::Cpus } else { Focus::Lines };
            }
            KeyCode::Down => view.scroll(1, now),
            KeyCode::Up => view.scroll(-1, now),
            KeyCode::PageDown => view.scroll(PAGE_ROWS, now),
            KeyCode::PageUp => view.scroll(-PAGE_ROWS, now),
            KeyCode::Home => view.scroll(isize::MIN, now),
            KeyCode::End => view.scroll(isize::MAX, now),
            _ => return Key::Nothing,
        }
        Key::Changed
    }

    fn head(&self) -> String {
        format!("{}, {}", self.place, terminal::time_of_day())
    }
}

/// What a key asks for.
enum Key {
    Quit,
    Changed,
    Nothing,
}
