//! The echo server: sends back what it gets, over TCP, a Unix socket of the same port's name, UDP and, where asked, frames below IP;
//! single-threaded.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use machine::{Class, Fault};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};

use super::{frames, over_http};
use crate::drive::endpoint::{abstract_name, set_busy_poll, unix_address};
use crate::flags::Flags;
use crate::signals;
use crate::sockets::{self, Outbox, bound};

/// Where the echo server listens, and how its sockets are set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EchoOptions {
    /// Address of TCP and UDP.
    pub address: IpAddr,
    /// Port of TCP and UDP, and of the Unix socket's name ([`abstract_name`]); 0 lets the kernel choose.
    pub port: u16,
    /// TCP_NODELAY: answers go out at once.
    pub nodelay: bool,
    /// SO_BUSY_POLL, us; 0: not asked for.
    pub busy_poll_us: u32,
    /// Whether frames on the interface that has the address are answered too, which needs CAP_NET_RAW.
    pub packets: bool,
    /// Whether messages over TCP and the Unix socket are bodies of HTTP/1.1.
    pub http: bool,
}

impl EchoOptions {
    /// Reads `--port P [--address A] [--nodelay true|false] [--busy-poll-us US] [--packets true|false] [--http true|false]`. Fails on
    /// unknown, missing or malformed flags.
    pub fn from_args(args: &[String]) -> Result<Self, Fault> {
        let mut given = Flags::parse("echo-server", args, &[])?;
        let options = Self {
            address: given.optional("address")?.unwrap_or(IpAddr::from([127, 0, 0, 1])),
            port: given.required("port")?,
            nodelay: given.optional("nodelay")?.unwrap_or(true),
            busy_poll_us: given.optional("busy-poll-us")?.unwrap_or(0),
            packets: given.optional("packets")?.unwrap_or(false),
            http: given.optional("http")?.unwrap_or(false),
        };
        given.finish()?;
        Ok(options)
    }
}

/// Serves until SIGTERM or SIGINT arrives; the hidden verb `pinwise echo-server`.
///
/// Fails when it cannot listen, or when the kernel refuses a call that it needs.
pub fn serve(options: &EchoOptions) -> Result<(), Fault> {
    let signals = signals::terminate().map_err(|e| failed("signalfd", e))?;
    EchoServer::bind(options)?.run(signals.as_fd())
}

fn failed(object: &str, error: Errno) -> Fault {
    let remedy = format!("try again; if it fails again, {}", machine::IS_A_BUG);
    Fault::new(Class::WorkloadFailed, object, error, remedy)
}

/// Event data of what is no client; clients use their descriptor's number.
const TCP: u64 = u64::MAX;
const UNIX: u64 = u64::MAX - 1;
const UDP: u64 = u64::MAX - 2;
const STOP: u64 = u64::MAX - 3;
const FRAMES: u64 = u64::MAX - 4;

/// A client that sends faster than it reads is not read from while this much waits for it, bytes.
const MOST_PENDING_BYTES: usize = 32 << 20;

/// Datagrams and frames that are answered before others have their turn.
const DATAGRAMS_AT_A_TIME: usize = 64;

/// An echo server that listens already.
pub struct EchoServer {
    options: EchoOptions,
    local: SocketAddr,
    epoll: OwnedFd,
    tcp: OwnedFd,
    unix: OwnedFd,
    udp: OwnedFd,
    frames: Option<OwnedFd>,
    /// By descriptor number.
    clients: Vec<Option<Client>>,
    buffer: Vec<u8>,
}

struct Client {
    out: Outbox,
    interest: EventFlags,
    /// The start of a request of HTTP that is not in whole.
    partial: Vec<u8>,
}

