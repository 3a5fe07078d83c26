//! `q` on a terminal stops a study as Ctrl-C does.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

use crate::notes;

/// How long the reader waits before it looks whether it is still wanted.
const WAIT: Duration = Duration::from_millis(100);

/// Listens for the key; the terminal is as it was once this goes.
pub struct QuitKey {
    before: Termios,
    ended: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
}

impl QuitKey {
    /// Raises `interrupted` when `q` is pressed. `None` where standard input is no terminal, or one that another job has.
    pub fn listen(interrupted: &Arc<AtomicBool>) -> Option<Self> {
        let stdin = std::io::stdin();
        // A job in the background that sets the terminal is stopped for it (termios(3), SIGTTOU).
        let is_ours = || tcgetpgrp(&stdin).is_ok_and(|group| group == rustix::process::getpgrp());
        if !stdin.is_terminal() || !notes::is_terminal() || !is_ours() {
            return None;
        }
        let before = tcgetattr(&stdin).ok()?;
        let mut keys = before.clone();
        // A key at a time, and none of them on the screen; Ctrl-C stays a signal.
        keys.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(&stdin, OptionalActions::Now, &keys).ok()?;
        let ended = Arc::new(AtomicBool::new(false));
        let (until, interrupted) = (Arc::clone(&ended), Arc::clone(interrupted));
        let reader =
            std::thread::Builder::new().name("quit-key".into()).spawn(move || read(&until, &interrupted));
        Some(Self { before, ended, reader: reader.ok() })
    }
}

impl Drop for QuitKey {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.before);
    }
}

fn read(ended: &AtomicBool, interrupted: &AtomicBool) {
    let stdin = std::io::stdin();
    let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(WAIT.subsec_nanos()) };
    while !ended.load(Ordering::Relaxed) {
        let mut input = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut input, Some(&wait)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) if input[0].revents().contains(PollFlags::IN) => {}
            // The terminal is gone.
            _ => return,
        }
        let mut key = [0u8];
        match rustix::io::read(&stdin, &mut key) {
            Ok(1) if key[0] == b'q' => interrupted.store(true, Ordering::Relaxed),
            Ok(1) => {}
            _ => return,
        }
    }
}
