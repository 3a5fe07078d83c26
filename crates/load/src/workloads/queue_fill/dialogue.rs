//! The client's side of the built-in queue server: one operation at a time, each answer held against what it has to be.

use super::protocol::{HEAD_BYTES, Kind, head, read_head};
use super::sequence::{Sequence, Step};
use crate::drive::{Dialogue, News};
use crate::outcome::operations;
use crate::workloads::payload::{self, Bodies, mark};

/// An answer that is coming in.
#[derive(Debug)]
struct Answer {
    kind: Kind,
    bytes: u64,
    got: u64,
    /// The count of an answer that has one, as far as it has come.
    count: [u8; 8],
    /// What is wrong with it, once something is.
    wrong: Option<String>,
}

/// The dialogue.
#[derive(Debug)]
pub(crate) struct QueueDialogue {
    sequence: Sequence,
    bodies: Bodies,
    asked: Option<Step>,
    answer: Option<Answer>,
}

impl QueueDialogue {
    pub(crate) fn new(sequence: Sequence, message_bytes: usize) -> Self {
        Self { sequence, bodies: Bodies::new(message_bytes), asked: None, answer: None }
    }

    /// Takes what it can from `came`: how many bytes, 0 when more must come.
    fn take(&mut self, came: &[u8], news: &mut Vec<News>) -> Result<usize, String> {
        let Some(step) = self.asked else { return Err("something came that nobody asked for".into()) };
        let Some(answer) = &mut self.answer else {
            let Some(first) = came.first_chunk::<HEAD_BYTES>() else { return Ok(0) };
            let (kind, bytes) =
                read_head(first).ok_or("it does not speak the protocol of the queue server")?;
            self.answer = Some(self.begun(step, kind, bytes)?);
            self.end(step, news);
            return Ok(HEAD_BYTES);
        };
        let part = &came[..came.len().min((answer.bytes - answer.got) as usize)];
        match answer.kind {
            Kind::Kept => answer.count[answer.got as usize..][..part.len()].copy_from_slice(part),
            _ if answer.wrong.is_none() => {
                let mark = mark(0, step.message);
                if !self.bodies.same(&mark, answer.got as usize, part) {
                    answer.wrong = Some(difference(&mark, answer.got, part));
                }
            }
            _ => {}
        }
        answer.got += part.len() as u64;
        self.end(step, news);
        Ok(part.len())
    }

    /// What an answer's head says, of what was asked. Fails when no answer to that is such.
    fn begun(&self, step: Step, kind: Kind, bytes: u64) -> Result<Answer, String> {
        let wrong = match (step.kind, kind, bytes) {
            (operations::Kind::Put, Kind::Kept, 8) => None,
            (operations::Kind::Get, Kind::Message, _) if bytes == self.bodies.len() as u64 => None,
            (operations::Kind::Get, Kind::Message, _) => {
                Some(format!("it has {bytes} bytes in place of {}", self.bodies.len()))
            }
            (operations::Kind::Get, Kind::Empty, 0) => Some("the queue is empty: it is lost".into()),
            _ => return Err(format!("{kind:?} came as the answer to a {}", step.kind.word())),
        };
        Ok(Answer { kind, bytes, got: 0, count: [0; 8], wrong })
    }

    /// Reports the answer once all of it is there.
    fn end(&mut self, step: Step, news: &mut Vec<News>) {
        let Some(answer) = self.answer.take_if(|answer| answer.got == answer.bytes) else { return };
        self.asked = None;
        let kept = u64::from_le_bytes(answer.count);
        let wrong = answer.wrong.or_else(|| {
            (answer.kind == Kind::Kept && kept != step.left)
                .then(|| format!("the queue has {kept} messages with it, and should have {}", step.left))
        });
        news.push(match wrong {
            None => News::Answered(0),
            Some(why) => News::Wrong(0, format!("message {}: {why}", step.message)),
        });
    }
}

fn difference(mark: &[u8], at: u64, part: &[u8]) -> String {
    match payload::number(part).filter(|_| at == 0 && !part.starts_with(mark)) {
        Some(number) => format!("message {number} came in its place"),
        None => "its bytes are not those that were put".into(),
    }
}

impl Dialogue for QueueDialogue {
    fn open(&mut self, _: &mut Vec<u8>) -> bool {
        (self.asked, self.answer) = (None, None);
        true
    }

