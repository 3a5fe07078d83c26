//! The sending: from a moment that sink and sender agree on, to the end of the run; and what comes of it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use machine::{Class, Fault};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::control::{Answer, Ask, Control, Counts, INTERVAL_NS};
use super::options::PacketsLoad;
use super::packet::Form;
use super::send::{self, Transmitter};
use crate::clock::{monotonic_ns, thread_cpu_ns};
use crate::drive::{Broken, Document};
use crate::outcome::latency::Latency;
use crate::outcome::{Counted, Interval, Outcome, unit_of};

/// No sender reaches as many packets a second; a number above is none of ours.
const MOST_PER_S: f64 = 50e6;

/// From when the sink learns of the run to its first packet, ns.
const HEAD_START_NS: u64 = 5_000_000;

/// How often a moment is agreed on with a sink that answers too late.
const MOST_BEGINNINGS: u32 = 5;

/// How long what is under way may take to arrive once all is sent.
const UNDER_WAY: Duration = Duration::from_millis(50);

/// How often it is looked whether to stop, ns.
const LOOK_EVERY_NS: u64 = 20_000_000;

/// Packets between two looks at the clock, where a call takes fewer.
const AT_LEAST_AT_A_TIME: usize = 16;

/// How long to wait when the kernel takes nothing, ns.
const FULL_NS: u64 = 10_000;

/// What the sender has done.
#[derive(Debug, Default)]
struct Sent {
    packets: u64,
    from_ns: u64,
    to_ns: u64,
    cpu_ns: u64,
    /// Calls that the kernel did not take for want of buffers.
    refused: u64,
    stopped: bool,
}

/// Sends to `sink` as `load` says, to its end or until `stop` becomes readable.
///
/// Fails when it cannot begin: no sink there, no such way to send.
pub(super) fn drive(
    load: &PacketsLoad,
    sink: SocketAddr,
    stop: Option<BorrowedFd<'_>>,
) -> Result<Document, Fault> {
    let mut control = Control::connect(sink)?;
    // Two runs at one sink differ in when they began.
    let form = Form::new(monotonic_ns(), load.payload_bytes());
    let mut transmitter = send::open(load, &form, control.local_address()?, sink)?;
    let mut from_ns = monotonic_ns() + HEAD_START_NS;
    let most = (load.rate_per_s.unwrap_or(MOST_PER_S).min(MOST_PER_S) * (load.seconds + 1.0)) as u64 + 1;
    let payload_bytes = form.payload_bytes();
    let run = form.run();
    // A sink that shares its CPU may answer when the time is over, which would then count as sending: another moment is agreed on.
    for attempt in 1..=MOST_BEGINNINGS {
        begun(control.ask(&Ask::Begin { run, payload_bytes, most, from_ns })?, sink)?;
        if monotonic_ns() < from_ns || attempt == MOST_BEGINNINGS {
            break;
        }
        from_ns = monotonic_ns() + (HEAD_START_NS << (2 * attempt));
    }
    wait_until(from_ns);
    let sent = send_all(load, transmitter.as_mut(), from_ns, stop).map_err(|error| {
        let remedy = "see the sink's log: does it still run? For xdp see docs/packets.md";
        Fault::new(Class::WorkloadFailed, format!("packets to {sink}"), error, remedy)
    })?;
    std::thread::sleep(UNDER_WAY);
    match control.ask(&Ask::Count)? {
        Answer::Counted(counts) => Ok(document(load, sink, &sent, &counts)),
        other => Err(unexpected(&other, sink)),
    }
}

fn begun(answer: Answer, sink: SocketAddr) -> Result<(), Fault> {
    match answer {
        Answer::Ready => Ok(()),
        other => Err(unexpected(&other, sink)),
    }
}

fn unexpected(answer: &Answer, sink: SocketAddr) -> Fault {
    let cause = match answer {
        Answer::Refused { why } => why.clone(),
        other => format!("it answered out of turn: {other:?}"),
    };
    let remedy = "check that the sink is this version of pinwise";
    Fault::new(Class::WorkloadFailed, format!("packet sink {sink}"), cause, remedy)
}

