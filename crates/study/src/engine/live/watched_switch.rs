//! Puts an arm in force on a server that is watched already, so that its guards act from the first moment on.
//!
//! Loading the programs that watch takes up to a second. The watch says on its standard output when they are attached and its first slice
//! begins (`began NS`, [`load::Running::began_ns`]); the arm is put in force then, and not before. What the watch sees until all of it is
//! in force is left out of the measured window.

use std::path::Path;
use std::time::Duration;

use change::Hand;
use load::{LoadSpec, Outcome, Server, monotonic_ns};
use machine::{Class, Fault, Placement, Root};

use super::load_run::Limits;
use super::switching::{InForce, Switching};
use crate::engine::driving::Driving;
use crate::recipe::Recipe;

/// How often it is looked whether the watch has begun: until then the first slice passes without the arm.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Of the window that a recipe asks for, the share that has to be left once the arm is in force.
const LEAST_WINDOW: f64 = 0.5;

/// An arm that is to be put in force.
pub(super) struct Arm<'a> {
    pub root: &'a Root,
    pub hand: &'a mut Hand,
    pub exe: &'a Path,
    pub placement: &'a Placement,
    pub dir: &'a Path,
}

impl Arm<'_> {
    /// Waits until the watch has begun, and puts the arm in force. What the watch left, where it ended before all of it was: a guard was
    /// breached by what is in force of it, and the rest is not put in force any more.
    ///
    /// # Errors
    /// A setting is refused; the study is stopped, or its trial takes too long; the watch ended before the arm was in force.
    pub(super) fn put_in_force(
        self,
        watch: &mut Driving<'_>,
        spec: &LoadSpec,
        server: &mut Server,
        in_force: &mut InForce,
        limits: &Limits<'_>,
    ) -> Result<Option<Result<Outcome, Fault>>, Fault> {
        if let Some(ended) = until_it_watches(watch, spec, server, limits)? {
            return not_of_the_arm(ended).map(Some);
        }
        let mut ended = None;
        let mut is_over = || {
            ended = ended.take().or_else(|| watch.poll());
            ended.is_some() || limits.is_interrupted()
        };
        in_force.begun = true;
        let Arm { root, hand, exe, placement, dir } = self;
        let mut switching = Switching { root, hand, exe, placement, dir, is_over: &mut is_over };
        let switched = switching.all(server, in_force);
        match ended {
            // A thread of a server that is in trouble may be gone: what the guard saw says more.
            Some(ended) => Ok(Some(ended)),
            None => {
                // Of a server that has ended of it no setting can be made: its end says why.
                switched.map_err(|fault| server.still_runs().err().unwrap_or(fault))?;
                in_force.whole_ns = Some(monotonic_ns());
                Ok(None)
            }
        }
    }
}

/// Waits until the watch has begun; what it left, where it ended before.
fn until_it_watches(
    watch: &mut Driving<'_>,
    spec: &LoadSpec,
    server: &mut Server,
    limits: &Limits<'_>,
) -> Result<Option<Result<Outcome, Fault>>, Fault> {
    loop {
        if let Some(ended) = watch.poll() {
            return Ok(Some(ended));
        }
        if watch.began_ns(spec).is_some() {
            return Ok(None);
        }
        if let Some(fault) = limits.reached(server) {
            return Err(fault);
        }
        watch.wait(LOOK_EVERY);
    }
}

/// What comes of a watch that ended before anything of the arm was in force: its own fault, and no harm of the arm.
fn not_of_the_arm(ended: Result<Outcome, Fault>) -> Result<Result<Outcome, Fault>, Fault> {
    match ended {
        Err(fault) => Ok(Err(fault)),
        Ok(outcome) => {
            let cause = match &outcome.breach {
                Some(breach) => format!("a guard ended it before its arm was in force: {}", breach.words()),
                None => "the watch ended before the arm was in force".to_string(),
            };
            let remedy = "continue at a quieter hour (--hours), or raise the guard (--guard)";
            Err(Fault::new(Class::WorkloadFailed, "own traffic", cause, remedy))
        }
    }
}

/// Holds a trial that no guard ended to having a window: putting an arm in force takes part of it where the server has very many threads.
/// `whole_ns` is when all of it was in force; `None` where it never was, and of a load that begins after its arm.
///
/// # Errors
/// Less than half of the window that was asked for is left.
pub(super) fn left_a_window(recipe: &Recipe, outcome: &Outcome, whole_ns: Option<u64>) -> Result<(), Fault> {
    if !recipe.has_own_traffic() || outcome.breach.is_some() {
        return Ok(());
    }
    let left_s = outcome.to_ns.saturating_sub(whole_ns.unwrap_or(outcome.to_ns)) as f64 / 1e9;
    if left_s >= recipe.budget.window_s * LEAST_WINDOW {
        return Ok(());
    }
    let took_s = outcome.to_ns.saturating_sub(outcome.from_ns) as f64 / 1e9 - left_s;
    let cause = format!("putting it in force took {took_s:.1} s, and left {left_s:.1} s to measure");
    let remedy = "raise --warm-up, which includes that time, or --window";
    Err(Fault::new(Class::WorkloadFailed, "arm", cause, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own_traffic::harm::tests::{breach, own_traffic};

    const SECOND: u64 = 1_000_000_000;

    fn seen(from_s: u64, to_s: u64) -> Outcome {
        Outcome { from_ns: from_s * SECOND, to_ns: to_s * SECOND, ..Outcome::default() }
    }

    #[test]
    fn a_breach_before_the_arm_was_in_force_is_the_traffics_and_fails_the_trial() {
        let ended = Outcome { breach: Some(breach(31_000.0)), ..seen(10, 11) };
        let fault = not_of_the_arm(Ok(ended)).unwrap_err();
        assert!(fault.class == Class::WorkloadFailed && fault.cause.contains("before its arm"), "{fault}");
        let own = Fault::new(Class::WorkloadFailed, "load", "no programs", "see load.log");
        assert_eq!(not_of_the_arm(Err(own.clone())).unwrap().unwrap_err(), own, "its own fault stands");
    }

    #[test]
    fn an_arm_that_takes_most_of_its_trial_to_be_in_force_has_no_figures() {
        let mut recipe = own_traffic().recipe;
        recipe.budget.window_s = 2.0;
        let left = |whole_ns| left_a_window(&recipe, &seen(10, 14), whole_ns);
        left(Some(10 * SECOND)).unwrap();
        left(Some(13 * SECOND)).unwrap();
        let fault = left(Some(13 * SECOND + SECOND / 10)).unwrap_err();
        assert!(fault.cause.contains("took 3.1 s") && fault.remedy.contains("--warm-up"), "{fault}");
        left(None).unwrap_err();
        let ended = Outcome { breach: Some(breach(31_000.0)), ..seen(10, 14) };
        left_a_window(&recipe, &ended, None).unwrap();
        let driven = crate::case::tests::resolved().recipe;
        left_a_window(&driven, &seen(10, 14), None).unwrap();
    }
}
