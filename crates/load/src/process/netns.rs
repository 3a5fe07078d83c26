//! Network namespaces: whether one is there, and doing something with sockets inside it.

use std::path::Path;

use machine::{Class, Fault, Missing};

/// Runs `work` where its sockets belong to network namespace `netns`: on a thread of its own, which ends with it; for
/// none right here. Fails when the namespace cannot be entered.
pub(crate) fn within<T: Send>(netns: Option<&str>, work: impl FnOnce() -> T + Send) -> Result<T, Fault> {
    let Some(name) = netns else { return Ok(work()) };
    let panicked = || {
        let remedy = machine::IS_A_BUG;
        Fault::new(
            Class::WorkloadFailed,
            format!("network namespace {name}"),
            "the thread in it panicked",
            remedy,
        )
    };
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| change::calling_thread::enter_netns(name).map(|()| work()));
        inside.join().unwrap_or_else(|_| Err(panicked()))
    })
}

/// What is missing when a network namespace is asked for that does not exist.
pub(crate) fn missing(netns: Option<&str>) -> Option<Missing> {
    let name = netns?;
    let path = Path::new("/run/netns").join(name);
    let why = format!("{} does not exist: see 'ip netns list'", path.display());
    (!path.exists()).then(|| Missing::new(format!("network namespace {name}"), why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_that_is_not_there_is_missing() {
        assert!(missing(Some("pinwise-none")).unwrap().fact.contains("pinwise-none"));
        assert!(missing(None).is_none());
    }
}