fn send_all(
    load: &PacketsLoad,
    transmitter: &mut dyn Transmitter,
    from_ns: u64,
    stop: Option<BorrowedFd<'_>>,
) -> Result<Sent, Errno> {
    let until_ns = from_ns + (load.seconds * 1e9) as u64;
    // Whole calls.
    let a_call = load.a_call() as usize;
    let a_turn = a_call * AT_LEAST_AT_A_TIME.div_ceil(a_call);
    let (mut sent, cpu_ns) = (Sent { from_ns, ..Sent::default() }, thread_cpu_ns());
    let mut look_ns = from_ns;
    let mut now_ns = monotonic_ns();
    while now_ns < until_ns {
        if now_ns >= look_ns {
            look_ns = now_ns + LOOK_EVERY_NS;
            sent.stopped = is_readable(stop);
            if sent.stopped {
                break;
            }
        }
        match due(load.rate_per_s, now_ns - from_ns, sent.packets) {
            Due::Now(packets) => turn(transmitter, &mut sent, packets.min(a_turn))?,
            Due::At(after_ns) => wait_until((from_ns + after_ns).min(until_ns).min(look_ns.max(now_ns + 1))),
        }
        now_ns = monotonic_ns();
    }
    transmitter.finish()?;
    (sent.to_ns, sent.cpu_ns) = (monotonic_ns(), thread_cpu_ns() - cpu_ns);
    Ok(sent)
}

/// Sends so many packets; fewer where the kernel has no room.
fn turn(transmitter: &mut dyn Transmitter, sent: &mut Sent, packets: usize) -> Result<(), Errno> {
    let mut left = packets;
    while left > 0 {
        match transmitter.send(sent.packets, left) {
            Ok(n) => {
                sent.packets += n as u64;
                left -= n.min(left);
            }
            Err(Errno::NOBUFS | Errno::AGAIN) => {
                sent.refused += 1;
                wait_until(monotonic_ns() + FULL_NS);
                return Ok(());
            }
            Err(Errno::INTR) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// What is to be done next.
#[derive(Debug, PartialEq, Eq)]
enum Due {
    /// So many packets.
    Now(usize),
    /// Nothing until so long after the start, ns.
    At(u64),
}

fn due(rate_per_s: Option<f64>, after_ns: u64, sent: u64) -> Due {
    let Some(rate) = rate_per_s else { return Due::Now(usize::MAX) };
    let by_now = (after_ns as f64 * rate / 1e9) as u64 + 1;
    match by_now.saturating_sub(sent) {
        0 => Due::At((sent as f64 / rate * 1e9).ceil() as u64),
        packets => Due::Now(packets as usize),
    }
}

/// Sleeps for most of the time and looks at the clock for the rest: a sleeper wakes late.
fn wait_until(at_ns: u64) {
    const WAKES_LATE_NS: u64 = 100_000;
    loop {
        match at_ns.saturating_sub(monotonic_ns()) {
            0 => return,
            left if left > 2 * WAKES_LATE_NS => {
                std::thread::sleep(Duration::from_nanos(left - WAKES_LATE_NS))
            }
            _ => std::hint::spin_loop(),
        }
    }
}

fn is_readable(stop: Option<BorrowedFd<'_>>) -> bool {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    stop.is_some_and(|fd| {
        poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&at_once)).is_ok_and(|ready| ready > 0)
    })
}

fn document(load: &PacketsLoad, sink: SocketAddr, sent: &Sent, counts: &Counts) -> Document {
    let figures = figures(sent, counts);
    let units = figures.keys().filter_map(|f| Some((f.clone(), unit_of(f)?.to_string()))).collect();
    let outcome = Outcome {
        figures,
        units,
        intervals: intervals(sent, counts),
        counted: Counted::Packets,
        from_ns: sent.from_ns,
        to_ns: sent.to_ns,
        ..Outcome::default()
    };
    Document { outcome, broken: broken(load, sink, sent, counts), starved: false }
}

fn figures(sent: &Sent, counts: &Counts) -> BTreeMap<String, f64> {
    let seconds = sent.to_ns.saturating_sub(sent.from_ns) as f64 / 1e9;
    let lost = sent.packets.saturating_sub(counts.arrived);
    let mut figures = BTreeMap::from([
        ("sent".to_string(), sent.packets as f64),
        ("arrived".into(), counts.arrived as f64),
        ("lost".into(), lost as f64),
        ("out_of_order".into(), counts.out_of_order as f64),
        ("send_refused".into(), sent.refused as f64),
        ("failed".into(), (counts.doubled + counts.wrong) as f64),
        ("failed_wrong_answer".into(), (counts.doubled + counts.wrong) as f64),
    ]);
    let mut ratio = |name: &str, of: f64, to: f64| {
        if to > 0.0 {
            figures.insert(name.into(), of / to);
        }
    };
    ratio("packets_per_s", counts.arrived as f64, seconds);
    ratio("sent_per_s", sent.packets as f64, seconds);
    ratio("lost_share", lost as f64, sent.packets as f64);
    ratio("sender_busy", sent.cpu_ns as f64 / 1e9, seconds);
    ratio("sender_ns_per_packet", sent.cpu_ns as f64, sent.packets as f64);
    ratio("sink_ns_per_packet", counts.cpu_ns as f64, counts.arrived as f64);
    figures
}

