//! The client's side of an AMQP connection that fills a queue and drains it again: a channel, a queue, one operation at a time.
//!
//! A message is put by basic.publish and is in the queue once the broker has confirmed it; it is got by basic.get without
//! acknowledgement.

use super::channel::Channel;
use super::close_reason::ends;
use super::dialogue::{put_body, report};
use super::field::Value;
use super::frame::{self, BODY, Frame, HEADER, HEARTBEAT, METHOD};
use super::handshake::Handshake;
use super::method::{self, Declaration, Said};
use super::options::argument;
use super::receiver::{self, Receiver};
use crate::drive::{Dialogue, News};
use crate::outcome::operations::{Kind, Phase};
use crate::workloads::payload::Bodies;
use crate::workloads::queue_fill::options::QueueFillLoad;
use crate::workloads::queue_fill::sequence::{Sequence, Step};

/// The only channel.
const CHANNEL: u16 = 1;

/// How far the connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Greeted,
    /// Channel and queue are made.
    Making,
    Ready,
    Over,
}

/// The dialogue.
#[derive(Debug)]
pub(crate) struct AmqpFill {
    load: QueueFillLoad,
    sequence: Sequence,
    /// Distinguishes our queue from those of others.
    tag: u64,
    bodies: Bodies,
    stage: Stage,
    handshake: Handshake,
    lane: Channel,
    asked: Option<Step>,
}

impl AmqpFill {
    /// A dialogue of this load; `tag` is another number for each process that may use the same broker.
    pub(crate) fn new(load: &QueueFillLoad, tag: u64) -> Self {
        Self {
            load: load.clone(),
            sequence: load.sequence(),
            tag,
            bodies: Bodies::new(load.message_bytes as usize),
            stage: Stage::Over,
            handshake: Handshake::new(&load.user, &load.password, &load.vhost, CHANNEL.into()),
            lane: lane(load, tag),
            asked: None,
        }
    }

    fn arrived(&mut self, all: bool, news: &mut Vec<News>) -> Result<(), String> {
        if !all {
            return Ok(());
        }
        let waited = self.lane.waits();
        report(CHANNEL, waited, self.lane.arrived(), news)
    }

    fn connection_said(&mut self, said: Said<'_>, out: &mut Vec<u8>) -> Result<(), String> {
        match (self.stage, said) {
            (Stage::Greeted, said) => {
                if self.handshake.said(said, out)? {
                    method::channel_open(out, CHANNEL);
                    self.stage = Stage::Making;
                }
                Ok(())
            }
            (_, Said::Unblocked) => Ok(()),
            (_, said) => Err(ends("the connection", 0, said, out)),
        }
    }

    fn channel_said(
        &mut self,
        said: Said<'_>,
        out: &mut Vec<u8>,
        news: &mut Vec<News>,
    ) -> Result<(), String> {
        let waited = self.lane.waits();
        match (self.stage, said) {
            (Stage::Making, Said::ChannelOpened) => self.declare(out),
            (Stage::Making, Said::QueueDeclared) => method::confirm_select(out, CHANNEL),
            (Stage::Making, Said::ConfirmsSelected) => {
                self.stage = Stage::Ready;
                news.push(News::Ready);
            }
            (Stage::Ready, Said::Confirmed { tag, kept }) => {
                return report(CHANNEL, waited, self.lane.confirm(tag, kept), news);
            }
            (Stage::Ready, Said::Empty) => return report(CHANNEL, waited, self.lane.empty(), news),
            (Stage::Ready, Said::Got { tag, left }) => {
                self.lane.deliver(tag)?;
                self.right_number_left(left)?;
            }
            (_, said) => return Err(ends(&format!("channel {CHANNEL}"), CHANNEL, said, out)),
        }
        Ok(())
    }

    /// Fails when a message is lost or doubled of those that are still in the queue.
    fn right_number_left(&self, left: u32) -> Result<(), String> {
        match self.asked {
            Some(step) if step.left != u64::from(left) => {
                let Step { message, left: wanted, .. } = step;
                Err(format!(
                    "behind message {message} the queue has {left} messages, and should have {wanted}"
                ))
            }
            _ => Ok(()),
        }
    }

    /// A transient queue of this connection, gone with it.
    fn declare(&self, out: &mut Vec<u8>) {
        let arguments: Vec<(&str, Value<'_>)> =
            self.load.queue_arguments.iter().map(|(name, value)| (name.as_str(), argument(value))).collect();
        let queue =
            Declaration { queue: &self.lane.queue, durable: false, exclusive: true, arguments: &arguments };
        method::queue_declare(out, CHANNEL, &queue);
    }
}

fn lane(load: &QueueFillLoad, tag: u64) -> Channel {
    Channel::new(0, format!("pinwise-{tag:x}"), load.message_bytes as usize, false)
}

impl Receiver for AmqpFill {
    fn longest(&self) -> usize {
        self.handshake.frame_bytes
    }

    fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    fn end(&mut self) {
        self.stage = Stage::Over;
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
                    _ => self.channel_said(said, out, news),
                }
            }
            (HEADER, CHANNEL) => {
                let bytes =
                    method::content_bytes(frame.payload).ok_or("a content header came that is none")?;
                let arrived = self.lane.content(bytes, &self.bodies)?.is_some();
                self.arrived(arrived, news)
            }
            (BODY, CHANNEL) => {
                let arrived = self.lane.body(frame.payload, &self.bodies)?.is_some();
                self.arrived(arrived, news)
            }
            (kind, channel) => Err(format!("a frame of type {kind} came for channel {channel}")),
        }
    }
}

impl Dialogue for AmqpFill {
    fn open(&mut self, out: &mut Vec<u8>) -> bool {
        self.lane = lane(&self.load, self.tag);
        self.asked = None;
        self.handshake.begin(out);
        self.stage = Stage::Greeted;
        false
    }

    fn ask(&mut self, _: u32, number: u64, out: &mut Vec<u8>) {
        let step = self.sequence.step(number);
        match step.kind {
            Kind::Put => {
                let (mark, head) = self.lane.ask_to_keep(step.message);
                out.extend(head);
                put_body(out, CHANNEL, &self.bodies, &mark, self.handshake.frame_bytes);
            }
            Kind::Get => {
                self.lane.ask_back(step.message);
                method::get(out, CHANNEL, &self.lane.queue);
            }
        }
        self.asked = Some(step);
    }

    fn hear(&mut self, came: &[u8], out: &mut Vec<u8>, news: &mut Vec<News>) -> usize {
        receiver::receive(self, came, out, news)
    }

    fn operation(&self, number: u64) -> Option<(Kind, Phase)> {
        let Step { kind, phase, .. } = self.sequence.step(number);
        Some((kind, phase))
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        if self.stage == Stage::Ready {
            method::connection_close(out);
            self.stage = Stage::Over;
        }
    }
}
