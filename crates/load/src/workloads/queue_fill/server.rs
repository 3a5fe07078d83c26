//! The built-in queue server: it keeps messages in its memory, each in an allocation of its own, and gives them back in the order in
//! which they came. A thread a client, one queue for all.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError};

use machine::{Class, Fault};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::protocol::{HEAD_BYTES, Kind, head, read_head};
use crate::flags::Flags;
use crate::{signals, sockets};

/// Where the queue server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueOptions {
    /// Address to listen on.
    pub address: IpAddr,
    /// TCP port; 0 lets the kernel choose.
    pub port: u16,
}

impl QueueOptions {
    /// Reads `--port P [--address A]`. Fails on unknown, missing or malformed flags.
    pub fn from_args(args: &[String]) -> Result<Self, Fault> {
        let mut given = Flags::parse("queue-server", args, &[])?;
        let options = Self {
            address: given.optional("address")?.unwrap_or(IpAddr::from([127, 0, 0, 1])),
            port: given.required("port")?,
        };
        given.finish()?;
        Ok(options)
    }
}

/// Serves until SIGTERM or SIGINT arrives; the hidden verb `pinwise queue-server`.
///
/// Fails when it cannot listen, or when the kernel refuses a call that it needs.
pub fn serve(options: &QueueOptions) -> Result<(), Fault> {
    let signals = signals::terminate().map_err(|e| failed("signalfd", e))?;
    QueueServer::bind(options)?.run(signals.as_fd())
}

fn failed(object: &str, error: Errno) -> Fault {
    let remedy = format!("try again; if it fails again, {}", machine::IS_A_BUG);
    Fault::new(Class::WorkloadFailed, object, error, remedy)
}

/// What is kept.
#[derive(Debug, Default)]
struct Queue {
    messages: VecDeque<Vec<u8>>,
    bytes: u64,
}

impl Queue {
    /// Keeps a message; gives how many there are now.
    fn put(&mut self, message: Vec<u8>) -> u64 {
        self.bytes += message.len() as u64;
        self.messages.push_back(message);
        self.messages.len() as u64
    }

    fn get(&mut self) -> Option<Vec<u8>> {
        let message = self.messages.pop_front()?;
        self.bytes -= message.len() as u64;
        Some(message)
    }
}

/// A queue server that listens already.
#[derive(Debug)]
pub struct QueueServer {
    listener: TcpListener,
    local: SocketAddr,
    queue: Arc<Mutex<Queue>>,
}

impl QueueServer {
    /// Listens. Fails as [`serve`] does.
    pub fn bind(options: &QueueOptions) -> Result<Self, Fault> {
        let at = SocketAddr::new(options.address, options.port);
        let cannot = |error: io::Error| {
            sockets::cannot_listen(at, Errno::from_io_error(&error).unwrap_or(Errno::INVAL))
        };
        let listener = TcpListener::bind(at).map_err(cannot)?;
        listener.set_nonblocking(true).map_err(cannot)?;
        let local = listener.local_addr().map_err(cannot)?;
        Ok(Self { listener, local, queue: Arc::default() })
    }

    /// Where it really listens.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// Serves until `stop` becomes readable; clients that are still there are served until they leave, or the process ends.
    ///
    /// Fails when poll(2) does.
    pub fn run(self, stop: BorrowedFd<'_>) -> Result<(), Fault> {
        loop {
            let mut awaited =
                [PollFd::new(&self.listener, PollFlags::IN), PollFd::from_borrowed_fd(stop, PollFlags::IN)];
            match poll(&mut awaited, None) {
                Err(Errno::INTR) => continue,
                other => other.map_err(|e| failed("queue server", e))?,
            };
            if !awaited[1].revents().is_empty() {
                return Ok(());
            }
            // One that ended before it was accepted is no fault (accept(2)).
            if let Ok((client, _)) = self.listener.accept() {
                let queue = Arc::clone(&self.queue);
                // What a client breaks off concerns nobody else.
                std::thread::spawn(move || _ = attend(client, &queue));
            }
        }
    }
}

