use super::*;

/// The body of an answer that comes in pieces of so many bytes, and whether it was in whole before the connection ended.
fn of(text: &str, piece: usize) -> Result<(String, bool), String> {
    let mut answer = Answer::default();
    let mut whole = false;
    for bytes in text.as_bytes().chunks(piece) {
        whole = answer.take(bytes)?;
    }
    answer.closed().map(|body| (body, whole))
}

#[test]
fn a_body_ends_by_its_length_its_chunks_or_the_connection() {
    for piece in [1, 2, 3, 7, 1000] {
        let sized = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\na 1\nrest";
        assert_eq!(of(sized, piece).unwrap(), ("a 1\n".into(), true), "{piece}");
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na 1\r\n1;x=y\r\n\n\r\n0\r\nT: x\r\n\r\n";
        assert_eq!(of(chunked, piece).unwrap(), ("a 1\n".into(), true), "{piece}");
        let closed = "HTTP/1.0 200 OK\r\n\r\na 1\n";
        assert_eq!(of(closed, piece).unwrap(), ("a 1\n".into(), false), "{piece}");
        let interim = "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(of(interim, piece).unwrap(), (String::new(), true), "{piece}");
    }
}

#[test]
fn what_is_no_answer_to_read_is_named() {
    for (text, why) in [
        ("", "without an answer"),
        ("HTTP/1.1 200 OK\r\n", "in the middle"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na 1\n", "in the middle"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\na 1\n\r\n", "in the middle"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", "size cannot be read"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\naa\r\n", "longer than it says"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "gzip, chunked"),
        ("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", "compressed"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "not one number"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "more than 16 MiB"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffff\r\n", "more than 16 MiB"),
        ("HTTP/1.1 302 Found\r\nLocation: https://a/\r\n\r\n", "redirects to https://a/ (status 302)"),
        ("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n", "status 500 Oops"),
        ("HTTP/1.1 204 No Content\r\n\r\n", "status 204"),
        ("SSH-2.0-x\r\n\r\n", "does not answer by HTTP/1.1"),
    ] {
        let error = of(text, 1000).unwrap_err();
        assert!(error.contains(why), "{text}: {error}");
    }
    let mut binary = Answer::default();
    assert!(!binary.take(b"HTTP/1.1 200 OK\r\n\r\n\xff\xfe").unwrap());
    assert!(binary.closed().unwrap_err().contains("UTF-8"));
}

#[test]
fn nothing_without_end_is_kept() {
    let endless = |start: &str, piece: &[u8]| {
        let mut answer = Answer::default();
        answer.take(start.as_bytes()).unwrap();
        (0..10_000).find_map(|_| answer.take(piece).err()).unwrap()
    };
    assert!(endless("HTTP/1.1 200 OK\r\n\r\n", &[b'a'; 65_536]).contains("more than 16 MiB"));
    assert!(endless("HTTP/1.1 200 OK\r\nX: ", &[b'a'; 4096]).contains("65536 bytes"));
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert!(endless(&format!("{chunked}1;"), &[b'a'; 4096]).contains("65536 bytes"));
    assert!(endless(&format!("{chunked}0\r\nX: "), &[b'a'; 4096]).contains("65536 bytes"));
    let chunk = format!("10000\r\n{}\r\n", "a".repeat(0x10000));
    assert!(endless(chunked, chunk.as_bytes()).contains("more than 16 MiB"));
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200), piece in 1usize..50) {
        for head in ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"] {
            let mut answer = Answer::default();
            let all = [head.as_bytes(), &bytes].concat();
            let ends = all.chunks(piece).all(|piece| answer.take(piece).is_ok());
            if ends {
                let _ = answer.closed();
            }
        }
    }

    #[test]
    fn pieces_do_not_matter(body in "[a-z\n]{0,60}", piece in 1usize..20) {
        let text = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
        let whole = of(&text, 10_000);
        proptest::prop_assert_eq!(of(&text, piece), whole);
    }
}
