//! The socket through which drivers report by ethtool's netlink family (`crate::ethtool` has the messages).
//! Nothing is set here: every message is a question.

use std::io;

use rustix::fd::OwnedFd;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with, sockopt,
};

use crate::ethtool::{EthtoolState, Question, Report, Topic, answer, attributes, family_question, number};

/// `CTRL_ATTR_FAMILY_ID` of genetlink.h.
const FAMILY_ID: u16 = 1;

/// Asks about interface `name` of the network namespace of this thread; JSON, by question and figure.
pub(super) fn query(name: &str) -> io::Result<String> {
    let channel = Channel::open()?;
    let family = channel.family()?;
    let mut report = Report::default();
    for question in Question::ALL {
        match channel.ask(&question.message(family, name)) {
            Ok(reply) => question.keep(&reply, &mut report),
            Err(e) if e.raw_os_error() == Some(libc::ENODEV) => return Err(e),
            // The driver does not answer this (EOPNOTSUPP), or the kernel does not know it yet (EINVAL).
            Err(_) => continue,
        }
    }
    Ok(serde_json::to_string(&report)?)
}

/// What there is now of one topic, on an interface of the network namespace of this thread.
///
/// Errors: ENODEV when there is no such interface, EOPNOTSUPP when its driver does not report it.
pub fn ask(name: &str, topic: Topic) -> io::Result<EthtoolState> {
    let channel = Channel::open()?;
    let question = Question::about(topic);
    let reply = channel.ask(&question.message(channel.family()?, name))?;
    let mut report = Report::default();
    question.keep(&reply, &mut report);
    report.state(topic).ok_or_else(|| io::Error::from_raw_os_error(libc::EOPNOTSUPP))
}

/// The number that the kernel gave to ethtool's family at boot. Errors: ENOENT on kernels before 5.6.
pub fn family() -> io::Result<u16> {
    Channel::open()?.family()
}

/// A netlink socket to the kernel.
struct Channel(OwnedFd);

impl Channel {
    fn open() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(netlink::GENERIC))?;
        // The kernel answers at once; this bounds the wait should it ever not.
        let wait = Some(std::time::Duration::from_secs(1));
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, wait)?;
        Ok(Self(socket))
    }

    fn family(&self) -> io::Result<u16> {
        let reply = self.ask(&family_question("ethtool"))?;
        let id = attributes(&reply).find(|(id, _)| *id == FAMILY_ID).and_then(|(_, id)| number(id));
        id.and_then(|id| u16::try_from(id).ok()).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
    }

    /// Sends one question; the attributes of the answer.
    fn ask(&self, question: &[u8]) -> io::Result<Vec<u8>> {
        sendto(&self.0, question, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        let mut buffer = vec![0; 32 << 10];
        let (received, _) = recv(&self.0, &mut buffer[..], RecvFlags::empty())?;
        Ok(answer(buffer.get(..received).unwrap_or_default())?.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ethtool::Feature;

    #[test]
    fn an_interface_that_is_not_there_is_an_error_and_lo_has_no_channels() {
        if let Ok(answers) = query("lo") {
            assert!(!answers.contains("combined"), "{answers}");
            assert_eq!(ask("lo", Topic::Channels).unwrap_err().raw_os_error(), Some(libc::EOPNOTSUPP));
            let gro = ask("lo", Topic::Feature(Feature::Gro)).unwrap();
            assert!(matches!(gro, EthtoolState::Feature { .. }), "{gro:?}");
            assert_eq!(ask("no-such-nic0", Topic::Channels).unwrap_err().raw_os_error(), Some(libc::ENODEV));
        }
        assert!(query("no-such-nic0").is_err());
    }
}
