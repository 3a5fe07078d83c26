//! The dialogue on bytes: what RabbitMQ 3.10 sent (captured/: two channels, messages of 5000 bytes, confirms, acknowledgements), and what
//! a broker could send.

use proptest::prelude::*;

use super::field::Writer;
use super::options::{AmqpLoad, Kind};
use super::*;
use crate::drive::dialogue::hear_in_parts as hear;
use crate::drive::{Dialogue, News};
use crate::workloads::payload::{Bodies, MARK_BYTES, mark};

/// From connection.start to the last channel's confirm.select-ok.
const READY: &[u8] = include_bytes!("captured/ready.bin");
/// Deliveries and confirms of messages 0 and 1.
const FIRST: &[u8] = include_bytes!("captured/first.bin");

fn captured_load() -> AmqpLoad {
    AmqpLoad {
        channels: 2,
        message_bytes: 5000,
        confirms: true,
        acks: true,
        prefetch: Some(1),
        ..AmqpLoad::default()
    }
}

/// A dialogue after the captured beginning, and what it has said.
fn ready(load: &AmqpLoad, cuts: &[usize]) -> (Amqp, Vec<u8>) {
    let (mut amqp, mut out) = (Amqp::new(load, 1), Vec::new());
    assert!(!amqp.open(&mut out));
    assert_eq!(hear(&mut amqp, READY, cuts, &mut out), [News::Ready]);
    (amqp, out)
}

/// The whole captured session: all that the client said, and the news of the messages.
fn session(ready_cuts: &[usize], first_cuts: &[usize]) -> (Vec<u8>, Vec<News>) {
    let (mut amqp, mut out) = ready(&captured_load(), ready_cuts);
    for lane in 0..2 {
        amqp.ask(lane, u64::from(lane), &mut out);
    }
    let news = hear(&mut amqp, FIRST, first_cuts, &mut out);
    amqp.close(&mut out);
    (out, news)
}

#[test]
fn a_captured_session_is_understood() {
    let (out, news) = session(&[], &[]);
    assert_eq!(news, [News::Answered(1), News::Answered(0)]);
    assert!(out.starts_with(b"AMQP\0\0\x09\x01\x01\0\0"));
    let has = |bytes: &[u8]| out.windows(bytes.len()).any(|window| window == bytes);
    assert!(has(b"PLAIN\0\0\0\x0c\0guest\0guest") && has(b"pinwise-1-1-0") && has(b"pinwise-1-1-1"));
    assert!(has(b"\0\x3c\0\x50\0\0\0\0\0\0\0\x01\0"), "the delivery is acknowledged");
    assert!(out.ends_with(b"\0\x0a\0\x32\0\xc8\x04done\0\0\0\0\xce"), "and the connection closed");
}

/// What a broker says to make two channels of this load ready.
fn beginning(load: &AmqpLoad) -> Vec<u8> {
    let start = method(0, 10, 10, |w| {
        w.bytes(&[0, 9]);
        w.table(&[]);
        w.long_text(b"AMQPLAIN PLAIN");
        w.long_text(b"en_US");
    });
    let tune = method(0, 10, 30, |w| w.bytes(b"\x07\xff\0\x02\0\0\0\x3c"));
    let mut said = [start, tune, method(0, 10, 41, |w| w.octet(0))].concat();
    for channel in 1..=2 {
        said.extend(method(channel, 20, 11, |w| w.long(0)));
        said.extend(method(channel, 50, 11, |w| {
            w.short_text("queue");
            w.long_long(0);
        }));
        if load.prefetch.is_some() {
            said.extend(method(channel, 60, 11, |_| ()));
        }
        said.extend(method(channel, 60, 21, |w| w.short_text("c")));
        if load.confirms {
            said.extend(method(channel, 85, 11, |_| ()));
        }
    }
    said
}

/// A dialogue of two ready channels, message 7 out on the first; and what the client has said.
fn asked(load: AmqpLoad) -> (Amqp, Vec<u8>) {
    let load = AmqpLoad { channels: 2, ..load };
    let (mut amqp, mut out) = (Amqp::new(&load, 1), Vec::new());
    amqp.open(&mut out);
    assert_eq!(hear(&mut amqp, &beginning(&load), &[], &mut out), [News::Ready]);
    out.clear();
    amqp.ask(0, 7, &mut out);
    (amqp, out)
}

