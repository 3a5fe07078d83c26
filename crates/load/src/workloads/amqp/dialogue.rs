//! The client's side of one AMQP connection: a lane is a channel with a queue and a consumer of its own.

use super::channel::{Channel, Progress};
use super::close_reason::ends;
use super::field::Value;
use super::frame::{self, BODY, Frame, HEADER, HEARTBEAT, METHOD, OVERHEAD_BYTES};
use super::handshake::Handshake;
use super::method::{self, Declaration, Said};
use super::options::{AmqpLoad, Kind};
use super::receiver::{self, Receiver};
use crate::drive::{Dialogue, News};
use crate::workloads::payload::{Bodies, MARK_BYTES};

/// A durable queue that was not deleted goes away when nobody has used it for this long, ms.
const EXPIRES_MS: i64 = 600_000;

/// How far the connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Login, tuning and virtual host are under way.
    Greeted,
    /// Channels, queues and consumers are made; so many are not ready.
    Making(u32),
    Ready,
    /// Nothing more can come of it.
    Over,
}

/// The dialogue.
#[derive(Debug)]
pub(crate) struct Amqp {
    load: AmqpLoad,
    /// Distinguishes our queues from those of others.
    tag: u64,
    /// Connections that were opened.
    opened: u64,
    bodies: Bodies,
    phase: Phase,
    handshake: Handshake,
    lanes: Vec<Channel>,
}

impl Amqp {
    /// A dialogue of this load; `tag` is another number for each dialogue of each process that may use the same broker.
    pub(crate) fn new(load: &AmqpLoad, tag: u64) -> Self {
        Self {
            load: load.clone(),
            tag,
            opened: 0,
            bodies: Bodies::new(load.message_bytes as usize),
            phase: Phase::Over,
            handshake: Handshake::new(&load.user, &load.password, &load.vhost, load.channels),
            lanes: Vec::new(),
        }
    }

    fn lane(&mut self, channel: u16) -> Result<(&mut Channel, &Bodies), String> {
        let lane = usize::from(channel).checked_sub(1).and_then(|index| self.lanes.get_mut(index));
        Ok((
            lane.ok_or_else(|| format!("something came for channel {channel}, which is not open"))?,
            &self.bodies,
        ))
    }

    fn arrived(
        &mut self,
        channel: u16,
        tag: u64,
        out: &mut Vec<u8>,
        news: &mut Vec<News>,
    ) -> Result<(), String> {
        if self.load.acks {
            method::ack(out, channel, tag);
        }
        let (lane, _) = self.lane(channel)?;
        let waited = lane.waits();
        report(channel, waited, lane.arrived(), news)
    }

    fn connection_said(&mut self, said: Said<'_>, out: &mut Vec<u8>) -> Result<(), String> {
        if self.phase == Phase::Greeted {
            if self.handshake.said(said, out)? {
                for lane in &self.lanes {
                    method::channel_open(out, lane.channel());
                }
                self.phase = Phase::Making(self.lanes.len() as u32);
            }
            return Ok(());
        }
        match said {
            Said::Unblocked => Ok(()),
            said => Err(ends("the connection", 0, said, out)),
        }
    }

    fn channel_said(
        &mut self,
        channel: u16,
        said: Said<'_>,
        out: &mut Vec<u8>,
        news: &mut Vec<News>,
    ) -> Result<(), String> {
        match (said, self.phase) {
            (Said::Delivered { tag }, Phase::Ready | Phase::Making(_)) => self.lane(channel)?.0.deliver(tag),
            (Said::Confirmed { tag, kept }, Phase::Ready) => {
                let (lane, _) = self.lane(channel)?;
                let waited = lane.waits();
                report(channel, waited, lane.confirm(tag, kept), news)
            }
            (said, Phase::Making(left)) => self.make(channel, said, left, out, news),
            (said, _) => Err(ends(&format!("channel {channel}"), channel, said, out)),
        }
    }

    /// The next step of a channel's making; each waits for the answer to the one before, as the protocol asks for.
    fn make(
        &mut self,
        channel: u16,
        said: Said<'_>,
        left: u32,
        out: &mut Vec<u8>,
        news: &mut Vec<News>,
    ) -> Result<(), String> {
        self.lane(channel)?;
        let lane = &self.lanes[usize::from(channel) - 1];
        match said {
            Said::ChannelOpened => declare(&self.load, lane, out),
            Said::QueueDeclared => match self.load.prefetch {
                Some(prefetch) => method::qos(out, channel, prefetch),
                None => consume(&self.load, lane, out),
            },
            Said::QosSet => consume(&self.load, lane, out),
            Said::Consuming if self.load.confirms => method::confirm_select(out, channel),
            Said::Consuming | Said::ConfirmsSelected
                if self.load.confirms == (said == Said::ConfirmsSelected) =>
            {
                match left {
                    1 => {
                        self.phase = Phase::Ready;
                        news.push(News::Ready);
                    }
                    _ => self.phase = Phase::Making(left.saturating_sub(1)),
                }
            }
            said => return Err(ends(&format!("channel {channel}"), channel, said, out)),
        }
        Ok(())
    }
}

