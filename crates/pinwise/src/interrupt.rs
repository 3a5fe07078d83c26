//! Ctrl-C and SIGTERM: the first asks the work to end and the machine to be restored; the second ends at once,
//! and `pinwise undo` restores.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use machine::{Class, Fault};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Raised by SIGINT, SIGTERM or SIGHUP (the terminal was closed). A hang-up that was to be ignored when we were started
/// (nohup(1)) is ignored.
pub fn flag() -> Result<Arc<AtomicBool>, Fault> {
    let flag = Arc::new(AtomicBool::new(false));
    let heeded = |signal: &i32| *signal != SIGHUP || !is_ignored(SIGHUP);
    for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(heeded) {
        // Registered first, so that it acts only when the flag is already up: on the second signal.
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&flag))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
            .map_err(|e| cannot_heed(signal, &e))?;
    }
    Ok(flag)
}

/// From here on a hang-up of the terminal changes nothing.
pub fn ignore_hang_ups() -> Result<(), Fault> {
    let unheeded = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGHUP, unheeded).map_err(|e| cannot_heed(SIGHUP, &e))?;
    Ok(())
}

fn cannot_heed(signal: i32, e: &std::io::Error) -> Fault {
    Fault::new(Class::MachineLacks, format!("signal {signal}"), e, "report this as a fault of pinwise")
}

/// Whether this process ignores a signal, by proc_pid_status(5), SigIgn; no where that cannot be read.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask =
        status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}
