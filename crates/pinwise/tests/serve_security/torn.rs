//! What is no request, or not all of one, and the end of the server.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::place::Place;
use crate::requests::Answer;
use crate::server::Server;

/// Connections that say nothing.
const SILENT: usize = 20;

#[test]
fn what_is_no_request_ends_no_server() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let (long, port) = ("a".repeat(1 << 20), server.port);
    let with = |rest: &str| format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{rest}");
    let many: String = (0..10_000).map(|n| format!("X-{n}: {n}\r\n")).collect();
    let torn = [
        String::new(),
        "G".into(),
        "GET".into(),
        "GET / HTTP/1.1\r\nHost".into(),
        "GET / HTTP/9.9\r\n\r\n".into(),
        "GET\0/ HTTP/1.1\r\n\r\n".into(),
        "\r\n\r\n\r\n\r\n".into(),
        "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{fc}\u{3}\u{3}".into(),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".into(),
        format!("GET /{long} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"),
        format!("GET /?{long}"),
        long.clone(),
        with(&format!("X: {long}\r\n\r\n")),
        with(&format!("{long}\r\n\r\n")),
        with(&format!("{many}\r\n")),
        with("Content-Length: -1\r\n\r\n"),
        with("Content-Length: 99999999999999999999999\r\n\r\n"),
        with("Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
        with("Content-Length: 100\r\n\r\nabc"),
        with("Transfer-Encoding: chunked\r\n\r\nzz\r\n"),
        with("Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"),
        with("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc"),
    ];
    for request in torn {
        let shown: String = request.chars().take(60).collect();
        let answer = Answer::of(&server.raw(request.as_bytes()));
        // A page that is asked for with a body is handed out, or refused; the rest is refused, or not answered.
        assert!(
            answer.is_err() || answer.is_ok_and(|answer| answer.status == 200 || answer.status >= 400),
            "{shown:?}"
        );
        assert_eq!(server.read("/api/session").answer().status, 200, "after {shown:?}: {}", server.said());
    }
}

#[test]
fn who_connects_and_says_nothing_keeps_nobody_else_from_an_answer() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let silent: Vec<TcpStream> = (0..SILENT).map(|_| server.connect()).collect();
    for mut half in &silent[..SILENT / 2] {
        half.write_all(b"GET /api/session HTTP/1.1\r\nHo").unwrap();
    }
    assert_eq!(server.read("/api/session").answer().status, 200);
}

/// Opens the stream of live figures, and reads the head of it.
fn live(server: &Server) -> TcpStream {
    let mut stream = server.connect();
    stream.write_all(&server.read("/api/live").bytes()).unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = Answer::of(&head).unwrap_or_else(|came| panic!("{came}"));
    assert_eq!(
        (head.status, head.header("content-type").as_str()),
        (200, "text/event-stream"),
        "{}",
        head.head
    );
    stream
}

#[test]
fn it_ends_when_it_is_asked_to_with_a_reader_connected() {
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let place = Place::new();
        let mut server = Server::start(&place, &[]);
        let (_looks, _silent) = (live(&server), server.connect());
        server.signal(signal);
        let status = server.ended();
        assert_eq!(status.code(), Some(0), "signal {signal}: {status}, {}", server.said());
        assert!(TcpStream::connect(("127.0.0.1", server.port)).is_err(), "nobody listens any more");
    }
}
