//! The AMQP 0-9-1 methods that a load needs: what the broker says, read; what the client says, written. Numbers and fields are those of
//! the specification's XML, with RabbitMQ's extensions (basic.nack, confirm.select, connection.blocked).

use super::field::{Reader, Value, Writer};
use super::frame::{self, HEADER, METHOD};

/// Class of a message's content.
const BASIC: u16 = 60;

/// What the broker says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said<'a> {
    /// connection.start with the ways to log in, blanks between.
    Start {
        mechanisms: &'a [u8],
    },
    /// connection.tune: 0 for no limit.
    Tune {
        channels: u16,
        frame_bytes: u32,
    },
    ConnectionOpened,
    /// connection.close or channel.close: reply code, text.
    Closed {
        connection: bool,
        code: u16,
        text: &'a [u8],
    },
    /// connection.blocked with the reason: an alarm.
    Blocked(&'a [u8]),
    Unblocked,
    ChannelOpened,
    QueueDeclared,
    QosSet,
    Consuming,
    ConfirmsSelected,
    /// basic.cancel: the queue is gone.
    Cancelled,
    /// basic.return: reply code, text.
    Returned {
        code: u16,
        text: &'a [u8],
    },
    /// basic.deliver, its content behind it.
    Delivered {
        tag: u64,
    },
    /// basic.get-ok, its content behind it: the tag, and how many messages are left in the queue.
    Got {
        tag: u64,
        left: u32,
    },
    /// basic.get-empty
    Empty,
    /// basic.ack (or basic.nack) of what was published.
    Confirmed {
        tag: u64,
        kept: bool,
    },
    /// connection.close-ok
    CloseAccepted,
    /// Any other method.
    Other {
        class: u16,
        method: u16,
    },
}

/// Reads a method frame's payload; none when it ends too early.
pub(super) fn read<'a>(payload: &'a [u8]) -> Option<Said<'a>> {
    let mut r = Reader(payload);
    let (class, method) = (r.short()?, r.short()?);
    Some(match (class, method) {
        (BASIC, 60) => {
            let _consumer = r.short_text()?;
            Said::Delivered { tag: r.long_long()? }
        }
        (BASIC, 71) => {
            let tag = r.long_long()?;
            let (_redelivered, _exchange, _key) = (r.octet()?, r.short_text()?, r.short_text()?);
            Said::Got { tag, left: r.long()? }
        }
        (BASIC, 72) => Said::Empty,
        (BASIC, 80 | 120) => Said::Confirmed { tag: r.long_long()?, kept: method == 80 },
        (10, 10) => {
            let (_version, _properties) = (r.short()?, r.long_text()?);
            Said::Start { mechanisms: r.long_text()? }
        }
        (10, 30) => Said::Tune { channels: r.short()?, frame_bytes: r.long()? },
        (10, 41) => Said::ConnectionOpened,
        (10, 50) | (20, 40) => {
            Said::Closed { connection: class == 10, code: r.short()?, text: r.short_text()? }
        }
        (10, 51) => Said::CloseAccepted,
        (10, 60) => Said::Blocked(r.short_text()?),
        (10, 61) => Said::Unblocked,
        (20, 11) => Said::ChannelOpened,
        (50, 11) => Said::QueueDeclared,
        (BASIC, 11) => Said::QosSet,
        (BASIC, 21) => Said::Consuming,
        (BASIC, 30) => Said::Cancelled,
        (BASIC, 50) => Said::Returned { code: r.short()?, text: r.short_text()? },
        (85, 11) => Said::ConfirmsSelected,
        _ => Said::Other { class, method },
    })
}

/// The size of a message, from the payload of its content header; none when that is none.
pub(super) fn content_bytes(payload: &[u8]) -> Option<u64> {
    let mut r = Reader(payload);
    let (class, _weight, size) = (r.short()?, r.short()?, r.long_long()?);
    (class == BASIC).then_some(size)
}

