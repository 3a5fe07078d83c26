//! Bars on stderr, drawn where it is a terminal.

use std::io;
use std::sync::Mutex;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};

use crate::{escape, notes};

/// How often bars are drawn at most, 1/s.
const DRAWN_HZ: u8 = 20;

/// A bar of this length; one that is never seen where it is not `shown`.
pub fn bar(template: &str, length: u64, shown: bool) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(length), target(shown));
    let style = ProgressStyle::with_template(template);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// A spinner with a message.
pub fn spinner() -> ProgressBar {
    ProgressBar::with_draw_target(None, target(true)).with_style(ProgressStyle::default_spinner())
}

/// Where bars are drawn: nowhere, unless they are `shown`.
pub fn target(shown: bool) -> ProgressDrawTarget {
    match shown {
        true => ProgressDrawTarget::term_like_with_hz(Box::<Screen>::default(), DRAWN_HZ),
        false => ProgressDrawTarget::hidden(),
    }
}

/// The terminal at stderr. What is written to it is guarded; what moves the cursor is made here. That a terminal went away is no error:
/// indicatif would panic of it.
#[derive(Debug, Default)]
struct Screen {
    /// What was not handed on yet: a bar is drawn at once, or it would flicker.
    kept: Mutex<String>,
}

impl Screen {
    fn keep(&self, text: &str) -> io::Result<()> {
        self.kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push_str(text);
        Ok(())
    }

    /// Moves the cursor by `n`, to where `way` says (ECMA-48: CUU, CUD, CUF, CUB).
    fn go(&self, n: usize, way: char) -> io::Result<()> {
        if n == 0 { Ok(()) } else { self.keep(&format!("\x1b[{n}{way}")) }
    }
}

impl TermLike for Screen {
    fn width(&self) -> u16 {
        size().0
    }

    fn height(&self) -> u16 {
        size().1
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.go(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.go(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.go(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.go(n, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.keep(&escape::text(text, false))?;
        self.keep("\n")
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.keep(&escape::text(text, false))
    }

    fn clear_line(&self) -> io::Result<()> {
        self.keep("\r\x1b[2K")
    }

    fn flush(&self) -> io::Result<()> {
        let text = std::mem::take(&mut *self.kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        notes::pass_on(text.as_bytes());
        Ok(())
    }
}

/// Columns and rows of the terminal at stderr; 80 and 24 where it does not report them.
fn size() -> (u16, u16) {
    match rustix::termios::tcgetwinsize(std::io::stderr()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col, size.ws_row),
        _ => (80, 24),
    }
}
