//! Events that programs were left out for.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How often it is read: a call for each program, which goes through all CPUs. That some were left out is reported in words, and a second later does.
const EVERY: Duration = Duration::from_millis(900);

/// By program, as the kernel reported it last.
#[derive(Debug, Default)]
pub(super) struct Missed {
    asked: Option<Instant>,
    reported: BTreeMap<&'static str, u64>,
}

impl Missed {
    /// What the kernel reported; it is read again when that is a while ago, and when this is the last time.
    pub(super) fn look(
        &mut self,
        is_last: bool,
        ask: impl FnOnce() -> BTreeMap<&'static str, u64>,
    ) -> &BTreeMap<&'static str, u64> {
        if is_last || self.asked.is_none_or(|asked| asked.elapsed() >= EVERY) {
            (self.asked, self.reported) = (Some(Instant::now()), ask());
        }
        &self.reported
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_asked_now_and_then_and_at_the_end() {
        let mut missed = Missed::default();
        let reported = |count| BTreeMap::from([("sched_switch", count)]);
        assert_eq!(*missed.look(false, || reported(1)), reported(1));
        assert_eq!(*missed.look(false, || panic!("a moment ago")), reported(1));
        assert_eq!(*missed.look(true, || reported(2)), reported(2));
        missed.asked = Instant::now().checked_sub(EVERY);
        assert_eq!(*missed.look(false, || reported(3)), reported(3));
    }
}
