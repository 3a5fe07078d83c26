//! A screen that is drawn anew, and keys.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use machine::Fault;
use machine::untrusted::text::is_hidden;
use ratatui::crossterm::event;

/// Takes the terminal, lets `show` draw on it, and gives it back, also after a panic.
///
/// # Errors
/// When the terminal cannot be taken, drawn on or given back.
pub fn with(show: impl FnOnce(&mut ratatui::DefaultTerminal) -> std::io::Result<()>) -> Result<(), Fault> {
    let fault = |e| Fault::io("the terminal", &e, "send the output to a file or a pipe, as plain text");
    // From here on a panic gives the terminal back before it says what happened.
    let mut terminal = ratatui::try_init().map_err(fault)?;
    let shown = show(&mut terminal);
    let restored = ratatui::try_restore();
    if terminal.show_cursor().is_err() {
        // Dropped, it would try again, and panic where stderr is the terminal that went away.
        std::mem::forget(terminal);
    }
    shown.and(restored).map_err(fault)
}

/// The last look at a screen, as `guard` has at other output: a cell never drives the terminal, nor turns what follows.
pub fn guard(screen: &mut ratatui::Frame<'_>) {
    for cell in &mut screen.buffer_mut().content {
        if cell.symbol().chars().any(is_hidden) {
            cell.set_symbol("?");
        }
    }
}

/// Lines of the terminal; 24 where it does not report it.
pub fn height() -> usize {
    let size = ratatui::crossterm::terminal::size().ok().filter(|(_, rows)| *rows > 0);
    size.map_or(24, |(_, rows)| usize::from(rows))
}

/// Waits for a key; a signal ends the wait and is no error.
pub fn poll(wait: Duration) -> std::io::Result<bool> {
    match event::poll(wait) {
        Err(e) if e.kind() == std::io::ErrorKind::Interrupted => Ok(false),
        other => other,
    }
}

/// Seconds since 1970.
pub fn unix_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// `13:02:05 UTC`.
pub fn time_of_day() -> String {
    let second = unix_s() as u64 % 86_400;
    format!("{:02}:{:02}:{:02} UTC", second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::backend::TestBackend;
    use ratatui::widgets::Paragraph;

    #[test]
    fn no_cell_drives_the_terminal() {
        let mut terminal = ratatui::Terminal::new(TestBackend::new(40, 1)).unwrap();
        let name = "a\x1b]0;x\x07b\u{202e}c\u{9b}2Jd\u{200d}e";
        let drawn = terminal.draw(|screen| {
            screen.render_widget(Paragraph::new(name), screen.area());
            screen.buffer_mut().content[30].set_symbol("\x1b[2J");
            guard(screen);
        });
        let all: String = drawn.unwrap().buffer.content.iter().map(|cell| cell.symbol()).collect();
        assert!(!all.chars().any(is_hidden) && all.contains('?'), "{all:?}");
    }
}
