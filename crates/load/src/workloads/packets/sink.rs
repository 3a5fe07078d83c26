//! The packet sink: counts the packets of one run after another; single-threaded.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use machine::{Class, Fault};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SocketFlags, SocketType};

use super::control::{Answer, Ask};
use super::packet::Form;
use super::recvmmsg::Batch;
use super::tally::Tally;
use crate::clock::{monotonic_ns, thread_cpu_ns};
use crate::flags::Flags;
use crate::signals;
use crate::sockets::{self, Outbox, bound};

/// Where the sink listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkOptions {
    /// Address of the packets (UDP) and of what is said about them (TCP).
    pub address: IpAddr,
    /// Port of both; 0 lets the kernel choose.
    pub port: u16,
    /// SO_RCVBUFFORCE: bytes that may wait to be read (as the kernel counts them); none for net.core.rmem_default.
    pub receive_buffer_bytes: Option<u32>,
}

impl SinkOptions {
    /// Reads `--port P [--address A] [--receive-buffer-bytes N]`. Fails on unknown, missing or malformed flags.
    pub fn from_args(args: &[String]) -> Result<Self, Fault> {
        let mut given = Flags::parse("packet-sink", args, &[])?;
        let options = Self {
            address: given.optional("address")?.unwrap_or(IpAddr::from([127, 0, 0, 1])),
            port: given.required("port")?,
            receive_buffer_bytes: given.optional("receive-buffer-bytes")?.filter(|bytes| *bytes > 0),
        };
        given.finish()?;
        Ok(options)
    }
}

/// Counts until SIGTERM or SIGINT arrives; the hidden verb `pinwise packet-sink`.
///
/// Fails when it cannot listen, or when the kernel refuses a call that it needs.
pub fn serve(options: &SinkOptions) -> Result<(), Fault> {
    let signals = signals::terminate().map_err(|e| failed("signalfd", e))?;
    Sink::bind(options)?.run(signals.as_fd())
}

fn failed(object: &str, error: Errno) -> Fault {
    let remedy = format!("try again; if it fails again, {}", machine::IS_A_BUG);
    Fault::new(Class::WorkloadFailed, object, error, remedy)
}

/// Datagrams of one call.
const BATCH: usize = 64;

/// Calls after which others than the packets have their turn.
const CALLS_AT_A_TIME: usize = 64;

/// Packets of a run at most: each takes a bit of memory, 8 GB of them all.
const MOST_PACKETS: u64 = 1 << 36;

/// How far the moment of a run's beginning may lie from the sink's clock, which is the sender's where both are on one machine.
const MOST_AHEAD_NS: u64 = 60_000_000_000;

/// A sender says little; one that says more than this at once is none.
const MOST_ASKED_BYTES: usize = 64 << 10;

/// What one that asks and does not read may leave waiting, bytes.
const MOST_PENDING_BYTES: usize = 8 << 20;

/// For a sender's count what waits is read for so long at most, ns: somebody else may never stop sending.
const DRAINS_FOR_NS: u64 = 1_000_000_000;

/// A sink that listens already.
pub struct Sink {
    local: SocketAddr,
    tcp: OwnedFd,
    udp: OwnedFd,
    askers: Vec<Asker>,
    tally: Option<(Tally, u64)>,
}

struct Asker {
    out: Outbox,
    asked: Vec<u8>,
}

