//! The link that this host shares with another: the interface, the hardware addresses at both ends, and sockets for frames on it.

use std::ffi::{CStr, CString};
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};

use machine::{Class, Fault};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket, socket_with};

use crate::errno::last_error;

/// The link between this host and one other.
pub(crate) struct Link {
    /// Number of the interface here.
    pub(crate) index: u32,
    pub(crate) own_mac: [u8; 6],
    pub(crate) peer_mac: [u8; 6],
}

impl Link {
    /// The interface with the address `from`, and who has the address `peer` there: the kernel knows, once something was sent to it.
    ///
    /// Fails when no interface has `from`, or nobody on its link is known by `peer`, as over loopback.
    pub(crate) fn between(from: Ipv4Addr, peer: Ipv4Addr) -> Result<Self, Fault> {
        let name = interface_of(from).ok_or_else(|| no_interface(from))?;
        let text = std::fs::read_to_string("/proc/thread-self/net/arp")
            .map_err(|e| Fault::io("/proc/net/arp", &e, "mount /proc"))?;
        let peer_mac = neighbour(&text, peer, &name).ok_or_else(|| {
            let cause = format!("nobody on the link of {name} is known to have that address");
            let remedy = "choose a server at the other end of a link: loopback has none (server.pair = true)";
            Fault::new(Class::MachineLacks, format!("frames to {peer}"), cause, remedy)
        })?;
        let (index, own_mac) = index_and_mac(&name).map_err(|error| unreadable(&name, error))?;
        Ok(Self { index, own_mac, peer_mac })
    }
}

/// The number of the interface that has this address.
pub(crate) fn index_of(address: Ipv4Addr) -> Result<u32, Fault> {
    let name = interface_of(address).ok_or_else(|| no_interface(address))?;
    index_and_mac(&name).map(|(index, _)| index).map_err(|error| unreadable(&name, error))
}

fn no_interface(address: Ipv4Addr) -> Fault {
    Fault::new(
        Class::MachineLacks,
        format!("address {address}"),
        "no interface has it",
        "see 'ip address', and give the address of an interface",
    )
}

fn unreadable(interface: &str, error: Errno) -> Fault {
    let remedy = "see 'ip link', and take another interface";
    Fault::new(Class::MachineLacks, format!("interface {interface}"), error, remedy)
}

/// A socket for whole frames, packet(7), that does not wait. It receives nothing before it is [bound](bind_to_frames).
///
/// Fails without CAP_NET_RAW.
pub(crate) fn frame_socket() -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)
}

/// Binds it to the frames of this kind (their EtherType) on an interface.
pub(crate) fn bind_to_frames(socket: &OwnedFd, interface: u32, kind: u16) -> Result<(), Errno> {
    // SAFETY: an address of zeros is a valid one.
    let mut at: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    at.sll_family = libc::AF_PACKET as libc::c_ushort;
    at.sll_protocol = kind.to_be();
    at.sll_ifindex = interface as libc::c_int;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the address is a live sockaddr_ll of the length that is reported.
    match unsafe { libc::bind(socket.as_raw_fd(), (&raw const at).cast(), length) } {
        0 => Ok(()),
        _ => Err(last_error()),
    }
}

/// The name of the interface that has this address.
fn interface_of(address: Ipv4Addr) -> Option<String> {
    let mut all: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: `all` is a valid place for the list.
    if unsafe { libc::getifaddrs(&raw mut all) } != 0 {
        return None;
    }
    let (mut found, mut next) = (None, all);
    // SAFETY: the list ends with null, and lives until it is freed.
    while let Some(entry) = unsafe { next.as_ref() } {
        // SAFETY: an address is null or a sockaddr, of the kind that its family says.
        let of_entry = unsafe {
            entry.ifa_addr.as_ref().filter(|at| i32::from(at.sa_family) == libc::AF_INET).map(|at| {
                let at: *const libc::sockaddr = at;
                Ipv4Addr::from(u32::from_be((*at.cast::<libc::sockaddr_in>()).sin_addr.s_addr))
            })
        };
        if of_entry == Some(address) {
            // SAFETY: the name is a text that ends with 0 and lives as long as the list.
            found = unsafe { CStr::from_ptr(entry.ifa_name) }.to_str().ok().map(String::from);
        }
        next = entry.ifa_next;
    }
    // SAFETY: it is the list that getifaddrs gave, and freed once.
    unsafe { libc::freeifaddrs(all) };
    found
}

