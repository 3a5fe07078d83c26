//! One subject of a connection, with its subscription: at most one message on its way.

use crate::workloads::payload::{self, Bodies, MARK_BYTES};

/// A subject.
#[derive(Debug)]
pub(super) struct Subscription {
    /// Counts from 0; the subscription is one more.
    index: u32,
    subject: String,
    /// The `PUB` line, the same each time.
    head: Vec<u8>,
    /// The mark of the message on its way; none when none is.
    asked: Option<[u8; MARK_BYTES]>,
}

impl Subscription {
    pub(super) fn new(index: u32, subject: String, body_bytes: usize) -> Self {
        let head = format!("PUB {subject} {body_bytes}\r\n").into_bytes();
        Self { index, subject, head, asked: None }
    }

    /// Puts what subscribes to it into `out`.
    pub(super) fn subscribe(&self, out: &mut Vec<u8>) {
        out.extend(format!("SUB {} {}\r\n", self.subject, subscription(self.index)).bytes());
    }

    /// Puts a message into `out`.
    pub(super) fn ask(&mut self, number: u64, bodies: &Bodies, out: &mut Vec<u8>) {
        let mark = payload::mark(self.index, number);
        self.asked = Some(mark);
        out.extend(&self.head);
        bodies.put(out, &mark, 0, bodies.len());
        out.extend(b"\r\n");
    }

    /// A message came. Fails when nobody waits for one; else it is back as it was sent, or the inner error says what it is instead.
    pub(super) fn came(
        &mut self,
        subject: &[u8],
        payload: &[u8],
        bodies: &Bodies,
    ) -> Result<Result<(), String>, String> {
        let Some(mark) = self.asked.take() else {
            return Err(format!(
                "{} came twice, or was never sent (subject {})",
                name(payload),
                self.subject
            ));
        };
        let wrong = |why: String| Ok(Err(format!("{} (subject {}): {why}", name(&mark), self.subject)));
        if subject != self.subject.as_bytes() {
            return wrong(format!("it came on subject {}", String::from_utf8_lossy(subject)));
        }
        if payload.len() != bodies.len() {
            return wrong(format!("it has {} bytes in place of {}", payload.len(), bodies.len()));
        }
        match bodies.same(&mark, 0, payload) {
            true => Ok(Ok(())),
            false if payload.starts_with(&mark) => wrong("its bytes are not those that were sent".into()),
            false => wrong(format!("{} came", name(payload))),
        }
    }
}

/// The number of a lane's subscription.
fn subscription(lane: u32) -> u64 {
    u64::from(lane) + 1
}

/// Which message a body says it is, in words.
fn name(body: &[u8]) -> String {
    payload::name(body, |lane| format!("subscription {}", subscription(lane)))
}