/// The sink's intervals, as far as packets were sent in them: what it read after that is no part of a rate. A last one that is
/// short is left out.
fn intervals(sent: &Sent, counts: &Counts) -> Vec<Interval> {
    let latency = Latency::new().to_text();
    let of = |number: u64| {
        let from_ns = sent.from_ns + number * INTERVAL_NS;
        let arrived = counts.intervals.get(number as usize).copied().unwrap_or(0);
        Interval {
            from_ns,
            to_ns: from_ns + INTERVAL_NS,
            completed: arrived,
            failed: 0,
            latency: latency.clone(),
        }
    };
    (0..sent.to_ns.saturating_sub(sent.from_ns) / INTERVAL_NS).map(of).collect()
}

fn broken(load: &PacketsLoad, sink: SocketAddr, sent: &Sent, counts: &Counts) -> Option<Broken> {
    let seconds = sent.to_ns.saturating_sub(sent.from_ns) as f64 / 1e9;
    let (cause, remedy) = if sent.stopped {
        (format!("stopped by a signal after {seconds:.1} s"), "run it again")
    } else if let Some(first) = &counts.first_wrong {
        let (doubled, wrong) = (counts.doubled, counts.wrong);
        let cause =
            format!("{doubled} packets came more than once and {wrong} were wrong; the first: {first}");
        (cause, "look for what copies or changes packets on the way (ip -s link, tc, nft)")
    } else if sent.packets == 0 {
        let cause = format!("nothing was sent in {:.1} s: the sender did not run", load.seconds);
        (cause, "something else has its CPU: see 'pinwise watch --cpu', or give it another")
    } else if counts.arrived == 0 {
        let way = serde_json::to_string(&load.send).unwrap_or_default();
        let cause = format!("none of {} packets arrived (send = {way})", sent.packets);
        (cause, "see whether a firewall or an address is in their way: ip -s link, nstat -az 'Udp*'")
    } else {
        return None;
    };
    Some(Broken { object: sink.to_string(), cause, remedy: remedy.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_makes_packets_due_one_after_another() {
        let at = |after_ns, sent| due(Some(1000.0), after_ns, sent);
        assert_eq!(at(0, 0), Due::Now(1));
        assert_eq!(at(0, 1), Due::At(1_000_000));
        assert_eq!(at(999_999, 1), Due::At(1_000_000));
        assert_eq!(at(1_000_000, 1), Due::Now(1));
        assert_eq!(at(10_000_000, 1), Due::Now(10));
        assert_eq!(due(None, 0, 5), Due::Now(usize::MAX));
    }

    fn sent() -> Sent {
        Sent {
            packets: 1000,
            from_ns: 500,
            to_ns: 500 + 2 * INTERVAL_NS + 7,
            cpu_ns: 1000,
            ..Sent::default()
        }
    }

    #[test]
    fn what_was_lost_is_reported_and_what_came_later_is_in_no_interval() {
        let counts =
            Counts { arrived: 900, intervals: vec![400, 450, 50], cpu_ns: 1800, ..Counts::default() };
        let document = document(&PacketsLoad::default(), "127.0.0.1:1".parse().unwrap(), &sent(), &counts);
        assert_eq!(document.broken, None);
        let Outcome { figures, intervals, .. } = document.outcome;
        assert_eq!((figures["lost"], figures["lost_share"]), (100.0, 0.1));
        assert_eq!((figures["sender_ns_per_packet"], figures["sink_ns_per_packet"]), (1.0, 2.0));
        assert_eq!(intervals.iter().map(|i| i.completed).collect::<Vec<_>>(), [400, 450]);
    }

    #[test]
    fn a_doubled_packet_breaks_the_run() {
        let counts = Counts {
            arrived: 1000,
            doubled: 1,
            first_wrong: Some("packet 3 came twice".into()),
            ..Counts::default()
        };
        let at = "127.0.0.1:1".parse().unwrap();
        let broken = |counts: &Counts| document(&PacketsLoad::default(), at, &sent(), counts).broken;
        assert!(broken(&counts).unwrap().cause.contains("packet 3 came twice"));
        assert!(broken(&Counts::default()).unwrap().cause.contains("none of 1000 packets arrived"));
        let starved = document(&PacketsLoad::default(), at, &Sent::default(), &Counts::default()).broken;
        assert!(starved.unwrap().cause.contains("did not run"));
    }
}
