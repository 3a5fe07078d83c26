//! Trials on the running machine: settings and servers through the hand, counters beside them, all taken back after.

mod baseline_reference;
mod load_run;
mod orphaned_arm;
mod placed;
mod put_back;
mod real_time;
mod server_end;
mod settling;
mod switching;
mod watched_switch;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use change::{Hand, calling_thread};
use hosts::LoadHosts;
use load::LoadSpec;
use load::guard::Reference;
use machine::own_folder::Reach;
use machine::{Class, CpuSet, Fault, Machine, OwnFolder, Placement, Root, processes};

use self::placed::{Asked, Purpose};
use self::real_time::Ground;
use self::settling::Settling;
use super::observation::accounting;
use super::server_data::Data;
use super::swap::Areas;
use super::{Planned, Trials, Waits, driving, fsync, local_time, prepare};
use crate::arm::Arm;
use crate::boots::Booted;
use crate::case::{Case, Resolved};
use crate::case_search;
use crate::own_traffic::reference;
use crate::recipe::{Recipe, Secrets};
use crate::trial::Trial;
use crate::trial_figures::memory_locality::Nodes;

/// Runs the trials of one study on the running machine.
pub struct LiveTrials {
    root: Arc<Root>,
    hand: Hand,
    /// With its secrets.
    study: Resolved,
    /// What no fault of a trial may quote.
    secrets: Secrets,
    exe: PathBuf,
    allowed: CpuSet,
    /// Of a machine with several nodes.
    nodes: Option<Nodes>,
    data: Data,
    swap: Areas,
    case: PathBuf,
    /// Takes the folders of the trials.
    trials: OwnFolder,
    /// Takes those of the observed ones; `None` of a study without.
    observed: Option<OwnFolder>,
    /// From this observed block on, locks are looked at: threads were seen to wait for each other in the one before.
    locks_from: Option<usize>,
    machine: Machine,
    /// What guards of a server's own traffic compare with; `None` until a trial of the baseline has shown it since the study began, was
    /// resumed, or waited for its hours, and under any other load.
    reference: Option<Reference>,
    /// What the last trial left behind.
    settling: Settling,
    /// CPUs that a server which ran before may use by itself; `None` where that is not known, and of a server that is started here.
    server_has: Option<CpuSet>,
    /// Those that drive the load, where others do.
    hosts: Option<LoadHosts>,
    interrupted: Arc<AtomicBool>,
}

impl LiveTrials {
    /// Trials of `case` on `machine`, this one; `exe` is the pinwise binary that serves as built-in server and load.
    ///
    /// # Errors
    /// As [`Case::revealed`]; the machine reports no CPU; an arm, or one that a search may add, would keep pinwise from watching a running
    /// server; the ledger cannot be begun, or nothing would take it back after this process; a host of the recipe cannot be reached.
    pub fn new(
        case: &Case,
        exe: PathBuf,
        machine: &Machine,
        interrupted: Arc<AtomicBool>,
    ) -> Result<Self, Fault> {
        let (allowed, nodes) = (prepare::usable(machine)?, Nodes::of(machine));
        let study = case.revealed()?;
        let (_, secrets) = study.recipe.concealed()?;
        let (root, swap) = (Arc::new(Root::live()), Areas::default());
        let server_has = server_has(&root, &study);
        let ground = ground(&root, &allowed, server_has.as_ref());
        watchable(&study, &searched_arms(case, &study, machine)?, ground)?;
        let hand = Hand::live(&format!("study: {}", study.recipe.title()))?;
        orphaned_arm::provide(&study.recipe, &exe, hand.session())?;
        let wanted = study.recipe.budget.observed_blocks.unwrap_or(0) > 0;
        let can_observe = wanted && accounting::why_not(machine).is_none();
        let observed = if can_observe { Some(case.observed_folder()?) } else { None };
        let locks_from = if can_observe { case.locks_from() } else { None };
        let hosts = load_hosts(case, &study, &exe).map_err(|fault| secrets.kept_out_of(fault))?;
        let (data, trials, case) = (Data::of_case(case)?, case.trials_folder()?, case.dir().to_path_buf());
        let machine = machine.clone();
        Ok(Self {
            root,
            hand,
            study,
            secrets,
            exe,
            allowed,
            nodes,
            data,
            swap,
            case,
            trials,
            observed,
            locks_from,
            machine,
            reference: None,
            settling: Settling::default(),
            server_has,
            hosts,
            interrupted,
        })
    }