fn method(channel: u16, class: u16, method: u16, fill: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut out = Vec::new();
    frame::put(&mut out, frame::METHOD, channel, |w| {
        w.short(class);
        w.short(method);
        fill(w);
    });
    out
}

fn deliver(channel: u16) -> Vec<u8> {
    method(channel, 60, 60, |w| {
        w.short_text("c");
        w.long_long(1);
        w.octet(0);
        w.short_text("");
        w.short_text("queue");
    })
}

/// A delivery on a channel, its body in parts of at most `most` bytes.
fn delivery(channel: u16, body: &[u8], most: usize) -> Vec<u8> {
    let mut out = deliver(channel);
    frame::put(&mut out, frame::HEADER, channel, |w| {
        w.short(60);
        w.short(0);
        w.long_long(body.len() as u64);
        w.short(0);
    });
    for part in body.chunks(most) {
        frame::put(&mut out, frame::BODY, channel, |w| w.bytes(part));
    }
    out
}

fn body(bytes: usize, number: u64) -> Vec<u8> {
    let mut body = Vec::new();
    Bodies::new(bytes).put(&mut body, &mark(0, number), 0, bytes);
    body
}

#[test]
fn only_the_message_that_was_sent_is_an_answer() {
    let load = || AmqpLoad { message_bytes: 100, ..AmqpLoad::default() };
    let one = |came: &[u8]| {
        let (mut amqp, mut out) = asked(load());
        let news = hear(&mut amqp, came, &[], &mut out);
        assert_eq!(news.len(), 1, "{news:?}");
        news.into_iter().next().unwrap()
    };
    let wrong = |came: &[u8]| match one(came) {
        News::Wrong(0, why) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(one(&delivery(1, &body(100, 7), 1000)), News::Answered(0));
    assert_eq!(one(&delivery(1, &body(100, 7), 7)), News::Answered(0), "in many frames");
    assert!(wrong(&delivery(1, &body(100, 6), 1000)).contains("message 6 of channel 1 came"));
    assert!(wrong(&delivery(1, &body(99, 7), 1000)).contains("99 bytes in place of 100"));
    assert!(wrong(&delivery(1, b"", 1000)).contains("0 bytes"));
    let mut spoilt = body(100, 7);
    spoilt[99] ^= 1;
    assert!(wrong(&delivery(1, &spoilt, 50)).contains("from byte 50 on"));
    assert!(wrong(&delivery(1, &spoilt, 1000)).contains("not those that were sent"));
    assert!(
        matches!(one(&delivery(2, &body(100, 7), 1000)), News::Over(why) if why.contains("nobody waits"))
    );
    assert!(matches!(one(&delivery(3, &body(100, 7), 1000)), News::Over(why) if why.contains("channel 3")));
}

#[test]
fn a_second_delivery_of_a_message_is_no_answer() {
    let (mut amqp, mut out) = asked(AmqpLoad::default());
    let twice = [delivery(1, &body(12, 7), 100), delivery(1, &body(12, 7), 100)].concat();
    let news = hear(&mut amqp, &twice, &[], &mut out);
    assert!(matches!(&news[..], [News::Answered(0), News::Over(why)] if why.contains("twice")), "{news:?}");
    // While the confirm is awaited, and after the next was sent.
    let (mut amqp, mut out) = asked(AmqpLoad { confirms: true, ..AmqpLoad::default() });
    let news = hear(&mut amqp, &twice, &[], &mut out);
    assert!(matches!(&news[..], [News::Wrong(0, why)] if why.contains("twice")), "{news:?}");
    let (mut amqp, mut out) = asked(AmqpLoad::default());
    hear(&mut amqp, &delivery(1, &body(12, 7), 100), &[], &mut out);
    amqp.ask(0, 8, &mut out);
    let news = hear(&mut amqp, &delivery(1, &body(12, 7), 100), &[], &mut out);
    assert!(matches!(&news[..], [News::Wrong(0, why)] if why.contains("message 7")), "{news:?}");
}

#[test]
fn with_confirms_both_have_to_come_in_any_order() {
    let confirm = |tag, number| {
        method(1, 60, number, |w| {
            w.long_long(tag);
            w.octet(0);
        })
    };
    let (ack, back) = (confirm(1, 80), delivery(1, &body(12, 7), 100));
    let load = AmqpLoad { confirms: true, ..AmqpLoad::default() };
    for (first, second) in [(&ack, &back), (&back, &ack)] {
        let (mut amqp, mut out) = asked(load.clone());
        assert!(hear(&mut amqp, first, &[], &mut out).is_empty());
        assert_eq!(hear(&mut amqp, second, &[], &mut out), [News::Answered(0)]);
    }
    for (came, words) in [(confirm(1, 120), "basic.nack"), (confirm(2, 80), "2 was confirmed in place of 1")]
    {
        let (mut amqp, mut out) = asked(load.clone());
        let news = hear(&mut amqp, &came, &[], &mut out);
        assert!(matches!(&news[..], [News::Wrong(0, why)] if why.contains(words)), "{news:?}");
    }
}

#[test]
fn what_ends_a_connection_is_said_with_the_brokers_own_words() {
    let closed = |w: &mut Writer<'_>| {
        w.short(320);
        w.short_text("CONNECTION_FORCED - broker forced");
        w.long(0);
    };
    let ends = [
        (method(0, 10, 50, closed), "the broker ended the connection: 320 CONNECTION_FORCED - broker forced"),
        (method(2, 20, 40, closed), "the broker ended channel 2: 320"),
        (
            method(0, 10, 60, |w| w.short_text("low on memory")),
            "its memory alarm and blocked publishers: low on memory",
        ),
        (method(1, 60, 30, |w| w.short_text("c")), "cancelled the consumer of channel 1"),
        (
            method(1, 60, 50, |w| {
                w.short(312);
                w.short_text("NO_ROUTE");
            }),
            "returned a message of channel 1: 312 NO_ROUTE",
        ),
        (method(1, 60, 72, |_| ()), "nobody asked for"),
        (method(1, 60, 60, |_| ()), "ends too early"),
        (deliver(1).repeat(2), "within another"),
        (b"\x02\0\x01\0\0\0\x02xx\xce".to_vec(), "content header"),
        (b"\x03\0\x01\0\0\0\x02xx\xce".to_vec(), "without a message"),
        (b"HTTP/1.1".to_vec(), "does not speak AMQP"),
    ];
    for (came, words) in ends {
        let (mut amqp, mut out) = asked(AmqpLoad::default());
        let news = hear(&mut amqp, &came, &[], &mut out);
        assert!(matches!(&news[..], [News::Over(why)] if why.contains(words)), "{words}: {news:?}");
        assert!(hear(&mut amqp, READY, &[], &mut out).is_empty(), "nothing is heard after that");
    }
}

