//! The kernel's own generator: started and stopped here, and asked what it has sent. An act of the hand has attached it to its interface.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::Duration;

use machine::{Act, Class, CpuSet, Fault, Missing};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::control::INTERVAL_NS;
use super::options::PacketsLoad;
use crate::clock::monotonic_ns;
use crate::drive::{Broken, Document};
use crate::outcome::latency::Latency;
use crate::outcome::{Counted, Interval, Outcome, unit_of};
use crate::process::allowed_cpus;

const FOLDER: &str = "/proc/net/pktgen";

/// Starts and stops all threads of the generator.
const CONTROL: &str = "/proc/net/pktgen/pgctrl";

/// What the machine is missing for it.
pub(crate) fn missing(device: &str) -> Vec<Missing> {
    let mut missing = Vec::new();
    if !Path::new(FOLDER).exists() {
        let why = "the kernel's packet generator is not loaded: 'modprobe pktgen' as root, or run the study in a guest that has it \
                   (pinwise rehearse --module pktgen, docs/packets.md)";
        missing.push(Missing::new("pktgen", why));
    }
    if !Path::new("/sys/class/net").join(device).exists() {
        let why = "there is no such interface: 'modprobe dummy', or 'ip link add dummy0 type dummy', makes one that leads nowhere";
        missing.push(Missing::new(format!("interface {device}"), why));
    }
    missing
}

/// What attaches the generator's thread on the first of these CPUs, or of ours, to the interface.
pub(crate) fn attach(load: &PacketsLoad, cpus: Option<&CpuSet>) -> Result<Act, Fault> {
    let cpus = match cpus {
        Some(cpus) => cpus.clone(),
        None => allowed_cpus::read()?,
    };
    let cpu = cpus.first().ok_or_else(|| {
        Fault::new(Class::Usage, "packets load", "it has no CPU", "give the load one: baseline.load")
    })?;
    let orders = [
        // Until it is stopped.
        "count 0".to_string(),
        format!("pkt_size {}", load.packet_bytes),
        format!("clone_skb {}", load.clone_skb),
        "delay 0".into(),
    ];
    Ok(Act::AttachPktgen { cpu, device: load.device.clone(), orders: orders.into() })
}

/// Has it send for as long as the load is to last, or until `stop` becomes readable.
///
/// Fails when it is not attached, or reports nothing.
pub(crate) fn drive(load: &PacketsLoad, stop: Option<BorrowedFd<'_>>) -> Result<Document, Fault> {
    let file = Path::new(FOLDER).join(&load.device);
    let refused = |object: &str| {
        let object = object.to_string();
        move |why: io::Error| {
            let remedy = "run it by a recipe, which attaches pktgen to its interface first (docs/packets.md)";
            Fault::io(object, &why, remedy)
        }
    };
    let counts = || {
        let text = std::fs::read_to_string(&file)?;
        Counts::parse(&text).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it reports no counts"))
    };
    counts().map_err(refused(&file.display().to_string()))?;
    let from_ns = monotonic_ns();
    let (samples, stopped) = std::thread::scope(|scope| {
        // Returns when all threads of the generator have stopped, or when this process is ended, which stops them.
        let run = scope.spawn(|| std::fs::write(CONTROL, "start\n"));
        let sampled = sample(from_ns, load.seconds, stop, &counts);
        // Again and again: a stop that comes before the start is forgotten by then.
        let mut ended = std::fs::write(CONTROL, "stop\n");
        while ended.is_ok() && !run.is_finished() {
            std::thread::sleep(Duration::from_millis(10));
            ended = std::fs::write(CONTROL, "stop\n");
        }
        let ran = run.join().unwrap_or_else(|_| Err(io::Error::other("the thread that started it panicked")));
        ended.and(ran).and(sampled)
    })
    .map_err(refused(CONTROL))?;
    let whole = counts().map_err(refused(&file.display().to_string()))?;
    Ok(document(load, from_ns, &samples, whole, stopped))
}

/// What it has sent at the end of each interval, and whether somebody stopped it.
fn sample(
    from_ns: u64,
    seconds: f64,
    stop: Option<BorrowedFd<'_>>,
    counts: &impl Fn() -> io::Result<Counts>,
) -> io::Result<(Vec<(u64, u64)>, bool)> {
    let until_ns = from_ns + (seconds * 1e9) as u64;
    let mut samples = vec![(from_ns, 0)];
    let mut next_ns = from_ns;
    while next_ns < until_ns {
        next_ns = (next_ns + INTERVAL_NS).min(until_ns);
        if waits_in_vain(stop, next_ns.saturating_sub(monotonic_ns())) {
            return Ok((samples, true));
        }
        let sent = counts()?.sent;
        samples.push((monotonic_ns(), sent));
    }
    Ok((samples, false))
}

