//! The thief of a positive control: how it is started, and what it took.

use std::path::Path;

use change::Launch;
use load::thief::{PERIOD_US, ThiefOptions};
use machine::{Dose, Missing};
use probe::{Observation, Party};

use super::observation::demand;

/// Its output in a trial's folder: how its threads are scheduled.
const LOG: &str = "dose.log";

/// What starts it; `exe` is the pinwise binary, `dir` the trial's folder. It ends with the trial, or with pinwise.
pub(super) fn launch(dose: &Dose, exe: &Path, dir: &Path) -> Launch {
    let (cpus, share) = (dose.cpus.clone(), dose.share());
    let options = ThiefOptions { cpus, share, period_us: PERIOD_US, for_s: None };
    let argv = std::iter::once(exe.display().to_string()).chain(options.to_args()).collect();
    Launch { argv, cpus: Some(dose.cpus.clone()), log: dir.join(LOG), ..Launch::default() }
}

/// Share of each of its CPUs that it took in the window, by the kernel's account of its threads.
///
/// # Errors
/// None of its threads was seen, or their CPU time is not known.
pub(super) fn taken_share(dose: &Dose, observation: &Observation) -> Result<f64, Missing> {
    let missing = |why: &str| Missing::new("share taken by the dose", why);
    let tree = observation.beside.get(&Party::Dose).filter(|tree| tree.followed_us > 0);
    let tree =
        tree.ok_or_else(|| missing("it did not run in the measured window: see dose.log of the trial"))?;
    let cpus = demand::cpus_of(tree)
        .ok_or_else(|| missing("the kernel does not report the CPU time of its threads"))?;
    Ok(cpus / dose.cpus.len().max(1) as f64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use machine::CpuSet;
    use probe::{ThreadSeen, TreeSeen};

    use super::*;

    fn dose() -> Dose {
        Dose { cpus: CpuSet::from_list("0-1").unwrap(), share_permille: 200 }
    }

    #[test]
    fn it_is_started_on_its_cpus_with_its_share() {
        let launch = launch(&dose(), Path::new("/bin/pinwise"), Path::new("/case/trials/0003"));
        let words = "/bin/pinwise thief --cpus 0-1 --share 0.2 --period-us 2000";
        assert_eq!(launch.argv.join(" "), words);
        assert_eq!((launch.cpus, launch.log), (Some(dose().cpus), "/case/trials/0003/dose.log".into()));
    }

    #[test]
    fn what_it_took_is_the_mean_over_its_cpus() {
        let thread = |us| ThreadSeen { on_cpu_us: Some(us), ..ThreadSeen::default() };
        let threads = vec![thread(205_000), thread(195_000), thread(4_000)];
        let beside = BTreeMap::from([(Party::Dose, TreeSeen { threads, followed_us: 1_000_000 })]);
        let observation = Observation { beside, ..Observation::default() };
        assert!((taken_share(&dose(), &observation).unwrap() - 0.202).abs() < 1e-9);
        assert!(taken_share(&dose(), &Observation::default()).unwrap_err().why.contains("dose.log"));
    }
}
