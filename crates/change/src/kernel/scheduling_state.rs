//! The scheduling of a thread as the kernel keeps it (sched(7)).

use machine::Scheduling;
use serde::{Deserialize, Serialize};

/// All that is needed to restore the scheduling of a thread.
///
/// [`Scheduling`] is what one asks for. A real-time thread also keeps a nice value for later, and any thread may have
/// SCHED_RESET_ON_FORK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulingState {
    /// Policy with its parameter: nice value or real-time priority.
    pub scheduling: Scheduling,
    /// Nice value that the kernel keeps for the thread under every policy (-20 to 19).
    pub nice: i32,
    /// SCHED_RESET_ON_FORK: children do not inherit the policy.
    pub reset_on_fork: bool,
}

impl SchedulingState {
    /// This state with another policy. A nice value that the policy does not mention stays.
    pub fn with(self, scheduling: Scheduling) -> Self {
        let nice = match scheduling {
            Scheduling::Other { nice } | Scheduling::Batch { nice } => nice,
            _ => self.nice,
        };
        Self { scheduling, nice, ..self }
    }

    /// Whether the thread has less than before in `other`: a higher nice value, a lower real-time priority or none,
    /// or SCHED_IDLE. To go back needs CAP_SYS_NICE.
    pub fn is_lowered_by(&self, other: &Self) -> bool {
        // Higher is stronger; nice counts within one rank.
        let rank = |state: &Self| match state.scheduling {
            Scheduling::Idle => 0,
            Scheduling::Other { .. } | Scheduling::Batch { .. } => 1,
            Scheduling::Fifo { priority } | Scheduling::RoundRobin { priority } => 1 + priority,
        };
        rank(other) < rank(self) || other.nice > self.nice
    }
}

/// A policy in the text form that the knob `scheduling-policy` takes.
pub fn policy_text(scheduling: &Scheduling) -> String {
    match scheduling {
        Scheduling::Other { nice } => format!("other:{nice}"),
        Scheduling::Batch { nice } => format!("batch:{nice}"),
        Scheduling::Idle => "idle".into(),
        Scheduling::Fifo { priority } => format!("fifo:{priority}"),
        Scheduling::RoundRobin { priority } => format!("rr:{priority}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_change_keeps_the_nice_value_that_it_does_not_mention() {
        let was = SchedulingState { scheduling: Scheduling::Other { nice: 5 }, nice: 5, reset_on_fork: true };
        let fifo = was.with(Scheduling::Fifo { priority: 10 });
        assert_eq!((fifo.nice, fifo.reset_on_fork), (5, true));
        assert_eq!(was.with(Scheduling::Batch { nice: -3 }).nice, -3);
    }

    #[test]
    fn what_gives_something_up_is_known() {
        let other =
            SchedulingState { scheduling: Scheduling::Other { nice: 0 }, nice: 0, reset_on_fork: false };
        let lowers = |from: SchedulingState, to: Scheduling| from.is_lowered_by(&from.with(to));
        let fifo = other.with(Scheduling::Fifo { priority: 5 });
        assert!(lowers(other, Scheduling::Idle) && lowers(other, Scheduling::Batch { nice: 1 }));
        assert!(
            lowers(fifo, Scheduling::RoundRobin { priority: 4 })
                && lowers(fifo, Scheduling::Other { nice: 0 })
        );
        assert!(
            !lowers(other, Scheduling::Batch { nice: 0 }) && !lowers(other, Scheduling::Fifo { priority: 1 })
        );
    }
}
