//! Waits until the hours begin in which a recipe lets trials begin.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use machine::Fault;

use super::{Event, Trials};

/// The clock is read again so often: it may be set meanwhile.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// How often it is looked whether the study is stopped.
const STOP_EVERY: Duration = Duration::from_millis(100);

/// Waits as long as no trial may begin. Ends at once when `interrupted` is raised: that is for the caller to see.
///
/// # Errors
/// As [`Trials::waits`].
pub(super) fn wait(
    trials: &mut dyn Trials,
    interrupted: &AtomicBool,
    events: &mut dyn FnMut(Event<'_>),
) -> Result<(), Fault> {
    let mut is_said = false;
    while let Some(waits) = trials.waits()? {
        if !is_said {
            events(Event::Waits { until: &waits.until });
            is_said = true;
        }
        let end = Instant::now() + waits.length.min(LOOK_AGAIN);
        while Instant::now() < end {
            if interrupted.load(Ordering::Relaxed) {
                return Ok(());
            }
            std::thread::sleep(STOP_EVERY.min(end.saturating_duration_since(Instant::now())));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::engine::{Planned, Waits};
    use crate::trial::Trial;

    struct Night(usize);

    impl Trials for Night {
        fn run(&mut self, _: &Planned<'_>, _: &Path) -> Result<Trial, Fault> {
            Ok(Trial::default())
        }

        fn waits(&mut self) -> Result<Option<Waits>, Fault> {
            self.0 = self.0.saturating_sub(1);
            let until = "02:00".to_string();
            Ok((self.0 > 0).then_some(Waits { until, length: Duration::from_millis(1) }))
        }
    }

    #[test]
    fn it_is_said_once_until_when_and_a_stop_ends_it() {
        let mut said = Vec::new();
        let mut take = |event: Event<'_>| match event {
            Event::Waits { until } => said.push(until.to_string()),
            _ => panic!("no other event"),
        };
        wait(&mut Night(4), &AtomicBool::new(false), &mut take).unwrap();
        wait(&mut Night(usize::MAX), &AtomicBool::new(true), &mut take).unwrap();
        wait(&mut Night(0), &AtomicBool::new(false), &mut take).unwrap();
        assert_eq!(said, ["02:00", "02:00"]);
    }
}