    /// Ends the session; fails when something could not be taken back.
    pub fn finish(mut self) -> Result<(), Fault> {
        let spread = calling_thread::run_on(&self.allowed);
        let left_there = self.hosts.take().map(LoadHosts::finish).unwrap_or_default();
        put_back::complete(&self.hand.undo_all())?;
        self.hand.finish().and(spread)?;
        match left_there.is_empty() {
            true => Ok(()),
            false => Err(Fault::new(
                Class::No,
                "other hosts are not as they were",
                left_there.join("; "),
                "run 'pinwise undo' on each of them",
            )),
        }
    }

    /// Runs an arm once, in a fresh folder of this name, and takes back what it put in force; the folder, and what came of the run.
    ///
    /// # Errors
    /// The folder cannot be made.
    fn run_arm(
        &mut self,
        planned: &Planned<'_>,
        recipe: Recipe,
        name: &str,
        purpose: Purpose,
    ) -> Result<(OwnFolder, Result<Trial, Fault>), Fault> {
        let folder = self.folder_of(planned).fresh_folder(name, Reach::Passable)?;
        let mark = self.hand.mark();
        let trial = self.run_placed(Asked { planned, folder: &folder, mark, purpose }, recipe);
        let taken_back = put_back::complete(&self.hand.undo_to(mark));
        // What is still in force matters more than a trial that failed, after which the study would go on.
        Ok((folder, taken_back.and(trial)))
    }

    /// Runs a trial, in a folder of this name.
    ///
    /// # Errors
    /// As [`Trials::run`]; a server or a load that fails may quote what it was given, secrets among it.
    fn run_in(&mut self, planned: &Planned<'_>, name: &str) -> Result<Trial, Fault> {
        if self.study.recipe.server.running.is_some() {
            // Once more: a search has added arms since the study was begun or resumed, and may have stepped to some that were not listed then.
            real_time::check(planned.arm, ground(&self.root, &self.allowed, self.server_has.as_ref()))?;
        }
        let mut recipe = self.study.recipe.with_keys(&planned.arm.keys)?;
        // Made here, before what goes with the trial.
        self.swap.of(&recipe.server, &self.case, &mut self.hand)?;
        self.settling.wait(&self.interrupted);
        orphaned_arm::provide(&self.study.recipe, &self.exe, self.hand.session())?;
        self.refer(planned, &recipe, name)?;
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(super::stopped());
        }
        if let LoadSpec::OwnTraffic(own) = &mut recipe.load {
            own.reference = self.reference.clone();
        }
        let (folder, trial) = self.run_arm(planned, recipe, name, Purpose::Trial)?;
        let on_disk = fsync::sync_folder(&folder, self.folder_of(planned));
        let trial = trial.and_then(|trial| on_disk.map(|()| trial))?;
        self.reference = reference::after(&self.study.arms, &trial, self.reference.take());
        let carry_over = Duration::from_secs_f64(self.study.recipe.budget.warm_up_cap_s);
        self.settling = Settling::after(&trial, Instant::now(), carry_over);
        Ok(trial)
    }

    /// What takes the folder of a trial.
    fn folder_of(&self, planned: &Planned<'_>) -> &OwnFolder {
        self.observed.as_ref().filter(|_| planned.observed).unwrap_or(&self.trials)
    }
}

