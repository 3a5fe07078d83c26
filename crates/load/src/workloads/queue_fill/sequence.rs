//! Which operation comes when: a queue is filled, perhaps worked with while it is full, and drained.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::outcome::operations::{Kind, Phase};

/// The shape of a sequence over N messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// N are put, then N are got.
    #[default]
    FillDrain,
    /// N are put, then 2 N times one is put and one got, then N are got.
    FillExchangeDrain,
}

/// One operation of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// What is done.
    pub kind: Kind,
    /// In which part of the sequence.
    pub phase: Phase,
    /// The message that it is about, by the order in which they were put, from 0.
    pub message: u64,
    /// Messages that are in the queue after it.
    pub left: u64,
}

/// All operations of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sequence {
    /// Its shape.
    pub shape: Shape,
    /// N.
    pub messages: u64,
}

impl Sequence {
    /// How many operations there are.
    pub fn operations(&self) -> u64 {
        match self.shape {
            Shape::FillDrain => 2 * self.messages,
            Shape::FillExchangeDrain => 6 * self.messages,
        }
    }

    /// Operation `number`, from 0; beyond the last one it goes on draining.
    pub fn step(&self, number: u64) -> Step {
        let n = self.messages;
        let exchanges = match self.shape {
            Shape::FillDrain => 0,
            Shape::FillExchangeDrain => 2 * n,
        };
        match number.checked_sub(n) {
            None => Step { kind: Kind::Put, phase: Phase::Fill, message: number, left: number + 1 },
            Some(at) if at < 2 * exchanges => match at % 2 {
                0 => Step { kind: Kind::Put, phase: Phase::Exchange, message: n + at / 2, left: n + 1 },
                _ => Step { kind: Kind::Get, phase: Phase::Exchange, message: at / 2, left: n },
            },
            Some(at) => {
                let drained = at - 2 * exchanges;
                let left = n.saturating_sub(drained + 1);
                Step { kind: Kind::Get, phase: Phase::Drain, message: exchanges + drained, left }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    #[test]
    fn every_message_is_put_once_and_got_once_in_order() {
        for shape in [Shape::FillDrain, Shape::FillExchangeDrain] {
            for messages in [1, 2, 7] {
                let sequence = Sequence { shape, messages };
                let (mut queue, mut put) = (VecDeque::new(), 0);
                let mut most = 0;
                for number in 0..sequence.operations() {
                    let step = sequence.step(number);
                    match step.kind {
                        Kind::Put => {
                            assert_eq!(step.message, put);
                            queue.push_back(put);
                            put += 1;
                        }
                        Kind::Get => assert_eq!(queue.pop_front(), Some(step.message), "{shape:?} {number}"),
                    }
                    assert_eq!(queue.len() as u64, step.left, "{shape:?} {number}");
                    most = most.max(queue.len() as u64);
                }
                assert!(queue.is_empty());
                assert_eq!(most, messages + u64::from(shape == Shape::FillExchangeDrain));
            }
        }
    }

    #[test]
    fn the_phases_follow_each_other() {
        let sequence = Sequence { shape: Shape::FillExchangeDrain, messages: 3 };
        let phases: Vec<Phase> = (0..18).map(|number| sequence.step(number).phase).collect();
        let of = |phase| phases.iter().filter(|p| **p == phase).count();
        assert_eq!((of(Phase::Fill), of(Phase::Exchange), of(Phase::Drain)), (3, 12, 3));
        assert!(phases.is_sorted());
    }
}
