//! Frames in a ring that the kernel shares, past its network stack: AF_XDP in copy mode
//! (Documentation/networking/af_xdp.rst), which works on every interface without help of its driver.

use std::ffi::{CStr, CString};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};

use machine::{Class, Fault};
use rustix::io::Errno;

use self::frame::Frame;
use self::rings::Rings;
use super::Transmitter;
use crate::clock::monotonic_ns;
use crate::workloads::packets::packet::{Form, HEADER_BYTES};

mod frame;
mod rings;

/// How long frames that the kernel took may take to leave, ns.
const LEAVES_WITHIN_NS: u64 = 1_000_000_000;

pub(super) struct Xdp {
    rings: Rings,
    frame_bytes: usize,
    batch: usize,
}

impl Xdp {
    /// Frames on the interface that has the address `from`, to the machine that has `sink` on the same link.
    ///
    /// Fails without CAP_NET_RAW, without AF_XDP in the kernel, over loopback, and to a sink that is not on the link.
    pub(super) fn new(form: &Form, from: SocketAddr, sink: SocketAddr, batch: usize) -> Result<Self, Fault> {
        let (IpAddr::V4(from), SocketAddr::V4(sink)) = (from.ip(), sink) else {
            return Err(unsupported(sink, "frames are made for IPv4 alone", "take another way to send"));
        };
        let link = Link::between(from, *sink.ip())?;
        let source = SocketAddrV4::new(from, sink.port());
        let head =
            Frame { from_mac: link.own_mac, to_mac: link.sink_mac, source, sink }.head(form.payload_bytes());
        let mut rings = Rings::new(link.index).map_err(refused)?;
        let frame = [&head[..], &form.first()].concat();
        rings.fill(&frame);
        Ok(Self { rings, frame_bytes: frame.len(), batch })
    }
}

impl Transmitter for Xdp {
    fn send(&mut self, first: u64, count: usize) -> Result<usize, Errno> {
        self.rings.reclaim();
        let mut put = 0;
        while put < count.min(self.batch) {
            let Some(place) = self.rings.free_frame() else { break };
            Form::number(&mut self.rings.frame(place)[HEADER_BYTES..], first + put as u64);
            self.rings.submit(place, self.frame_bytes);
            put += 1;
        }
        match (self.rings.kick(), put) {
            // It sends as many frames a call as its budget allows; what is in the ring goes with a later one.
            (Ok(()) | Err(Errno::AGAIN | Errno::BUSY | Errno::NOBUFS), 1..) => Ok(put),
            (Ok(()), 0) => Err(Errno::AGAIN),
            (Err(error), _) => Err(error),
        }
    }

    fn finish(&mut self) -> Result<(), Errno> {
        let until_ns = monotonic_ns() + LEAVES_WITHIN_NS;
        while self.rings.reclaim() > 0 {
            match self.rings.kick() {
                Ok(()) | Err(Errno::AGAIN | Errno::BUSY | Errno::NOBUFS) => {}
                Err(error) => return Err(error),
            }
            if monotonic_ns() > until_ns {
                return Err(Errno::TIMEDOUT);
            }
        }
        Ok(())
    }
}

fn unsupported(object: impl std::fmt::Display, cause: &str, remedy: &str) -> Fault {
    Fault::new(Class::MachineLacks, format!("xdp to {object}"), cause, remedy)
}

fn refused(error: Errno) -> Fault {
    let (class, remedy) = match error {
        Errno::PERM | Errno::ACCESS => (Class::NotPermitted, "run as root (CAP_NET_RAW)"),
        Errno::AFNOSUPPORT => (Class::MachineLacks, "the kernel has no AF_XDP (CONFIG_XDP_SOCKETS)"),
        Errno::NOBUFS | Errno::NOMEM => (Class::MachineLacks, "raise the limit of locked memory (ulimit -l)"),
        _ => (Class::MachineLacks, "take another interface, or another way to send"),
    };
    Fault::new(class, "AF_XDP", error, remedy)
}

/// The link between sender and sink.
struct Link {
    index: u32,
    own_mac: [u8; 6],
    sink_mac: [u8; 6],
}

impl Link {
    /// The interface with the address `from`, and who has the address `sink` there: the kernel knows, since the control connection goes
    /// the same way.
    fn between(from: Ipv4Addr, sink: Ipv4Addr) -> Result<Self, Fault> {
        let name = interface_of(from).ok_or_else(|| {
            unsupported(sink, &format!("no interface has the address {from}"), "see 'ip address'")
        })?;
        let text = std::fs::read_to_string("/proc/thread-self/net/arp")
            .map_err(|e| Fault::io("/proc/net/arp", &e, "mount /proc"))?;
        let sink_mac = neighbour(&text, sink, &name).ok_or_else(|| {
            let cause = format!("nobody on the link of {name} is known to have that address");
            unsupported(
                sink,
                &cause,
                "choose a sink at the other end of a link: loopback has none (server.pair = true)",
            )
        })?;
        let (index, own_mac) = index_and_mac(&name).map_err(refused)?;
        Ok(Self { index, own_mac, sink_mac })
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
    use rustix::net::{AddressFamily, SocketType, socket};
    use std::os::fd::AsRawFd;
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
        return Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL));
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
    fn loopback_has_no_link() {
        let localhost = SocketAddr::from(([127, 0, 0, 1], 9));
        let why = Xdp::new(&Form::new(1, 18), localhost, localhost, 8).err().unwrap().to_string();
        assert!(why.contains("other end of a link"), "{why}");
    }
}
