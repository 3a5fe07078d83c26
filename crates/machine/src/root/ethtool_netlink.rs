//! What a network driver tells through ethtool's netlink family (Documentation/networking/ethtool-netlink.rst,
//! include/uapi/linux/ethtool_netlink.h): channels, interrupt coalescing, ring sizes.

use std::collections::BTreeMap;
use std::io;

use rustix::fd::OwnedFd;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with, sockopt,
};
use serde::Serialize;

/// `GENL_ID_CTRL`, `CTRL_CMD_GETFAMILY`, `CTRL_ATTR_FAMILY_ID`, `CTRL_ATTR_FAMILY_NAME` of genetlink.h.
const CONTROLLER: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
/// `NLM_F_REQUEST`, `NLMSG_ERROR`, `NLA_F_NESTED` of netlink.h.
const REQUEST: u16 = 1;
const ERROR: u16 = 2;
const NESTED: u16 = 0x8000;
/// `ETHTOOL_A_HEADER_DEV_NAME`; the header is attribute 1 of every message.
const HEADER: u16 = 1;
const DEVICE_NAME: u16 = 2;

/// Number of the request and the names of the attributes that are kept.
struct Question {
    key: &'static str,
    command: u8,
    attributes: &'static [(u16, &'static str)],
}

/// `ETHTOOL_MSG_RINGS_GET`, `_CHANNELS_GET`, `_COALESCE_GET`.
const QUESTIONS: [Question; 3] = [
    Question {
        key: "channels",
        command: 17,
        attributes: &[
            (2, "rx_max"),
            (3, "tx_max"),
            (5, "combined_max"),
            (6, "rx"),
            (7, "tx"),
            (9, "combined"),
        ],
    },
    Question {
        key: "coalesce",
        command: 19,
        attributes: &[
            (2, "rx_usecs"),
            (3, "rx_max_frames"),
            (6, "tx_usecs"),
            (7, "tx_max_frames"),
            (11, "adaptive_rx"),
            (12, "adaptive_tx"),
        ],
    },
    Question { key: "rings", command: 15, attributes: &[(2, "rx_max"), (5, "tx_max"), (6, "rx"), (9, "tx")] },
];

/// Figures by name, by question; a question that the driver does not answer is left out.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
struct Answers(BTreeMap<&'static str, BTreeMap<&'static str, u32>>);

/// Asks about interface `name` of the network namespace of this thread; JSON, by question and figure.
pub(super) fn query(name: &str) -> io::Result<String> {
    let channel = Channel::open()?;
    let family = channel.family("ethtool")?;
    let mut answers = Answers::default();
    for question in QUESTIONS {
        let mut header = Vec::new();
        attribute(&mut header, DEVICE_NAME, &terminated(name));
        let mut body = Vec::new();
        attribute(&mut body, HEADER | NESTED, &header);
        let reply = match channel.ask(family, question.command, &body) {
            Ok(reply) => reply,
            Err(e) if e.raw_os_error() == Some(libc::ENODEV) => return Err(e),
            // The driver does not answer this (EOPNOTSUPP), or the kernel does not know it yet (EINVAL).
            Err(_) => continue,
        };
        let named = |(id, value): (u16, &[u8])| {
            let (_, name) = question.attributes.iter().find(|(wanted, _)| *wanted == id)?;
            Some((*name, number(value)?))
        };
        answers.0.insert(question.key, attributes(&reply).filter_map(named).collect());
    }
    Ok(serde_json::to_string(&answers)?)
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

    /// The number that the kernel gave to a family at boot.
    fn family(&self, name: &str) -> io::Result<u16> {
        let mut body = Vec::new();
        attribute(&mut body, FAMILY_NAME, &terminated(name));
        let reply = self.ask(CONTROLLER, GET_FAMILY, &body)?;
        let id = attributes(&reply).find(|(id, _)| *id == FAMILY_ID).and_then(|(_, value)| number(value));
        id.and_then(|id| u16::try_from(id).ok()).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
    }

    /// Sends one request; the attributes of the answer.
    fn ask(&self, family: u16, command: u8, body: &[u8]) -> io::Result<Vec<u8>> {
        let length = 16 + 4 + body.len();
        let mut message = Vec::with_capacity(length);
        message.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_ne_bytes());
        message.extend_from_slice(&family.to_ne_bytes());
        message.extend_from_slice(&REQUEST.to_ne_bytes());
        message.extend_from_slice(&[0; 8]);
        message.extend_from_slice(&[command, 1, 0, 0]);
        message.extend_from_slice(body);
        sendto(&self.0, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        let mut buffer = vec![0; 16 << 10];
        let (received, _) = recv(&self.0, &mut buffer[..], RecvFlags::empty())?;
        answer(buffer.get(..received).unwrap_or_default())
    }
}

