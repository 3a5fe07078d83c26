//! The hypervisor takes the server's CPUs away.

use machine::wording::{percent, plural};

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `steal`.
pub struct Steal;

/// What can be done about it.
pub(in crate::diagnosis) const REMEDY: &str =
    "Raise the guest's cap, if it has one (CPU credits, vCPU quota); else ask for dedicated CPUs";

static ABOUT: About = About {
    id: "steal",
    title: "steal",
    costs: Costs::OwnTime,
    docs: "In a guest, the hypervisor did not run a CPU although the server wanted it (steal): something else had the host's CPU, or the guest had \
           used up what it may have (CPU credits, a quota of its vCPUs). The guest cannot distinguish the two. Its kernel sees steal only as a \
           difference between two clocks and charges it to whatever was running, so the server seems to be slow for reasons of its own. No setting \
           of the guest changes it. Look-alike: a busy hyper-thread of the host, which no guest can see.",
};

impl Rule for Steal {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let Some(share) = scene.situation.stolen_share(&scene.time.cpus) else { return Looked::DoesNotApply };
        if share < MATTERS {
            return Looked::Fine;
        }
        let claim = "The hypervisor takes the server's CPUs away (steal)";
        let cause = Cause::seen(ABOUT.id, Subject::Machine, share, claim)
            .because(format!(
                "{} of the time of {} {} was stolen",
                percent(share),
                plural("CPU", scene.time.cpus.len()),
                scene.time.cpus
            ))
            .figure("steal_share", share)
            .remedy(Remedy::by_hand(REMEDY));
        Looked::Found(vec![cause])
    }
}
