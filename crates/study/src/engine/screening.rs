//! Runs a screening: one short trial of every CPU, and a second of those that look slow in the first.

use std::path::Path;

use machine::{Fault, Machine};

use super::{Trials, short_trials};
use crate::arm::Arm;
use crate::case::{Case, Resolved};
use crate::screening::{self, Screening};

/// Makes the order of a screening differ from that of its study.
const SALT: u64 = 0x7363_7265_656e_0001;

/// The case of the screening of `arms`, of `study`, in `dir`.
///
/// # Errors
/// The folder cannot be written.
pub fn case(study: &Resolved, arms: Vec<Arm>, dir: &Path) -> Result<Case, Fault> {
    short_trials::case(study, arms, 1, SALT, dir)
}

/// Screens. `progress` is called after each trial with the number of trials so far, and of all.
///
/// # Errors
/// Every CPU fails; a fault that is not of server or load; an interruption.
pub fn run(
    case: &mut Case,
    trials: &mut dyn Trials,
    machine: &Machine,
    interrupted: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Screening, Fault> {
    let first = case.study.order.first().cloned().unwrap_or_default();
    round(case, trials, (0, &first), interrupted, progress)?;
    let (recipe, arms) = (case.study.recipe.clone(), case.study.arms.clone());
    let suspects = screening::suspects(&recipe, &arms, &case.trials);
    let is_suspect = |at: &usize| arms[*at].cpu.is_some_and(|cpu| suspects.contains(&cpu));
    let again: Vec<usize> = first.into_iter().filter(is_suspect).collect();
    round(case, trials, (1, &again), interrupted, progress)?;
    Ok(screening::choose(&recipe, machine, &arms, &case.trials))
}

fn round(
    case: &mut Case,
    trials: &mut dyn Trials,
    (block, order): (usize, &[usize]),
    interrupted: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<(), Fault> {
    let before = case.trials.len();
    let mut fault = None;
    for (position, at) in order.iter().enumerate() {
        // The CPU of a trial that fails is named as one that was not screened.
        fault = short_trials::one(case, trials, (block, position, *at), interrupted)?.or(fault);
        progress(position + 1, order.len());
    }
    short_trials::any_measured(&case.trials[before..], fault)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use machine::Class;

    use super::*;
    use crate::arm::tests::alike;
    use crate::engine::Planned;
    use crate::engine::prepare::resolve;
    use crate::recipe::Recipe;
    use crate::trial::Trial;

    /// CPU 5 is slow, CPU 9 was slow once, and no load comes up on CPU 7.
    struct Simulated {
        ran: Vec<u32>,
    }

    impl Trials for Simulated {
        fn run(&mut self, planned: &Planned<'_>, _dir: &Path) -> Result<Trial, Fault> {
            let cpu = planned.arm.cpu.unwrap();
            self.ran.push(cpu);
            let figure = match cpu {
                5 => 700.0,
                9 if planned.block == 0 => 800.0,
                7 => return Err(Fault::new(Class::WorkloadFailed, "load", "died", "look at its log")),
                _ => 1000.0 + f64::from(cpu % 5),
            };
            let figures = BTreeMap::from([("requests_per_s".to_string(), figure)]);
            let Planned { index, block, position, attempt, arm, .. } = *planned;
            Ok(Trial { index, block, position, attempt, arm: arm.name.clone(), figures, ..Trial::default() })
        }
    }

    /// A machine of 24 CPUs that are alike, the default study of it, and the case of its screening.
    fn of_24_cpus(dir: &Path) -> (Machine, Resolved, Case) {
        let machine = alike(24);
        let study = resolve(Recipe { seed: Some(1), ..Recipe::default() }, &machine).unwrap();
        let arms = screening::arms(&study.recipe, &study.arms).unwrap();
        let case = case(&study, arms, dir).unwrap();
        (machine, study, case)
    }

    #[test]
    fn every_cpu_runs_once_and_what_looked_slow_a_second_time() {
        let dir = tempfile::tempdir().unwrap();
        let (machine, study, mut case) = of_24_cpus(dir.path());
        let mut simulated = Simulated { ran: Vec::new() };
        let mut progress = Vec::new();
        let chosen =
            run(&mut case, &mut simulated, &machine, &|| false, &mut |done, of| progress.push((done, of)))
                .unwrap();
        let mut first: Vec<u32> = simulated.ran[..24].to_vec();
        first.sort_unstable();
        assert_eq!(first, (0..24).collect::<Vec<u32>>());
        let mut again = simulated.ran[24..].to_vec();
        again.sort_unstable();
        assert_eq!(again, [5, 9]);
        assert_eq!((chosen.slow, chosen.failed.to_list()), (vec![5], "7".into()));
        assert_eq!((progress[23], progress[24]), ((24, 24), (1, 2)));
        // What is studied then: the slow one, and two that stand for all others.
        let narrowed = resolve(chosen_recipe(&study, &machine, &case), &machine).unwrap();
        let tried: Vec<u32> = narrowed.arms.iter().filter_map(|arm| arm.cpu).collect();
        assert_eq!(tried.len(), 3, "{tried:?}");
    }

    fn chosen_recipe(study: &Resolved, machine: &Machine, case: &Case) -> Recipe {
        let chosen = screening::choose(&study.recipe, machine, &case.study.arms, &case.trials);
        chosen.narrowed(study.recipe.clone())
    }

    #[test]
    fn an_interruption_ends_it() {
        let dir = tempfile::tempdir().unwrap();
        let (machine, _, mut case) = of_24_cpus(dir.path());
        let mut simulated = Simulated { ran: Vec::new() };
        let fault = run(&mut case, &mut simulated, &machine, &|| true, &mut |_, _| {}).unwrap_err();
        assert_eq!((fault.class, simulated.ran.len()), (Class::Interrupted, 0));
    }
}
