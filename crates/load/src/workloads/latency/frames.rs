//! Messages below IP: frames of Ethernet, each with a head of 24 bytes and a message.

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use machine::{Class, Fault};
use rustix::io::Errno;

use super::dialogue::EchoDialogue;
use crate::drive::endpoint::{ANSWER_FRAME, ASK_FRAME};
use crate::drive::{Dialogue, News};
use crate::link::{self, Link};

/// What stands in front of a message: Ethernet's own 14 bytes, the port of the server, and 8 bytes that are the connection's own.
pub(super) const HEAD_BYTES: usize = 24;

/// The longest message that fits into a frame as all interfaces carry it (1500 bytes and Ethernet's own).
pub(super) const LONGEST_MESSAGE_BYTES: u32 = 1500 + 14 - HEAD_BYTES as u32;

/// How long the server's host may take to be known on the link.
const KNOWN_WITHIN: Duration = Duration::from_secs(2);

/// The link to a server, which is asked for over TCP first: the kernel learns its hardware address so, and which address is ours.
///
/// Fails when it is not reached, or not on a link of this host; without CAP_NET_RAW.
pub(super) fn link_to(server: SocketAddr) -> Result<Link, Fault> {
    let unreached = |error: std::io::Error| {
        Fault::new(Class::WorkloadFailed, server, error, "see the server's log; check that it still runs")
    };
    let stream = TcpStream::connect_timeout(&server, KNOWN_WITHIN).map_err(unreached)?;
    let own = stream.local_addr().map_err(unreached)?;
    let (IpAddr::V4(from), IpAddr::V4(peer)) = (own.ip(), server.ip()) else { return Err(not_ipv4(server)) };
    link::frame_socket().map_err(refused)?;
    Link::between(from, peer)
}

/// Takes the frames of loads on the interface that has this address.
///
/// Fails when none has it; without CAP_NET_RAW.
pub(super) fn listen(address: IpAddr) -> Result<OwnedFd, Fault> {
    let IpAddr::V4(address) = address else { return Err(not_ipv4(address)) };
    let interface = link::index_of(address)?;
    let socket = link::frame_socket().map_err(refused)?;
    link::bind_to_frames(&socket, interface, ASK_FRAME).map_err(refused)?;
    Ok(socket)
}

fn not_ipv4(object: impl std::fmt::Display) -> Fault {
    let cause = "the link to a server is found by its IPv4 address";
    Fault::new(Class::Usage, format!("frames to {object}"), cause, "give one, or take another transport")
}

fn refused(error: Errno) -> Fault {
    let (class, remedy) = match error {
        Errno::PERM | Errno::ACCESS => (Class::NotPermitted, "run as root (CAP_NET_RAW)"),
        Errno::AFNOSUPPORT => (Class::MachineLacks, "the kernel has no packet sockets (CONFIG_PACKET)"),
        _ => (Class::MachineLacks, "take another interface, or another transport"),
    };
    Fault::new(class, "socket for frames", error, remedy)
}

/// Turns a load's frame into its answer. False of one that is for another server on this interface.
pub(super) fn turn_round(frame: &mut [u8], port: u16) -> bool {
    let is_ours = frame.len() >= HEAD_BYTES && frame[14..16] == port.to_be_bytes();
    if is_ours {
        let (to, from) = frame[..12].split_at_mut(6);
        to.swap_with_slice(from);
        frame[12..14].copy_from_slice(&ANSWER_FRAME.to_be_bytes());
    }
    is_ours
}

/// One connection of the latency load over frames. The kernel gives every socket the frames of all connections on the interface.
#[derive(Debug)]
pub(crate) struct FrameDialogue {
    inner: EchoDialogue,
    message_bytes: usize,
    head: [u8; HEAD_BYTES],
    conversation: u64,
}

impl FrameDialogue {
    /// With messages of this length over this link to the server at this port, in a conversation that no other connection has.
    pub(super) fn new(message_bytes: usize, lanes: u32, link: &Link, port: u16, conversation: u64) -> Self {
        let mut head = [0; HEAD_BYTES];
        head[0..6].copy_from_slice(&link.peer_mac);
        head[6..12].copy_from_slice(&link.own_mac);
        head[12..14].copy_from_slice(&ASK_FRAME.to_be_bytes());
        head[14..16].copy_from_slice(&port.to_be_bytes());
        Self { inner: EchoDialogue::new(message_bytes, lanes), message_bytes, head, conversation }
    }

