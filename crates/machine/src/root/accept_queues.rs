//! How many connections each listening TCP socket may keep waiting until they are accepted, which no file shows.

use std::collections::BTreeMap;
use std::io;

use rustix::net::netlink;

use super::ReadError;
use super::netlink_channel::NetlinkChannel;
use crate::ethtool::{REQUEST, message};

/// `accept_queues` is the length of the accept queue of each listening TCP socket by the inode of the socket, as a JSON object: what the
/// server asked listen(2) for, at most net.core.somaxconn. Those of the network namespace of this thread; no privilege is needed. It is
/// kept in a capture when a reader has asked for it.
pub(crate) const ACCEPT_QUEUES: &str = "accept_queues";

/// `SOCK_DIAG_BY_FAMILY` of sock_diag.h, `NLM_F_DUMP` of netlink.h.
const BY_FAMILY: u16 = 20;
const DUMP: u16 = 0x300;

/// `AF_INET`, `AF_INET6`, `IPPROTO_TCP`, and the bit of TCP_LISTEN.
const FAMILIES: [u8; 2] = [2, 10];
const TCP: u8 = 6;
const LISTENS: u32 = 1 << 10;

/// Length of `struct inet_diag_req_v2`, and where its states are; where `struct inet_diag_msg` has the length of the queue and the inode.
const QUESTION_BYTES: usize = 56;
const STATES_AT: usize = 4;
const LIMIT_AT: usize = 60;
const INODE_AT: usize = 68;

/// Asks the kernel. The kernel may load its modules tcp_diag and inet_diag for it, as it does for ss(8).
pub(super) fn query(fact: &str) -> Result<String, ReadError> {
    let limits = limits().map_err(|e| match e.raw_os_error() {
        Some(libc::ENOENT) => ReadError::absent(fact, "the kernel has no tcp_diag (CONFIG_INET_DIAG)"),
        _ => ReadError::from_io(fact, &e),
    })?;
    serde_json::to_string(&limits).map_err(|e| ReadError::malformed(fact, e))
}

fn limits() -> io::Result<BTreeMap<u64, u64>> {
    let channel = NetlinkChannel::open(Some(netlink::SOCK_DIAG))?;
    let mut limits = BTreeMap::new();
    for family in FAMILIES {
        channel.dump(&question(family), |socket| limits.extend(limit(socket)))?;
    }
    Ok(limits)
}

/// Asks for all sockets of a family that listen.
fn question(family: u8) -> Vec<u8> {
    let mut body = [0; QUESTION_BYTES];
    (body[0], body[1]) = (family, TCP);
    body[STATES_AT..STATES_AT + 4].copy_from_slice(&LISTENS.to_ne_bytes());
    message(BY_FAMILY, REQUEST | DUMP, &body)
}

/// Inode and length of the queue of a socket.
fn limit(socket: &[u8]) -> Option<(u64, u64)> {
    let word = |at: usize| Some(u32::from_ne_bytes(socket.get(at..at + 4)?.try_into().ok()?));
    Some((u64::from(word(INODE_AT)?), u64::from(word(LIMIT_AT)?)))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::fd::AsRawFd as _;

    use super::*;

    #[test]
    fn the_queue_of_a_socket_is_as_long_as_it_asked_for() {
        // std asks for 4096 or less; the kernel cuts that to net.core.somaxconn.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let link = std::fs::read_link(format!("/proc/self/fd/{}", listener.as_raw_fd())).unwrap();
        let inode: u64 = link
            .to_str()
            .and_then(|link| link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok())
            .unwrap();
        rustix::net::listen(&listener, 3).unwrap();
        let Ok(text) = query(ACCEPT_QUEUES) else { return eprintln!("skipped: the kernel has no sock_diag") };
        let limits: BTreeMap<u64, u64> = serde_json::from_str(&text).unwrap();
        assert_eq!(limits.get(&inode), Some(&3), "{text}");
    }

    proptest::proptest! {
        #[test]
        fn no_answer_makes_it_panic(bytes in proptest::collection::vec(0..=u8::MAX, 0..90)) {
            assert_eq!(limit(&bytes).is_some(), bytes.len() >= INODE_AT + 4);
        }
    }
}
