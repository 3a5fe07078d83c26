//! What a running irqbalance says on its socket, which no file shows.
//!
//! It takes one message a connection, from root alone, and closes the connection when it has dealt with it
//! (`sock_handle` of irqbalance.c, version 1.7 and later).

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use super::ReadError;

/// `irqbalance PID` is what the irqbalance of process PID answers to `setup`: `SLEEP 10 IRQ 38 LOAD 0 DIFF 0 CLASS 0
/// BANNED 00000000`. It is kept in a capture when a reader has asked for it.
pub(crate) const IRQBALANCE: &str = "irqbalance ";

/// Folder of the sockets.
pub(crate) const FOLDER: &str = "/run/irqbalance";

/// Versions before 1.9.4 sleep for a whole round, 10 s, after a command, and do not answer meanwhile.
const PATIENCE: Duration = Duration::from_secs(30);

/// Its answer names the CPUs that it leaves alone, and is some hundred bytes long, with 4096 CPUs some 10 KiB.
const MOST_BYTES: u64 = 1 << 20;

/// Path of the socket of irqbalance `pid`.
pub(crate) fn path(pid: u32) -> String {
    format!("{FOLDER}/irqbalance{pid}.sock")
}

/// Sends `message` to the irqbalance of process `pid`, and reads until it closes the connection: it has acted on it then.
/// What is sent is up to the caller; this crate sends `setup` alone, which changes nothing.
///
/// Errors: `NotFound` or `ConnectionRefused` where nobody listens, `PermissionDenied` for all but root, `TimedOut` after
/// 30 s, `ConnectionReset` when it did not read all of the message.
pub fn exchange(pid: u32, message: &[u8]) -> io::Result<String> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    // Also for connect(2), which waits while others wait to be heard.
    set_socket_timeout(&socket, Timeout::Send, Some(PATIENCE))?;
    set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
    let mut answer = String::new();
    let mut talk = || {
        connect(&socket, &SocketAddrUnix::new(path(pid))?)?;
        let mut stream = UnixStream::from(socket.try_clone()?);
        stream.write_all(message)?;
        stream.take(MOST_BYTES).read_to_string(&mut answer).map(drop)
    };
    match talk() {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            let why = format!("irqbalance did not answer within {} s", PATIENCE.as_secs());
            Err(io::Error::new(io::ErrorKind::TimedOut, why))
        }
        result => result.map(|()| answer),
    }
}

/// Asks irqbalance `pid` for its settings. `fact` is the whole name, for errors.
pub(super) fn query(fact: &str, pid: &str) -> Result<String, ReadError> {
    let pid = pid.parse().map_err(|_| ReadError::absent(fact, "this is not a number of a process"))?;
    match exchange(pid, b"setup") {
        Ok(answer) if answer.is_empty() => {
            // It says so in its log only.
            let euid = rustix::process::geteuid();
            let denied = io::Error::from(rustix::io::Errno::PERM);
            let silent = ReadError::malformed(fact, "irqbalance closed the connection without an answer");
            Err(if euid.is_root() { silent } else { ReadError::from_io(fact, &denied) })
        }
        Ok(answer) => Ok(answer),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            Err(ReadError::absent(fact, "nobody listens on its socket"))
        }
        Err(error) => Err(ReadError::from_io(fact, &error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_listens_on_a_socket_that_is_not_there() {
        assert!(query("irqbalance 0", "0").unwrap_err().is_absent());
        assert!(query("irqbalance x", "x").unwrap_err().is_absent());
        assert_eq!(path(812), "/run/irqbalance/irqbalance812.sock");
    }
}