    /// Whether a frame is an answer to this connection as it is now.
    fn is_for_us(&self, frame: &[u8]) -> bool {
        frame.get(12..14) == Some(&ANSWER_FRAME.to_be_bytes()[..])
            && frame.get(14..HEAD_BYTES) == Some(&self.head[14..])
    }
}

impl Dialogue for FrameDialogue {
    fn lanes(&self) -> u32 {
        self.inner.lanes()
    }

    fn open(&mut self, out: &mut Vec<u8>) -> bool {
        // What is still under way of the connection before is none of this one's.
        self.conversation = self.conversation.wrapping_add(1 << 32);
        self.head[16..].copy_from_slice(&self.conversation.to_be_bytes());
        self.inner.open(out)
    }

    fn ask(&mut self, lane: u32, number: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head);
        self.inner.ask(lane, number, out);
    }

    fn hear(&mut self, came: &[u8], out: &mut Vec<u8>, news: &mut Vec<News>) -> usize {
        // A short frame comes with bytes behind it, up to the least that Ethernet carries.
        if let Some(message) = came.get(HEAD_BYTES..HEAD_BYTES + self.message_bytes)
            && self.is_for_us(came)
        {
            self.inner.hear(message, out, news);
        }
        came.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: u16 = 4711;

    fn dialogue(conversation: u64) -> FrameDialogue {
        let link = Link { index: 7, own_mac: [2; 6], peer_mac: [1; 6] };
        let mut dialogue = FrameDialogue::new(20, 2, &link, PORT, conversation);
        assert!(dialogue.open(&mut Vec::new()));
        dialogue
    }

    fn asked(dialogue: &mut FrameDialogue, lane: u32, number: u64) -> Vec<u8> {
        let mut frame = Vec::new();
        dialogue.ask(lane, number, &mut frame);
        frame
    }

    fn heard(dialogue: &mut FrameDialogue, frame: &[u8]) -> Vec<News> {
        let mut news = Vec::new();
        assert_eq!(dialogue.hear(frame, &mut Vec::new(), &mut news), frame.len());
        news
    }

    #[test]
    fn a_frame_that_was_turned_round_is_an_answer() {
        let mut dialogue = dialogue(1);
        let mut frame = asked(&mut dialogue, 1, 7);
        assert_eq!(frame.len(), HEAD_BYTES + 20);
        assert_eq!(frame[..14], [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 0x88, 0xb5]);
        assert!(turn_round(&mut frame, PORT));
        assert_eq!(frame[..14], [2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 0x88, 0xb6]);
        // As it comes over a cable.
        frame.resize(60, 0);
        assert_eq!(heard(&mut dialogue, &frame), [News::Answered(1)]);
        assert!(
            matches!(&heard(&mut dialogue, &frame)[..], [News::Wrong(1, words)] if words.contains("twice"))
        );
    }

    #[test]
    fn frames_of_others_are_left_alone() {
        let (mut dialogue, mut other) = (dialogue(1), dialogue(2));
        let mut frame = asked(&mut other, 0, 7);
        assert!(heard(&mut dialogue, &frame).is_empty(), "it is a question");
        assert!(!turn_round(&mut frame, PORT + 1) && !turn_round(&mut frame[..HEAD_BYTES - 1], PORT));
        assert!(turn_round(&mut frame, PORT));
        assert!(heard(&mut dialogue, &frame).is_empty());
        assert!(heard(&mut other, &frame[..30]).is_empty(), "it is too short");
        assert_eq!(heard(&mut other, &frame), [News::Answered(0)]);
    }

    #[test]
    fn what_a_connection_was_sent_before_it_was_made_anew_is_not_heard() {
        let mut dialogue = dialogue(1);
        let mut late = asked(&mut dialogue, 0, 7);
        assert!(turn_round(&mut late, PORT));
        assert!(dialogue.open(&mut Vec::new()));
        asked(&mut dialogue, 0, 8);
        assert!(heard(&mut dialogue, &late).is_empty());
    }

    proptest::proptest! {
        #[test]
        fn no_frame_makes_either_end_panic(mut frame in proptest::collection::vec(proptest::num::u8::ANY, 0..80)) {
            heard(&mut dialogue(1), &frame);
            turn_round(&mut frame, PORT);
        }
    }
}
