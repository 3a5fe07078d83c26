//! A server of HTTP on a thread of its own, that hands out the last page. It is never waited for: a page is put in, and who asks takes it.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use machine::{Class, Fault};
use report::account::openmetrics::Form;

use super::request::{Wanted, wanted};

/// Connections that are answered at a time; others are sent away.
const MOST_CONNECTIONS: usize = 8;

/// How long a request may take to come, and an answer to be taken.
const PATIENCE: Duration = Duration::from_secs(2);

/// The longest request, bytes.
const MOST_BYTES: usize = 8 << 10;

/// The pause after a connection could not be accepted: no file is free, or the like.
const PAUSE: Duration = Duration::from_millis(100);

const HINT: &str = "pinwise: metrics are at /metrics\n";
const PLAIN: &str = "text/plain; charset=utf-8";

/// A page in both forms.
#[derive(Debug)]
pub(super) struct Shown {
    /// As OpenMetrics.
    pub(super) open_metrics: String,
    /// In the text format of before.
    pub(super) prometheus: String,
}

/// Before the first interval is over: without metrics, and valid in either form.
impl Default for Shown {
    fn default() -> Self {
        Self { open_metrics: "# EOF\n".into(), prometheus: String::new() }
    }
}

/// The last page.
type Last = Arc<Mutex<Arc<Shown>>>;

/// It listens until the process ends.
pub(super) struct Server {
    at: SocketAddr,
    last: Last,
}

impl Server {
    /// Listens.
    ///
    /// # Errors
    /// The address is taken, is none of this host, or is not permitted.
    pub(super) fn begin(address: SocketAddr) -> Result<Self, Fault> {
        let refused = |e: &io::Error| {
            let class = match e.kind() {
                io::ErrorKind::PermissionDenied => Class::NotPermitted,
                _ => Class::MachineLacks,
            };
            let remedy = "choose another port, and an address of this host (ss -ltnp shows which are taken)";
            Fault::new(class, format!("--openmetrics {address}"), e, remedy)
        };
        let listener = TcpListener::bind(address).map_err(|e| refused(&e))?;
        let at = listener.local_addr().map_err(|e| refused(&e))?;
        let last = Last::default();
        let to_show = Arc::clone(&last);
        let serve = move || serve(&listener, &to_show);
        thread::Builder::new().name("metrics".into()).spawn(serve).map_err(|e| refused(&e))?;
        Ok(Self { at, last })
    }

    /// Where it listens.
    pub(super) fn at(&self) -> SocketAddr {
        self.at
    }

    /// From now on this page is handed out.
    pub(super) fn show(&self, shown: Shown) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(shown);
    }
}

fn serve(listener: &TcpListener, last: &Last) {
    let open = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            thread::sleep(PAUSE);
            continue;
        };
        // Only this thread adds, so that there are never more.
        if open.load(Ordering::Acquire) >= MOST_CONNECTIONS {
            let _ = send(&stream, "503 Service Unavailable", PLAIN, "", "too many connections\n");
            continue;
        }
        open.fetch_add(1, Ordering::AcqRel);
        let (own, last) = (Arc::clone(&open), Arc::clone(last));
        let answer = move || {
            // Who goes away in the middle has no answer.
            let _ = answer(&stream, &last);
            own.fetch_sub(1, Ordering::AcqRel);
        };
        if thread::Builder::new().name("scrape".into()).spawn(answer).is_err() {
            open.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

fn answer(stream: &TcpStream, last: &Last) -> io::Result<()> {
    let Some(request) = request(stream)? else {
        return send(stream, "431 Request Header Fields Too Large", PLAIN, "", "the request is too long\n");
    };
    match wanted(&request) {
        Wanted::Metrics(form) => {
            let shown = Arc::clone(&last.lock().unwrap_or_else(PoisonError::into_inner));
            let page = match form {
                Form::OpenMetrics => &shown.open_metrics,
                Form::Prometheus => &shown.prometheus,
            };
            send(stream, "200 OK", form.content_type(), "", page)
        }
        Wanted::Hint => send(stream, "200 OK", PLAIN, "", HINT),
        Wanted::NoSuchPath => send(stream, "404 Not Found", PLAIN, "", HINT),
        Wanted::OtherMethod => send(stream, "405 Method Not Allowed", PLAIN, "Allow: GET\r\n", "only GET\n"),
        Wanted::Malformed => send(stream, "400 Bad Request", PLAIN, "", "this is not a request of HTTP/1\n"),
    }
}

/// The request up to its empty line; `None` where it is too long.
fn request(mut stream: &TcpStream) -> io::Result<Option<Vec<u8>>> {
    let until = Instant::now() + PATIENCE;
    let mut request: Vec<u8> = Vec::new();
    let mut piece = [0; 1_024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        if request.len() >= MOST_BYTES {
            return Ok(None);
        }
        // A timeout of 0 would be none at all.
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut piece)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => request.extend_from_slice(&piece[..read]),
        }
    }
    Ok(Some(request))
}

