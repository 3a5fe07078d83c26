//! Who wakes the server: its own threads, or a client.

use probe::Situation;
use probe::account::{Account, Waker, WakerContext};

/// Whether it is a thread of the server itself.
pub(crate) fn is_own(waker: &Waker, account: &Account) -> bool {
    let is_of_server = |pid| account.threads.iter().any(|thread| thread.pid == pid);
    waker.context == WakerContext::Task && waker.pid.is_some_and(is_of_server)
}

/// Whether it is a client on this host, in whatever context: its packets wake the server in softirq work.
pub(crate) fn is_client(waker: &Waker, situation: &Situation) -> bool {
    waker.pid.is_some_and(|pid| situation.is_client(pid))
}