/// Answers one client until it leaves.
fn attend(mut client: TcpStream, queue: &Mutex<Queue>) -> io::Result<()> {
    client.set_nonblocking(false)?;
    client.set_nodelay(true)?;
    let queue = || queue.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let mut asked = [0; HEAD_BYTES];
        client.read_exact(&mut asked)?;
        match read_head(&asked) {
            Some((Kind::Put, bytes)) => {
                let message = received(&mut client, bytes)?;
                let kept = queue().put(message);
                client.write_all(&[&head(Kind::Kept, 8)[..], &kept.to_le_bytes()].concat())?;
            }
            Some((Kind::Get, 0)) => {
                // The lock is let go before the message is sent.
                let oldest = queue().get();
                match oldest {
                    None => client.write_all(&head(Kind::Empty, 0))?,
                    Some(message) => {
                        client.write_all(&head(Kind::Message, message.len() as u64))?;
                        client.write_all(&message)?;
                    }
                }
            }
            Some((Kind::Count, 0)) => {
                let (messages, bytes) = {
                    let kept = queue();
                    (kept.messages.len() as u64, kept.bytes)
                };
                let counts = [messages.to_le_bytes(), bytes.to_le_bytes()].concat();
                client.write_all(&[&head(Kind::Counts, 16)[..], &counts].concat())?;
            }
            _ => return Err(io::Error::from(io::ErrorKind::InvalidData)),
        }
    }
}

/// So many bytes, in an allocation of exactly that size that is written once: each page is touched when its bytes come.
fn received(client: &mut TcpStream, bytes: u64) -> io::Result<Vec<u8>> {
    let mut message = Vec::new();
    message.try_reserve_exact(bytes as usize).map_err(io::Error::other)?;
    match client.take(bytes).read_to_end(&mut message)? as u64 == bytes {
        true => Ok(message),
        false => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client of a server that runs until the process ends.
    fn client() -> TcpStream {
        let server =
            QueueServer::bind(&QueueOptions { address: IpAddr::from([127, 0, 0, 1]), port: 0 }).unwrap();
        let at = server.local_address();
        std::thread::spawn(move || {
            let (stop, _kept) = rustix::pipe::pipe().unwrap();
            server.run(stop.as_fd()).unwrap();
        });
        TcpStream::connect(at).unwrap()
    }

    fn asked(client: &mut TcpStream, kind: Kind, body: &[u8]) -> (Kind, Vec<u8>) {
        client.write_all(&head(kind, body.len() as u64)).unwrap();
        client.write_all(body).unwrap();
        let mut answer = [0; HEAD_BYTES];
        client.read_exact(&mut answer).unwrap();
        let (kind, bytes) = read_head(&answer).unwrap();
        let mut body = vec![0; bytes as usize];
        client.read_exact(&mut body).unwrap();
        (kind, body)
    }

    #[test]
    fn messages_come_back_in_order_and_are_counted() {
        let mut client = client();
        let large = vec![7; 3 << 20];
        assert_eq!(asked(&mut client, Kind::Put, &large), (Kind::Kept, 1u64.to_le_bytes().into()));
        assert_eq!(asked(&mut client, Kind::Put, b"second").1, 2u64.to_le_bytes());
        let counts = [2u64.to_le_bytes(), (large.len() as u64 + 6).to_le_bytes()].concat();
        assert_eq!(asked(&mut client, Kind::Count, b""), (Kind::Counts, counts));
        assert_eq!(asked(&mut client, Kind::Get, b""), (Kind::Message, large));
        assert_eq!(asked(&mut client, Kind::Get, b"").1, b"second");
        assert_eq!(asked(&mut client, Kind::Get, b""), (Kind::Empty, Vec::new()));
    }

    #[test]
    fn who_speaks_otherwise_is_hung_up_on() {
        let mut client = client();
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        // The end, or a reset where bytes were left unread.
        assert_eq!(client.read(&mut [0; 10]).unwrap_or(0), 0);
    }

    #[test]
    fn flags_are_read_and_named() {
        let args = |words: &[&str]| words.iter().map(|w| w.to_string()).collect::<Vec<_>>();
        assert_eq!(QueueOptions::from_args(&args(&["--port", "70"])).unwrap().port, 70);
        assert!(QueueOptions::from_args(&args(&["--prt", "70"])).unwrap_err().to_string().contains("--port"));
    }
}