fn send(mut stream: &TcpStream, status: &str, content_type: &str, more: &str, body: &str) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n{more}Cache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> Server {
        let server = Server::begin("127.0.0.1:0".parse().unwrap()).unwrap();
        server.show(Shown { open_metrics: "# EOF\n".into(), prometheus: "plain 1\n".into() });
        server
    }

    fn connect(server: &Server) -> TcpStream {
        let stream = TcpStream::connect(server.at()).unwrap();
        // Long beyond any answer: a test that waits in vain ends.
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// All that comes back.
    fn taken(mut stream: TcpStream) -> String {
        let mut answer = Vec::new();
        let mut piece = [0; 1_024];
        // Who is sent away before the request was read sees the connection reset after the answer.
        while let Ok(read) = stream.read(&mut piece)
            && read > 0
        {
            answer.extend_from_slice(&piece[..read]);
        }
        String::from_utf8(answer).unwrap()
    }

    fn get(server: &Server, request: &str) -> String {
        let mut stream = connect(server);
        stream.write_all(request.as_bytes()).unwrap();
        taken(stream)
    }

    #[test]
    fn the_last_page_is_handed_out_in_the_form_that_is_asked_for() {
        let server = server();
        let answer = get(&server, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(
            answer.contains("application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"),
            "{answer}"
        );
        assert!(answer.contains("Content-Length: 6\r\n") && answer.ends_with("\r\n\r\n# EOF\n"), "{answer}");
        let answer = get(&server, "GET /metrics HTTP/1.1\r\nAccept: text/plain\r\n\r\n");
        assert!(answer.contains("text/plain; version=0.0.4; charset=utf-8\r\n"), "{answer}");
        assert!(answer.ends_with("\r\n\r\nplain 1\n"), "{answer}");
        server.show(Shown { open_metrics: "later".into(), prometheus: String::new() });
        assert!(get(&server, "GET /metrics HTTP/1.1\r\n\r\n").ends_with("\r\n\r\nlater"));
    }

    #[test]
    fn before_the_first_interval_the_page_is_valid_and_has_no_metrics() {
        let server = Server::begin("127.0.0.1:0".parse().unwrap()).unwrap();
        let answer = get(&server, "GET /metrics HTTP/1.1\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\n# EOF\n"), "{answer}");
        let answer = get(&server, "GET /metrics HTTP/1.1\r\nAccept: text/plain\r\n\r\n");
        assert!(answer.contains("Content-Length: 0\r\n") && answer.ends_with("\r\n\r\n"), "{answer}");
    }

    #[test]
    fn what_is_not_there_is_refused_and_says_where_to_look() {
        let server = server();
        let answer = get(&server, "GET / HTTP/1.1\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("/metrics"), "{answer}");
        assert!(get(&server, "GET /x HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(get(&server, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
        assert!(get(&server, "hello\r\n\r\n").starts_with("HTTP/1.1 400 "));
    }

    #[test]
    fn a_request_without_an_end_is_cut_off() {
        let server = server();
        let mut stream = connect(&server);
        // No more than is read, so that the answer is not lost with a reset.
        stream.write_all(&[b'x'; MOST_BYTES]).unwrap();
        assert!(taken(stream).starts_with("HTTP/1.1 431 "));
    }

    #[test]
    fn who_connects_and_says_nothing_keeps_nobody_else_from_being_answered() {
        let server = server();
        let silent: Vec<TcpStream> = (0..MOST_CONNECTIONS - 1).map(|_| connect(&server)).collect();
        assert!(get(&server, "GET /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200 "));
        drop(silent);
    }

    #[test]
    fn an_address_that_is_taken_is_refused() {
        let server = server();
        let refused = Server::begin(server.at()).map(|server| server.at()).unwrap_err();
        assert_eq!(refused.class, Class::MachineLacks);
        assert!(refused.object.contains(&server.at().to_string()), "{refused}");
    }
}
