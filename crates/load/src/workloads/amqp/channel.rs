//! One channel with its queue: at most one message on its way.

use super::method;
use crate::workloads::payload::{self, Bodies, MARK_BYTES};

/// What a message on its way has come to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Something is still to come.
    Pending,
    /// It is back as it was sent, and confirmed where that is asked for.
    Answered,
    /// What came is not what had to come.
    Wrong(String),
}

/// A delivery whose content is coming in.
#[derive(Debug)]
struct Delivery {
    tag: u64,
    /// Size of the body, and how much of it has come; none until the content's header is there.
    body: Option<(u64, u64)>,
    /// What is wrong with it, once something is.
    wrong: Option<String>,
}

/// A channel.
#[derive(Debug)]
pub(super) struct Channel {
    /// Counts from 0; the channel is one more.
    index: u32,
    pub(super) queue: String,
    /// basic.publish and the content header, the same each time.
    head: Vec<u8>,
    /// The mark of the message on its way; none when none is.
    asked: Option<[u8; MARK_BYTES]>,
    delivered: bool,
    confirmed: bool,
    /// Messages published on this channel, which is the number that the broker confirms.
    published: u64,
    delivery: Option<Delivery>,
}

impl Channel {
    pub(super) fn new(index: u32, queue: String, body_bytes: usize, persistent: bool) -> Self {
        let mut head = Vec::new();
        method::publish(&mut head, channel(index), &queue, body_bytes as u64, persistent);
        Self {
            index,
            queue,
            head,
            asked: None,
            delivered: false,
            confirmed: false,
            published: 0,
            delivery: None,
        }
    }

    pub(super) fn channel(&self) -> u16 {
        channel(self.index)
    }

    /// Whether a message is on its way.
    pub(super) fn waits(&self) -> bool {
        self.asked.is_some()
    }

    /// A message goes out: its mark, and what its body comes behind.
    pub(super) fn ask(&mut self, number: u64, confirms: bool) -> ([u8; MARK_BYTES], &[u8]) {
        let mark = payload::mark(self.index, number);
        (self.asked, self.delivered, self.confirmed) = (Some(mark), false, !confirms);
        self.published += 1;
        (mark, &self.head)
    }

    /// A message goes out and is to stay in the queue: it is answered once it is confirmed.
    pub(super) fn ask_to_keep(&mut self, number: u64) -> ([u8; MARK_BYTES], &[u8]) {
        let mark = payload::mark(self.index, number);
        (self.asked, self.delivered, self.confirmed) = (Some(mark), true, false);
        self.published += 1;
        (mark, &self.head)
    }

    /// That message is to come back out of the queue.
    pub(super) fn ask_back(&mut self, number: u64) {
        (self.asked, self.delivered, self.confirmed) = (Some(payload::mark(self.index, number)), false, true);
    }

    /// There is nothing in the queue.
    pub(super) fn empty(&mut self) -> Progress {
        self.wrong("the queue is empty: it is lost")
    }

    /// basic.deliver came. Fails when the content of the one before has not all come.
    pub(super) fn deliver(&mut self, tag: u64) -> Result<(), String> {
        if self.delivery.is_some() {
            return Err("a delivery came within another".into());
        }
        let wrong = self.delivered.then(|| "it came twice".to_string());
        self.delivery = Some(Delivery { tag, body: None, wrong });
        Ok(())
    }

    /// The content's header came; gives the delivery's tag when nothing is behind it. Fails when it belongs to nothing.
    pub(super) fn content(&mut self, bytes: u64, bodies: &Bodies) -> Result<Option<u64>, String> {
        let Some(Delivery { tag, body: body @ None, wrong }) = &mut self.delivery else {
            return Err("a content header came without a message".into());
        };
        *body = Some((bytes, 0));
        if bytes != bodies.len() as u64 {
            wrong.get_or_insert(format!("it has {bytes} bytes in place of {}", bodies.len()));
        }
        Ok((bytes == 0).then_some(*tag))
    }

    /// A part of the body came; gives the delivery's tag once all is there. Fails when it belongs to nothing.
    pub(super) fn body(&mut self, part: &[u8], bodies: &Bodies) -> Result<Option<u64>, String> {
        let Some(Delivery { tag, body: Some((bytes, got)), wrong }) = &mut self.delivery else {
            return Err("a message's bytes came without a message".into());
        };
        if part.len() as u64 > *bytes - *got {
            return Err("a message has more bytes than it says".into());
        }
        let expected = self.asked.as_ref();
        if wrong.is_none() && !expected.is_some_and(|mark| bodies.same(mark, *got as usize, part)) {
            *wrong = Some(difference(expected, *got, part));
        }
        *got += part.len() as u64;
        Ok((got == bytes).then_some(*tag))
    }

    /// All of a delivery is there.
    pub(super) fn arrived(&mut self) -> Progress {
        match self.delivery.take().and_then(|delivery| delivery.wrong) {
            Some(wrong) => self.wrong(&wrong),
            None => {
                self.delivered = true;
                self.progress()
            }
        }
    }

    /// The broker confirms (or, where `kept` is false, refuses) what was published up to number `tag`.
    pub(super) fn confirm(&mut self, tag: u64, kept: bool) -> Progress {
        match (kept, tag == self.published) {
            (false, _) => self.wrong("the broker could not keep it (basic.nack)"),
            (true, true) => {
                self.confirmed = true;
                self.progress()
            }
            (true, false) => self.wrong(&format!("{tag} was confirmed in place of {}", self.published)),
        }
    }

    fn progress(&mut self) -> Progress {
        match self.asked.is_some() && self.delivered && self.confirmed {
            true => {
                self.asked = None;
                Progress::Answered
            }
            false => Progress::Pending,
        }
    }

    fn wrong(&mut self, why: &str) -> Progress {
        let what = self.asked.take().map_or("a message that nobody waits for".into(), |m| name(&m));
        Progress::Wrong(format!("{what} (queue {}): {why}", self.queue))
    }
}

fn difference(expected: Option<&[u8; MARK_BYTES]>, at: u64, part: &[u8]) -> String {
    match expected {
        Some(mark) if at == 0 && part.starts_with(mark) => "its bytes are not those that were sent".into(),
        _ if at > 0 => format!("its bytes are not those that were sent, from byte {at} on"),
        _ => format!("{} came", name(part)),
    }
}

/// Which message a body says it is, in words.
fn name(body: &[u8]) -> String {
    payload::name(body, |lane| format!("channel {}", channel(lane)))
}

/// Channel 0 is the connection itself.
fn channel(lane: u32) -> u16 {
    (lane + 1) as u16
}
