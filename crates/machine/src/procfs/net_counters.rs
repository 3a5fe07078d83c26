//! Counters of a network namespace: /proc/PID/net/dev (packets by interface), netstat and snmp (what TCP did)
//! (net/core/net-procfs.c, net/ipv4/proc.c).

/// Packets that an interface received since it came up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received<'a> {
    /// Name of the interface.
    pub interface: &'a str,
    /// Packets.
    pub packets: u64,
    /// Packets that it dropped for want of memory or room.
    pub dropped: u64,
}

/// The interfaces of /proc/PID/net/dev. Lines of another form are left out.
pub fn received(text: &str) -> impl Iterator<Item = Received<'_>> {
    text.lines().skip(2).filter_map(|line| {
        // The name may be followed by its first number without a blank, and may hold colons itself (aliases).
        let (interface, counts) = line.rsplit_once(':')?;
        let mut counts = counts.split_ascii_whitespace().skip(1);
        let packets = counts.next()?.parse().ok()?;
        let dropped = counts.nth(1)?.parse().ok()?;
        Some(Received { interface: interface.trim(), packets, dropped })
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
  eth0:99     7    1    3    0     0          0         0     1000      10    0    0    0     0       0          0
";

    #[test]
    fn packets_by_interface() {
        let found: Vec<_> = received(DEV).map(|r| (r.interface, r.packets, r.dropped)).collect();
        assert_eq!(found, [("lo", 10, 0), ("eth0", 7, 3)]);
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
            let _ = received(&text).count();
            let _ = value(&text, "TcpExt", "A");
            let _ = softnet(&text);
        }
    }
}