/// Number and hardware address of an interface, netdevice(7). /sys may be of another network namespace.
fn index_and_mac(name: &str) -> Result<(u32, [u8; 6]), Errno> {
    let asked = CString::new(name).map_err(|_| Errno::INVAL)?;
    // SAFETY: the name is a text that ends with 0.
    let index = unsafe { libc::if_nametoindex(asked.as_ptr()) };
    if index == 0 {
        return Err(Errno::NODEV);
    }
    // SAFETY: a request of zeros is a valid one.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(asked.as_bytes_with_nul()) {
        *place = *byte as libc::c_char;
    }
    let any = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    // SAFETY: SIOCGIFHWADDR reads the name of a live ifreq and fills its address.
    if unsafe { libc::ioctl(any.as_raw_fd(), libc::SIOCGIFHWADDR as _, &raw mut request) } != 0 {
        return Err(last_error());
    }
    // SAFETY: the call has filled this member of the union.
    let data = unsafe { request.ifr_ifru.ifru_hwaddr.sa_data };
    Ok((index, std::array::from_fn(|at| data[at] as u8)))
}

/// Who has an address on the link of an interface: /proc/net/arp, proc_pid_net(5).
fn neighbour(arp: &str, address: Ipv4Addr, interface: &str) -> Option<[u8; 6]> {
    let row = arp.lines().skip(1).find_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let [at, _, flags, mac, _, device] = columns[..] else { return None };
        // ATF_COM: the entry is complete.
        let complete =
            u32::from_str_radix(flags.trim_start_matches("0x"), 16).is_ok_and(|flags| flags & 2 != 0);
        (at.parse() == Ok(address) && device == interface && complete).then_some(mac)
    })?;
    let bytes: Vec<u8> = row.split(':').filter_map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
    bytes.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARP: &str = "\
IP address       HW type     Flags       HW address            Mask     Device
10.213.7.1       0x1         0x2         7a:1f:00:aa:0b:c1     *        vl
10.213.7.9       0x1         0x0         00:00:00:00:00:00     *        vl
";

    #[test]
    fn a_neighbour_is_one_that_has_answered_on_that_link() {
        let at = |address: &str, device: &str| neighbour(ARP, address.parse().unwrap(), device);
        assert_eq!(at("10.213.7.1", "vl"), Some([0x7a, 0x1f, 0, 0xaa, 0x0b, 0xc1]));
        assert_eq!(
            (at("10.213.7.1", "eth0"), at("10.213.7.9", "vl"), at("10.213.7.2", "vl")),
            (None, None, None)
        );
        assert_eq!(neighbour("IP address\n10.213.7.1 0x1", "10.213.7.1".parse().unwrap(), "vl"), None);
    }

    #[test]
    fn loopback_is_an_interface_and_no_link() {
        assert!(index_of(Ipv4Addr::LOCALHOST).is_ok_and(|index| index > 0));
        let why = Link::between(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST).err().unwrap().to_string();
        assert!(why.contains("other end of a link"), "{why}");
        // TEST-NET-3 (RFC 5737), which no interface has.
        let why = index_of(Ipv4Addr::new(203, 0, 113, 9)).err().unwrap().to_string();
        assert!(why.contains("203.0.113.9") && why.contains("no interface"), "{why}");
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "\\PC{0,200}", device in "[a-z]{0,4}") {
            let _ = neighbour(&text, Ipv4Addr::LOCALHOST, &device);
        }
    }
}