impl Receiver for Amqp {
    fn longest(&self) -> usize {
        self.handshake.frame_bytes
    }

    fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    fn end(&mut self) {
        self.phase = Phase::Over;
    }

    fn take(&mut self, frame: Frame<'_>, out: &mut Vec<u8>, news: &mut Vec<News>) -> Result<(), String> {
        match (frame.kind, frame.channel) {
            (HEARTBEAT, _) => {
                frame::put(out, HEARTBEAT, 0, |_| ());
                Ok(())
            }
            (METHOD, channel) => {
                let said = method::read(frame.payload).ok_or("a method came that ends too early")?;
                match channel {
                    0 => self.connection_said(said, out),
                    _ => self.channel_said(channel, said, out, news),
                }
            }
            (HEADER, channel) => {
                let bytes =
                    method::content_bytes(frame.payload).ok_or("a content header came that is none")?;
                let (lane, bodies) = self.lane(channel)?;
                match lane.content(bytes, bodies)? {
                    Some(tag) => self.arrived(channel, tag, out, news),
                    None => Ok(()),
                }
            }
            (BODY, channel) => {
                let (lane, bodies) = self.lane(channel)?;
                match lane.body(frame.payload, bodies)? {
                    Some(tag) => self.arrived(channel, tag, out, news),
                    None => Ok(()),
                }
            }
            (kind, _) => Err(format!("a frame of type {kind} came")),
        }
    }
}

impl Dialogue for Amqp {
    fn lanes(&self) -> u32 {
        self.load.channels
    }

    fn open(&mut self, out: &mut Vec<u8>) -> bool {
        self.opened += 1;
        let (bytes, persistent) = (self.bodies.len(), self.load.persistent);
        let lane = |index| {
            let queue = format!("pinwise-{:x}-{}-{index}", self.tag, self.opened);
            Channel::new(index, queue, bytes, persistent)
        };
        self.lanes = (0..self.load.channels).map(lane).collect();
        self.handshake.begin(out);
        self.phase = Phase::Greeted;
        false
    }

    fn ask(&mut self, lane: u32, number: u64, out: &mut Vec<u8>) {
        let Some(lane) = self.lanes.get_mut(lane as usize) else { return };
        let (channel, bodies) = (lane.channel(), &self.bodies);
        let (mark, head) = lane.ask(number, self.load.confirms);
        out.extend(head);
        put_body(out, channel, bodies, &mark, self.handshake.frame_bytes);
    }

    fn hear(&mut self, came: &[u8], out: &mut Vec<u8>, news: &mut Vec<News>) -> usize {
        receiver::receive(self, came, out, news)
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        if self.phase != Phase::Ready {
            return;
        }
        if !self.load.exclusive() {
            for lane in &self.lanes {
                method::queue_delete(out, lane.channel(), &lane.queue);
            }
        }
        method::connection_close(out);
        self.phase = Phase::Over;
    }
}

/// Puts the body of this mark into frames of at most so many bytes.
pub(super) fn put_body(
    out: &mut Vec<u8>,
    channel: u16,
    bodies: &Bodies,
    mark: &[u8; MARK_BYTES],
    frame_bytes: usize,
) {
    let (mut from, most) = (0, frame_bytes - OVERHEAD_BYTES);
    while from < bodies.len() {
        let to = bodies.len().min(from + most);
        frame::put(out, BODY, channel, |w| bodies.put(w.0, mark, from, to));
        from = to;
    }
}

/// What came of a message; what comes for one that is not on its way can be no answer, and ends the connection.
pub(super) fn report(
    channel: u16,
    waited: bool,
    progress: Progress,
    news: &mut Vec<News>,
) -> Result<(), String> {
    let lane = u32::from(channel) - 1;
    match progress {
        Progress::Pending => {}
        Progress::Answered => news.push(News::Answered(lane)),
        Progress::Wrong(why) if waited => news.push(News::Wrong(lane, why)),
        Progress::Wrong(why) => return Err(why),
    }
    Ok(())
}

fn declare(load: &AmqpLoad, lane: &Channel, out: &mut Vec<u8>) {
    let mut arguments: Vec<(&str, Value<'_>)> = load.arguments();
    if load.queue != Kind::Classic {
        arguments.push(("x-queue-type", Value::Text(load.queue.name())));
    }
    // A stream knows no such argument.
    if !load.exclusive() && load.queue != Kind::Stream {
        arguments.push(("x-expires", Value::Whole(EXPIRES_MS)));
    }
    let exclusive = load.exclusive();
    let queue = Declaration { queue: &lane.queue, durable: !exclusive, exclusive, arguments: &arguments };
    method::queue_declare(out, lane.channel(), &queue);
}

fn consume(load: &AmqpLoad, lane: &Channel, out: &mut Vec<u8>) {
    let from_next = [("x-stream-offset", Value::Text("next"))];
    let arguments = match load.queue {
        Kind::Stream => &from_next[..],
        Kind::Classic | Kind::Quorum => &[],
    };
    method::consume(out, lane.channel(), &lane.queue, !load.acks, arguments);
}
