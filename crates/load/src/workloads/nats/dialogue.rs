//! The client's side of one NATS connection: a lane is a subject with a subscription of its own.

use serde_json::json;

use super::options::NatsLoad;
use super::server_message::{self, Info, Said};
use super::subscription::Subscription;
use crate::drive::{Dialogue, News};
use crate::workloads::payload::Bodies;

/// A message that is longer than ours is a wrong answer, and is heard to its end; one that is longer than this, bytes, is no answer.
const LONGEST_BYTES: usize = 1 << 20;

/// How far the connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// INFO is awaited.
    Connected,
    /// The answer to our PING is awaited, behind which all subscriptions stand.
    Subscribing,
    Ready,
    /// Nothing more can come of it.
    Over,
}

/// The dialogue.
#[derive(Debug)]
pub(crate) struct Nats {
    load: NatsLoad,
    /// Distinguishes our subjects from those of others.
    tag: u64,
    /// Connections that were opened.
    opened: u64,
    bodies: Bodies,
    phase: Phase,
    lanes: Vec<Subscription>,
}

impl Nats {
    /// A dialogue of this load; `tag` is another number for each dialogue of each process that may use the same server.
    pub(crate) fn new(load: &NatsLoad, tag: u64) -> Self {
        let bodies = Bodies::new(load.message_bytes as usize);
        Self { load: load.clone(), tag, opened: 0, bodies, phase: Phase::Over, lanes: Vec::new() }
    }

    fn take(&mut self, said: Said<'_>, out: &mut Vec<u8>) -> Result<Option<News>, String> {
        match (said, self.phase) {
            (Said::Info(info), phase) => self.informed(&info, phase, out).map(|()| None),
            (Said::Ping, _) => {
                out.extend(b"PONG\r\n");
                Ok(None)
            }
            (Said::Pong, Phase::Subscribing) => {
                self.phase = Phase::Ready;
                Ok(Some(News::Ready))
            }
            (Said::Message { subject, subscription, payload }, Phase::Ready) => {
                self.came(subject, subscription, payload).map(Some)
            }
            (Said::Err(why), _) => Err(format!("the server refused: {}", server_message::shown(why))),
            (Said::Ok | Said::Pong | Said::Message { .. }, _) => {
                Err("the server said what nobody asked for".into())
            }
        }
    }

    fn informed(&mut self, info: &Info, phase: Phase, out: &mut Vec<u8>) -> Result<(), String> {
        if info.ends_soon {
            return Err("the server is about to end (lame duck mode)".into());
        }
        // Later ones say how the cluster has changed.
        if phase != Phase::Connected {
            return Ok(());
        }
        if info.tls_required {
            return Err("the server takes connections with TLS only, which this load does not speak".into());
        }
        if info.auth_required && self.load.user.is_none() {
            return Err("the server asks who connects: give `user` and `password`".into());
        }
        let bytes = self.bodies.len() as u64;
        if info.max_payload != 0 && bytes > info.max_payload {
            return Err(format!(
                "the server takes messages of at most {} bytes, not {bytes}: raise its max_payload, or lower `message_bytes`",
                info.max_payload
            ));
        }
        self.introduce(out);
        self.lanes.iter().for_each(|lane| lane.subscribe(out));
        out.extend(b"PING\r\n");
        self.phase = Phase::Subscribing;
        Ok(())
    }

    /// CONNECT: no acknowledgement of each message, no headers, and our own messages come back to us.
    fn introduce(&self, out: &mut Vec<u8>) {
        let mut options = json!({
            "verbose": false, "pedantic": false, "tls_required": false, "echo": true, "headers": false, "protocol": 1,
            "name": "pinwise", "lang": "rust", "version": env!("CARGO_PKG_VERSION"),
        });
        for (key, value) in [("user", &self.load.user), ("pass", &self.load.password)] {
            if let Some(value) = value {
                options[key] = json!(value);
            }
        }
        out.extend(format!("CONNECT {options}\r\n").bytes());
    }

    fn came(&mut self, subject: &[u8], subscription: u64, payload: &[u8]) -> Result<News, String> {
        let lane = subscription.checked_sub(1).and_then(|lane| u32::try_from(lane).ok());
        let Some((index, lane)) = lane.and_then(|index| Some((index, self.lanes.get_mut(index as usize)?)))
        else {
            return Err(format!("a message came for subscription {subscription}, which was never made"));
        };
        Ok(match lane.came(subject, payload, &self.bodies)? {
            Ok(()) => News::Answered(index),
            Err(why) => News::Wrong(index, why),
        })
    }
}

impl Dialogue for Nats {
    fn lanes(&self) -> u32 {
        self.load.subjects
    }

    fn open(&mut self, _: &mut Vec<u8>) -> bool {
        self.opened += 1;
        let lane = |index| {
            let subject = format!("pinwise.{:x}.{}.{index}", self.tag, self.opened);
            Subscription::new(index, subject, self.bodies.len())
        };
        self.lanes = (0..self.load.subjects).map(lane).collect();
        self.phase = Phase::Connected;
        false
    }

    fn ask(&mut self, lane: u32, number: u64, out: &mut Vec<u8>) {
        if let Some(lane) = self.lanes.get_mut(lane as usize) {
            lane.ask(number, &self.bodies, out);
        }
    }

    fn hear(&mut self, came: &[u8], out: &mut Vec<u8>, news: &mut Vec<News>) -> usize {
        let mut understood = 0;
        while self.phase != Phase::Over {
            let taken = match server_message::first(&came[understood..], self.bodies.len().max(LONGEST_BYTES))
            {
                Ok(None) => return understood,
                Ok(Some((bytes, said))) => {
                    understood += bytes;
                    self.take(said, out)
                }
                Err(why) => Err(why),
            };
            match taken {
                Ok(item) => news.extend(item),
                Err(why) => {
                    self.phase = Phase::Over;
                    news.push(News::Over(why));
                }
            }
        }
        came.len()
    }
}
