//! Bytes and packets by interface, and where receiving fell short: backlog, budget, listen queues, retransmissions.

use machine::procfs::net_counters;
use machine::{Missing, Root};

use super::{About, Probe, unreadable};
use crate::rows::{Kind, Row, Rows};

const SOFTNET: &str = "/proc/net/softnet_stat";

/// Row, its table and name in netstat or snmp, what it is in words.
const OF_TCP: [(&str, &str, &str, &str); 7] = [
    (
        "listen overflows",
        "TcpExt",
        "ListenOverflows",
        "connections that came while the accept queue was full",
    ),
    ("listen drops", "TcpExt", "ListenDrops", "connections that were dropped before they were accepted"),
    ("retransmitted", "Tcp", "RetransSegs", "segments that were retransmitted"),
    ("retransmitted syn", "TcpExt", "TCPSynRetrans", "of these, requests for a connection and their answers"),
    (
        "received twice",
        "TcpExt",
        "TCPDSACKRecvSegs",
        "retransmitted segments that the peer had already received",
    ),
    ("segments sent", "Tcp", "OutSegs", "segments that were sent"),
    ("timeouts", "TcpExt", "TCPTimeouts", "retransmission timers that ran out"),
];

/// The probe `network`.
pub(super) struct Network;

impl Probe for Network {
    fn about(&self) -> &About {
        &About {
            id: "network",
            title: "bytes and packets by interface; drops, retransmissions, full listen queues",
            docs: "System rows of the network namespace of the watched process (of pinwise where none is watched): 'received IFACE' and \
                'dropped IFACE' (packets), 'bytes received IFACE' and 'bytes sent IFACE', 'listen overflows', 'listen drops', \
                'retransmitted', 'retransmitted syn', 'received twice' (as the peers report by D-SACK, RFC 2883), 'segments sent', 'timeouts' (of \
                all sockets of the namespace). By CPU, of the whole machine: 'backlog dropped', 'squeezed' (receive work stopped with packets \
                left), 'received rps' (times that another CPU handed packets over).",
            files: &["/proc/PID/net/dev", "/proc/PID/net/netstat", "/proc/PID/net/snmp", SOFTNET],
            dear: false,
        }
    }

    fn needs(&self, root: &Root) -> Vec<Missing> {
        unreadable(root, &["/proc/self/net/dev", SOFTNET])
    }

    fn read(&self, root: &Root, into: &mut Rows) -> Result<(), Missing> {
        let whose = into.watched().map_or_else(|| "self".into(), |process| process.pid.to_string());
        let dev = into.read(root, &format!("/proc/{whose}/net/dev"));
        let by_cpu = softnet(root, into);
        match (dev, by_cpu) {
            (Err(missing), Err(_)) => return Err(missing),
            (dev, by_cpu) => {
                if let Some(text) = into.kept(dev) {
                    interfaces(&text, into);
                }
                into.kept(by_cpu);
            }
        }
        for file in ["netstat", "snmp"] {
            let text = into.read(root, &format!("/proc/{whose}/net/{file}"));
            let Some(text) = into.kept(text) else { continue };
            for (name, table, counter, label) in OF_TCP {
                let value = net_counters::value(&text, table, counter);
                if let Some(value) = into.value_in(format_args!("/proc/PID/net/{file}"), value) {
                    into.system(Row { name, label, unit: "events", kind: Kind::Grows }, value);
                }
            }
        }
        Ok(())
    }
}

fn interfaces(text: &str, into: &mut Rows) {
    let (interfaces, odd) = net_counters::traffic(text);
    into.odd("/proc/PID/net/dev", &odd);
    for seen in interfaces {
        let mut row = |what: &str, unit, value: Option<u64>| {
            let Some(value) = value else { return };
            let name = format!("{what} {}", seen.interface);
            into.system(Row { name: &name, label: "", unit, kind: Kind::Grows }, value);
        };
        row("received", "events", seen.received_packets);
        row("dropped", "events", seen.dropped);
        row("bytes received", "bytes", seen.received_bytes);
        row("bytes sent", "bytes", seen.sent_bytes);
    }
}

