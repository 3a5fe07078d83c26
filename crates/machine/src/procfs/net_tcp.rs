//! /proc/PID/net/tcp and tcp6: the TCP sockets of a network namespace (net/ipv4/tcp_ipv4.c, `get_tcp4_sock`).

use std::net::IpAddr;

use super::{Malformed, Oddities};

/// State of a socket that is connected (TCP_ESTABLISHED of include/net/tcp_states.h).
const ESTABLISHED: &str = "01";
/// State of a socket that waits for connections (TCP_LISTEN).
const LISTEN: &str = "0A";

/// How IPv6 writes an IPv4 address (::ffff:0:0/96), as the kernel prints its first three words; on machines of the other byte order the third differs.
const MAPPED: [&str; 2] = ["0000000000000000FFFF0000", "00000000000000000000FFFF"];

/// What a socket does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It is connected.
    Established,
    /// It waits for connections.
    Listen,
    /// It is being opened or closed.
    Other,
}

/// One socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpSocket<'a> {
    /// Its own address and port, as the kernel writes them: `0100007F:1F90`. An IPv4 address that is mapped into IPv6, as servers for both have it, is
    /// written as IPv4: the other end, in the other file, has it so.
    pub local: &'a str,
    /// Address and port of the other end, in the same form.
    pub remote: &'a str,
    /// Its own address; 0.0.0.0 and `::` are any. One of IPv4 that is mapped into IPv6 is one of IPv4.
    pub address: IpAddr,
    /// Its own port.
    pub port: u16,
    /// What it does.
    pub state: State,
    /// Bytes that nobody has read yet; of a socket that listens, connections that nobody has accepted yet.
    pub receive_queue: u64,
    /// Number of its inode: `/proc/PID/fd/N` of whoever has it open reads `socket:[INODE]`. 0 where nobody has.
    pub inode: u64,
}

/// The sockets of the file, one a line, and the lines that could not be read.
pub fn parse(text: &str) -> (Vec<TcpSocket<'_>>, Oddities) {
    let mut odd = Oddities::default();
    // The first line names the columns.
    let lines = text.lines().zip(1..).skip(1).filter(|(line, _)| !line.trim().is_empty());
    let read = lines.filter_map(|(line, number)| {
        odd.keep(socket(line).ok_or_else(|| Malformed::new(number, line.trim(), "is not a socket")))
    });
    let sockets = read.collect();
    (sockets, odd)
}

fn socket(line: &str) -> Option<TcpSocket<'_>> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let (local, remote, state) = (fields.next()?, fields.next()?, fields.next()?);
    let (_, receive_queue) = fields.next()?.split_once(':')?;
    let inode = fields.nth(4)?.parse().ok()?;
    let (local, remote) = (unmapped(local), unmapped(remote));
    let (words, port) = local.rsplit_once(':')?;
    let state = match state {
        ESTABLISHED => State::Established,
        LISTEN => State::Listen,
        _ => State::Other,
    };
    Some(TcpSocket {
        local,
        remote,
        address: address(words)?,
        port: u16::from_str_radix(port, 16).ok()?,
        state,
        receive_queue: u64::from_str_radix(receive_queue, 16).ok()?,
        inode,
    })
}

/// An address as IPv4 where it is one.
fn unmapped(address: &str) -> &str {
    MAPPED.iter().find_map(|prefix| address.strip_prefix(prefix)).unwrap_or(address)
}

