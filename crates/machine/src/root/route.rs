//! How the kernel would send to an address, which no file shows: the interface, the own address, and the path MTU that it knows.
//!
//! Nothing is sent: a UDP socket that is connected only looks its route up (ip(7)), and rtnetlink(7) answers a question.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use rustix::net::netdevice;
use rustix::net::sockopt::{self, Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery};
use serde::{Deserialize, Serialize};

use super::ReadError;
use super::netlink_channel::NetlinkChannel;
use crate::ethtool::{REQUEST, answer, attribute, attributes, message, number};
use crate::{Missing, Notes};

/// `route ADDRESS` is a [`Route`] as JSON.
pub(crate) const ROUTE: &str = "route ";

/// Any port will do: nothing is sent to it.
const DISCARD: u16 = 9;

/// `RTM_GETROUTE` and, of the attributes of a route, `RTA_DST` and `RTA_OIF` (rtnetlink.h).
const GET_ROUTE: u16 = 26;
const DESTINATION: u16 = 1;
const OUTGOING: u16 = 4;

/// Lengths of `nlmsghdr` and `rtmsg`, bytes.
const MESSAGE_HEADER: usize = 16;
const ROUTE_HEADER: usize = 12;

/// `AF_INET`, `AF_INET6` as `rtmsg` has them.
const INET: u8 = 2;
const INET6: u8 = 10;

/// The route to an address, as far as the kernel reports it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Route {
    /// The own address of what is sent.
    pub(crate) local: Option<IpAddr>,
    /// The interface that it leaves by.
    pub(crate) interface: Option<String>,
    /// Its number.
    pub(crate) index: Option<u32>,
    /// What the kernel knows of the largest packet that gets there whole, bytes.
    pub(crate) path_mtu_bytes: Option<u32>,
    /// What it does not report.
    pub(crate) missing: Vec<Missing>,
}

/// Looks the route up, in the network namespace of this thread. `fact` is the whole name, for errors.
pub(super) fn query(fact: &str, address: &str) -> Result<String, ReadError> {
    let peer: IpAddr = address.parse().map_err(|_| ReadError::absent(fact, "this is not an address"))?;
    let route = look_up(peer).map_err(|e| ReadError::from_io(fact, &e))?;
    serde_json::to_string(&route).map_err(|e| ReadError::malformed(fact, e))
}

fn look_up(peer: IpAddr) -> io::Result<Route> {
    let socket = connected(peer)?;
    let mut notes = Notes::new();
    let (index, interface) = notes.keep("interface of the route", interface(peer, &socket)).unzip();
    Ok(Route {
        local: Some(socket.local_addr()?.ip()),
        interface,
        index,
        path_mtu_bytes: notes.keep("path MTU", path_mtu(peer, &socket)),
        missing: notes.into_vec(),
    })
}

/// Where packets may not be cut on their way, the socket knows how large they may be.
fn connected(peer: IpAddr) -> io::Result<UdpSocket> {
    let any: IpAddr = match peer {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0))?;
    match peer {
        IpAddr::V4(_) => sockopt::set_ip_mtu_discover(&socket, Ipv4PathMtuDiscovery::DO)?,
        IpAddr::V6(_) => sockopt::set_ipv6_mtu_discover(&socket, Ipv6PathMtuDiscovery::DO)?,
    }
    socket.connect(SocketAddr::new(peer, DISCARD))?;
    Ok(socket)
}

fn path_mtu(peer: IpAddr, socket: &UdpSocket) -> io::Result<u32> {
    Ok(match peer {
        IpAddr::V4(_) => sockopt::ip_mtu(socket)?,
        IpAddr::V6(_) => sockopt::ipv6_mtu(socket)?,
    })
}

/// Number and name, by the route and not by the own address: what a host sends to itself leaves by lo, whichever address it is.
fn interface(peer: IpAddr, socket: &UdpSocket) -> io::Result<(u32, String)> {
    let index = outgoing(&NetlinkChannel::open(None)?.ask(&question(peer))?)?;
    Ok((index, netdevice::index_to_name(socket, index)?))
}

fn question(peer: IpAddr) -> Vec<u8> {
    let (family, address) = match peer {
        IpAddr::V4(address) => (INET, address.octets().to_vec()),
        IpAddr::V6(address) => (INET6, address.octets().to_vec()),
    };
    let mut body = vec![0; ROUTE_HEADER];
    body[0] = family;
    // How much of the address counts, bits.
    body[1] = if family == INET { 32 } else { 128 };
    attribute(&mut body, DESTINATION, &address);
    message(GET_ROUTE, REQUEST, &body)
}

/// Number of the interface in an answer.
fn outgoing(message: &[u8]) -> io::Result<u32> {
    answer(message)?;
    let rest = message.get(MESSAGE_HEADER + ROUTE_HEADER..).unwrap_or_default();
    let index = attributes(rest).find(|(kind, _)| *kind == OUTGOING).and_then(|(_, index)| number(index));
    index.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the route names no interface"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_host_sends_to_itself_leaves_by_lo() {
        // Where lo is down, or there are no sockets, nothing is known.
        let Ok(text) = query("route 127.0.0.1", "127.0.0.1") else { return };
        let route: Route = serde_json::from_str(&text).unwrap();
        assert_eq!(route.local, "127.0.0.1".parse().ok());
        assert!(route.interface.is_none_or(|name| name == "lo"), "{text}");
        assert!(route.path_mtu_bytes.is_none_or(|bytes| bytes >= 68), "{text}");
    }

    #[test]
    fn what_is_no_address_is_an_error() {
        for text in ["", "localhost", "10.0.0.1:80", "10.0.0.0/8"] {
            assert!(query("route", text).unwrap_err().is_absent(), "{text}");
        }
    }

    #[test]
    fn the_question_has_the_address_and_how_much_of_it_counts() {
        let message = question("10.0.0.2".parse().unwrap());
        assert_eq!(message[..4], 36_u32.to_ne_bytes());
        assert_eq!(message[16..20], [2, 32, 0, 0]);
        assert_eq!(message[32..], [10, 0, 0, 2]);
        let message = question("fe80::1".parse().unwrap());
        assert_eq!((message.len(), message[16], message[17]), (48, 10, 128));
    }

    #[test]
    fn the_interface_stands_behind_the_header_of_the_route() {
        let mut message = question("10.0.0.2".parse().unwrap());
        assert!(outgoing(&message).is_err(), "the question names none");
        attribute(&mut message, OUTGOING, &7_u32.to_ne_bytes());
        assert_eq!(outgoing(&message).unwrap(), 7);
    }

    proptest::proptest! {
        #[test]
        fn no_answer_makes_it_panic(bytes in proptest::collection::vec(0..=255_u8, 0..80)) {
            let _ = outgoing(&bytes);
        }
    }
}