    fn ask(&mut self, _: u32, number: u64, out: &mut Vec<u8>) {
        let step = self.sequence.step(number);
        match step.kind {
            operations::Kind::Put => {
                out.extend(head(Kind::Put, self.bodies.len() as u64));
                self.bodies.put(out, &mark(0, step.message), 0, self.bodies.len());
            }
            operations::Kind::Get => out.extend(head(Kind::Get, 0)),
        }
        self.asked = Some(step);
    }

    fn hear(&mut self, came: &[u8], _: &mut Vec<u8>, news: &mut Vec<News>) -> usize {
        let mut understood = 0;
        while understood < came.len() {
            match self.take(&came[understood..], news) {
                Ok(0) => break,
                Ok(n) => understood += n,
                Err(why) => {
                    news.push(News::Over(why));
                    return came.len();
                }
            }
        }
        understood
    }

    fn operation(&self, number: u64) -> Option<(operations::Kind, operations::Phase)> {
        let Step { kind, phase, .. } = self.sequence.step(number);
        Some((kind, phase))
    }
}

#[cfg(test)]
mod tests {
    use super::super::sequence::Shape;
    use super::*;

    const BYTES: usize = 40;

    fn dialogue() -> QueueDialogue {
        QueueDialogue::new(Sequence { shape: Shape::FillDrain, messages: 2 }, BYTES)
    }

    fn ask(dialogue: &mut QueueDialogue, number: u64) -> Vec<u8> {
        let mut out = Vec::new();
        dialogue.ask(0, number, &mut out);
        out
    }

    fn frame(kind: Kind, body: &[u8]) -> Vec<u8> {
        [&head(kind, body.len() as u64)[..], body].concat()
    }

    /// What is reported of an answer that comes in two parts, whatever the cut.
    fn reported(number: u64, answer: &[u8]) -> Vec<News> {
        let mut all = Vec::new();
        for cut in 0..answer.len() {
            let mut dialogue = dialogue();
            ask(&mut dialogue, number);
            let (mut out, mut news) = (Vec::new(), Vec::new());
            let understood = dialogue.hear(&answer[..cut], &mut out, &mut news);
            // Nothing is heard of a connection that is over.
            if news.is_empty() {
                dialogue.hear(&answer[understood..], &mut out, &mut news);
            }
            assert!(all.is_empty() || all == news, "cut at {cut}: {news:?} in place of {all:?}");
            all = news;
        }
        all
    }

    #[test]
    fn what_was_put_comes_back_however_it_is_cut() {
        let mut dialogue = dialogue();
        let put = ask(&mut dialogue, 1);
        assert_eq!(put.len(), HEAD_BYTES + BYTES);
        assert_eq!(reported(1, &frame(Kind::Kept, &2u64.to_le_bytes())), [News::Answered(0)]);
        assert_eq!(reported(3, &frame(Kind::Message, &put[HEAD_BYTES..])), [News::Answered(0)]);
    }

    #[test]
    fn lost_doubled_changed_and_strange_messages_are_no_answers() {
        let mut dialogue = dialogue();
        let [first, second] = [0, 1].map(|number| ask(&mut dialogue, number)[HEAD_BYTES..].to_vec());
        let wrong = |number, answer: &[u8]| match &reported(number, answer)[..] {
            [News::Wrong(0, words)] => words.clone(),
            other => panic!("{other:?}"),
        };
        assert!(wrong(2, &frame(Kind::Empty, b"")).contains("message 0: the queue is empty"));
        assert!(wrong(0, &frame(Kind::Kept, &3u64.to_le_bytes())).contains("3 messages"));
        let mut changed = first.clone();
        changed[BYTES - 1] ^= 1;
        assert!(wrong(2, &frame(Kind::Message, &changed)).contains("bytes are not those"));
        assert!(wrong(2, &frame(Kind::Message, &first[1..])).contains("39 bytes in place of 40"));
        // In one piece, the words name the one that came.
        let mut news = Vec::new();
        ask(&mut dialogue, 2);
        dialogue.hear(&frame(Kind::Message, &second), &mut Vec::new(), &mut news);
        assert!(matches!(&news[..], [News::Wrong(0, words)] if words.starts_with("message 0:")), "{news:?}");
        assert!(matches!(&reported(0, &frame(Kind::Message, &first))[..], [News::Over(_)]));
        assert!(
            matches!(&reported(0, b"HTTP/1.1 400 Bad")[..], [News::Over(why)] if why.contains("does not speak"))
        );
    }
}
