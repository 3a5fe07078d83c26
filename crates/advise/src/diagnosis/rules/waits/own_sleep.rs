//! The server sleeps for a time that it has chosen itself.

use probe::account::SleepReason;

use super::much_sleep;
use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::Scene;
use crate::words::percent;

/// The rule `own-sleep`.
pub struct OwnSleep;

static ABOUT: About = About {
    id: "own-sleep",
    title: "pauses of its own",
    costs: Costs::Asleep,
    docs: "Threads that serve sleep in nanosleep or clock_nanosleep: a pause that the program itself makes - a poll with a delay, a back-off, a \
           rate limit, a garbage collector that waits. No placement changes it. Threads that do nothing else (housekeeping) are left out, for \
           they do not work. Look-alikes: a server that waits for requests (slow-client) sleeps in epoll or read, with a timeout or \
           without; one that is stopped (stopped).",
};

impl Rule for OwnSleep {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let share = match much_sleep(scene, &ABOUT, SleepReason::Timer) {
            Ok(share) => share,
            Err(looked) => return looked,
        };
        let claim = "The server pauses by itself: its threads sleep for a time that it has chosen";
        let cause = Cause::seen(ABOUT.id, Subject::Server, share, claim)
            .because(format!("{} of the time of its threads, in nanosleep(2) or clock_nanosleep(2)", percent(share)))
            .figure("asleep_share", share)
            .remedy(Remedy::by_hand(
                "Find the pause in its code or settings: pinwise watch --process PID --format folded has the stacks in which it sleeps",
            ));
        Looked::Found(vec![cause])
    }
}