#[test]
fn a_broker_that_cannot_serve_is_reported_at_the_start() {
    let why = |load: AmqpLoad, came: &[u8]| {
        let (mut amqp, mut out) = (Amqp::new(&load, 1), Vec::new());
        amqp.open(&mut out);
        match &hear(&mut amqp, came, &[], &mut out)[..] {
            [News::Over(why)] => why.clone(),
            other => panic!("{other:?}"),
        }
    };
    let start = method(0, 10, 10, |w| {
        w.bytes(&[0, 9]);
        w.table(&[]);
        w.long_text(b"AMQPLAIN EXTERNAL");
        w.long_text(b"en_US");
    });
    assert!(why(AmqpLoad::default(), &start).contains("but AMQPLAIN EXTERNAL"));
    let many = AmqpLoad { channels: 2048, ..AmqpLoad::default() };
    assert!(why(many, READY).contains("at most 2047 channels a connection, not 2048"));
    assert!(why(AmqpLoad::default(), b"AMQP\0\x01\0\0").contains("another version"));
}

#[test]
fn a_heartbeat_is_answered_and_a_fresh_connection_has_fresh_queues() {
    let (mut amqp, mut out) = asked(AmqpLoad::default());
    out.clear();
    assert!(hear(&mut amqp, b"\x08\0\0\0\0\0\0\xce", &[], &mut out).is_empty());
    assert_eq!(out, b"\x08\0\0\0\0\0\0\xce");
    out.clear();
    assert!(!amqp.open(&mut out));
    assert_eq!(out, method::PROTOCOL);
    let two = AmqpLoad { channels: 2, ..AmqpLoad::default() };
    assert_eq!(hear(&mut amqp, &beginning(&two), &[], &mut out), [News::Ready]);
    assert!(out.windows(13).any(|window| window == b"pinwise-1-2-0"));
}

