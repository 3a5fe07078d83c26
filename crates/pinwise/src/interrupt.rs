//! Ctrl-C and SIGTERM: the first asks the work to end and the machine to be restored; the second ends at once,
//! and `pinwise undo` restores.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use machine::{Class, Fault};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Raised by SIGINT, SIGTERM or SIGHUP (the terminal was closed).
pub fn flag() -> Result<Arc<AtomicBool>, Fault> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // Registered first, so that it acts only when the flag is already up: on the second signal.
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&flag))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
            .map_err(|e| {
                Fault::new(
                    Class::MachineLacks,
                    format!("signal {signal}"),
                    e,
                    "report this as a fault of pinwise",
                )
            })?;
    }
    Ok(flag)
}