fn method(out: &mut Vec<u8>, channel: u16, class: u16, method: u16, fill: impl FnOnce(&mut Writer<'_>)) {
    frame::put(out, METHOD, channel, |w| {
        w.short(class);
        w.short(method);
        fill(w);
    });
}

/// The first bytes of a connection.
pub(super) const PROTOCOL: &[u8] = b"AMQP\0\0\x09\x01";

/// connection.start-ok: who we are, and the login in plain text.
pub(super) fn start_ok(out: &mut Vec<u8>, user: &str, password: &str) {
    let able = Value::Yes(true);
    // Without these the broker ends the connection where it could say why.
    let capabilities = [
        ("authentication_failure_close", able),
        ("connection.blocked", able),
        ("consumer_cancel_notify", able),
        ("publisher_confirms", able),
        ("basic.nack", able),
    ];
    let us = [
        ("product", Value::Text("pinwise")),
        ("version", Value::Text(env!("CARGO_PKG_VERSION"))),
        ("capabilities", Value::Table(&capabilities)),
    ];
    method(out, 0, 10, 11, |w| {
        w.table(&us);
        w.short_text("PLAIN");
        w.long_text(format!("\0{user}\0{password}").as_bytes());
        w.short_text("en_US");
    });
}

/// connection.tune-ok: no heartbeats, the engine's own time limits notice a dead peer.
pub(super) fn tune_ok(out: &mut Vec<u8>, channels: u16, frame_bytes: u32) {
    method(out, 0, 10, 31, |w| {
        w.short(channels);
        w.long(frame_bytes);
        w.short(0);
    });
}

/// connection.open
pub(super) fn connection_open(out: &mut Vec<u8>, vhost: &str) {
    method(out, 0, 10, 40, |w| {
        w.short_text(vhost);
        w.bytes(&[0, 0]);
    });
}

/// connection.close, by our own wish.
pub(super) fn connection_close(out: &mut Vec<u8>) {
    method(out, 0, 10, 50, |w| {
        w.short(200);
        w.short_text("done");
        w.long(0);
    });
}

/// connection.close-ok or channel.close-ok
pub(super) fn close_ok(out: &mut Vec<u8>, connection: bool, channel: u16) {
    match connection {
        true => method(out, 0, 10, 51, |_| ()),
        false => method(out, channel, 20, 41, |_| ()),
    }
}

/// channel.open
pub(super) fn channel_open(out: &mut Vec<u8>, channel: u16) {
    method(out, channel, 20, 10, |w| w.octet(0));
}

/// How a queue is declared.
#[derive(Debug, Clone, Copy)]
pub(super) struct Declaration<'a> {
    pub(super) queue: &'a str,
    pub(super) durable: bool,
    /// Of this connection alone, and gone with it; then it is auto-delete too.
    pub(super) exclusive: bool,
    pub(super) arguments: &'a [(&'a str, Value<'a>)],
}

/// queue.declare
pub(super) fn queue_declare(out: &mut Vec<u8>, channel: u16, queue: &Declaration<'_>) {
    method(out, channel, 50, 10, |w| {
        w.short(0);
        w.short_text(queue.queue);
        w.octet(
            u8::from(queue.durable) << 1 | u8::from(queue.exclusive) << 2 | u8::from(queue.exclusive) << 3,
        );
        w.table(queue.arguments);
    });
}

/// queue.delete, whose answer is not asked for.
pub(super) fn queue_delete(out: &mut Vec<u8>, channel: u16, queue: &str) {
    method(out, channel, 50, 40, |w| {
        w.short(0);
        w.short_text(queue);
        w.octet(1 << 2);
    });
}

/// basic.qos: messages that a consumer may have without having acknowledged them.
pub(super) fn qos(out: &mut Vec<u8>, channel: u16, prefetch: u16) {
    method(out, channel, BASIC, 10, |w| {
        w.long(0);
        w.short(prefetch);
        w.octet(0);
    });
}

/// basic.consume by a consumer named `c`.
pub(super) fn consume(
    out: &mut Vec<u8>,
    channel: u16,
    queue: &str,
    no_ack: bool,
    arguments: &[(&str, Value<'_>)],
) {
    method(out, channel, BASIC, 20, |w| {
        w.short(0);
        w.short_text(queue);
        w.short_text("c");
        w.octet(u8::from(no_ack) << 1);
        w.table(arguments);
    });
}

/// basic.get of one message, which is forgotten as it is sent (no acknowledgement).
pub(super) fn get(out: &mut Vec<u8>, channel: u16, queue: &str) {
    method(out, channel, BASIC, 70, |w| {
        w.short(0);
        w.short_text(queue);
        w.octet(1);
    });
}

/// confirm.select
pub(super) fn confirm_select(out: &mut Vec<u8>, channel: u16) {
    method(out, channel, 85, 10, |w| w.octet(0));
}

/// basic.ack of one delivery.
pub(super) fn ack(out: &mut Vec<u8>, channel: u16, tag: u64) {
    method(out, channel, BASIC, 80, |w| {
        w.long_long(tag);
        w.octet(0);
    });
}

/// basic.publish to a queue by the default exchange, and the content header behind it; the body has to follow.
///
/// Mandatory: a message for a queue that is not there comes back with the reason, where it would vanish.
pub(super) fn publish(out: &mut Vec<u8>, channel: u16, queue: &str, body_bytes: u64, persistent: bool) {
    method(out, channel, BASIC, 40, |w| {
        w.short(0);
        w.short_text("");
        w.short_text(queue);
        w.octet(1);
    });
    frame::put(out, HEADER, channel, |w| {
        w.short(BASIC);
        w.short(0);
        w.long_long(body_bytes);
        match persistent {
            // The one property that is there: delivery-mode.
            true => {
                w.short(1 << 12);
                w.octet(2);
            }
            false => w.short(0),
        }
    });
}
