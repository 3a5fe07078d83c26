//! Connections come in faster than the server accepts them.

use machine::wording::{per_second, things_per_second};

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::Scene;

/// The rule `listen-queue`.
pub struct ListenQueue;

/// The path loses packets if at least this share of the segments is sent again.
const LOSES: f64 = 0.01;

static ABOUT: About = About {
    id: "listen-queue",
    title: "listen queue and retransmissions",
    costs: Costs::Asleep,
    docs: "The accept queue of a port was full when connections came in (ListenOverflows): clients try again after a second, and latency has steps \
           of 1, 3 and 7 s. The server accepts too slowly, or its backlog (listen(2), net.core.somaxconn) is too short. If more than 1 % of TCP \
           segments are sent again, the path loses packets: at the card, in a full backlog, or in the network. The counters are those of the whole \
           network namespace.",
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
            let claim = "Connections came in while an accept queue was full: clients wait a second or more and try again";
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
            causes.push(cause.remedy(Remedy::by_hand(
                "Raise the server's backlog and net.core.somaxconn; find out what keeps it from accepting",
            )));
        }
        if let (Some(again), Some(sent)) = (row("retransmitted"), row("segments sent"))
            && sent > 100.0
            && again / sent >= LOSES
        {
            let claim = format!(
                "{:.1} % of TCP segments are sent again: the path loses packets",
                100.0 * again / sent
            );
            let cause = Cause::possible(ABOUT.id, Subject::Interface { name: "TCP".into() }, claim)
                .because(format!("{} of {}", per_second(again), things_per_second(sent, "segments")))
                .figure("retransmitted_share", again / sent)
                .remedy(Remedy::by_hand(
                    "Check for drops at the card (ethtool -S), in the backlog (softnet_stat), and on the path",
                ));
            causes.push(cause);
        }
        Looked::of(causes)
    }
}
