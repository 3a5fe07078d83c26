//! The server is stopped: by a signal, a debugger or the freezer.

use machine::wording::percent;
use probe::account::SleepReason;

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `stopped`.
pub struct Stopped;

static ABOUT: About = About {
    id: "stopped",
    title: "stopped threads",
    costs: Costs::Asleep,
    docs: "Threads of the server neither ran nor waited for anything: a signal (SIGSTOP, SIGTSTP), a debugger or the freezer of its cgroup (docker \
           pause, cgroup.freeze) held them. From outside it looks like a server without work. The state of the thread when it left the CPU \
           distinguishes this from sleep.",
};

impl Rule for Stopped {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        // By the state of its threads: it shows a server that is stopped throughout the window.
        let states: Vec<char> = scene.situation.server.threads().map(|thread| thread.state).collect();
        let all_stopped = !states.is_empty() && states.iter().all(|state| matches!(state, 'T' | 't'));
        let of_wall = scene.time.asleep_share(SleepReason::Stopped).unwrap_or(0.0);
        if of_wall < MATTERS && !all_stopped {
            return Looked::Fine;
        }
        let claim = match all_stopped {
            true => "The server is stopped (state T): it does nothing until it is continued".to_string(),
            false => format!("The server was stopped for {} of the window", percent(of_wall)),
        };
        let share = if all_stopped { of_wall.max(MATTERS) } else { of_wall };
        let cause = Cause::seen(ABOUT.id, Subject::Server, share, claim)
            .because("a signal, a debugger or the freezer of its cgroup stops it")
            .figure("stopped_share", of_wall)
            .remedy(Remedy::by_hand("Find out what stops it: check cgroup.freeze, debuggers, and the job control of a shell. kill -CONT continues it after a signal"));
        Looked::Found(vec![cause])
    }
}
