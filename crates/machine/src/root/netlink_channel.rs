//! A netlink socket on which the kernel answers questions, one at a time.

use std::io;
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
    sockopt,
};

/// The longest part of an answer (`NLMSG_GOODSIZE` and `max_recvmsg_len` of af_netlink.c), and the most parts, which are some million
/// sockets.
const LONGEST_BYTES: usize = 32 << 10;
const MOST_PARTS: usize = 4_096;

/// `NLMSG_ERROR` and `NLMSG_DONE` of netlink.h, and the length of `nlmsghdr`.
const ERROR: u16 = 2;
const DONE: u16 = 3;
const HEADER: usize = 16;

/// A socket to the kernel, in the network namespace of the thread that opened it.
pub(super) struct NetlinkChannel(OwnedFd);

impl NetlinkChannel {
    /// Opens one; no protocol is that of routes (rtnetlink(7)).
    pub(super) fn open(protocol: Option<Protocol>) -> io::Result<Self> {
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?;
        // The kernel answers at once; this bounds the wait should it ever not.
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(Duration::from_secs(1)))?;
        Ok(Self(socket))
    }

    /// Sends one question; the answer with its header.
    pub(super) fn ask(&self, question: &[u8]) -> io::Result<Vec<u8>> {
        sendto(&self.0, question, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        let mut answer = vec![0; LONGEST_BYTES];
        let (received, _) = recv(&self.0, &mut answer[..], RecvFlags::empty())?;
        answer.truncate(received);
        Ok(answer)
    }

    /// Sends a question that has many answers; hands over the body of each.
    pub(super) fn dump(&self, question: &[u8], mut take: impl FnMut(&[u8])) -> io::Result<()> {
        let mut answer = self.ask(question)?;
        for _ in 0..MOST_PARTS {
            if !bodies(&answer, &mut take)? {
                return Ok(());
            }
            answer.resize(LONGEST_BYTES, 0);
            let (received, _) = recv(&self.0, &mut answer[..], RecvFlags::empty())?;
            answer.truncate(received);
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, "an answer without an end"))
    }
}

/// Hands over the body of each message of a part; whether there may be more parts.
fn bodies(mut part: &[u8], take: &mut impl FnMut(&[u8])) -> io::Result<bool> {
    let torn = || io::Error::new(io::ErrorKind::InvalidData, "a torn netlink message");
    let word = |bytes: &[u8], at: usize| Some(i32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    if part.is_empty() {
        return Err(torn());
    }
    while !part.is_empty() {
        let length = word(part, 0).and_then(|length| usize::try_from(length).ok()).ok_or_else(torn)?;
        let message = part.get(..length).filter(|message| message.len() >= HEADER).ok_or_else(torn)?;
        match u16::from_ne_bytes([message[4], message[5]]) {
            DONE => return Ok(false),
            ERROR => {
                let code = word(message, HEADER).ok_or_else(torn)?;
                return Err(io::Error::from_raw_os_error(code.saturating_neg()));
            }
            _ => take(&message[HEADER..]),
        }
        part = part.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        crate::ethtool::message(kind, 0, body)
    }

    fn bodies_of(part: &[u8]) -> io::Result<(Vec<Vec<u8>>, bool)> {
        let mut all = Vec::new();
        let more = bodies(part, &mut |body: &[u8]| all.push(body.to_vec()))?;
        Ok((all, more))
    }

    #[test]
    fn a_part_is_taken_message_by_message_until_the_last() {
        let two = [message(20, b"abcd"), message(20, b"efgh")].concat();
        assert_eq!(bodies_of(&two).unwrap(), (vec![b"abcd".to_vec(), b"efgh".to_vec()], true));
        let last = [two, message(DONE, &[0; 4])].concat();
        assert!(!bodies_of(&last).unwrap().1);
        let refused = message(ERROR, &(-libc::ENOENT).to_ne_bytes());
        assert_eq!(bodies_of(&refused).unwrap_err().raw_os_error(), Some(libc::ENOENT));
        assert!(bodies_of(&last[..30]).is_err() && bodies_of(&[]).is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_answer_makes_it_panic(bytes in proptest::collection::vec(0..=u8::MAX, 0..80)) {
            let _ = bodies_of(&bytes);
        }
    }
}
