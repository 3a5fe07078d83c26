//! The account while it grows, on a terminal.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use machine::own_folder::named;
use machine::{Fault, Machine, Root};
use probe::account::{Counting, LookBack, Names};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use report::Arrangement;
use report::account::account_screen::{self, Judged, Page, View};

use super::account::of_snapshot;
use super::args::Args;
use super::new_processes::NewProcesses;
use super::sheet::{Sheet, without_steps};
use super::target::Watched;
use super::verdict::{Judging, Standing};
use crate::notes::note;
use crate::output::{self, Answer};
use crate::terminal;

/// Time between two readings.
const EVERY: Duration = Duration::from_secs(1);

/// How many readings the screen looks back, so that figures do not jump.
const LOOK_BACK: usize = 3;

/// How long a signal may wait to be seen.
const ATTENTION: Duration = Duration::from_millis(200);

/// Rows that a page key moves.
const PAGE_ROWS: usize = 15;

/// Shows the account until a key or a signal ends it, or the server has ended.
pub fn run(
    args: &Args,
    counting: Counting,
    judging: Judging,
    root: &Root,
    machine: &Machine,
    watched: &Watched,
    stop: &AtomicBool,
) -> Result<Answer, Fault> {
    let mut live = Live {
        args,
        counting,
        names: Names::of(machine),
        arrangement: Arrangement::of(machine),
        root,
        watched,
        stop,
        seen: LookBack::over(LOOK_BACK),
        new_processes: NewProcesses::begin(),
        standing: judging.standing(root, machine, LOOK_BACK),
        gone: false,
    };
    live.read();
    terminal::with(|terminal| live.show(terminal))?;
    if live.gone {
        note!("pinwise: {} has ended", watched.title());
    }
    Ok(Answer::Done)
}

struct Live<'a> {
    args: &'a Args,
    counting: Counting,
    names: Names,
    arrangement: Arrangement,
    root: &'a Root,
    watched: &'a Watched,
    stop: &'a AtomicBool,
    seen: LookBack,
    new_processes: NewProcesses,
    standing: Standing,
    gone: bool,
}

impl Live<'_> {
    fn read(&mut self) {
        let add = |numbers: &[u32]| self.counting.add(numbers);
        self.gone |= self.new_processes.look(self.watched, self.root, add) == Some(false);
        let snapshot = self.counting.read();
        let account = of_snapshot(
            snapshot,
            &self.counting,
            &mut self.names,
            &self.new_processes,
            self.watched,
            self.watched.cpus(),
        );
        self.counting.forget_ended();
        self.seen.add(account);
        self.standing.read();
    }

    /// The last readings, or all since the start, and what they come to.
    fn now(&mut self, totals: bool) -> Judged {
        let account = if totals { self.seen.total() } else { self.seen.now() };
        let (account, diagnosis) = self.standing.judge(self.root, account, totals);
        Judged { account, diagnosis }
    }

    fn show(&mut self, terminal: &mut ratatui::DefaultTerminal) -> std::io::Result<()> {
        let mut view = View { colour: output::style().colour, ..View::default() };
        let (mut now, mut head) = (self.now(false), self.head());
        let mut due = Instant::now() + EVERY;
        loop {
            terminal.draw(|frame| {
                account_screen::draw(frame, &now, &self.arrangement, &view, &head);
                terminal::guard(frame);
            })?;
            let mut changed = false;
            while !changed {
                if self.stop.load(Ordering::Acquire) || self.gone {
                    return Ok(());
                }
                let wait = due.saturating_duration_since(Instant::now()).min(ATTENTION);
                if terminal::poll(wait)? {
                    match self.take_key(&event::read()?, &mut view, &now) {
                        Key::Quit => return Ok(()),
                        Key::Changed => changed = true,
                        Key::Nothing => {}
                    }
                }
                if Instant::now() >= due {
                    self.read();
                    // A late reading does not shift those after it, and is not made up for.
                    while due <= Instant::now() {
                        due += EVERY;
                    }
                    changed = true;
                }
            }
            if !view.paused {
                (now, head) = (self.now(view.totals), self.head());
            }
        }
    }

    fn head(&self) -> String {
        format!("{}, {}", self.watched.title(), terminal::time_of_day())
    }

    fn take_key(&self, event: &Event, view: &mut View, now: &Judged) -> Key {
        let Event::Key(KeyEvent {
            code, modifiers, kind: KeyEventKind::Press | KeyEventKind::Repeat, ..
        }) = event
        else {
            return if matches!(event, Event::Resize(..)) { Key::Changed } else { Key::Nothing };
        };
        view.message.clear();
        match code {
            KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => return Key::Quit,
            KeyCode::Char('q') | KeyCode::Esc => return Key::Quit,
            KeyCode::Char('p') | KeyCode::Char(' ') => view.paused = !view.paused,
            KeyCode::Char('s') => view.sort = view.sort.next(),
            KeyCode::Char('t') => view.totals = !view.totals,
            KeyCode::Char('f') => view.message = self.freeze(now),
            KeyCode::Char(digit @ '1'..='6') => {
                view.page = Page::ALL[usize::from(*digit as u8 - b'1')];
                view.from = 0;
            }
            KeyCode::Tab => (view.page, view.from) = (view.page.next(), 0),
            KeyCode::Down => view.from += 1,
            KeyCode::Up => view.from = view.from.saturating_sub(1),
            KeyCode::PageDown => view.from += PAGE_ROWS,
            KeyCode::PageUp => view.from = view.from.saturating_sub(PAGE_ROWS),
            KeyCode::Home => view.from = 0,
            _ => return Key::Nothing,
        }
        Key::Changed
    }

    /// Writes what is shown to a file of its own; says which, or why not.
    fn freeze(&self, now: &Judged) -> String {
        let folder = std::env::current_dir().unwrap_or_default();
        let name = folder.join(format!("pinwise-watch-{:.0}.json", terminal::unix_s()));
        let target = self.watched.for_programs();
        let sheet = Sheet {
            target: &target,
            everything: self.watched.is_everything(),
            how: self.counting.means(),
            recorded: None,
            diagnosis: now.diagnosis.clone(),
            account: now.account.clone(),
        };
        let written = output::pretty(&without_steps(sheet, self.args.full)).and_then(|text| {
            let remedy = "start pinwise in a folder that you may write to";
            // In a folder that others may write to, too, something may lie there already.
            let written = named::create(&name).and_then(|mut file| file.write_all(text.as_bytes()));
            written.map_err(|e| Fault::io(name.display(), &e, remedy))
        });
        match written {
            Ok(()) => format!("written to {}", name.display()),
            Err(fault) => fault.to_string(),
        }
    }
}

/// What a key asks for.
enum Key {
    Quit,
    Changed,
    Nothing,
}
