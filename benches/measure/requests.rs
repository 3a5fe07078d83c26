//! What counting requests costs a server and its client: messages over the loopback interface that an echo server sends back, one at a time.
//! Each is an arrival, a read and an answer, and hardly anything else, which is the worst that those who count requests can meet.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use benches::blocks::{Arm, run};
use benches::cpu_time::{self, Cost};
use benches::nothing::{Met, Nothing};
use load::workloads::latency::server::{EchoOptions, EchoServer};
use machine::{Machine, Missing, Root};
use probe::requests::{CountingRequests, Listening};
use rustix::thread::gettid;

use crate::pinned::Pinned;
use crate::section::Section;

/// Round trips of a run: some 0.5 s.
const ROUND_TRIPS: u32 = 20_000;
const BLOCKS: usize = 20;
/// What is sent, and comes back.
const MESSAGE: [u8; 64] = [b'x'; 64];
/// A port on which nobody listens here.
const OTHER: u16 = 1;

/// Measures on two CPUs, and on one.
pub fn measure() -> io::Result<Section> {
    let mut section = Section::new("What counting requests costs an echo server and its client");
    if let Err(why) = prepared(OTHER) {
        section.say(format!("Not measured: {}.", why.why));
        return Ok(section);
    }
    let machine = Machine::read(&Root::live());
    let online: Vec<u32> = machine.online().iter().collect();
    let places =
        [("on two CPUs", online.first(), online.get(1)), ("on one CPU", online.first(), online.first())];
    for (name, client, server) in places {
        let (Some(client), Some(server)) = (client.copied(), server.copied()) else { continue };
        let echo = Echo::start(server)?;
        let work = || echo.round_trips(client);
        let outcomes = run(arms(echo.port, &work), BLOCKS);
        let ended = echo.end();
        section.compare(&format!("{ROUND_TRIPS} round trips {name}"), &outcomes?);
        ended?;
    }
    section.say(
        "CPU time of both threads, and the time of the client; 64 bytes over TCP on the loopback interface, one connection, in random order in \
         blocks. The third row is programs at the same four trace points that only look at the clock: hardly anybody who times requests can \
         do without. In the last row each socket is looked at, and none is the server's. Each end meets three of the trace points in a round \
         trip.",
    );
    Ok(section)
}

/// The same work beside each observer.
fn arms<'a>(port: u16, work: &'a dyn Fn() -> io::Result<Cost>) -> Vec<Arm<'a>> {
    vec![
        Arm::new("nobody counts", work),
        Arm::new("nobody counts (A/A)", work),
        Arm::new("programs that look at the clock there, and do no more", move || {
            let _nothing = Nothing::attach(Met::Sockets, true)?;
            work()
        }),
        Arm::new("requests to it are counted", move || counted(port, work)),
        Arm::new("requests to another port are counted", move || counted(OTHER, work)),
    ]
}

/// The work while requests to a port are counted.
fn counted(port: u16, work: &dyn Fn() -> io::Result<Cost>) -> io::Result<Cost> {
    let mut counting =
        prepared(port).map_err(|missing| io::Error::other(format!("{}: {}", missing.fact, missing.why)))?;
    counting.start();
    let cost = work()?;
    counting.stop();
    let seen: u64 = counting.end().ports.iter().map(|port| port.answered).sum();
    let asked = if port == OTHER { 0 } else { u64::from(ROUND_TRIPS) };
    // What was not counted cost nothing. The client may have the last answer before the write of it ends.
    match (asked.saturating_sub(1)..=asked).contains(&seen) {
        true => Ok(cost),
        false => Err(io::Error::other(format!("{seen} requests were counted, {asked} were sent"))),
    }
}

fn prepared(port: u16) -> Result<CountingRequests, Missing> {
    CountingRequests::prepare(&Root::live(), std::process::id(), &Listening::on_ports(&[port]))
}

/// An echo server in a thread of its own.
struct Echo {
    port: u16,
    /// Number of the thread.
    tid: i32,
    /// The server ends when this is closed.
    stop: UnixStream,
    thread: JoinHandle<io::Result<()>>,
}

impl Echo {
    /// Starts one on a CPU.
    fn start(cpu: u32) -> io::Result<Self> {
        let (stop, stopped) = UnixStream::pair()?;
        let options = EchoOptions {
            address: IpAddr::from(Ipv4Addr::LOCALHOST),
            port: 0,
            nodelay: true,
            busy_poll_us: 0,
            packets: false,
            http: false,
        };
        let server = EchoServer::bind(&options).map_err(io::Error::other)?;
        let port = server.local_address().port();
        let (announce, announced) = mpsc::channel();
        let thread = thread::spawn(move || {
            let _pinned = Pinned::to(Some(cpu))?;
            announce.send(gettid().as_raw_nonzero().get()).map_err(io::Error::other)?;
            server.run(stopped.as_fd()).map_err(io::Error::other)
        });
        let tid = announced.recv().map_err(|_| io::Error::other("the echo server did not start"))?;
        Ok(Self { port, tid, stop, thread })
    }

    /// Messages there and back, from this CPU, and what they cost both.
    fn round_trips(&self, cpu: u32) -> io::Result<Cost> {
        let _pinned = Pinned::to(Some(cpu))?;
        let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        client.set_nodelay(true)?;
        let mut answer = [0; MESSAGE.len()];
        let before_ns = self.cpu_ns()?;
        let (cost, ()) = cpu_time::of_work(|| {
            for _ in 0..ROUND_TRIPS {
                client.write_all(&MESSAGE)?;
                client.read_exact(&mut answer)?;
            }
            Ok(())
        })?;
        let of_server_ns = self.cpu_ns()?.saturating_sub(before_ns);
        Ok(Cost { cpu_ns: cost.cpu_ns + of_server_ns, ..cost })
    }

    /// CPU time of the server so far, ns: the first number of its `schedstat`.
    fn cpu_ns(&self) -> io::Result<u64> {
        let path = format!("/proc/self/task/{}/schedstat", self.tid);
        let text = std::fs::read_to_string(&path)?;
        let first = machine::procfs::pid_schedstat::parse(&text).ok().and_then(|seen| seen.on_cpu_ns);
        first.ok_or_else(|| io::Error::other(format!("{path}: it is {text:?}")))
    }

    /// Ends it.
    fn end(self) -> io::Result<()> {
        drop(self.stop);
        self.thread.join().map_err(|_| io::Error::other("the echo server panicked"))?
    }
}