impl Sink {
    /// Listens on both. Fails as [`serve`] does.
    pub fn bind(options: &SinkOptions) -> Result<Self, Fault> {
        let at = SocketAddr::new(options.address, options.port);
        let refused = |at: SocketAddr, what: &'static str| {
            move |error: Errno| sockets::cannot_listen(format!("{at} ({what})"), error)
        };
        let tcp = bound(at, SocketType::STREAM).map_err(refused(at, "TCP"))?;
        net::listen(&tcp, 16).map_err(refused(at, "TCP"))?;
        let local = sockets::local_address(&tcp, at)?;
        let udp = bound(local, SocketType::DGRAM).map_err(refused(local, "UDP"))?;
        if let Some(bytes) = options.receive_buffer_bytes {
            net::sockopt::set_socket_recv_buffer_size_force(&udp, bytes as usize).map_err(|error| {
                let remedy = "run as root, or leave --receive-buffer-bytes out (net.core.rmem_default)";
                Fault::new(Class::NotPermitted, "SO_RCVBUFFORCE", error, remedy)
            })?;
        }
        Ok(Self { local, tcp, udp, askers: Vec::new(), tally: None })
    }

    /// Where it really listens.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// Counts until `stop` becomes readable. Fails when poll does.
    pub fn run(mut self, stop: BorrowedFd<'_>) -> Result<(), Fault> {
        self.count_until(stop).map_err(|e| failed("packet sink", e))
    }

    fn count_until(&mut self, stop: BorrowedFd<'_>) -> Result<(), Errno> {
        // One byte more than any packet has: a longer one is seen as such.
        let mut batch = Batch::new(BATCH, 2048);
        let mut waits = false;
        loop {
            let (stopped, accepts, ready) = self.look(stop, waits)?;
            if stopped {
                return Ok(());
            }
            if accepts {
                self.accept();
            }
            waits = self.take(&mut batch, CALLS_AT_A_TIME)?;
            // From the last on, so that the places of those before stay.
            for place in ready.into_iter().rev() {
                if !self.turn(place, &mut batch)? {
                    self.askers.remove(place);
                }
            }
        }
    }

    /// Waits until there is something to do, or just looks when packets are known to wait: whether to stop, whether somebody
    /// connects, and who asks.
    fn look(&self, stop: BorrowedFd<'_>, packets_wait: bool) -> Result<(bool, bool, Vec<usize>), Errno> {
        let stop = PollFd::from_borrowed_fd(stop, PollFlags::IN);
        let mut all =
            vec![stop, PollFd::new(&self.tcp, PollFlags::IN), PollFd::new(&self.udp, PollFlags::IN)];
        for asker in &self.askers {
            let flags = if asker.out.is_empty() { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT };
            all.push(PollFd::new(&asker.out.fd, flags));
        }
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        match poll(&mut all, packets_wait.then_some(&at_once)) {
            Err(Errno::INTR) => return Ok((false, false, Vec::new())),
            other => other?,
        };
        let ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        let asks = all[3..].iter().enumerate().filter(|(_, fd)| ready(fd)).map(|(place, _)| place);
        Ok((ready(&all[0]), ready(&all[1]), asks.collect()))
    }

    fn accept(&mut self) {
        // Of one that ended before it was accepted (accept(2)).
        let Ok(fd) = net::accept_with(&self.tcp, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) else {
            return;
        };
        self.askers.push(Asker { out: Outbox::new(fd, MOST_PENDING_BYTES), asked: Vec::new() });
    }

    /// Counts what waits, by so many calls at most; whether more may wait.
    fn take(&mut self, batch: &mut Batch, calls: usize) -> Result<bool, Errno> {
        for _ in 0..calls {
            match batch.receive(self.udp.as_fd()) {
                Err(Errno::AGAIN | Errno::INTR) => return Ok(false),
                // Of a datagram of ours that nobody took: we send none.
                Err(Errno::CONNREFUSED) => continue,
                other => other?,
            };
            if let Some((tally, _)) = &mut self.tally {
                tally.add(monotonic_ns(), batch.payloads());
            }
        }
        Ok(true)
    }

    /// Reads what somebody asks, and answers. False when they have gone.
    fn turn(&mut self, place: usize, batch: &mut Batch) -> Result<bool, Errno> {
        let asker = &mut self.askers[place];
        if asker.out.flush().is_err() {
            return Ok(false);
        }
        let mut came = [0; 4096];
        match net::recv(&asker.out.fd, &mut came[..], RecvFlags::empty()) {
            Ok((0, _)) => return Ok(false),
            Ok((n, _)) => asker.asked.extend_from_slice(&came[..n]),
            Err(error) => return Ok(matches!(error, Errno::AGAIN | Errno::INTR)),
        }
        while let Some(end) = self.askers[place].asked.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.askers[place].asked.drain(..=end).collect();
            let mut answer = serde_json::to_vec(&self.answer(&line, batch)?).unwrap_or_default();
            answer.push(b'\n');
            if self.askers[place].out.send(&answer).is_err() {
                return Ok(false);
            }
        }
        Ok(self.askers[place].asked.len() <= MOST_ASKED_BYTES && !self.askers[place].out.is_full())
    }

    fn answer(&mut self, line: &[u8], batch: &mut Batch) -> Result<Answer, Errno> {
        Ok(match serde_json::from_slice(line) {
            Err(why) => Answer::Refused { why: format!("it is no question of a packet sender: {why}") },
            Ok(Ask::Begin { most, from_ns, .. })
                if most > MOST_PACKETS || from_ns.abs_diff(monotonic_ns()) > MOST_AHEAD_NS =>
            {
                Answer::Refused { why: "its clock or its number of packets is none of this machine's".into() }
            }
            Ok(Ask::Begin { run, payload_bytes, most, from_ns }) => {
                let form = Form::new(run, payload_bytes.min(2000));
                self.tally = Some((Tally::new(form, most, from_ns), thread_cpu_ns()));
                Answer::Ready
            }
            Ok(Ask::Count) => {
                let until_ns = monotonic_ns() + DRAINS_FOR_NS;
                while self.take(batch, CALLS_AT_A_TIME)? && monotonic_ns() < until_ns {}
                match &self.tally {
                    None => Answer::Refused { why: "no run has begun".into() },
                    Some((tally, cpu_ns)) => {
                        let mut counts = tally.counts().clone();
                        counts.cpu_ns = thread_cpu_ns() - cpu_ns;
                        Answer::Counted(counts)
                    }
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_and_senseless_ones_named() {
        let read =
            |line: &str| SinkOptions::from_args(&line.split(' ').map(String::from).collect::<Vec<_>>());
        let options = read("--port 70 --address 10.0.0.1 --receive-buffer-bytes 1000").unwrap();
        assert_eq!((options.port, options.receive_buffer_bytes), (70, Some(1000)));
        assert_eq!(read("--port 70 --receive-buffer-bytes 0").unwrap().receive_buffer_bytes, None);
        assert!(read("--address 10.0.0.1").unwrap_err().to_string().contains("--port"));
        assert!(read("--port 1 --buffer 2").unwrap_err().to_string().contains("--buffer"));
    }
}
