//! Signals. Those that ask to end (Ctrl-C, SIGTERM, a closed terminal) let the work end and the machine be restored. Who changes the machine
//! is not ended by further ones while it restores it: a shell hands on the hang-up of its terminal, so that the second may come at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use machine::procfs::pid_status;
use machine::{Class, Fault};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGXFSZ};

use crate::notes;

/// What a signal is answered with while changes are taken back.
const GOES_ON: &str = "pinwise: undoing what was changed; kill -KILL stops that at once, and leaves the rest to 'pinwise undo'\n";

/// Raised by SIGINT, SIGTERM or SIGHUP (the terminal was closed), for work that leaves nothing behind: the second ends the process at once.
/// A hang-up that was to be ignored when we were started (nohup(1)) is ignored.
pub fn flag() -> Result<Arc<AtomicBool>, Fault> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in heeded() {
        // Registered first, so that it acts only when the flag is already up: on the second signal.
        signal_hook::flag::register_conditional_shutdown(
            signal,
            Class::Interrupted.exit_code().into(),
            Arc::clone(&flag),
        )
        .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
        .map_err(|e| cannot_heed(signal, &e))?;
    }
    Ok(flag)
}

/// As [`flag`], for work that changes the machine: the second is answered with a line, and changes nothing.
pub fn flag_of_changes() -> Result<Arc<AtomicBool>, Fault> {
    answered(Arc::new(AtomicBool::new(false)))
}

/// From here on a signal that asks to end is answered with a line, and changes nothing: for an undo, which runs to its end.
pub fn hold_off() -> Result<(), Fault> {
    answered(Arc::new(AtomicBool::new(true))).map(drop)
}

/// Raises the flag; answers where it is up already.
fn answered(flag: Arc<AtomicBool>) -> Result<Arc<AtomicBool>, Fault> {
    for signal in heeded() {
        let flag = Arc::clone(&flag);
        let raise = move || {
            if flag.swap(true, Ordering::SeqCst) {
                notes::say_in_a_handler(GOES_ON);
            }
        };
        // SAFETY: the handler swaps an atomic and calls write(2), which are async-signal-safe.
        unsafe { signal_hook::low_level::register(signal, raise) }.map_err(|e| cannot_heed(signal, &e))?;
    }
    Ok(flag)
}

/// Raised by each SIGUSR1, which asks for what is there so far.
pub fn request() -> Result<Arc<AtomicBool>, Fault> {
    raised_by(SIGUSR1)
}

/// From here on a hang-up of the terminal changes nothing.
pub fn ignore_hang_ups() -> Result<(), Fault> {
    raised_by(SIGHUP).map(drop)
}

/// From here on a file that would grow beyond the limit on its size (RLIMIT_FSIZE) fails to be written, instead of ending the process in
/// the middle. Caught and not ignored: what is executed has the usual disposition again.
pub fn fail_writes_beyond_the_limit() -> Result<(), Fault> {
    raised_by(SIGXFSZ).map(drop)
}

/// A flag that this signal raises from here on, instead of what it usually does.
fn raised_by(signal: i32) -> Result<Arc<AtomicBool>, Fault> {
    let flag = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal, Arc::clone(&flag)).map_err(|e| cannot_heed(signal, &e))?;
    Ok(flag)
}

fn cannot_heed(signal: i32, e: &std::io::Error) -> Fault {
    Fault::new(Class::MachineLacks, format!("signal {signal}"), e, machine::IS_A_BUG)
}

/// The signals that ask to end.
fn heeded() -> impl Iterator<Item = i32> {
    [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| *signal != SIGHUP || !is_ignored(SIGHUP))
}

/// Whether this process ignores a signal, by proc_pid_status(5), SigIgn; no where that cannot be read.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    pid_status::mask(&status, "SigIgn").is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}
