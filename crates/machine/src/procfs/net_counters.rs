//! Counters of a network namespace: /proc/PID/net/dev (bytes and packets by interface), netstat and snmp (what TCP did)
//! (net/core/net-procfs.c, net/ipv4/proc.c).

use std::collections::BTreeMap;

use super::{Malformed, Oddities, decimal, decimal_of};

/// What an interface received and sent since it came up. What is no number is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traffic<'a> {
    /// Name of the interface.
    pub interface: &'a str,
    /// Bytes that it received.
    pub received_bytes: Option<u64>,
    /// Packets that it received.
    pub received_packets: Option<u64>,
    /// Packets that it dropped for want of memory or room.
    pub dropped: Option<u64>,
    /// Bytes that it sent.
    pub sent_bytes: Option<u64>,
}

/// The interfaces of /proc/PID/net/dev, and what of it could not be read.
pub fn traffic(text: &str) -> (Vec<Traffic<'_>>, Oddities) {
    let (mut interfaces, mut odd) = (Vec::new(), Oddities::default());
    let lines = text.lines().zip(1..).skip(2).filter(|(line, _)| !line.trim().is_empty());
    for (line, number) in lines {
        // The name may be followed by its first number without a blank, and may hold colons itself (aliases).
        let Some((interface, counts)) = line.rsplit_once(':') else {
            odd.add(Malformed::new(number, line, "a row needs a name and ':'"));
            continue;
        };
        let interface = interface.trim();
        let counts: Vec<&str> = counts.split_ascii_whitespace().collect();
        let mut count = |place: usize, what: &str| {
            let word = counts.get(place).copied();
            odd.keep(decimal_of(number, format_args!("{interface} {what}"), word))
        };
        // Received: bytes, packets, errors, dropped, FIFO, frame, compressed, multicast; then the same of what was sent.
        interfaces.push(Traffic {
            interface,
            received_bytes: count(0, "received bytes"),
            received_packets: count(1, "received packets"),
            dropped: count(3, "dropped"),
            sent_bytes: count(8, "sent bytes"),
        });
    }
    (interfaces, odd)
}

/// A counter of netstat or snmp: `value(text, "TcpExt", "ListenOverflows")`; `None` where the kernel has no such counter. The
/// files hold pairs of lines, names and then values.
///
/// # Errors
/// It is no number, or the lines do not have as many names as values.
pub fn value(text: &str, table: &str, name: &str) -> Result<Option<u64>, Malformed> {
    let mut lines = text.lines().zip(1..).filter_map(|(line, number)| {
        let words = line.strip_prefix(table)?.strip_prefix(':')?;
        Some((words, number))
    });
    let Some((names, line)) = lines.next() else { return Ok(None) };
    let Some(place) = names.split_ascii_whitespace().position(|word| word == name) else { return Ok(None) };
    let Some((values, number)) = lines.next() else {
        return Err(Malformed::new(line, table, "there is no line of values"));
    };
    if names.split_ascii_whitespace().count() != values.split_ascii_whitespace().count() {
        return Err(Malformed::new(number, table, "it does not have as many values as names"));
    }
    decimal(number, name, values.split_ascii_whitespace().nth(place).unwrap_or_default()).map(Some)
}

/// One line of /proc/net/softnet_stat: what the receive work of a CPU ran into. What is no number is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Softnet {
    /// The CPU. Before Linux 5.10 the file does not say: then it is the number of the line.
    pub cpu: u32,
    /// Packets dropped because the CPU's backlog was full (net.core.netdev_max_backlog).
    pub dropped: Option<u32>,
    /// Times that receive work stopped with packets left (net.core.netdev_budget).
    pub squeezed: Option<u32>,
    /// Wake-ups by another CPU that handed packets over (RPS); not printed before Linux 2.6.35.
    pub received_rps: Option<u32>,
}

/// Words of a line that has the number of its CPU, at least.
const WITH_CPU: usize = 13;

/// The CPUs of /proc/net/softnet_stat, and what of it could not be read; numbers are hexadecimal and wrap at 2^32. A line with
/// more or fewer numbers than the others is left out, and so are the lines of a CPU that has several.
pub fn softnet(text: &str) -> (Vec<Softnet>, Oddities) {
    let mut lengths: BTreeMap<usize, usize> = BTreeMap::new();
    for line in text.lines() {
        *lengths.entry(line.split_ascii_whitespace().count()).or_default() += 1;
    }
    let usual = lengths.iter().max_by_key(|(_, lines)| **lines).map(|(words, _)| *words);
    let (mut found, mut odd): (Vec<(usize, Softnet)>, Oddities) = (Vec::new(), Oddities::default());
    for (index, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if words.len() < 3 || Some(words.len()) != usual {
            let why = "it has another number of counts than the other lines, or fewer than three";
            odd.add(Malformed::new(index + 1, line, why));
            continue;
        }
        let mut field = |place: usize, what: &str| {
            let word = *words.get(place)?;
            let number = u32::from_str_radix(word, 16).ok().filter(|_| !word.starts_with('+'));
            odd.keep(
                number
                    .ok_or_else(|| Malformed::new(index + 1, what, "is not a hexadecimal number of 32 bits")),
            )
        };
        let cpu = if words.len() < WITH_CPU { u32::try_from(index).ok() } else { field(12, "cpu") };
        let Some(cpu) = cpu else { continue };
        let (dropped, squeezed) = (field(1, "dropped"), field(2, "squeezed"));
        let received_rps = field(9, "received_rps");
        found.push((index + 1, Softnet { cpu, dropped, squeezed, received_rps }));
    }
    (each_cpu_once(found, &mut odd), odd)
}

