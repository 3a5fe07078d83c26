use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

use super::*;

const NO_TIME: Duration = Duration::ZERO;

/// Longer than any test runs.
const LONG: Duration = Duration::from_secs(3600);

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost:9119\r\n\r\n";

/// A connection and its other end, with room for `room` bytes between them.
fn connected(
    room: usize,
    first_request: Duration,
    next: Duration,
    answer: Duration,
) -> (Connection<DuplexStream>, DuplexStream) {
    let (own, other) = duplex(room);
    (Connection::new(own, None, Limits { first_request, next, answer }), other)
}

impl<Stream> Connection<Stream> {
    /// Whether it may go on for longer than any test runs.
    fn has_long(&self) -> bool {
        self.deadline.deadline() > Instant::now() + LONG / 2
    }
}

fn of(text: &[u8]) -> Head {
    text.iter().fold(Head::default(), |head, byte| head.after(*byte))
}

#[test]
fn a_head_ends_with_an_empty_line() {
    for whole in [
        REQUEST,
        b"GET / HTTP/1.1\n\n",
        b"GET / HTTP/1.1\n\r\n",
        b"\r\n\r\nGET / HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\n\r\n{\n",
    ] {
        assert_eq!(of(whole), Head::Complete, "{}", whole.escape_ascii());
    }
    for length in 0..REQUEST.len() {
        assert_ne!(of(&REQUEST[..length]), Head::Complete, "{length} bytes of it");
    }
    for part in [&b"\r\n\r\n\n\n"[..], b"GET / HTTP/1.1\r\n \r\n", b"GET / HTTP/1.1\r\r", b"a\nb\nc\n"] {
        assert_ne!(of(part), Head::Complete, "{}", part.escape_ascii());
    }
}

#[tokio::test]
async fn whoever_sends_no_whole_request_is_let_go() {
    for part in [&b""[..], b"G", &REQUEST[..REQUEST.len() - 1]] {
        let (mut connection, mut other) = connected(64, NO_TIME, LONG, LONG);
        other.write_all(part).await.unwrap();
        let mut came = vec![0; part.len()];
        connection.read_exact(&mut came).await.unwrap();
        let error = connection.read_u8().await.unwrap_err();
        assert_eq!((came.as_slice(), error.kind()), (part, ErrorKind::TimedOut));
    }
}

#[tokio::test]
async fn a_request_gives_the_server_time_and_its_answer_takes_it_away_again() {
    let (mut connection, mut other) = connected(64, NO_TIME, NO_TIME, LONG);
    assert!(!connection.has_long());
    other.write_all(REQUEST).await.unwrap();
    let mut came = vec![0; REQUEST.len()];
    connection.read_exact(&mut came).await.unwrap();
    assert!(connection.has_long() && came == REQUEST);
    connection.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
    assert!(!connection.has_long());
    assert_eq!(connection.read_u8().await.unwrap_err().kind(), ErrorKind::TimedOut);
}

#[tokio::test]
async fn who_does_not_take_the_answer_is_let_go() {
    let (mut connection, other) = connected(4, LONG, NO_TIME, LONG);
    assert_eq!(connection.write_all(b"more than four").await.unwrap_err().kind(), ErrorKind::TimedOut);
    drop(other);
}

#[tokio::test]
async fn all_that_was_sent_arrives_and_the_end_with_it() {
    let (mut connection, mut other) = connected(4, LONG, LONG, LONG);
    let sends = async {
        other.write_all(REQUEST).await.unwrap();
        other.shutdown().await.unwrap();
    };
    let mut came = Vec::new();
    let (read, ()) = tokio::join!(connection.read_to_end(&mut came), sends);
    assert_eq!((read.unwrap(), came.as_slice()), (REQUEST.len(), REQUEST));
}

#[tokio::test]
async fn so_many_connections_are_open_at_a_time() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut bounded = Bounded { listener, free: Arc::new(Semaphore::new(1)) };
    let (_one, _two) =
        (TcpStream::connect(address).await.unwrap(), TcpStream::connect(address).await.unwrap());
    let (first, _) = bounded.accept().await;
    assert_eq!(bounded.free.available_permits(), 0);
    drop(first);
    let (second, _) = bounded.accept().await;
    assert_eq!(bounded.free.available_permits(), 0);
    drop(second);
    assert_eq!((bounded.free.available_permits(), Listener::local_addr(&bounded).unwrap()), (1, address));
}
