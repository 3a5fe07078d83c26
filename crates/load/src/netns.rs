//! Doing something with sockets inside a network namespace.

use machine::{Class, Fault};

/// Runs `work` where its sockets belong to network namespace `netns`: on a thread of its own, which ends with it; for
/// none right here. Fails when the namespace cannot be entered.
pub(crate) fn within<T: Send>(netns: Option<&str>, work: impl FnOnce() -> T + Send) -> Result<T, Fault> {
    let Some(name) = netns else { return Ok(work()) };
    let panicked = || {
        let remedy = "this is a fault of pinwise: please report it";
        Fault::new(
            Class::WorkloadFailed,
            format!("network namespace {name}"),
            "the thread in it panicked",
            remedy,
        )
    };
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| change::own::enter_netns(name).map(|()| work()));
        inside.join().unwrap_or_else(|_| Err(panicked()))
    })
}
