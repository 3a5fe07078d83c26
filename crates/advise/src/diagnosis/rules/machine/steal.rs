//! The hypervisor takes the server's CPUs away.

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};
use crate::words::percent;

/// The rule `steal`.
pub struct Steal;

static ABOUT: About = About {
    id: "steal",
    title: "steal",
    docs: "In a guest, the hypervisor ran something else on the CPU that the server had: steal. The kernel sees it only as a difference of \
           clocks and books it to whatever ran, so that the server looks slow for its own reasons. No setting of the guest changes it. \
           Look-alike: a busy hyper-thread of the host, which no guest can see.",
};

impl Rule for Steal {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let rates: Vec<f64> = scene
            .time
            .cpus
            .iter()
            .filter_map(|cpu| scene.situation.observation.rate("stat", "steal", cpu))
            .collect();
        if rates.is_empty() {
            return Looked::DoesNotApply;
        }
        let share = rates.iter().sum::<f64>() / rates.len() as f64 / 1e6;
        if share < MATTERS {
            return Looked::Fine;
        }
        let claim = "The hypervisor gives the server's CPUs to somebody else (steal)";
        let cause = Cause::seen(ABOUT.id, Subject::Machine, share, claim)
            .because(format!("{} of the time of CPUs {}", percent(share), scene.time.cpus))
            .figure("steal_share", share)
            .remedy(Remedy::by_hand(
                "Ask for dedicated CPUs, or another host: nothing in the guest changes it",
            ));
        Looked::Found(vec![cause])
    }
}