impl EchoServer {
    /// Listens on all of them. Fails as [`serve`] does.
    pub fn bind(options: &EchoOptions) -> Result<Self, Fault> {
        let at = SocketAddr::new(options.address, options.port);
        let refused = |what: String| move |error: Errno| sockets::cannot_listen(what, error);
        let tcp = bound(at, SocketType::STREAM).map_err(refused(format!("{at} (TCP)")))?;
        net::listen(&tcp, 1024).map_err(refused(format!("{at} (TCP)")))?;
        let local = sockets::local_address(&tcp, at)?;
        let udp = bound(local, SocketType::DGRAM).map_err(refused(format!("{local} (UDP)")))?;
        let unix = listen_unix(local.port()).map_err(refused(format!("@{}", abstract_name(local.port()))))?;
        let frames = options.packets.then(|| frames::listen(options.address)).transpose()?;
        if options.busy_poll_us > 0 {
            for socket in [Some(&udp), frames.as_ref()].into_iter().flatten() {
                set_busy_poll(socket, options.busy_poll_us).map_err(|e| failed("SO_BUSY_POLL", e))?;
            }
        }
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|e| failed("epoll", e))?;
        let of_frames = frames.as_ref().map(|socket| (socket, FRAMES));
        for (socket, key) in [(&tcp, TCP), (&unix, UNIX), (&udp, UDP)].into_iter().chain(of_frames) {
            epoll::add(&epoll, socket, EventData::new_u64(key), EventFlags::IN)
                .map_err(|e| failed("epoll", e))?;
        }
        let (options, clients, buffer) = (options.clone(), Vec::new(), vec![0; 256 << 10]);
        Ok(Self { options, local, epoll, tcp, unix, udp, frames, clients, buffer })
    }

    /// Where it really listens.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// Serves until `stop` becomes readable. Fails when epoll does.
    pub fn run(mut self, stop: BorrowedFd<'_>) -> Result<(), Fault> {
        self.serve_until(stop).map_err(|e| failed("echo server", e))
    }

    fn serve_until(&mut self, stop: BorrowedFd<'_>) -> Result<(), Errno> {
        epoll::add(&self.epoll, stop, EventData::new_u64(STOP), EventFlags::IN)?;
        let mut events = Vec::with_capacity(64);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None) {
                Err(Errno::INTR) => continue,
                other => other?,
            };
            for event in &events {
                match event.data.u64() {
                    STOP => return epoll::delete(&self.epoll, stop),
                    TCP => self.accept(true)?,
                    UNIX => self.accept(false)?,
                    UDP => self.answer_datagrams(),
                    FRAMES => self.answer_frames(),
                    number => self.turn(number as usize, event.flags)?,
                }
            }
        }
    }

    fn accept(&mut self, is_tcp: bool) -> Result<(), Errno> {
        let listener = if is_tcp { &self.tcp } else { &self.unix };
        let Ok(fd) = net::accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) else {
            // Of one that ended before it was accepted (accept(2)); level-triggered, so that others come again.
            return Ok(());
        };
        if is_tcp && self.options.nodelay {
            sockopt::set_tcp_nodelay(&fd, true)?;
        }
        if self.options.busy_poll_us > 0 {
            set_busy_poll(&fd, self.options.busy_poll_us)?;
        }
        let number = fd.as_raw_fd() as usize;
        epoll::add(&self.epoll, &fd, EventData::new_u64(number as u64), EventFlags::IN)?;
        if self.clients.len() <= number {
            self.clients.resize_with(number + 1, || None);
        }
        let out = Outbox::new(fd, MOST_PENDING_BYTES);
        self.clients[number] = Some(Client { out, interest: EventFlags::IN, partial: Vec::new() });
        Ok(())
    }

    /// What cannot be sent back is lost, as on any network.
    fn answer_datagrams(&mut self) {
        for _ in 0..DATAGRAMS_AT_A_TIME {
            let Ok((n, _, Some(from))) = net::recvfrom(&self.udp, &mut self.buffer[..], RecvFlags::empty())
            else {
                return;
            };
            let _ = net::sendto(&self.udp, &self.buffer[..n], SendFlags::NOSIGNAL, &from);
        }
    }

    /// The same of frames.
    fn answer_frames(&mut self) {
        let Some(socket) = &self.frames else { return };
        for _ in 0..DATAGRAMS_AT_A_TIME {
            let Ok((n, _)) = net::recv(socket, &mut self.buffer[..], RecvFlags::empty()) else { return };
            if frames::turn_round(&mut self.buffer[..n], self.local.port()) {
                let _ = net::send(socket, &self.buffer[..n], SendFlags::NOSIGNAL);
            }
        }
    }

    fn turn(&mut self, number: usize, flags: EventFlags) -> Result<(), Errno> {
        let Some(client) = self.clients.get_mut(number).and_then(Option::as_mut) else { return Ok(()) };
        let goes_on = (!flags.contains(EventFlags::OUT) || client.out.flush().is_ok())
            && client.echo(&mut self.buffer, self.options.http);
        if !goes_on {
            self.clients[number] = None;
            return Ok(());
        }
        let wanted = client.out.wanted(true);
        if wanted != client.interest {
            client.interest = wanted;
            epoll::modify(&self.epoll, &client.out.fd, EventData::new_u64(number as u64), wanted)?;
        }
        Ok(())
    }
}

impl Client {
    /// Reads once and sends it back. False when the client has gone, or speaks no HTTP where it has to.
    fn echo(&mut self, buffer: &mut [u8], http: bool) -> bool {
        if self.out.is_full() {
            return true;
        }
        match net::recv(&self.out.fd, &mut buffer[..], RecvFlags::empty()) {
            Ok((0, _)) => false,
            Ok((n, _)) if http => self.answer(&buffer[..n]),
            Ok((n, _)) => self.out.send(&buffer[..n]).is_ok(),
            Err(error) => matches!(error, Errno::AGAIN | Errno::INTR),
        }
    }

    fn answer(&mut self, came: &[u8]) -> bool {
        self.partial.extend_from_slice(came);
        let mut answers = Vec::new();
        let Ok(taken) = over_http::answer(&self.partial, &mut answers) else { return false };
        self.partial.drain(..taken);
        self.out.send(&answers).is_ok()
    }
}

fn listen_unix(port: u16) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    net::bind(&socket, &unix_address(port)?)?;
    net::listen(&socket, 1024)?;
    Ok(socket)
}