#[test]
fn queues_that_outlive_a_connection_are_deleted_at_the_end() {
    let quorum = AmqpLoad { queue: Kind::Quorum, persistent: true, ..AmqpLoad::default() };
    let (mut amqp, out) = asked(quorum);
    assert!(out.windows(3).any(|window| window == b"\x10\0\x02"), "delivery mode 2");
    let mut farewell = Vec::new();
    amqp.close(&mut farewell);
    let deletions = farewell.windows(4).filter(|window| window == b"\0\x32\0\x28").count();
    assert_eq!(deletions, 2);
    let (mut amqp, _) = asked(AmqpLoad::default());
    farewell.clear();
    amqp.close(&mut farewell);
    assert!(farewell.starts_with(b"\x01\0\0") && farewell.len() < 40, "an exclusive queue goes by itself");
}

#[test]
fn a_large_message_goes_out_in_frames_that_the_broker_takes() {
    let bytes = 300_000;
    let (_, out) = asked(AmqpLoad { message_bytes: bytes, ..AmqpLoad::default() });
    let (mut rest, mut frames) = (&out[..], Vec::new());
    while let Some(frame) = frame::first(rest, 131_072).unwrap() {
        frames.push(frame);
        rest = &rest[frame.len()..];
    }
    let parts = frames.iter().filter(|frame| frame.kind == frame::BODY);
    let sent: Vec<u8> = parts.flat_map(|frame| frame.payload.to_vec()).collect();
    assert_eq!((frames.len(), rest.len()), (5, 0));
    assert_eq!(sent, body(bytes as usize, 7));
    assert_eq!(sent[..MARK_BYTES], mark(0, 7));
}

proptest! {
    #[test]
    fn any_split_of_what_comes_gives_the_same(
        ready_cuts in prop::collection::vec(any::<usize>(), 0..40),
        first_cuts in prop::collection::vec(any::<usize>(), 0..40),
    ) {
        prop_assert_eq!(session(&ready_cuts, &first_cuts), session(&[], &[]));
    }

    #[test]
    fn spoilt_bytes_are_never_answers_and_never_a_panic(at in any::<usize>(), flip in 1u8.., cut in any::<usize>()) {
        let (mut amqp, mut out) = ready(&captured_load(), &[]);
        for lane in 0..2 {
            amqp.ask(lane, u64::from(lane), &mut out);
        }
        let mut came = FIRST.to_vec();
        let at = at % came.len();
        came[at] ^= flip;
        let news = hear(&mut amqp, &came, &[cut], &mut out);
        prop_assert!(news.iter().filter(|one| matches!(one, News::Answered(_))).count() <= 2);
        prop_assert!(news.iter().filter(|one| matches!(one, News::Over(_))).count() <= 1);
    }

    #[test]
    fn spoilt_beginnings_and_garbage_never_panic(
        at in any::<usize>(), flip in any::<u8>(), garbage in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut came = READY.to_vec();
        let at = at % came.len();
        came[at] ^= flip;
        came.extend(garbage);
        let (mut amqp, mut out) = (Amqp::new(&captured_load(), 1), Vec::new());
        amqp.open(&mut out);
        hear(&mut amqp, &came, &[at], &mut out);
        amqp.ask(0, 1, &mut out);
        hear(&mut amqp, &came[at..], &[], &mut out);
        amqp.close(&mut out);
    }
}