/// The attributes of an answer, or the error that it is.
fn answer(message: &[u8]) -> io::Result<Vec<u8>> {
    let torn = || io::Error::new(io::ErrorKind::InvalidData, "a torn netlink message");
    let kind =
        message.get(4..6).and_then(|b| Some(u16::from_ne_bytes(b.try_into().ok()?))).ok_or_else(torn)?;
    if kind == ERROR {
        let code = message.get(16..20).and_then(|b| Some(i32::from_ne_bytes(b.try_into().ok()?)));
        return Err(io::Error::from_raw_os_error(-code.ok_or_else(torn)?));
    }
    Ok(message.get(20..).ok_or_else(torn)?.to_vec())
}

/// Text with the NUL that the kernel wants.
fn terminated(text: &str) -> Vec<u8> {
    text.bytes().chain([0]).collect()
}

/// Appends one attribute: length, kind, value, padding to four bytes.
fn attribute(to: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
    to.extend_from_slice(&length.to_ne_bytes());
    to.extend_from_slice(&kind.to_ne_bytes());
    to.extend_from_slice(value);
    to.resize(to.len().next_multiple_of(4), 0);
}

/// The attributes of a message; a torn one ends the walk.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(bytes.get(2..4)?.try_into().ok()?);
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind & !NESTED, value))
    })
}

/// A number of one, two or four bytes.
fn number(value: &[u8]) -> Option<u32> {
    match value.len() {
        1 => value.first().map(|byte| u32::from(*byte)),
        2 => Some(u32::from(u16::from_ne_bytes(value.try_into().ok()?))),
        4 => Some(u32::from_ne_bytes(value.try_into().ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_go_out_as_they_come_in() {
        let mut bytes = Vec::new();
        attribute(&mut bytes, 7, &3u32.to_ne_bytes());
        attribute(&mut bytes, 8 | NESTED, b"abc");
        attribute(&mut bytes, 11, &[1]);
        let read: Vec<_> = attributes(&bytes).collect();
        assert_eq!(read, [(7, &3u32.to_ne_bytes()[..]), (8, &b"abc"[..]), (11, &[1][..])]);
        assert_eq!((number(read[0].1), number(read[1].1), number(read[2].1)), (Some(3), None, Some(1)));
    }

    #[test]
    fn errors_and_torn_messages_are_told_apart() {
        let mut refused = vec![36, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        refused.extend_from_slice(&(-libc::EOPNOTSUPP).to_ne_bytes());
        assert_eq!(answer(&refused).unwrap_err().raw_os_error(), Some(libc::EOPNOTSUPP));
        for length in 0..20 {
            assert!(answer(&refused[..length]).is_err());
        }
    }

    #[test]
    fn an_interface_that_is_not_there_is_an_error_and_lo_has_no_channels() {
        if let Ok(answers) = query("lo") {
            assert!(!answers.contains("combined"), "{answers}");
        }
        assert!(query("no-such-nic0").is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_the_walk_panic_or_endless(bytes in proptest::collection::vec(0..=255u8, 0..64)) {
            proptest::prop_assert!(attributes(&bytes).count() <= 16);
            let _ = answer(&bytes);
        }
    }
}