fn each_cpu_once(found: Vec<(usize, Softnet)>, odd: &mut Oddities) -> Vec<Softnet> {
    let mut lines: BTreeMap<u32, usize> = BTreeMap::new();
    for (_, row) in &found {
        *lines.entry(row.cpu).or_default() += 1;
    }
    let mut rows = Vec::with_capacity(found.len());
    for (line, row) in found {
        match lines.get(&row.cpu) {
            Some(1) => rows.push(row),
            _ => odd.add(Malformed::new(line, format_args!("CPU {}", row.cpu), "the CPU has several lines")),
        }
    }
    rows
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
        let (rows, odd) = traffic(DEV);
        let found: Vec<_> = rows.iter().map(|t| (t.interface, t.received_packets, t.dropped)).collect();
        assert_eq!(found, [("lo", Some(10), Some(0)), ("eth0", Some(7), Some(3))]);
        let bytes: Vec<_> = rows.iter().map(|t| (t.received_bytes, t.sent_bytes)).collect();
        assert_eq!(bytes, [(Some(1000), Some(1000)), (Some(99), Some(1001))]);
        assert!(odd.is_empty(), "{odd}");
    }

    #[test]
    fn an_odd_count_of_an_interface_is_missing_by_itself() {
        let (rows, odd) = traffic("a\nb\neth0: 5 6 0 7 0 0 0 0 8\neth1: 5 x 0 7\neth2 5\n");
        let found: Vec<_> =
            rows.iter().map(|t| (t.received_bytes, t.received_packets, t.dropped, t.sent_bytes)).collect();
        assert_eq!(
            found,
            [(Some(5), Some(6), Some(7), Some(8)), (Some(5), None, Some(7), None)],
            "a torn line has no bytes sent"
        );
        assert_eq!(odd.first().iter().map(|odd| odd.line).collect::<Vec<_>>(), [4, 4, 5]);
    }

    #[test]
    fn a_counter_stands_below_its_name() {
        let text = "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 1 22 3\nIpExt: InNoRoutes\nIpExt: 5\n";
        assert_eq!(value(text, "TcpExt", "ListenOverflows"), Ok(Some(22)));
        assert_eq!(value(text, "IpExt", "InNoRoutes"), Ok(Some(5)));
        assert_eq!(
            (value(text, "TcpExt", "Listen"), value(text, "Tcp", "ListenDrops")),
            (Ok(None), Ok(None))
        );
        for torn in [
            "TcpExt: A B\nTcpExt: 1\n",
            "TcpExt: A B\n",
            "TcpExt: A B\nTcpExt: 1 -2\n",
            "TcpExt: x A B\nTcpExt: 1 2\n",
        ] {
            assert!(value(torn, "TcpExt", "B").is_err(), "{torn:?}");
        }
        assert_eq!(value("Tcp: MaxConn OutSegs\nTcp: -1 7\n", "Tcp", "OutSegs"), Ok(Some(7)));
    }

    #[test]
    fn softnet_of_kernels_with_and_without_the_number_of_the_cpu() {
        let new = "0000000a 00000001 00000002 00000000 00000000 00000000 00000000 00000000 00000000 0000000f 00000000 00000000 00000003 \
            00000000 00000000\n";
        let row = Softnet { cpu: 3, dropped: Some(1), squeezed: Some(2), received_rps: Some(15) };
        assert_eq!(softnet(new), (vec![row], Oddities::default()));
        let old = "0000000a 00000001 00000002 00000000 00000000 00000000 00000000 00000000 00000000 0000000f 00000000\n";
        assert_eq!(softnet(old).0[0].cpu, 0);
        let older = "0000000a 00000001 00000002 00000000 00000000 00000000 00000000 00000000 00000000\n";
        assert_eq!((softnet(older).0[0].received_rps, softnet(older).1.is_empty()), (None, true));
        assert!(softnet("0000000a 1\n").0.is_empty());
    }

    #[test]
    fn an_odd_line_of_softnet_is_missing_by_itself() {
        let line = |dropped: &str, cpu: u32| format!("a {dropped} 2 0 0 0 0 0 0 f 0 0 {cpu:08x}\n");
        let cpus = |text: &str| softnet(text).0.iter().map(|row| row.cpu).collect::<Vec<_>>();
        let odd = [line("1", 0), line("zz", 1), line("1", 2)].concat();
        let (rows, oddities) = softnet(&odd);
        assert_eq!(rows.iter().map(|row| row.dropped).collect::<Vec<_>>(), [Some(1), None, Some(1)]);
        assert_eq!((rows[1].squeezed, oddities.first()[0].line), (Some(2), 2));
        assert_eq!(cpus(&[line("1", 0), line("1 1", 1), line("1", 2)].concat()), [0, 2]);
        assert_eq!(cpus(&[line("1", 0), line("1", 2), line("1", 2)].concat()), [0]);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_them_panic(text in "([a-zA-Z0-9:. ]{0,20}\n?){0,6}") {
            let _ = traffic(&text);
            let _ = value(&text, "TcpExt", "A");
            let _ = softnet(&text);
        }
    }
}
