//! The netlink socket that changes settings of a network interface (`machine::ethtool` has the messages).

use std::io;
use std::time::Duration;

use machine::EthtoolSetting;
use machine::ethtool;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::net::{recv, sendto, socket_with, sockopt};

/// Long, since a driver may restart its card for a change, and waits for the queues to drain.
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);

/// Changes settings of an interface in the network namespace of the calling thread.
///
/// # Errors
/// What the kernel or the driver refuses them with.
pub fn send(device: &str, setting: &EthtoolSetting) -> io::Result<()> {
    let order = ethtool::order(ethtool::family()?, device, setting);
    let kind = (AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC);
    let socket = socket_with(kind.0, kind.1, kind.2, Some(netlink::GENERIC))?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(ANSWERS_WITHIN))?;
    // The kernel carries it out before sendto(2) returns, so that the acknowledgement can be read at once.
    sendto(&socket, &order, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut buffer = [0; 4096];
    let (received, _) = recv(&socket, &mut buffer[..], RecvFlags::empty())?;
    ethtool::acknowledged(buffer.get(..received).unwrap_or_default())
}