/// The kernel prints each word of an address as a number of this machine.
fn address(words: &str) -> Option<IpAddr> {
    let octets = |word: &str| Some(u32::from_str_radix(word, 16).ok()?.to_ne_bytes());
    match words.len() {
        8 => Some(IpAddr::from(octets(words)?)),
        32 => {
            let mut address = [0u8; 16];
            for (word, at) in address.chunks_exact_mut(4).zip((0..).step_by(8)) {
                word.copy_from_slice(&octets(words.get(at..at + 8)?)?);
            }
            Some(IpAddr::from(address))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000003 00:00000000 00000000     0        0 24680 1 0000000000000000 100 0 0 10 0
   1: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 00000000     0        0 13579 1 0000000000000000 20 4 30 10 -1
";

    #[test]
    fn who_listens_and_who_is_connected() {
        let (sockets, odd) = parse(TABLE);
        assert_eq!((sockets.len(), odd.is_empty()), (2, true));
        assert_eq!(
            (sockets[0].port, sockets[0].state, sockets[0].receive_queue, sockets[0].inode),
            (8080, State::Listen, 3, 24680)
        );
        assert_eq!((sockets[1].remote, sockets[1].state), ("0100007F:D431", State::Established));
    }

    #[test]
    fn an_ipv4_address_of_tcp6_is_that_of_tcp() {
        let line = |local: &str, remote: &str| {
            format!("head\n 0: {local} {remote} 01 0:0 00:0 0 0 0 7 1 0 20 4 30 10 -1\n")
        };
        let mapped = line("0000000000000000FFFF00000100007F:1F90", "0000000000000000FFFF00000100007F:D431");
        let ends = |text: &str| {
            parse(text).0.iter().map(|s| (s.local.to_string(), s.remote.to_string())).collect::<Vec<_>>()
        };
        assert_eq!(ends(&mapped), [("0100007F:1F90".to_string(), "0100007F:D431".to_string())]);
        let loopback = line("00000000000000000000000001000000:1F90", "00000000000000000000000001000000:D431");
        assert!(ends(&loopback)[0].0.starts_with("0000"), "::1 is not an IPv4 address");
    }

    /// As the kernel prints it.
    fn printed(address: IpAddr) -> String {
        let word = |octets: &[u8]| format!("{:08X}", u32::from_ne_bytes(octets.try_into().unwrap()));
        match address {
            IpAddr::V4(address) => word(&address.octets()),
            IpAddr::V6(address) => address.octets().chunks_exact(4).map(word).collect(),
        }
    }

    fn listens_at(printed: &str) -> Option<IpAddr> {
        let text = format!("head\n 0: {printed}:0050 0:0 0A 0:0 00:0 0 0 0 7 1 0 100 0 0 10 0\n");
        parse(&text).0.first().map(|socket| socket.address)
    }

    #[test]
    fn addresses_are_those_of_either_family() {
        let read = |address: &str| listens_at(&printed(address.parse().unwrap()));
        for address in ["127.0.0.2", "0.0.0.0", "::", "::1", "2001:db8::a"] {
            assert_eq!(read(address), address.parse().ok(), "{address}");
        }
        // A socket of IPv6 that serves one address of IPv4, or any.
        assert_eq!(read("::ffff:10.0.0.7"), "10.0.0.7".parse().ok());
        assert_eq!(read("::ffff:0.0.0.0"), "0.0.0.0".parse().ok());
        for odd in ["", "7F", "0100007F0", "0100007G", "0000000000000000000000000100000g"] {
            assert_eq!(listens_at(odd), None, "{odd}");
        }
    }

    #[test]
    fn an_odd_line_is_missing_by_itself() {
        for (from, to) in [
            (":1F90 00000000", ":1F9X 00000000"),
            ("0100007F:1F90 0000", "100007F:1F90 0000"),
            ("24680", "-1"),
            ("00000003", "\u{fffd}"),
        ] {
            let text = TABLE.replacen(from, to, 1);
            let (sockets, odd) = parse(&text);
            let inodes: Vec<u64> = sockets.iter().map(|socket| socket.inode).collect();
            assert_eq!((inodes, odd.first()[0].line, odd.more()), (vec![13579], 2, 0), "{to}");
        }
        assert_eq!(parse(""), (Vec::new(), Oddities::default()));
        assert!(parse("  sl  local_address\n\n   \n").1.is_empty(), "blank lines");
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(sl\n)?([0-9A-F:]{0,12}[ \n]?){0,40}") {
            let _ = parse(&text);
        }

        #[test]
        fn an_address_is_read_as_it_was_printed(v4 in 0u32.., v6 in 0u128..) {
            let (v4, v6) = (Ipv4Addr::from(v4), Ipv6Addr::from(v6));
            assert_eq!(listens_at(&printed(v4.into())), Some(v4.into()));
            assert_eq!(listens_at(&printed(v4.to_ipv6_mapped().into())), Some(v4.into()));
            assert_eq!(listens_at(&printed(v6.into())), Some(IpAddr::from(v6).to_canonical()));
        }
    }
}
