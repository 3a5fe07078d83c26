//! Fetches an exposition by HTTP/1.1 over plain TCP, within a time and up to a bound.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::answer::Answer;
use super::url::Url;

/// The body of the answer. The error says why there is none: nobody listens, the time is over, or the answer is no text with status 200.
///
/// `within` is the time for all of it, however slowly the answer comes.
pub(super) fn fetch(addresses: &[SocketAddr], url: &Url, within: Duration) -> Result<String, String> {
    let until = Instant::now() + within;
    let late = || format!("did not answer in whole within {} s", within.as_secs_f64());
    let mut stream = connect(addresses, until, &late)?;
    let broken = |why: std::io::Error| match why.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => late(),
        _ => format!("ends the connection: {why}"),
    };
    stream.set_write_timeout(Some(left(until).ok_or_else(late)?)).map_err(broken)?;
    stream.write_all(url.request().as_bytes()).map_err(broken)?;
    let mut answer = Answer::default();
    let mut piece = vec![0; 64 << 10];
    loop {
        stream.set_read_timeout(Some(left(until).ok_or_else(late)?)).map_err(broken)?;
        match stream.read(&mut piece) {
            Ok(0) => return answer.closed(),
            Ok(n) => {
                if answer.take(&piece[..n])? {
                    return answer.closed();
                }
            }
            Err(why) if why.kind() == ErrorKind::Interrupted => {}
            Err(why) => return Err(broken(why)),
        }
    }
}

/// A connection to the first of the addresses that takes one.
fn connect(addresses: &[SocketAddr], until: Instant, late: &dyn Fn() -> String) -> Result<TcpStream, String> {
    let mut last = "has no address".to_string();
    for address in addresses {
        let left = left(until).ok_or_else(late)?;
        match TcpStream::connect_timeout(address, left) {
            Ok(stream) => return Ok(stream),
            Err(why) if why.kind() == ErrorKind::TimedOut => last = late(),
            Err(why) => last = format!("does not take a connection at {address}: {why}"),
        }
    }
    Err(last)
}

/// How long it is until then; none when that is past.
fn left(until: Instant) -> Option<Duration> {
    until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
}

#[cfg(test)]
mod tests;
