//! The dialogue on bytes: what nats-server 2.9.10 sent (captured/: two subjects, messages of 40 bytes), and what a server could send.

use proptest::prelude::*;

use super::*;
use crate::drive::dialogue::hear_in_parts as hear;
use crate::drive::{Dialogue, News};
use crate::workloads::payload::{Bodies, MARK_BYTES, mark};

/// INFO, and the PONG behind which both subscriptions stand.
const READY: &[u8] = include_bytes!("captured/ready.bin");
/// Messages 1 and 0, which were published in this order.
const FIRST: &[u8] = include_bytes!("captured/first.bin");

const BYTES: usize = 40;

fn load() -> NatsLoad {
    NatsLoad { subjects: 2, message_bytes: BYTES as u32, ..NatsLoad::default() }
}

/// A dialogue after the captured beginning with a message out on each lane, and all that it has said.
fn asked(load: &NatsLoad, cuts: &[usize]) -> (Nats, Vec<u8>) {
    let (mut nats, mut out) = (Nats::new(load, 1), Vec::new());
    assert!(!nats.open(&mut out) && out.is_empty(), "the server speaks first");
    assert_eq!(hear(&mut nats, READY, cuts, &mut out), [News::Ready]);
    nats.ask(1, 1, &mut out);
    nats.ask(0, 0, &mut out);
    (nats, out)
}

/// What a dialogue makes of `came` while messages 0 and 1 are out.
fn heard(came: &[u8]) -> Vec<News> {
    let (mut nats, mut out) = asked(&load(), &[]);
    let news = hear(&mut nats, came, &[], &mut out);
    if matches!(news.last(), Some(News::Over(_))) {
        assert!(hear(&mut nats, FIRST, &[], &mut out).is_empty(), "nothing is heard after that");
    }
    news
}

fn body(lane: u32, number: u64, bytes: usize) -> Vec<u8> {
    let mut body = Vec::new();
    Bodies::new(bytes).put(&mut body, &mark(lane, number), 0, bytes);
    body
}

fn message(subject: &str, subscription: u64, payload: &[u8]) -> Vec<u8> {
    let line = format!("MSG {subject} {subscription} {}\r\n", payload.len());
    [line.as_bytes(), payload, b"\r\n"].concat()
}

#[test]
fn a_captured_session_is_understood() {
    let (mut nats, mut out) = asked(&load(), &[]);
    assert!(out.starts_with(b"CONNECT {"));
    let has = |bytes: &[u8]| out.windows(bytes.len()).any(|window| window == bytes);
    assert!(has(b"\"verbose\":false") && has(b"\"echo\":true") && !has(b"\"user\""));
    assert!(has(b"}\r\nSUB pinwise.1.1.0 1\r\nSUB pinwise.1.1.1 2\r\nPING\r\nPUB pinwise.1.1.1 40\r\n"));
    assert!(out.ends_with(&[&body(0, 0, BYTES)[..], b"\r\n"].concat()));
    assert_eq!(hear(&mut nats, FIRST, &[], &mut out), [News::Answered(1), News::Answered(0)]);
    let mut farewell = Vec::new();
    nats.close(&mut farewell);
    assert!(farewell.is_empty(), "the protocol has none");
}

#[test]
fn a_message_that_is_not_the_one_that_was_sent_is_wrong_in_words() {
    let why = |came: &[u8]| match &heard(came)[..] {
        [News::Wrong(0, why)] => why.clone(),
        other => panic!("{other:?}"),
    };
    let right = body(0, 0, BYTES);
    let mut changed = right.clone();
    changed[BYTES - 1] ^= 1;
    assert!(why(&message("pinwise.1.1.0", 1, &changed)).contains("not those that were sent"));
    assert!(
        why(&message("pinwise.1.1.0", 1, &body(0, 7, BYTES))).contains("message 7 of subscription 1 came")
    );
    assert!(why(&message("pinwise.1.1.0", 1, &right[..30])).contains("30 bytes in place of 40"));
    assert!(why(&message("pinwise.1.1.0", 1, b"")).contains("0 bytes"));
    assert!(why(&message("pinwise.1.1.1", 1, &right)).contains("came on subject pinwise.1.1.1"));
}

#[test]
fn a_message_that_nobody_waits_for_ends_the_connection() {
    let again = [FIRST, FIRST].concat();
    let news = heard(&again);
    assert!(
        matches!(&news[..], [News::Answered(1), News::Answered(0), News::Over(why)] if why.contains("message 1 of subscription 2 came twice")),
        "{news:?}"
    );
    for subscription in [0, 3, 1 << 33] {
        let news = heard(&message("pinwise.1.1.0", subscription, b"x"));
        assert!(matches!(&news[..], [News::Over(why)] if why.contains("never made")), "{news:?}");
    }
}

#[test]
fn what_ends_a_connection_is_reported_in_the_servers_words() {
    for (came, words) in [
        ("-ERR 'Slow Consumer'\r\n", "the server refused: 'Slow Consumer'"),
        ("-ERR 'Maximum Payload Violation'\r\n", "Maximum Payload Violation"),
        ("INFO {\"ldm\":true}\r\n", "lame duck"),
        ("PONG\r\n", "nobody asked for"),
        ("+OK\r\n", "nobody asked for"),
        ("MSG pinwise.1.1.0 1 1048577\r\n", "1048577 bytes"),
        ("HTTP/1.1 400 Bad Request\r\n", "does not speak NATS"),
    ] {
        let news = heard(came.as_bytes());
        assert!(matches!(&news[..], [News::Over(why)] if why.contains(words)), "{words}: {news:?}");
    }
}

