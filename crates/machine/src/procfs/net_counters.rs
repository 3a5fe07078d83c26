//! Counters of a network namespace: /proc/PID/net/dev (bytes and packets by interface), netstat and snmp (what TCP did)
//! (net/core/net-procfs.c, net/ipv4/proc.c).

/// What an interface received and sent since it came up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traffic<'a> {
    /// Name of the interface.
    pub interface: &'a str,
    /// Bytes that it received.
    pub received_bytes: u64,
    /// Packets that it received.
    pub received_packets: u64,
    /// Packets that it dropped for want of memory or room.
    pub dropped: u64,
    /// Bytes that it sent; `None` where the line ends before.
    pub sent_bytes: Option<u64>,
}

/// The interfaces of /proc/PID/net/dev. Lines of another form are left out.
pub fn traffic(text: &str) -> impl Iterator<Item = Traffic<'_>> {
    text.lines().skip(2).filter_map(|line| {
        // The name may be followed by its first number without a blank, and may hold colons itself (aliases).
        let (interface, counts) = line.rsplit_once(':')?;
        let mut counts = counts.split_ascii_whitespace().map(|count| count.parse().ok());
        let (received_bytes, received_packets) = (counts.next()??, counts.next()??);
        let dropped = counts.nth(1)??;
        // After errors, dropped, FIFO, frame, compressed and multicast.
        let sent_bytes = counts.nth(4).flatten();
        Some(Traffic { interface: interface.trim(), received_bytes, received_packets, dropped, sent_bytes })
    })
}

/// A counter of netstat or snmp: `value(text, "TcpExt", "ListenOverflows")`. The files hold pairs of lines, names and then values.
pub fn value(text: &str, table: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(table)?.strip_prefix(':'));
    let (names, values) = (lines.next()?, lines.next()?);
    let place = names.split_ascii_whitespace().position(|word| word == name)?;
    values.split_ascii_whitespace().nth(place)?.parse().ok()
}

/// One line of /proc/net/softnet_stat: what the receive work of a CPU ran into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Softnet {
    /// The CPU. Before Linux 5.10 the file does not say: then it is the number of the line.
    pub cpu: u32,
    /// Packets dropped because the CPU's backlog was full (net.core.netdev_max_backlog).
    pub dropped: u32,
    /// Times that receive work stopped with packets left (net.core.netdev_budget).
    pub squeezed: u32,
    /// Wake-ups by another CPU that handed packets over (RPS).
    pub received_rps: u32,
}

/// The CPUs of /proc/net/softnet_stat; numbers are hexadecimal and wrap at 2^32. `None` where the text has another form.
pub fn softnet(text: &str) -> Option<Vec<Softnet>> {
    let line = |(number, line): (usize, &str)| {
        let words: Result<Vec<u32>, _> =
            line.split_ascii_whitespace().map(|word| u32::from_str_radix(word, 16)).collect();
        let words = words.ok()?;
        Some(Softnet {
            cpu: words.get(12).copied().unwrap_or(u32::try_from(number).ok()?),
            dropped: *words.get(1)?,
            squeezed: *words.get(2)?,
            received_rps: *words.get(9)?,
        })
    };
    text.lines().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEV: &str = "Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:    1000      10    0    0    0     0          0         0     1000      10    0    0    0     0       0          0
  eth0:99     7    1    3    0     0          0         0     1001      10    0    0    0     0       0          0
";

    #[test]
    fn bytes_and_packets_by_interface() {
        let found: Vec<_> = traffic(DEV).map(|t| (t.interface, t.received_packets, t.dropped)).collect();
        assert_eq!(found, [("lo", 10, 0), ("eth0", 7, 3)]);
        let bytes: Vec<_> = traffic(DEV).map(|t| (t.received_bytes, t.sent_bytes)).collect();
        assert_eq!(bytes, [(1000, Some(1000)), (99, Some(1001))]);
        let short: Vec<_> = traffic("a\nb\neth0: 5 6 0 7\neth1: 5 x 0 7\neth2:\n").collect();
        assert_eq!((short.len(), short[0].sent_bytes), (1, None));
    }

    #[test]
    fn a_counter_stands_below_its_name() {
        let text = "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 1 22 3\nIpExt: InNoRoutes\nIpExt: 5\n";
        assert_eq!(value(text, "TcpExt", "ListenOverflows"), Some(22));
        assert_eq!(value(text, "IpExt", "InNoRoutes"), Some(5));
        assert_eq!((value(text, "TcpExt", "Listen"), value(text, "Tcp", "ListenDrops")), (None, None));
        assert_eq!(value("TcpExt: A B\nTcpExt: 1\n", "TcpExt", "B"), None, "torn");
    }

    #[test]
    fn softnet_of_kernels_with_and_without_the_number_of_the_cpu() {
        let new = "0000000a 00000001 00000002 00000000 00000000 00000000 00000000 00000000 00000000 0000000f 00000000 00000000 00000003 \
            00000000 00000000\n";
        assert_eq!(softnet(new).unwrap(), [Softnet { cpu: 3, dropped: 1, squeezed: 2, received_rps: 15 }]);
        let old = "0000000a 00000001 00000002 00000000 00000000 00000000 00000000 00000000 00000000 0000000f 00000000\n";
        assert_eq!(softnet(old).unwrap()[0].cpu, 0);
        assert_eq!(softnet("0000000a zz\n"), None);
        assert_eq!(softnet("0000000a 1\n"), None);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_them_panic(text in "([a-zA-Z0-9:. ]{0,20}\n?){0,6}") {
            let _ = traffic(&text).count();
            let _ = value(&text, "TcpExt", "A");
            let _ = softnet(&text);
        }
    }
}
