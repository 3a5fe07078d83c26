//! The spinning task as a server: one thread spins, another one listens for who asks. `watch SECONDS`, a line, is answered by a line of
//! JSON ([`Taken`](super::Taken)) when the time is over; the task spins all the while, asked or not.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use machine::{Class, Fault};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{self, SocketFlags, SocketType};

use super::task::{self, Order};
use crate::flags::Flags;
use crate::{signals, sockets};

/// The longest window, s.
pub(super) const LONGEST_S: f64 = 86_400.0;

/// Longer lines are no question, bytes.
const LONGEST_LINE_BYTES: u64 = 64;

/// Where it listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpinOptions {
    /// Address.
    pub address: IpAddr,
    /// TCP port; 0 lets the kernel choose (see [`SpinServer::local_address`]).
    pub port: u16,
}

impl SpinOptions {
    /// Reads `--address A --port P`. Fails on unknown, missing or malformed flags.
    pub fn from_args(args: &[String]) -> Result<Self, Fault> {
        let mut given = Flags::parse("spin-server", args, &[])?;
        let options = Self {
            address: given.optional("address")?.unwrap_or(IpAddr::from([127, 0, 0, 1])),
            port: given.required("port")?,
        };
        given.finish()?;
        Ok(options)
    }
}

/// Spins and answers until SIGTERM or SIGINT arrives; the hidden verb `pinwise spin-server`.
///
/// Fails when it cannot listen, or when the kernel refuses a thread or a call that it needs.
pub fn serve(options: &SpinOptions) -> Result<(), Fault> {
    let signals = signals::terminate().map_err(|e| failed("signalfd", &e))?;
    SpinServer::bind(options)?.run(signals.as_fd())
}

/// A task that spins already, and listens.
pub struct SpinServer {
    listener: OwnedFd,
    local: SocketAddr,
    orders: Sender<Order>,
}

impl SpinServer {
    /// Listens, and begins to spin. Fails as [`serve`] does.
    pub fn bind(options: &SpinOptions) -> Result<Self, Fault> {
        let at = SocketAddr::new(options.address, options.port);
        let listen = || {
            let listener = sockets::bound(at, SocketType::STREAM)?;
            net::listen(&listener, 64).map(|()| listener)
        };
        let listener = listen().map_err(|error| sockets::cannot_listen(at, error))?;
        let local = sockets::local_address(&listener, at)?;
        let (orders, asked) = mpsc::channel();
        let thread = std::thread::Builder::new().name("spin".into()).spawn(move || task::spin(&asked));
        thread.map_err(|e| failed("spinning thread", &e))?;
        Ok(Self { listener, local, orders })
    }

    /// Where it really listens.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// Answers until `stop` becomes readable. Fails when poll does.
    pub fn run(self, stop: BorrowedFd<'_>) -> Result<(), Fault> {
        loop {
            let mut fds =
                [PollFd::from_borrowed_fd(stop, PollFlags::IN), PollFd::new(&self.listener, PollFlags::IN)];
            match poll(&mut fds, None) {
                Err(Errno::INTR) => continue,
                other => other.map_err(|e| failed("poll", &e))?,
            };
            if !fds[0].revents().is_empty() {
                return Ok(());
            }
            // One that has gone again before it was taken is no matter.
            let Ok(client) = net::accept_with(&self.listener, SocketFlags::CLOEXEC) else { continue };
            let orders = self.orders.clone();
            let answering = std::thread::Builder::new().name("asked".into());
            let answering = answering.spawn(move || answer(TcpStream::from(client), &orders));
            answering.map_err(|e| failed("answering thread", &e))?;
        }
    }
}

fn failed(object: &str, error: &dyn std::fmt::Display) -> Fault {
    Fault::new(Class::WorkloadFailed, object, error, "check the limits of tasks and of open files")
}

/// One client: its question, and the answer once the task has it. A client that goes gets no answer.
fn answer(client: TcpStream, orders: &Sender<Order>) {
    let mut line = String::new();
    let heard = BufReader::new(&client).take(LONGEST_LINE_BYTES).read_line(&mut line);
    if !heard.is_ok_and(|bytes| bytes > 0) {
        return;
    }
    let answer = match window(&line) {
        Err(why) => format!("error: {why}\n"),
        Ok(window) => {
            let (answer, answered) = mpsc::channel();
            let asked = orders.send(Order { window, answer });
            let Some(taken) = asked.ok().and_then(|()| answered.recv().ok()) else { return };
            serde_json::to_string(&taken).map_or_else(|why| format!("error: {why}\n"), |json| json + "\n")
        }
    };
    let _ = (&client).write_all(answer.as_bytes());
}

/// `watch SECONDS`.
fn window(line: &str) -> Result<Duration, String> {
    let seconds = line.trim_end().strip_prefix("watch ").ok_or("say: watch SECONDS")?;
    let seconds: f64 = seconds.parse().map_err(|why| format!("{why}: say how many seconds"))?;
    match seconds > 0.0 && seconds <= LONGEST_S {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err(format!("choose above 0, to {LONGEST_S} seconds")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_has_its_seconds_and_nothing_else() {
        assert_eq!(window("watch 0.5\n"), Ok(Duration::from_millis(500)));
        for bad in ["", "watch", "watch \n", "watch -1\n", "watch nan\n", "watch 1e9\n", "spin 1\n"] {
            assert!(window(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn flags_are_read() {
        let args = |words: &str| words.split_whitespace().map(String::from).collect::<Vec<_>>();
        assert_eq!(SpinOptions::from_args(&args("--port 7")).unwrap().port, 7);
        assert!(SpinOptions::from_args(&args("--port 7 --cpu 1")).unwrap_err().to_string().contains("--cpu"));
    }
}
