//! The server's client on this host has the CPU while the server waits for it.

use machine::wording::{percent, plural};

use super::busy_task::took;
use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `client-beside-server`.
pub struct ClientBesideServer;

static ABOUT: About = About {
    id: "client-beside-server",
    title: "clients on the server's CPU",
    costs: Costs::CpuAccess,
    docs: "A client on the same host runs on the CPU that the server waits for: the two take turns. On one CPU they wake each other \
           cheaply; on separate CPUs they run at the same time. Which is faster has to be measured (pinwise study). A client is distinguished \
           from a foreign task (busy-task) by its connection to the server. Look-alike: a client that is slow because something else has its \
           CPU; then the server sleeps.",
};

impl Rule for ClientBesideServer {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        if scene.situation.account.is_none() {
            return Looked::needs_account(&ABOUT);
        }
        if scene.situation.connections.peers.is_empty() {
            return Looked::DoesNotApply;
        }
        let took = took(scene, true);
        let ns: f64 = took.values().map(|took| took.ns).sum();
        let share = scene.time.share(ns);
        let Some((pid, worst)) = took.iter().max_by(|a, b| a.1.ns.total_cmp(&b.1.ns)) else {
            return Looked::Fine;
        };
        if share < MATTERS {
            return Looked::Fine;
        }
        let comm = worst.worst.map(|task| task.comm.as_str()).unwrap_or_default();
        let who = match took.len() {
            1 => format!("Client {comm} (process {pid}) shares"),
            n => format!("Client {comm} (process {pid}), which takes the most time of {n} clients, shares"),
        };
        let claim = format!("{who} {} {} with the server", plural("CPU", worst.cpus.len()), worst.cpus);
        let cause = Cause::seen(ABOUT.id, Subject::Process { pid: *pid }, share, claim)
            .because(format!("the server spent {} of its time waiting while a client ran", percent(share)))
            .figure("waited_s", ns / 1e9);
        let room = scene.spare_for_others().difference(&worst.cpus);
        let remedy = match room.is_empty() {
            true => Remedy::by_hand("Measure both placements, together and apart, with pinwise study"),
            false => {
                let words = format!(
                    "Give the client {} {room} and measure the effect: apart is not always faster",
                    plural("CPU", room.len())
                );
                Remedy::set(words, "process-affinity", pid, &room)
            }
        };
        Looked::Found(vec![cause.remedy(remedy)])
    }
}
