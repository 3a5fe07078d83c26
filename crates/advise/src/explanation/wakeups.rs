//! How a server is woken: how often, where, and how long it takes until it runs.

use serde::Serialize;
use study::Observed;
use study::statistics::summary::median;

/// Wake-ups of the server's threads in one arm: medians over trials.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Wakeups {
    /// Per request; `None` where the load does not report requests.
    pub per_request: Option<f64>,
    /// Share of them on another CPU than the one on which the thread ran last, 0 to 1.
    pub elsewhere_share: f64,
    /// Share of them by something that ran on another CPU than the one they were woken onto, 0 to 1; `None` where that was not counted.
    pub from_other_cpu_share: Option<f64>,
    /// Mean time from being woken to running, us.
    pub until_running_us: f64,
    /// Share of them onto an idle CPU, 0 to 1: those that pay for its exit from an idle state.
    pub onto_idle_share: f64,
}

impl Wakeups {
    /// Of the trials of an arm; `None` where none was woken, or without an account.
    pub(super) fn of<'a>(trials: impl Iterator<Item = &'a Observed>) -> Option<Self> {
        let all: Vec<Self> = trials.filter_map(of_trial).collect();
        let of = |value: fn(&Self) -> f64| median(&all.iter().map(value).collect::<Vec<_>>());
        let in_all = |value: fn(&Self) -> Option<f64>| {
            let values: Option<Vec<f64>> = all.iter().map(value).collect();
            values.and_then(|values| median(&values))
        };
        Some(Self {
            per_request: in_all(|trial| trial.per_request),
            from_other_cpu_share: in_all(|trial| trial.from_other_cpu_share),
            elsewhere_share: of(|trial| trial.elsewhere_share)?,
            until_running_us: of(|trial| trial.until_running_us)?,
            onto_idle_share: of(|trial| trial.onto_idle_share)?,
        })
    }
}

fn of_trial(observed: &Observed) -> Option<Wakeups> {
    let threads = &observed.situation.account.as_ref()?.threads;
    let sum = |of: fn(&probe::account::ThreadAccount) -> u64| {
        threads.iter().map(of).fold(0, u64::saturating_add) as f64
    };
    // Each stretch in the run queue begins with a wake-up and ends with a CPU.
    let count = sum(|thread| thread.run_queue.count);
    if count == 0.0 {
        return None;
    }
    let onto_idle =
        sum(|thread| thread.from_idle.iter().map(|state| state.count).fold(0, u64::saturating_add));
    let by = |elsewhere: Option<bool>| {
        let wakers = threads.iter().flat_map(|thread| &thread.wakers);
        let some = wakers.filter(|waker| elsewhere.is_none_or(|elsewhere| waker.elsewhere == elsewhere));
        some.map(|waker| waker.count).fold(0, u64::saturating_add) as f64
    };
    let known = by(None);
    Some(Wakeups {
        from_other_cpu_share: (known > 0.0).then(|| by(Some(true)) / known),
        per_request: observed.requests.filter(|requests| *requests >= 1.0).map(|requests| count / requests),
        elsewhere_share: (sum(|thread| thread.woken_elsewhere) / count).min(1.0),
        until_running_us: sum(|thread| thread.run_queue.total_ns) / count / 1e3,
        onto_idle_share: (onto_idle / count).min(1.0),
    })
}
