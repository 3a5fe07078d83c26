//! The server waits for its answers to be read.

use machine::wording::percent;
use probe::account::SleepReason;

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::sleep_share::large_sleep_share;
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::Scene;

/// The rule `slow-reader`.
pub struct SlowReader;

static ABOUT: About = About {
    id: "slow-reader",
    title: "slow readers of its answers",
    costs: Costs::Asleep,
    docs: "Threads of the server sleep in write or send: the buffer of a socket or a pipe is full, because whoever is at the other end reads slowly, \
           or because the network in between is slow. No placement of the server changes it. Look-alikes: a server that waits for requests \
           (slow-client) sleeps in read or epoll; one that waits for its log to become durable (blocked) is in state D.",
};

impl Rule for SlowReader {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let share = match large_sleep_share(scene, &ABOUT, SleepReason::Output) {
            Ok(share) => share,
            Err(looked) => return looked,
        };
        let claim = "The server waits for its answers to be read: the buffer of a socket or a pipe is full";
        let cause = Cause::seen(ABOUT.id, Subject::Server, share, claim)
            .because(format!("its threads slept for {} of their time in write(2), send(2) or similar calls", percent(share)))
            .figure("asleep_share", share)
            .remedy(Remedy::by_hand("Find out who reads too slowly: a client, a log collector at a pipe, the network (ss -tm shows full queues)"));
        Looked::Found(vec![cause])
    }
}
