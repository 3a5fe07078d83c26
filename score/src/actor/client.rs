//! Clients that are slow on purpose.

use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

/// How a client asks, and how slow it is.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Client {
    #[arg(long)]
    port: u16,
    /// It computes for so long between requests, us
    #[arg(long, default_value_t = 0)]
    think_us: u64,
    /// It sleeps for so long between requests, us
    #[arg(long, default_value_t = 0)]
    sleep_us: u64,
    /// It asks without waiting, and reads 4 KiB between its pauses
    #[arg(long)]
    read_slowly: bool,
    /// Length of an answer, KiB: for counting those that it has read in part
    #[arg(long, default_value_t = 0)]
    answer_kib: u64,
    /// It ends after so long, s, and reports how many requests were answered in a second, as `pinwise drive` does
    #[arg(long)]
    seconds: Option<f64>,
}

/// What an answer ends with.
const PONG: &str = "pong\n";

/// Plays it until its time is over, or the server has gone.
pub(super) fn run(client: &Client) -> io::Result<()> {
    let connection = TcpStream::connect(("127.0.0.1", client.port))?;
    connection.set_nodelay(true)?;
    let began = Instant::now();
    let is_over = || client.seconds.is_some_and(|seconds| began.elapsed().as_secs_f64() >= seconds);
    let answers = match client.read_slowly {
        true => read_slowly(client, connection, is_over)?,
        false => wait_for_each(client, connection, is_over)?,
    };
    let report = report(answers / began.elapsed().as_secs_f64());
    if client.seconds.is_some() { writeln!(io::stdout(), "{report}") } else { Ok(()) }
}

fn report(requests_per_s: f64) -> serde_json::Value {
    serde_json::json!({ "outcome": { "figures": { "requests_per_s": requests_per_s } } })
}

/// How many requests were answered.
fn wait_for_each(client: &Client, connection: TcpStream, is_over: impl Fn() -> bool) -> io::Result<f64> {
    let mut to = connection.try_clone()?;
    let mut lines = BufReader::new(connection);
    let (mut line, mut answers) = (String::new(), 0u64);
    while !is_over() {
        to.write_all(b"ping\n")?;
        line.clear();
        if lines.read_line(&mut line)? == 0 {
            break;
        }
        answers += 1;
        super::spin(client.think_us);
        if client.sleep_us > 0 {
            thread::sleep(Duration::from_micros(client.sleep_us));
        }
    }
    Ok(answers as f64)
}

/// How many answers were read, the last of them in part.
fn read_slowly(client: &Client, mut connection: TcpStream, is_over: impl Fn() -> bool) -> io::Result<f64> {
    let mut buffer = vec![0; 4096];
    let mut bytes = 0u64;
    while !is_over() {
        connection.write_all(b"ping\n")?;
        connection.read_exact(&mut buffer)?;
        bytes += buffer.len() as u64;
        thread::sleep(Duration::from_micros(client.sleep_us));
    }
    Ok(bytes as f64 / ((client.answer_kib << 10) + PONG.len() as u64) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_reports_where_a_study_looks_for_the_figure() {
        assert_eq!(report(12.5).pointer(crate::explained::FIGURE), Some(&serde_json::json!(12.5)));
    }
}
