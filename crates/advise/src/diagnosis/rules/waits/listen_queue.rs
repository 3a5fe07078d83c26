//! Connections come in faster than the server accepts them.

use machine::wording::{per_second, percent, things_per_second};

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::Scene;

/// The rule `listen-queue`.
pub struct ListenQueue;

/// Retransmissions matter from this share of the segments on.
const MATTERS: f64 = 0.01;
/// One kind of retransmission explains all of them if it makes up at least this share.
const MOST: f64 = 0.5;

static ABOUT: About = About {
    id: "listen-queue",
    title: "listen queue and retransmissions",
    costs: Costs::Asleep,
    docs: "The accept queue of a port was full when connections came in (ListenOverflows): clients retry, usually after one second, which \
           shows as latency steps of 1, 3 and 7 s (clients with Linux 6.5 or later: 1, 2, 3 and 4 s). With net.ipv4.tcp_abort_on_overflow = 1, a client \
           whose handshake ends while the queue is full gets a reset instead of waiting: there may be errors and no steps. The server accepts \
           too slowly, or its backlog (listen(2), net.core.somaxconn) is too short. If at least 1 % \
           of TCP segments are retransmitted, the kernel's other counters show why. If most of them are requests for a connection \
           or the answers to them (TCPSynRetrans), somebody does not answer: a firewall that drops them, a host that is gone, a full accept queue, a \
           flood of requests. If the peers report most of them as received twice (D-SACK), they were not needed: the path reordered the segments, or \
           acknowledgements came late or were lost. If neither makes up most, packets were probably lost: at the card, in a full backlog, or in the \
           network. The counters are those of the whole network namespace.",
};

impl Rule for ListenQueue {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let row = |name| scene.system_per_s("network", name);
        let Some(overflows) = row("listen overflows") else {
            return Looked::CannotTell(::machine::Missing::new(
                ABOUT.title,
                "the kernel's TCP counters were not read",
            ));
        };
        let mut causes = Vec::new();
        if overflows > 0.0 {
            let claim = "Connections came in while an accept queue was full: clients wait, mostly for a second or more, and try again, or get a reset";
            let mut cause = Cause::possible(ABOUT.id, Subject::Server, claim)
                .because(format!(
                    "{} in the server's network namespace (ListenOverflows)",
                    per_second(overflows)
                ))
                .figure("overflows_per_s", overflows);
            let waiting =
                scene.situation.connections.listeners.iter().filter(|listener| listener.waiting > 0);
            for listener in waiting {
                cause = cause.because(format!(
                    "port {}: {} connections wait to be accepted",
                    listener.port, listener.waiting
                ));
            }
            cause = cause.because("resets come only with net.ipv4.tcp_abort_on_overflow = 1 in that namespace, which was not read");
            causes.push(cause.remedy(Remedy::by_hand(
                "Raise the server's backlog and net.core.somaxconn; find out what keeps it from accepting",
            )));
        }
        causes.extend(retransmissions(scene));
        Looked::of(causes)
    }
}

/// Segments that are retransmitted, and what the kernel's counters show of the reason.
fn retransmissions(scene: &Scene<'_>) -> Option<Cause> {
    let row = |name| scene.system_per_s("network", name);
    let (again, sent) = (row("retransmitted")?, row("segments sent")?);
    if sent <= 100.0 || again / sent < MATTERS {
        return None;
    }
    let (requests, twice) = (row("retransmitted syn"), row("received twice"));
    let (what, remedy) = why(again, requests, twice);
    let claim = format!("{:.1} % of TCP segments are retransmitted: {what}", 100.0 * again / sent);
    let mut cause = Cause::possible(ABOUT.id, Subject::Interface { name: "TCP".into() }, claim)
        .because(format!(
            "{} of {}, in the server's network namespace",
            per_second(again),
            things_per_second(sent, "segments")
        ))
        .figure("retransmitted_share", again / sent);
    for (part, what, figure) in [
        (requests, "of them were requests for a connection or their answers", "syn_share"),
        (twice, "had already been received, as the peers report", "received_twice_share"),
    ] {
        if let Some(part) = part {
            let share = (part / again).min(1.0);
            cause = cause.because(format!("{} {what}", percent(share))).figure(figure, share);
        }
    }
    Some(cause.remedy(Remedy::by_hand(remedy)))
}