impl Trials for LiveTrials {
    fn run(&mut self, planned: &Planned<'_>, dir: &Path) -> Result<Trial, Fault> {
        // A trial that was cut off leaves its folder behind; what it holds belongs to no finished trial.
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        self.run_in(planned, &name).map_err(|fault| self.secrets.kept_out_of(fault))
    }

    fn observes(&self) -> bool {
        self.observed.is_some()
    }

    fn waits(&mut self) -> Result<Option<Waits>, Fault> {
        let Some(hours) = self.study.recipe.hours else { return Ok(None) };
        let wait_s = hours.wait_s(local_time::since_midnight_s()?);
        if wait_s.is_some() {
            // Until then the traffic is another.
            self.reference = None;
        }
        Ok(wait_s.map(|s| Waits { until: hours.begin(), length: Duration::from_secs(s.into()) }))
    }

    fn booted(&self) -> Option<Booted> {
        Booted::read(&self.root)
    }
}

/// Reaches the hosts that drive the load, and keeps what they are and how they are reached in `hosts/` of the case, masked as its own
/// machine is.
fn load_hosts(case: &Case, study: &Resolved, exe: &Path) -> Result<Option<LoadHosts>, Fault> {
    if study.recipe.hosts.is_empty() {
        return Ok(None);
    }
    let mut hosts = LoadHosts::connect(&study.recipe.hosts, exe)?;
    let folder = case.folder()?.make_folder("hosts", Reach::Owner)?;
    let file_of = |host: &str| format!("{host}.tar.zst");
    for (host, archive) in hosts.captures(|host| !folder.holds(&file_of(host)))? {
        driving::keep(&folder, &file_of(&host), &archive)?;
    }
    driving::keep_paths(&mut hosts, &study.recipe, &folder)?;
    Ok(Some(hosts))
}

/// CPUs that the server of a study which runs already may use by itself; `None` where that is not known, and of any other.
fn server_has(root: &Root, study: &Resolved) -> Option<CpuSet> {
    let running = study.recipe.server.running.as_ref()?;
    real_time::allowed(root, &processes::find(root, running).ok()?.pids)
}

/// What is known of the machine that arms of a running server are held to.
fn ground<'a>(root: &Root, ours: &'a CpuSet, has: Option<&'a CpuSet>) -> Ground<'a> {
    Ground { ours, has, throttled: real_time::is_throttled(root) }
}

/// The arms that a search may still add, as far as they are known before it runs; none of a study without a search, and of one that gives no
/// real-time policy.
///
/// # Errors
/// As [`case_search::listed_arms`]; the machine of the case cannot be read.
fn searched_arms(case: &Case, study: &Resolved, machine: &Machine) -> Result<Vec<Arm>, Fault> {
    if study.recipe.server.running.is_none() || !study.is_searching() {
        return Ok(Vec::new());
    }
    // The search goes by the machine of its case, which short trials before a study do not have.
    let of_case: Option<Machine> = case.read_json("machine.json")?;
    let machine = of_case.as_ref().unwrap_or(machine);
    let settings = case_search::settings(&study.recipe, machine)?;
    let by_levels = Placement { settings, ..Placement::default() };
    let mut placements = study.arms.iter().map(|arm| &arm.placement).chain([&by_levels]);
    match placements.any(real_time::is_asked) {
        true => case_search::listed_arms(study, machine),
        false => Ok(Vec::new()),
    }
}

/// Holds the arms of a study whose server runs already, and those that its search may add, to leaving pinwise a CPU to watch it from.
///
/// # Errors
/// As [`real_time::check`], of the first such arm.
fn watchable(study: &Resolved, added: &[Arm], ground: Ground<'_>) -> Result<(), Fault> {
    if study.recipe.server.running.is_none() {
        return Ok(());
    }
    study.arms.iter().chain(added).try_for_each(|arm| real_time::check(arm, ground))
}

#[cfg(test)]
mod tests;
