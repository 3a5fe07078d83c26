//! The socket through which drivers report by ethtool's netlink family (`crate::ethtool` has the messages).
//! Nothing is set here: every message is a question.

use std::io;

use rustix::net::netlink;

use super::netlink_channel::NetlinkChannel;
use crate::ethtool::{EthtoolState, Question, Report, Topic, answer, attributes, family_question, number};

/// `CTRL_ATTR_FAMILY_ID` of genetlink.h.
const FAMILY_ID: u16 = 1;

/// Asks about interface `name` of the network namespace of this thread; JSON, by question and figure.
pub(super) fn query(name: &str) -> io::Result<String> {
    let channel = open()?;
    let family = family_by(&channel)?;
    let mut report = Report::default();
    for question in Question::ALL {
        match reply(&channel, &question.message(family, name)) {
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
    let channel = open()?;
    let question = Question::about(topic);
    let reply = reply(&channel, &question.message(family_by(&channel)?, name))?;
    let mut report = Report::default();
    question.keep(&reply, &mut report);
    report.state(topic).ok_or_else(|| io::Error::from_raw_os_error(libc::EOPNOTSUPP))
}

/// The number that the kernel gave to ethtool's family at boot. Errors: ENOENT on kernels before 5.6.
pub fn family() -> io::Result<u16> {
    family_by(&open()?)
}

fn open() -> io::Result<NetlinkChannel> {
    NetlinkChannel::open(Some(netlink::GENERIC))
}

fn family_by(channel: &NetlinkChannel) -> io::Result<u16> {
    let reply = reply(channel, &family_question("ethtool"))?;
    let id = attributes(&reply).find(|(id, _)| *id == FAMILY_ID).and_then(|(_, id)| number(id));
    id.and_then(|id| u16::try_from(id).ok()).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
}

/// The attributes of the answer to one question.
fn reply(channel: &NetlinkChannel, question: &[u8]) -> io::Result<Vec<u8>> {
    Ok(answer(&channel.ask(question)?)?.to_vec())
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
