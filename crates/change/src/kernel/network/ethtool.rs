//! The one socket that sets something of a network interface (`machine::ethtool` has the messages).

use std::io;
use std::time::Duration;

use machine::EthtoolSetting;
use machine::ethtool;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::net::{recv, sendto, socket_with, sockopt};

/// A driver may take its card down and up again for it, which waits for queues to run empty.
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);

/// Sets something of an interface of this thread's network namespace.
///
/// Errors: what the kernel or the driver refuses it with.
pub fn send(device: &str, setting: &EthtoolSetting) -> io::Result<()> {
    let order = ethtool::order(ethtool::family()?, device, setting);
    let kind = (AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC);
    let socket = socket_with(kind.0, kind.1, kind.2, Some(netlink::GENERIC))?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(ANSWERS_WITHIN))?;
    // The kernel carries it out before sendto(2) returns; the acknowledgement lies there then.
    sendto(&socket, &order, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut buffer = [0; 4096];
    let (received, _) = recv(&socket, &mut buffer[..], RecvFlags::empty())?;
    ethtool::acknowledged(buffer.get(..received).unwrap_or_default())
}