/// Why segments are retransmitted, in words, and what can be done: by those of them that are requests for a connection or their answers, and
/// those that peers had already received. Not every peer reports the latter.
fn why(again: f64, requests: Option<f64>, twice: Option<f64>) -> (&'static str, &'static str) {
    let is_most = |part: Option<f64>| part.is_some_and(|part| part >= MOST * again);
    let both = requests.zip(twice).map(|(requests, twice)| requests + twice);
    if is_most(requests) {
        (
            "most are requests for a connection, or the server's answers to them, that are not answered",
            "Find out which peers do not answer, in the server's network namespace: ss -tn state syn-sent state syn-recv. Look for a firewall that \
             drops packets, a full accept queue, and requests that nobody means (a scan, a flood)",
        )
    } else if is_most(twice) {
        (
            "most without need, since the path reorders segments or acknowledgements come late or get lost",
            "Look at what reorders or delays packets on the path (several links in turn, receive work that moves between CPUs) and at peers that stall",
        )
    } else if both.is_some() && !is_most(both) {
        (
            "most likely, packets are lost",
            "Check for drops at the card (ethtool -S), in the backlog (softnet_stat), and on the path",
        )
    } else {
        (
            "packets are lost, late or reordered, or a peer does not answer",
            "Check for drops at the card (ethtool -S), in the backlog (softnet_stat), and on the path; nstat -az in the server's network namespace shows \
             TCPSynRetrans and TCPDSACKRecv",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::situation_builder::{SituationBuilder, situation};

    /// What is said where of so many segments 300 are retransmitted, with these counters beside.
    fn look(sent: u64, counters: &[(&str, u64)]) -> Option<Cause> {
        let seen = [("segments sent", sent), ("retransmitted", 300)];
        let seen = seen
            .iter()
            .chain(counters)
            .fold(situation(), |situation, (name, value)| situation.counted("network", name, *value));
        retransmissions(&Scene::of(&seen).unwrap())
    }

    fn claim(requests: u64, twice: u64) -> String {
        look(10_000, &[("retransmitted syn", requests), ("received twice", twice)]).unwrap().claim
    }

    #[test]
    fn clients_of_a_full_accept_queue_wait_or_get_a_reset() {
        let seen = situation().counted("network", "listen overflows", 5);
        let looked = ListenQueue.examine(&Scene::of(&seen).unwrap());
        let Looked::Found(causes) = looked else { panic!("not found") };
        assert!(causes[0].claim.ends_with("or get a reset"), "{causes:?}");
        assert!(causes[0].evidence[1].contains("tcp_abort_on_overflow"), "{causes:?}");
    }

    #[test]
    fn answers_to_requests_for_a_connection_are_looked_for_as_well() {
        let cause = look(10_000, &[("retransmitted syn", 300), ("received twice", 0)]).unwrap();
        assert!(cause.claim.contains("retransmitted: most are requests"), "{cause:?}");
        assert!(cause.remedies[0].words.contains("syn-recv"), "{cause:?}");
        assert_eq!(cause.evidence[1], "100 % of them were requests for a connection or their answers");
    }

    #[test]
    fn that_packets_are_lost_is_said_only_where_most_are_neither_requests_nor_without_need() {
        assert!(claim(20, 20).ends_with("packets are lost"));
        assert!(claim(130, 130).contains("lost, late or reordered"), "no kind is most, and 40 are left");
        let needless = claim(0, 150);
        assert!(needless.contains("without need") && needless.contains("get lost"), "{needless}");
    }

    #[test]
    fn few_segments_few_retransmissions_and_missing_counters_are_nothing() {
        assert_eq!(look(100, &[]), None, "few segments");
        assert_eq!(look(100_000, &[]), None, "0.3 %");
        let uncounted = situation().counted("network", "retransmitted", 300);
        assert_eq!(retransmissions(&Scene::of(&uncounted).unwrap()), None);
        let only_one = look(10_000, &[("received twice", 10)]).unwrap();
        assert!(only_one.claim.contains("lost, late or reordered"), "{only_one:?}");
        assert_eq!(only_one.evidence.len(), 2);
        let odd = look(10_000, &[("retransmitted syn", u64::MAX), ("received twice", 0)]).unwrap();
        assert!(odd.figures.iter().all(|figure| figure.value <= 1.0), "{odd:?}");
    }
}
