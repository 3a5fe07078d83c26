use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

use super::*;

/// No test waits for so long.
const AMPLE: Duration = Duration::from_secs(60);

/// What a server that answers one connection so gives.
fn fetched(within: Duration, answer: impl FnOnce(TcpStream) + Send + 'static) -> Result<String, String> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || answer(listener.accept().unwrap().0));
    let url = Url::of(&format!("http://{address}/metrics")).unwrap();
    let fetched = fetch(&[address], &url, within);
    // Where the time was over before there was a connection, the server still waits for one.
    let _ = TcpStream::connect(address);
    server.join().unwrap();
    fetched
}

/// Reads the request to its end.
fn request(stream: &mut TcpStream) -> String {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
        request.push(byte[0]);
    }
    String::from_utf8(request).unwrap()
}

/// A server that reads the request and answers with these bytes.
fn says(answer: &str) -> impl FnOnce(TcpStream) + Send + use<> {
    let answer = answer.to_string();
    move |mut stream| {
        assert!(request(&mut stream).starts_with("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:"));
        // The other side may have seen enough.
        let _ = stream.write_all(answer.as_bytes());
    }
}

#[test]
fn an_exposition_is_fetched_however_it_is_framed() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\na 1\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n3\r\n 1\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\na 1\n",
    ] {
        assert_eq!(fetched(AMPLE, says(answer)).unwrap(), "a 1\n");
    }
}

#[test]
fn an_answer_in_whole_is_enough_though_the_connection_stays() {
    let (done, is_done): (_, Receiver<()>) = channel();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        request(&mut stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\na 1\n").unwrap();
        let _ = is_done.recv();
    });
    let url = Url::of(&format!("http://{address}/metrics")).unwrap();
    assert_eq!(fetch(&[address], &url, AMPLE).unwrap(), "a 1\n");
    drop(done);
    server.join().unwrap();
}

#[test]
fn redirects_and_errors_are_named() {
    let redirect = "HTTP/1.1 301 Moved\r\nLocation: https://a/metrics\r\nContent-Length: 0\r\n\r\n";
    assert!(fetched(AMPLE, says(redirect)).unwrap_err().contains("https://a/metrics"));
    let error = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n";
    assert!(fetched(AMPLE, says(error)).unwrap_err().contains("500 Internal Server Error"));
    assert!(fetched(AMPLE, says("")).unwrap_err().contains("without an answer"));
}

#[test]
fn an_answer_without_end_is_cut_off_by_its_length() {
    let too_long = fetched(AMPLE, |mut stream| {
        request(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while stream.write_all(&[b'a'; 65_536]).is_ok() {}
    });
    assert!(too_long.unwrap_err().contains("more than 16 MiB"));
}

#[test]
fn an_answer_that_never_comes_or_drips_is_given_up() {
    let within = Duration::from_millis(50);
    let silent = fetched(within, |mut stream| {
        request(&mut stream);
        // Until the other side gives up.
        let _ = stream.read_exact(&mut [0]);
    });
    assert!(silent.unwrap_err().contains("within 0.05 s"));
    let drips = fetched(within, |mut stream| {
        request(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nX: ");
        while stream.write_all(b"a").is_ok() {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    assert!(drips.unwrap_err().contains("within 0.05 s"));
}

#[test]
fn where_nobody_listens_the_address_is_named() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = Url::of(&format!("http://{address}/")).unwrap();
    assert!(fetch(&[address], &url, AMPLE).unwrap_err().contains(&address.to_string()));
    assert!(fetch(&[], &url, AMPLE).unwrap_err().contains("no address"));
}