fn softnet(root: &Root, into: &mut Rows) -> Result<(), Missing> {
    let text = into.read(root, SOFTNET)?;
    let (seen, odd) = net_counters::softnet(&text);
    if seen.is_empty() {
        return Err(Missing::new(SOFTNET, "it has another form than the kernel documents"));
    }
    into.odd(SOFTNET, &odd);
    let mut row = |name: &str, of: fn(&net_counters::Softnet) -> Option<u32>| {
        let known = seen.iter().filter_map(|seen| Some((seen.cpu, u64::from(of(seen)?))));
        let (cpus, values): (Vec<u32>, Vec<u64>) = known.unzip();
        if cpus.is_empty() {
            return;
        }
        let columns = into.columns(&cpus);
        into.counter(Row { name, label: "", unit: "events", kind: Kind::Wraps32 }, &columns, &values);
    };
    row("backlog dropped", |seen| seen.dropped);
    row("squeezed", |seen| seen.squeezed);
    row("received rps", |seen| seen.received_rps);
    Ok(())
}

#[cfg(test)]
mod tests {
    use machine::{ProcessRef, Tree};

    use super::*;

    fn machine(n: u64) -> Root {
        let dev = format!(
            "a\nb\n lo: 1 {} 0 0 0 0 0 0 0\n eth0: {} {} 0 {n} 0 0 0 0 {n}\n",
            1_000 * n,
            1_500 * n,
            10 * n
        );
        let softnet = format!(
            "0000000a {n:08x} 00000000 0 0 0 0 0 0 00000000 0 0 00000000\n0000000a 00000000 {n:08x} 0 0 0 0 0 0 {n:08x} 0 0 00000002\n"
        );
        Root::from_tree(
            Tree::new()
                .file("/proc/7/net/dev", dev)
                .file(
                    "/proc/7/net/netstat",
                    format!("TcpExt: ListenOverflows ListenDrops TCPSynRetrans\nTcpExt: {n} {n} {n}\n"),
                )
                .file("/proc/7/net/snmp", format!("Tcp: RetransSegs OutSegs\nTcp: {n} {}\n", 100 * n))
                .file(SOFTNET, softnet),
        )
    }

    #[test]
    fn packets_and_drops_of_a_window() {
        let server = ProcessRef { pid: 7, start_time_ticks: 1 };
        let mut rows = Rows::new(&machine(1), Some(server));
        for n in 1..=3u64 {
            rows.begin_frame(n * 1_000_000, n * 1_000_000, 0, true);
            rows.begin_probe("network");
            Network.read(&machine(n), &mut rows).unwrap();
            rows.end_frame(0, 0);
        }
        let seen = rows.into_recording().window(1_000_000, 3_000_000);
        let system = |name: &str| seen.system("network", name).map(|row| row.value);
        assert_eq!(
            (system("received lo"), system("received eth0"), system("dropped eth0")),
            (Some(2_000), Some(20), Some(2))
        );
        assert_eq!(
            (system("bytes received eth0"), system("bytes sent eth0"), system("bytes sent lo")),
            (Some(3_000), Some(2), Some(0))
        );
        assert_eq!(
            (system("listen overflows"), system("retransmitted"), system("segments sent")),
            (Some(2), Some(2), Some(200))
        );
        assert_eq!(system("retransmitted syn"), Some(2));
        assert_eq!(system("timeouts"), None, "this kernel does not report it");
        let dropped = seen.counter("network", "backlog dropped").unwrap();
        assert_eq!(dropped.by_cpu.get(&0), Some(&2));
        assert_eq!(seen.counter("network", "squeezed").unwrap().by_cpu.get(&2), Some(&2));
    }
}
