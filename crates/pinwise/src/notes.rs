//! The one place that writes to stderr: notes, progress and errors. Whoever reads them may go away at any time (`pinwise study 2>&1 |
//! head`), or the file that they go to may be full: that is no reason to stop, so failures are ignored. Our answer is on stdout.

use std::io::{IsTerminal as _, Write as _};

use machine::Outside;

use crate::escape;

/// Says one note on stderr. Takes what `format!` takes.
macro_rules! note {
    ($($words:tt)*) => { $crate::notes::say(&format!($($words)*)) };
}

pub(crate) use note;

/// Says one note on stderr. It is a line of ours; those that follow in it are of somebody else (the last lines of a log, a name with a
/// line end) and stand behind a bar.
pub fn say(text: &str) {
    pass_on(format!("{}\n", Outside(text).barred()).as_bytes());
}

/// Says the help or the error of the command line's parser, which may have colours.
pub fn say_styled(text: &str) {
    pass_on(escape::text(text, has_colours()).as_bytes());
}

/// Writes bytes as they are: for the screen of a bar, whose text has been guarded, and for what a command of the user's prints.
pub fn pass_on(bytes: &[u8]) {
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(bytes).and_then(|()| stderr.flush());
}

/// Says one line that is ours from a signal handler: by write(2) alone, since the handler may have interrupted whoever holds stderr. On a
/// terminal it stands on a line of its own: the echo of Ctrl-C or a bar may be there.
pub fn say_in_a_handler(line: &str) {
    let before = if is_terminal() { "\n" } else { "" };
    for part in [before, line] {
        let _ = rustix::io::write(rustix::stdio::stderr(), part.as_bytes());
    }
}

/// Whether somebody looks.
pub fn is_terminal() -> bool {
    std::io::stderr().is_terminal()
}

/// Whether stderr is a terminal that is to have colours.
pub fn has_colours() -> bool {
    is_terminal() && wants_colours()
}

/// Whether the user wants colours where they can be had (https://no-color.org).
pub fn wants_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
