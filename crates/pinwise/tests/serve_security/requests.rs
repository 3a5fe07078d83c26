//! Requests as they go over the wire, each header of which a test can leave out, double or get wrong.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use serde_json::Value;

use crate::server::Server;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// A request that is not sent yet.
pub struct Request<'a> {
    server: &'a Server,
    line: String,
    headers: Vec<(String, String)>,
    body: String,
}

/// An answer.
pub struct Answer {
    pub status: u16,
    /// The lines of its head, in lower case.
    pub head: String,
    body: Vec<u8>,
}

impl Server {
    /// A request without a token: `GET /api/session`.
    pub fn ask(&self, line: &str) -> Request<'_> {
        let host = ("Host".to_string(), format!("127.0.0.1:{}", self.port));
        let (headers, body) = (vec![host, ("Connection".into(), "close".into())], String::new());
        Request { server: self, line: line.into(), headers, body }
    }

    /// A request of the page that reads.
    pub fn read(&self, path: &str) -> Request<'_> {
        self.ask(&format!("GET {path}")).with("Authorization", &format!("Bearer {}", self.token))
    }

    /// A request of the page that changes something, with all that it takes; the server is asked for what it gives its page first.
    pub fn change(&self, path: &str, body: &str) -> Request<'_> {
        let session = self.read("/api/session").answer().json();
        let csrf = session["csrf"].as_str().unwrap_or("none").to_string();
        let origin = format!("http://127.0.0.1:{}", self.port);
        let request = self.read(path).line(&format!("POST {path}")).with("Origin", &origin);
        request.with("X-Pinwise-CSRF", &csrf).with("Content-Type", "application/json").body(body)
    }

    /// A connection to it.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends bytes as they are, says that no more come, and returns what comes back until the server closes.
    pub fn raw(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.connect();
        // A server that has seen enough closes, which is an answer.
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(Shutdown::Write);
        all_of(&mut stream)
    }
}

/// All that comes; what came before the connection broke counts.
fn all_of(stream: &mut TcpStream) -> Vec<u8> {
    let (mut all, mut piece) = (Vec::new(), [0; 65_536]);
    loop {
        match stream.read(&mut piece) {
            Ok(0) => return all,
            Ok(length) => all.extend_from_slice(&piece[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => panic!("no answer comes"),
            Err(_) => return all,
        }
    }
}

impl Request<'_> {
    /// With another line: method and target.
    pub fn line(self, line: &str) -> Self {
        Self { line: line.into(), ..self }
    }

    /// With a header, in place of one of this name.
    pub fn with(self, name: &str, value: &str) -> Self {
        self.without(name).also(name, value)
    }

    /// With a further header, be there one of this name or not.
    pub fn also(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Without a header.
    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self
    }

    /// With a body.
    pub fn body(self, body: &str) -> Self {
        Self { body: body.into(), ..self }
    }

    /// Its line, for messages.
    pub fn shown(&self) -> String {
        self.line.clone()
    }

    /// As it goes over the wire.
    pub fn bytes(&self) -> Vec<u8> {
        let headers = self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        let length = match self.body.is_empty() {
            true => String::new(),
            false => format!("Content-Length: {}\r\n", self.body.len()),
        };
        format!("{} HTTP/1.1\r\n{}{length}\r\n{}", self.line, headers.collect::<String>(), self.body)
            .into_bytes()
    }

    /// Sends it, and waits for the answer.
    pub fn answer(self) -> Answer {
        let mut stream = self.server.connect();
        let _ = stream.write_all(&self.bytes());
        Answer::of(&all_of(&mut stream))
            .unwrap_or_else(|came| panic!("{}: no answer but '{came}'", self.line))
    }
}

impl Answer {
    /// What came, as an answer; as text, where it is none.
    pub fn of(all: &[u8]) -> Result<Self, String> {
        let as_text = || String::from_utf8_lossy(all).into_owned();
        let end = all.windows(4).position(|four| four == b"\r\n\r\n").ok_or_else(as_text)?;
        let head = String::from_utf8_lossy(&all[..end]).to_lowercase();
        let status =
            head.strip_prefix("http/1.").and_then(|rest| rest.get(2..5)).and_then(|code| code.parse().ok());
        Ok(Self { status: status.ok_or_else(as_text)?, head, body: all[end + 4..].to_vec() })
    }

    /// A header; empty where there is none.
    pub fn header(&self, name: &str) -> String {
        let value = self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        value.unwrap_or_default().trim().to_string()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.head, self.text()))
    }

    /// The document of an answer that is a yes.
    pub fn good(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        self.json()
    }
}
