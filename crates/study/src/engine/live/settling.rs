//! Waiting until what an arm left behind, such as requests that queued up, is gone: the guards of the next trial would take it for its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::trial::Trial;

/// How often it is looked whether the study is stopped.
const STOP_EVERY: Duration = Duration::from_millis(50);

/// Until when what the last trial left behind may still be there; nothing where no guard ended it.
#[derive(Debug, Default)]
pub(super) struct Settling(Option<Instant>);

impl Settling {
    /// After a trial that ended now; `carry_over` is how long what it leaves may last.
    pub(super) fn after(trial: &Trial, now: Instant, carry_over: Duration) -> Self {
        Self(trial.breach.as_ref().and_then(|_| now.checked_add(carry_over)))
    }

    /// How long that still is.
    fn left(&self, now: Instant) -> Duration {
        self.0.map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }

    /// Waits so long, once. Ends at once when `interrupted` is raised: that is for the caller to see.
    pub(super) fn wait(&mut self, interrupted: &AtomicBool) {
        loop {
            let left = self.left(Instant::now());
            if left.is_zero() || interrupted.load(Ordering::Relaxed) {
                break;
            }
            std::thread::sleep(STOP_EVERY.min(left));
        }
        self.0 = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own_traffic::harm::tests::breach;

    const CARRY_OVER: Duration = Duration::from_secs(2);

    #[test]
    fn only_what_a_guard_ended_is_waited_for() {
        let now = Instant::now();
        let whole = Settling::after(&Trial::default(), now, CARRY_OVER);
        assert!(whole.left(now).is_zero());
        let ended = Trial { breach: Some(breach(31_000.0)), ..Trial::default() };
        let settling = Settling::after(&ended, now, CARRY_OVER);
        assert_eq!(settling.left(now), CARRY_OVER);
        assert!(settling.left(now + CARRY_OVER).is_zero());
    }

    #[test]
    fn a_stop_ends_the_wait_and_it_is_waited_for_once() {
        let forever = Duration::from_secs(1 << 30);
        let ended = Trial { breach: Some(breach(31_000.0)), ..Trial::default() };
        let mut settling = Settling::after(&ended, Instant::now(), forever);
        settling.wait(&AtomicBool::new(true));
        settling.wait(&AtomicBool::new(false));
    }
}
