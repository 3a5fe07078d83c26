//! Messages of one length that come back as they went out.

use crate::drive::{Dialogue, News};

/// Bytes of lane and number at the start of a message.
const HEAD_BYTES: usize = 16;

/// One connection of the latency load.
#[derive(Debug)]
pub(crate) struct EchoDialogue {
    message_bytes: usize,
    /// The number of the message that is under way on each lane.
    under_way: Vec<Option<u64>>,
    /// What stands behind lane and number.
    filling: Vec<u8>,
}

impl EchoDialogue {
    /// With messages of this length, at least 16 bytes, of which `lanes` may be under way.
    pub(crate) fn new(message_bytes: usize, lanes: u32) -> Self {
        let filling = (HEAD_BYTES..message_bytes).map(|at| at as u8).collect();
        Self { message_bytes, under_way: vec![None; lanes as usize], filling }
    }

    fn judge(&mut self, message: &[u8]) -> News {
        let (lane, number) = (word(message, 0), word(message, 8));
        let known =
            u32::try_from(lane).ok().and_then(|lane| Some((lane, self.under_way.get_mut(lane as usize)?)));
        match known {
            Some((lane, expected)) if *expected == Some(number) && message[HEAD_BYTES..] == self.filling => {
                *expected = None;
                News::Answered(lane)
            }
            Some((lane, expected)) => {
                let words = match *expected {
                    Some(expected) if expected != number => {
                        format!(
                            "message {number} came back in place of {expected}: it was doubled, or another was lost"
                        )
                    }
                    Some(_) => format!("message {number} came back with other bytes than it had"),
                    None => format!("message {number} came back twice"),
                };
                News::Wrong(lane, words)
            }
            None => News::Over(format!("a message came back that was never sent (lane {lane})")),
        }
    }
}

fn word(message: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&message[at..at + 8]);
    u64::from_le_bytes(bytes)
}

impl Dialogue for EchoDialogue {
    fn lanes(&self) -> u32 {
        self.under_way.len() as u32
    }

    fn open(&mut self, _: &mut Vec<u8>) -> bool {
        self.under_way.fill(None);
        true
    }

    fn ask(&mut self, lane: u32, number: u64, out: &mut Vec<u8>) {
        self.under_way[lane as usize] = Some(number);
        out.extend_from_slice(&u64::from(lane).to_le_bytes());
        out.extend_from_slice(&number.to_le_bytes());
        out.extend_from_slice(&self.filling);
    }

    fn hear(&mut self, came: &[u8], _: &mut Vec<u8>, news: &mut Vec<News>) -> usize {
        let messages = came.chunks_exact(self.message_bytes);
        let understood = came.len() - messages.remainder().len();
        for message in messages {
            let item = self.judge(message);
            news.push(item);
        }
        understood
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(dialogue: &mut EchoDialogue, came: &[u8]) -> (usize, Vec<News>) {
        let mut news = Vec::new();
        (dialogue.hear(came, &mut Vec::new(), &mut news), news)
    }

    #[test]
    fn what_comes_back_is_known_by_lane_and_number() {
        let mut dialogue = EchoDialogue::new(20, 2);
        let mut out = Vec::new();
        assert!(dialogue.open(&mut out) && out.is_empty() && dialogue.lanes() == 2);
        dialogue.ask(1, 7, &mut out);
        dialogue.ask(0, 8, &mut out);
        assert_eq!(out.len(), 40);
        assert_eq!(heard(&mut dialogue, &out[..39]), (20, vec![News::Answered(1)]));
        assert_eq!(heard(&mut dialogue, &out[20..]), (20, vec![News::Answered(0)]));
    }

    #[test]
    fn doubled_changed_and_strange_messages_are_no_answers() {
        let mut dialogue = EchoDialogue::new(20, 1);
        let mut out = Vec::new();
        dialogue.ask(0, 7, &mut out);
        let mut changed = out.clone();
        changed[19] ^= 1;
        assert!(
            matches!(&heard(&mut dialogue, &changed).1[..], [News::Wrong(0, words)] if words.contains("other bytes"))
        );
        assert_eq!(heard(&mut dialogue, &out).1, [News::Answered(0)]);
        assert!(
            matches!(&heard(&mut dialogue, &out).1[..], [News::Wrong(0, words)] if words.contains("twice"))
        );
        let mut strange = out.clone();
        strange[0] = 9;
        assert!(matches!(&heard(&mut dialogue, &strange).1[..], [News::Over(_)]));
    }
}
