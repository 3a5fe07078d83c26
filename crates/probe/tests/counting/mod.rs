//! Counts the requests of this process, as the kernel sees them. Used by the tests here.

use machine::Root;
use pinwise_probe::requests::{CountingRequests, Listening};

/// Counts from now on; `None` where nothing can be counted, which is said.
pub fn started(listening: &Listening) -> Option<CountingRequests> {
    match CountingRequests::prepare(&Root::live(), std::process::id(), listening) {
        Ok(mut counting) => {
            counting.start();
            Some(counting)
        }
        Err(missing) => {
            eprintln!("skipped: {}: {}", missing.fact, missing.why);
            None
        }
    }
}