/// Waits so long; true when `stop` became readable before.
fn waits_in_vain(stop: Option<BorrowedFd<'_>>, ns: u64) -> bool {
    let Some(stop) = stop else {
        std::thread::sleep(std::time::Duration::from_nanos(ns));
        return false;
    };
    let at_most = Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as _ };
    poll(&mut [PollFd::from_borrowed_fd(stop, PollFlags::IN)], Some(&at_most)).is_ok_and(|ready| ready > 0)
}

fn document(
    load: &PacketsLoad,
    from_ns: u64,
    samples: &[(u64, u64)],
    whole: Counts,
    stopped: bool,
) -> Document {
    let latency = Latency::new().to_text();
    let interval = |pair: &[(u64, u64)]| Interval {
        from_ns: pair[0].0,
        to_ns: pair[1].0,
        completed: pair[1].1.saturating_sub(pair[0].1),
        failed: 0,
        latency: latency.clone(),
    };
    let mut figures = BTreeMap::from([
        ("sent".to_string(), whole.sent as f64),
        ("send_errors".into(), whole.errors as f64),
    ]);
    if whole.ran_us > 0 {
        figures.insert("sent_per_s".into(), whole.sent as f64 / (whole.ran_us as f64 / 1e6));
    }
    let units = figures.keys().filter_map(|f| Some((f.clone(), unit_of(f)?.to_string()))).collect();
    let outcome = Outcome {
        figures,
        units,
        intervals: samples.windows(2).map(interval).collect(),
        counted: Counted::Sent,
        from_ns,
        to_ns: samples.last().map_or(from_ns, |last| last.0),
        ..Outcome::default()
    };
    let broken = |cause: String, remedy: &str| {
        Some(Broken { object: format!("pktgen on {}", load.device), cause, remedy: remedy.into() })
    };
    let broken = match (stopped, whole.sent) {
        (true, _) => broken("stopped by a signal".into(), "run it again"),
        (false, 0) => {
            let cause = format!("it has sent nothing, with {} errors", whole.errors);
            broken(cause, "is the interface up? See 'ip link' and the kernel's log")
        }
        _ => None,
    };
    Document { outcome, broken, starved: false }
}

/// What the generator reports of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counts {
    sent: u64,
    errors: u64,
    ran_us: u64,
}

impl Counts {
    fn parse(text: &str) -> Option<Self> {
        let after = |name: &str| {
            let rest = text.split_once(name)?.1.trim_start();
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            rest[..end].parse::<u64>().ok()
        };
        let ran_us = after("stopped:")?.saturating_sub(after("started:")?);
        Some(Self { sent: after("pkts-sofar:")?, errors: after("errors:")?, ran_us })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Params: count 0  min_pkt_size: 60  max_pkt_size: 60
     frags: 0  delay: 0  clone_skb: 10  ifname: dummy0
Current:
     pkts-sofar: 1000012  errors: 3
     started: 5000000us  stopped: 8000022us idle: 1022us
     seq_num: 90911  cur_dst_mac_offset: 0  cur_src_mac_offset: 0
Result: OK: 3000022(c2999000+d1022) usec, 1000012 (60byte,0frags)
  333331pps 159Mb/sec (159998880bps) errors: 3
";

    #[test]
    fn counts_are_read_and_torn_ones_are_not() {
        assert_eq!(Counts::parse(TEXT), Some(Counts { sent: 1_000_012, errors: 3, ran_us: 3_000_022 }));
        assert_eq!(Counts::parse(&TEXT[..150]), None);
        assert_eq!(Counts::parse(&TEXT.replace("1000012  errors", "x  errors")), None);
    }

    #[test]
    fn what_was_sent_is_reported_by_interval_and_as_a_whole() {
        let load = PacketsLoad::default();
        let samples = [(0, 0), (100, 40), (200, 100)];
        let whole = Counts { sent: 110, errors: 0, ran_us: 1_000_000 };
        let Document { outcome, broken, .. } = document(&load, 0, &samples, whole, false);
        assert_eq!((outcome.figures["sent_per_s"], broken), (110.0, None));
        assert_eq!(outcome.intervals.iter().map(|i| i.completed).collect::<Vec<_>>(), [40, 60]);
        assert!(document(&load, 0, &samples, Counts { sent: 0, ..whole }, false).broken.is_some());
        assert!(document(&load, 0, &samples, whole, true).broken.unwrap().cause.contains("stopped"));
    }

    #[test]
    fn it_is_attached_on_the_first_cpu_of_the_load() {
        let load = PacketsLoad { device: "d0".into(), clone_skb: 10, ..PacketsLoad::default() };
        let act = attach(&load, Some(&CpuSet::from_list("3,5").unwrap())).unwrap();
        let Act::AttachPktgen { cpu, device, orders } = act else { panic!("{act:?}") };
        assert!((cpu, device.as_str()) == (3, "d0") && orders.contains(&"clone_skb 10".to_string()));
    }
}
