//! The server waits until what it writes is read.

use machine::wording::{percent, plural};
use probe::account::SleepReason;

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::sleep_share::large_sleep_share;
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::Scene;

/// The rule `slow-reader`.
pub struct SlowReader;

static ABOUT: About = About {
    id: "slow-reader",
    title: "slow readers of its output",
    costs: Costs::Asleep,
    docs: "Threads of the server sleep in write or send: the buffer of a socket or a pipe is full, because whoever is at the other end reads slowly, \
           or because the network in between is slow. No placement of the server changes it. It is not seen what the server writes: answers, \
           requests to a backend, or its log if that goes to a pipe (a container's log driver, tee) or to a socket (the journal). The stacks in \
           which it sleeps show which. Look-alikes: a server that waits for requests (slow-client) sleeps in read or epoll; one that waits for \
           its log to become durable (blocked) is in state D.",
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
        let claim = "The server waits until what it writes is read: the buffer of a socket or a pipe is full";
        let cause = Cause::seen(ABOUT.id, Subject::Server, share, claim)
            .because(format!("its threads slept for {} of their time in write(2), send(2) or similar calls", percent(share)))
            .because(what_it_may_be(scene.situation.connections.made))
            .figure("asleep_share", share)
            .remedy(Remedy::by_hand(
                "Find out who reads too slowly: pinwise watch --process PID --format folded shows the stacks in which it sleeps. In pipe_write it is \
                 whoever reads the pipe, such as a log collector (ls -l /proc/PID/fd shows what its stdout and stderr are); in tcp_sendmsg a peer or \
                 the network (ss -tm shows full queues); in unix_ functions another process of this host, such as the journal",
            ));
        Looked::Found(vec![cause])
    }
}

/// What the server may be writing, which is not seen, by how many connections it has opened itself.
fn what_it_may_be(made: u64) -> String {
    match made {
        0 => "it is not seen what it writes: answers, or its log if that goes to a pipe or a socket".into(),
        made => format!(
            "it is not seen what it writes: answers, requests (it opened {made} {} itself), or its log if that goes to a pipe or a socket",
            plural("connection", made as usize)
        ),
    }
}

#[cfg(test)]
mod tests {
    use probe::account::Part;

    use super::*;
    use crate::diagnosis::situation_builder::{SECOND, situation};

    #[test]
    fn a_log_at_a_full_pipe_is_not_called_answers() {
        let mut seen = situation();
        let thread = &mut seen.account.as_mut().unwrap().threads[0];
        thread.asleep_for = [(SleepReason::Output, Part { count: 10, total_ns: SECOND / 10 * 4 })].into();
        let look = |made: u64| {
            let mut seen = seen.clone();
            seen.connections.made = made;
            match SlowReader.examine(&Scene::of(&seen).unwrap()) {
                Looked::Found(mut causes) => causes.remove(0),
                other => panic!("{other:?}"),
            }
        };
        let alone = look(0);
        assert!(!alone.claim.contains("answers") && alone.evidence[1].contains("its log"), "{alone:?}");
        assert!(look(2).evidence[1].contains("it opened 2 connections itself"));
    }
}