#[test]
fn a_server_that_cannot_serve_is_reported_at_the_start() {
    let why = |load: &NatsLoad, came: &str| {
        let (mut nats, mut out) = (Nats::new(load, 1), Vec::new());
        nats.open(&mut out);
        match &hear(&mut nats, came.as_bytes(), &[], &mut out)[..] {
            [News::Over(why)] => why.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert!(why(&load(), "INFO {\"tls_required\":true}\r\n").contains("TLS"));
    assert!(why(&load(), "INFO {\"auth_required\":true}\r\n").contains("`user`"));
    assert!(why(&load(), "INFO {\"max_payload\":39}\r\n").contains("at most 39 bytes, not 40"));
    assert!(why(&load(), "MSG pinwise.1.1.0 1 1\r\nx\r\n").contains("nobody asked for"));
    let named = NatsLoad { user: Some("a\"b".into()), password: Some("secret".into()), ..load() };
    let refused = "INFO {\"auth_required\":true,\"max_payload\":40}\r\n-ERR 'Authorization Violation'\r\n";
    assert!(why(&named, refused).contains("Authorization Violation"));
    let (mut nats, mut out) = (Nats::new(&named, 1), Vec::new());
    nats.open(&mut out);
    hear(&mut nats, READY.split_inclusive(|b| *b == b'\n').next().unwrap(), &[], &mut out);
    let said = String::from_utf8(out).unwrap();
    assert!(said.contains("\"user\":\"a\\\"b\"") && said.contains("\"pass\":\"secret\""), "{said}");
}

#[test]
fn a_sign_of_life_is_given_and_a_fresh_connection_has_fresh_subjects() {
    let (mut nats, mut out) = asked(&load(), &[]);
    out.clear();
    // A cluster that changes is no matter of ours.
    assert!(hear(&mut nats, b"PING\r\nINFO {\"connect_urls\":[]}\r\n", &[], &mut out).is_empty());
    assert_eq!(out, b"PONG\r\n");
    assert!(!nats.open(&mut out));
    assert_eq!(hear(&mut nats, READY, &[], &mut out), [News::Ready]);
    assert!(out.windows(13).any(|window| window == b"pinwise.1.2.0"));
    nats.ask(0, 5, &mut out);
    let news = hear(&mut nats, &message("pinwise.1.2.0", 1, &body(0, 5, BYTES)), &[], &mut out);
    assert_eq!(news, [News::Answered(0)]);
}

#[test]
fn the_smallest_and_a_large_message_make_the_round() {
    for bytes in [MARK_BYTES, 2 << 20] {
        let load = NatsLoad { message_bytes: bytes as u32, ..NatsLoad::default() };
        let (mut nats, mut out) = (Nats::new(&load, 1), Vec::new());
        nats.open(&mut out);
        assert_eq!(hear(&mut nats, b"INFO {}\r\nPONG\r\n", &[], &mut out), [News::Ready]);
        nats.ask(0, 3, &mut out);
        assert!(out.ends_with(&[&body(0, 3, bytes)[..], b"\r\n"].concat()));
        let back = message("pinwise.1.1.0", 1, &body(0, 3, bytes));
        assert_eq!(hear(&mut nats, &back, &[20, bytes / 2], &mut out), [News::Answered(0)]);
    }
}

proptest! {
    #[test]
    fn any_split_of_what_comes_gives_the_same(
        ready_cuts in prop::collection::vec(any::<usize>(), 0..40),
        first_cuts in prop::collection::vec(any::<usize>(), 0..40),
    ) {
        let (mut nats, mut out) = asked(&load(), &ready_cuts);
        let came = [FIRST, b"PING\r\n", FIRST].concat();
        let news = hear(&mut nats, &came, &first_cuts, &mut out);
        let (mut whole, mut whole_out) = asked(&load(), &[]);
        prop_assert_eq!(news, hear(&mut whole, &came, &[], &mut whole_out));
        prop_assert_eq!(out, whole_out);
    }

    #[test]
    fn spoilt_bytes_are_never_answers_and_never_a_panic(at in any::<usize>(), flip in 1u8.., cut in any::<usize>()) {
        let (mut nats, mut out) = asked(&load(), &[]);
        let mut came = FIRST.to_vec();
        let at = at % came.len();
        came[at] ^= flip;
        let news = hear(&mut nats, &came, &[cut], &mut out);
        let is_answer = |lane| news.contains(&News::Answered(lane));
        // Of the two messages the one with the spoilt byte is no answer, unless the byte says nothing: blanks, upper case, or a reply's subject.
        let in_second = at >= came.len() / 2;
        let in_payload = at % (came.len() / 2) >= came.len() / 2 - BYTES - 2;
        prop_assert!(!in_payload || !is_answer(if in_second { 0 } else { 1 }), "{:?}", news);
        prop_assert!(news.iter().filter(|one| matches!(one, News::Over(_))).count() <= 1);
    }

    #[test]
    fn garbage_never_panics(at in any::<usize>(), flip in any::<u8>(), garbage in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut came = READY.to_vec();
        let at = at % came.len();
        came[at] ^= flip;
        came.extend(garbage);
        let (mut nats, mut out) = (Nats::new(&load(), 1), Vec::new());
        nats.open(&mut out);
        hear(&mut nats, &came, &[at], &mut out);
        nats.ask(0, 1, &mut out);
        hear(&mut nats, &came[at..], &[], &mut out);
    }
}
