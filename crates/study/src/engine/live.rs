//! Trials on the running machine: settings and servers through the hand, counters beside them, all taken back after.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use change::{Hand, Launch, Launched, Mark, Undone, calling_thread};
use hosts::LoadHosts;
use load::children::{self, CpuTime};
use load::guard::{Breach, Certainty, Limit, Reference};
use load::{Command, Counted, LoadSpec, Outcome, Server, ServerSpec, monotonic_ns};
use machine::knobs::guest::{self, OF_SERVER};
use machine::own_folder::Reach;
use machine::plan::{PIN, SERVER};
use machine::{
    Act, Class, CpuSet, Fault, Machine, Missing, Neighbour, OwnFolder, Placement, ProcessRef, Root, Setting,
    knobs, processes,
};
use probe::{Party, Recording, Sampler};

use super::conclusion::{Run, conclude, write_bytes};
use super::driving::{self, Driving};
use super::observation::accounting::{self, Accounting};
use super::server_data::Data;
use super::swap::Areas;
use super::{
    Planned, Trials, Waits, dose, fsync, housekeeping, local_time, netns_pair, online_cpus, prepare,
};
use crate::arm::Role;
use crate::boots::Booted;
use crate::case::{Case, Resolved};
use crate::observed_blocks::{Observed, account_file, lock_waits};
use crate::own_traffic::reference;
use crate::recipe::{Recipe, Secrets};
use crate::trial::{Parts, Trial};
use crate::trial_figures::memory_locality::Nodes;

/// How often a running trial is looked at, beside its end. Rare enough not to disturb, often enough that Ctrl-C feels prompt.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How long a server may take to be seen as ended after a load failed: its connections are cut before its process is gone.
const SEEN_TO_END: Duration = Duration::from_millis(500);

/// What the end of a server under its own traffic is called among its guards.
const SERVER_ENDS: &str = "server_ends";

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
    /// Until when what the last trial left behind may still be there, where a guard ended it.
    settles: Option<Instant>,
    /// Those that drive the load, where others do.
    hosts: Option<LoadHosts>,
    interrupted: Arc<AtomicBool>,
}

impl LiveTrials {
    /// Trials of `case` on `machine`, this one; `exe` is the pinwise binary that serves as built-in server and load.
    ///
    /// # Errors
    /// As [`Case::revealed`]; the machine reports no CPU; the ledger cannot be begun; a host of the recipe cannot be reached.
    pub fn new(
        case: &Case,
        exe: PathBuf,
        machine: &Machine,
        interrupted: Arc<AtomicBool>,
    ) -> Result<Self, Fault> {
        let (allowed, nodes) = (prepare::usable(machine)?, Nodes::of(machine));
        let study = case.revealed()?;
        let (_, secrets) = study.recipe.concealed()?;
        let hand = Hand::live(&format!("study: {}", study.recipe.title()))?;
        let (root, swap) = (Arc::new(Root::live()), Areas::default());
        let wanted = study.recipe.budget.observed_blocks.unwrap_or(0) > 0;
        let can_observe = wanted && accounting::why_not(machine).is_none();
        let observed = if can_observe { Some(case.observed_folder()?) } else { None };
        let locks_from = if can_observe { case.locks_from() } else { None };
        let hosts = load_hosts(case, &study, &exe)?;
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
            settles: None,
            hosts,
            interrupted,
        })
    }

    /// Ends the session; fails when something could not be taken back.
    pub fn finish(mut self) -> Result<(), Fault> {
        let spread = calling_thread::run_on(&self.allowed);
        let left_there = self.hosts.take().map(LoadHosts::finish).unwrap_or_default();
        all_taken_back(&self.hand.undo_all())?;
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

    fn run_placed(
        &mut self,
        planned: &Planned<'_>,
        mut recipe: Recipe,
        folder: &OwnFolder,
        mark: Mark,
    ) -> Result<Trial, Fault> {
        let dir = folder.path();
        let placement = &planned.arm.placement;
        netns_pair::make(&mut recipe, &mut self.hand)?;
        if let Some(hosts) = &self.hosts {
            recipe.server.address = driving::address(&recipe, hosts)?;
        }
        let server = self.data.prepared(self.server_spec(&recipe), &mut self.hand, &self.interrupted)?;
        let began = Instant::now();
        // Our own threads keep off the server's CPU, where the placement leaves us another.
        calling_thread::run_on(&self.observer_cpus(placement))?;
        let mut not_as_asked = Vec::new();
        let (of_server, of_machine): (Vec<&Setting>, Vec<&Setting>) =
            placement.settings.iter().partition(|s| s.target == SERVER || s.target.starts_with(OF_SERVER));
        for setting in of_machine {
            not_as_asked.extend(self.set(setting)?);
        }
        not_as_asked.extend(self.keep_house(placement)?);
        let neighbours_began = Instant::now();
        let mut beside = self.start_beside(placement, dir)?;
        if let Some(path) = self.swap.of(&recipe.server, &self.case, &mut self.hand)? {
            self.hand.perform(&Act::SwapOn { path })?;
        }
        let server_began = Instant::now();
        let mut server = Server::start(&server, placement, &mut self.hand, dir, &self.interrupted)?;
        let server_start_s = server_began.elapsed().as_secs_f64();
        if let (Some(processes), Some(cpus)) = (server.ran_before(), &placement.server_cpus) {
            for setting in pinned(processes, cpus) {
                not_as_asked.extend(self.set(&setting)?);
            }
        }
        for setting in of_server {
            let target = self.target_of(&server, setting)?;
            not_as_asked.extend(self.set(&Setting { target, ..setting.clone() })?);
        }
        // In all trials of a block or in none: what that costs must not differ between the arms that are compared.
        let locks = self.locks_from.is_some_and(|from| planned.block >= from);
        let mut accounting = match planned.observed {
            true => Some(Accounting::begin(&self.root, &self.machine, server.process(), &recipe, locks)),
            false => None,
        };
        let counting = accounting.as_mut().and_then(|begun| begun.as_mut().ok());
        let run = self.observe(&recipe, &mut server, placement, &beside, folder, counting);
        if run.as_ref().is_ok_and(|(outcome, ..)| outcome.breach.is_some()) {
            // Before anything is read or written: the server's clients wait for it.
            beside.clear();
            all_taken_back(&self.hand.undo_to(mark))?;
        }
        let observed = accounting.map(|begun| self.observed_in(begun, &run));
        let account = observed.as_ref().and_then(|seen| seen.as_ref().ok()?.situation.account.as_ref());
        if self.locks_from.is_none() && account.is_some_and(lock_waits::are_long) {
            self.locks_from = Some(planned.block + 1);
        }
        let locality = self.nodes.as_ref().map(|nodes| nodes.read(&self.root, server.process().pid));
        let killed = server.killed_for_memory();
        let before_their_end = children::cpu_time();
        drop(beside);
        let of_neighbours = children::cpu_time() - before_their_end;
        let neighbours_user_cpus = of_neighbours.user_s / neighbours_began.elapsed().as_secs_f64();
        let given = self.given(&server, placement);
        let server_ended = Instant::now();
        let stopped = server.stop();
        let server_stop_s = server_ended.elapsed().as_secs_f64();
        // First, because a server or load that lost its CPU may have failed of it.
        online_cpus::cpus_are_there(&self.root, placement)?;
        let (outcome, load_cpu_time, recording) = match (run, killed) {
            // What came of it then says less than why.
            (Err(fault), Some(killed)) if fault.class != Class::Interrupted => return Err(killed),
            (Ok((outcome, ..)), Some(killed)) if outcome.breach.is_none() => return Err(killed),
            (run, _) => run?,
        };
        stopped?;
        let load_s = outcome.to_ns.saturating_sub(outcome.from_ns) as f64 / 1e9;
        let parts = Parts { server_start_s, load_s, server_stop_s };
        let took = began.elapsed();
        let seen = Run {
            outcome,
            recording,
            not_as_asked,
            load_cpu_time,
            neighbours_user_cpus,
            given,
            locality,
            took,
            parts,
        };
        let trial = conclude(&recipe, planned, seen, folder)?;
        match observed {
            None => Ok(trial),
            Some(observed) => with_account(trial, observed, folder),
        }
    }

    /// What takes the folder of a trial.
    fn folder_of(&self, planned: &Planned<'_>) -> &OwnFolder {
        self.observed.as_ref().filter(|_| planned.observed).unwrap_or(&self.trials)
    }

    /// What was observed in a run.
    fn observed_in(
        &self,
        begun: Result<Accounting, Missing>,
        run: &Result<(Outcome, CpuTime, Recording), Fault>,
    ) -> Result<Observed, Missing> {
        match run {
            Ok((outcome, _, recording)) => begun?.conclude(&self.root, &self.machine, outcome, recording),
            Err(fault) => Err(Missing::new("the account of the server", fault)),
        }
    }

    /// The process, or the threads of a virtual machine, that a target of the server means.
    fn target_of(&self, server: &Server, setting: &Setting) -> Result<String, Fault> {
        let pid = server.process().pid.to_string();
        if setting.target == SERVER {
            return Ok(pid);
        }
        let found = processes::find(&self.root, &pid)?;
        guest::of_server(&self.root, &setting.target, &found.pids)?.ok_or_else(|| {
            let cause = "no process of the server is a virtual machine";
            Fault::new(
                Class::MachineLacks,
                setting.object(),
                cause,
                "choose target server, or a server that is one",
            )
        })
    }

    /// Puts one setting in force; says in words where it reads back otherwise.
    fn set(&mut self, setting: &Setting) -> Result<Vec<String>, Fault> {
        let mut not_as_asked = Vec::new();
        for act in knobs::acts(&self.root, setting)? {
            let receipt = self.hand.perform(&act)?;
            if !receipt.took_effect {
                not_as_asked.push(format!(
                    "{}: asked {}, reads {:?}",
                    receipt.object, receipt.asked, receipt.read_back
                ));
            }
        }
        Ok(not_as_asked)
    }

    /// Moves the kernel's own work as far as it goes; says in words what stays.
    fn keep_house(&mut self, placement: &Placement) -> Result<Vec<String>, Fault> {
        let Some(moved) = &placement.housekeeping else { return Ok(Vec::new()) };
        let settings = match moved.settings.is_empty() {
            true => housekeeping::settings(&self.root, &moved.cpus),
            false => moved.settings.clone(),
        };
        let mut stays = Vec::new();
        for setting in settings.iter().filter(|setting| !placement.sets(setting)) {
            match self.set(setting) {
                // By the setting's name, which the plan goes by.
                Ok(reasons) => {
                    stays.extend(reasons.into_iter().map(|why| format!("{}: {why}", setting.object())))
                }
                // A managed interrupt, a thread that ended meanwhile, no permission: the rest is moved all the same.
                Err(fault)
                    if matches!(fault.class, Class::MachineLacks | Class::NotPermitted | Class::Usage) =>
                {
                    stays.push(format!("{}: {}", setting.object(), fault.cause));
                }
                Err(fault) => return Err(fault),
            }
        }
        Ok(stays)
    }

    /// Starts the dose and the recipe's neighbours.
    fn start_beside(&mut self, placement: &Placement, dir: &Path) -> Result<Vec<(Party, Launched)>, Fault> {
        let mut beside = Vec::new();
        if let Some(dose) = &placement.dose {
            beside.push((Party::Dose, self.hand.launch(&dose::launch(dose, &self.exe, dir))?));
        }
        for neighbour in &placement.neighbours {
            beside.push((Party::Neighbour, self.start_neighbour(neighbour, dir)?));
        }
        Ok(beside)
    }

    /// The CPUs that a placement gives the server: all of ours where it names none. One that ran before has what its owner gave it.
    fn given(&self, server: &Server, placement: &Placement) -> Option<CpuSet> {
        let ours = server.ran_before().is_none().then(|| self.allowed.clone());
        placement.server_cpus.clone().or(ours)
    }

    fn start_neighbour(&mut self, neighbour: &Neighbour, dir: &Path) -> Result<Launched, Fault> {
        let argv = neighbour.command.parse::<Command>()?.fill(&self.stands_for(&neighbour.cpus))?;
        self.hand.launch(&Launch {
            argv,
            cpus: Some(neighbour.cpus.clone()),
            log: dir.join("neighbour.log"),
            ..Launch::default()
        })
    }

    /// What the placeholders of a neighbour's command stand for.
    fn stands_for(&self, cpus: &CpuSet) -> BTreeMap<&'static str, String> {
        BTreeMap::from([
            ("exe", self.exe.display().to_string()),
            ("cpus", cpus.to_list()),
            ("cpu", cpus.first().map(|c| c.to_string()).unwrap_or_default()),
        ])
    }

    /// The server of the recipe; the built-in one where it names none.
    fn server_spec(&self, recipe: &Recipe) -> ServerSpec {
        let asked = &recipe.server;
        if !asked.is_unnamed() {
            return asked.clone();
        }
        let rounds = self.study.string_rounds_of(recipe);
        ServerSpec { command: ServerSpec::built_in(Some(&self.exe), rounds).command, ..asked.clone() }
    }

    /// Where pinwise's own threads may run during a trial.
    fn observer_cpus(&self, placement: &Placement) -> CpuSet {
        let off_server = match &placement.server_cpus {
            Some(server) => self.allowed.difference(server),
            None => self.allowed.clone(),
        };
        if off_server.is_empty() { self.allowed.clone() } else { off_server }
    }

    /// Drives the load to its end while counters are sampled on a thread of their own.
    fn observe(
        &mut self,
        recipe: &Recipe,
        server: &mut Server,
        placement: &Placement,
        beside: &[(Party, Launched)],
        dir: &OwnFolder,
        accounting: Option<&mut Accounting>,
    ) -> Result<(Outcome, CpuTime, Recording), Fault> {
        let sampler = Sampler::new(Arc::clone(&self.root), Some(server.process()));
        beside.iter().for_each(|(party, launched)| sampler.follow(*party, launched.process()));
        let every = Duration::from_secs_f64(1.0 / recipe.samples_per_s);
        let over = AtomicBool::new(false);
        let observer_cpus = self.observer_cpus(placement);
        std::thread::scope(|scope| {
            let sampling = scope.spawn(|| {
                calling_thread::run_on(&observer_cpus)?;
                Ok::<_, Fault>(sampler.run(&over, every))
            });
            let before = children::cpu_time();
            let began_ns = monotonic_ns();
            let outcome = match self.drive(recipe, server, placement, &sampler, dir, accounting) {
                // Harm like any that a guard sees, and not to be tried twice.
                Err(fault)
                    if fault.class == Class::WorkloadFailed
                        && recipe.has_own_traffic()
                        && !self.interrupted.load(Ordering::Relaxed)
                        && server.still_runs().is_err() =>
                {
                    Ok(ended_with_its_server(began_ns))
                }
                outcome => outcome,
            };
            let elsewhere = self.hosts.as_ref().map(|hosts| driving::cpu_time_here(hosts, &self.root));
            let load_cpu_time = elsewhere.unwrap_or_else(|| children::cpu_time() - before);
            over.store(true, Ordering::Release);
            sampling.thread().unpark();
            let recording = sampling.join().map_err(|_| {
                Fault::new(
                    Class::Storage,
                    "sampler",
                    "its thread panicked",
                    "this is a bug in pinwise; please report it",
                )
            })??;
            Ok((outcome?, load_cpu_time, recording))
        })
    }

    /// Waits until what an arm that a guard ended left behind, such as requests that queued up, is gone: the guards of the next trial would
    /// take it for its own.
    fn let_settle(&mut self) {
        let Some(until) = self.settles.take() else { return };
        while Instant::now() < until && !self.interrupted.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK_EVERY.min(until.saturating_duration_since(Instant::now())));
        }
    }

    /// Finds out what the guards of an arm compare with, where no trial of the baseline has shown it: by one more of them, which is in no
    /// comparison and not kept. Without traffic there is none all the same, and only guards with a number act.
    ///
    /// # Errors
    /// The baseline itself breaches a guard; whatever ends a study.
    fn refer(&mut self, planned: &Planned<'_>, recipe: &Recipe, name: &str) -> Result<(), Fault> {
        let LoadSpec::OwnTraffic(own) = &recipe.load else { return Ok(()) };
        let compares = own.guards.iter().any(|guard| matches!(guard.limit, Limit::OfBaseline(_)));
        let baseline = self.study.arms.iter().find(|arm| arm.role == Role::Baseline).cloned();
        let is_needed = compares && self.reference.is_none() && planned.arm.role != Role::Baseline;
        let Some(baseline) = baseline.filter(|_| is_needed) else { return Ok(()) };
        let dir = self.folder_of(planned).fresh_folder(name, Reach::Passable)?;
        let mark = self.hand.mark();
        let trial = self.run_placed(&Planned { arm: &baseline, ..*planned }, recipe.clone(), &dir, mark);
        all_taken_back(&self.hand.undo_to(mark))?;
        let trial = match trial {
            Ok(trial) => trial,
            Err(fault) if fault.class == Class::WorkloadFailed => return Ok(()),
            Err(fault) => return Err(fault),
        };
        if let Some(breach) = &trial.breach {
            let remedy = "raise it (--guard), or go on at a quieter hour (--hours)";
            let cause = format!("the baseline itself is in breach: {}", breach.words());
            return Err(Fault::new(Class::No, "guards", cause, remedy));
        }
        self.reference = reference::after(&self.study.arms, &trial, None);
        Ok(())
    }

    /// Starts the load and waits for its end, with an eye on Ctrl-C, the server and the clock.
    fn drive(
        &mut self,
        recipe: &Recipe,
        server: &mut Server,
        placement: &Placement,
        sampler: &Sampler,
        dir: &OwnFolder,
        mut accounting: Option<&mut Accounting>,
    ) -> Result<Outcome, Fault> {
        let mut spec = recipe.load.clone();
        spec.set_seconds(recipe.budget.warm_up_cap_s + recipe.budget.window_s);
        let deadline = Instant::now() + Duration::from_secs_f64(recipe.budget.trial_timeout_s);
        let mut running = match &mut self.hosts {
            None => Driving::Here(Box::new(spec.workload().start(server, placement, &mut self.hand, dir)?)),
            Some(hosts) => {
                hosts.start(&spec, server.address())?;
                Driving::Elsewhere(hosts)
            }
        };
        running.process().into_iter().for_each(|process| sampler.follow(Party::Load, process));
        loop {
            if let Some(outcome) = running.poll() {
                accounting.iter_mut().for_each(|accounting| accounting.end());
                if let Driving::Elsewhere(hosts) = &running {
                    driving::write_seen(hosts, dir)?;
                }
                let outcome = outcome.map_err(|fault| cause_of(server, fault))?;
                return match outcome.breach {
                    // What ended it stands, whatever became of the server since.
                    Some(_) => Ok(outcome),
                    None => server.still_runs().map(|()| outcome),
                };
            }
            let stop = if self.interrupted.load(Ordering::Relaxed) {
                Some(Fault::new(Class::Interrupted, "study", "stopped", ""))
            } else if Instant::now() > deadline {
                Some(timed_out(recipe))
            } else {
                server.still_runs().err()
            };
            if let Some(fault) = stop {
                running.stop()?;
                return Err(fault);
            }
            match &mut accounting {
                None => running.wait(LOOK_EVERY),
                Some(accounting) => {
                    running.wait(accounting.wait(LOOK_EVERY));
                    if let Some(from_ns) = running.began_ns(&spec) {
                        accounting.load_began(&self.root, from_ns);
                    }
                    accounting.look(&self.root);
                }
            }
        }
    }
}

impl Trials for LiveTrials {
    fn run(&mut self, planned: &Planned<'_>, dir: &Path) -> Result<Trial, Fault> {
        // A trial that was cut off leaves its folder behind; what it holds belongs to no finished trial.
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        let with_keys = self.study.recipe.with_keys(&planned.arm.keys);
        let mut recipe = with_keys.map_err(|fault| self.secrets.kept_out_of(fault))?;
        // Made here, before what goes with the trial.
        self.swap.of(&recipe.server, &self.case, &mut self.hand)?;
        self.let_settle();
        self.refer(planned, &recipe, &name).map_err(|fault| self.secrets.kept_out_of(fault))?;
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(Fault::new(Class::Interrupted, "study", "stopped", ""));
        }
        if let LoadSpec::OwnTraffic(own) = &mut recipe.load {
            own.reference = self.reference.clone();
        }
        let dir = self.folder_of(planned).fresh_folder(&name, Reach::Passable)?;
        let mark = self.hand.mark();
        let trial = self.run_placed(planned, recipe, &dir, mark);
        let taken_back = all_taken_back(&self.hand.undo_to(mark));
        // What is still in force matters more than a trial that failed, after which the study would go on.
        let on_disk = fsync::sync_folder(&dir, self.folder_of(planned));
        let trial = taken_back.and(trial).and_then(|trial| on_disk.map(|()| trial));
        if let Ok(trial) = &trial {
            self.reference = reference::after(&self.study.arms, trial, self.reference.take());
        }
        if trial.as_ref().is_ok_and(|trial| trial.breach.is_some()) {
            let cap = Duration::from_secs_f64(self.study.recipe.budget.warm_up_cap_s);
            self.settles = Some(Instant::now() + cap);
        }
        // A server or a load that fails may say what it was given.
        trial.map_err(|fault| self.secrets.kept_out_of(fault))
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

/// Writes the account of a trial beside it, or says why there is none.
fn with_account(
    mut trial: Trial,
    observed: Result<Observed, Missing>,
    folder: &OwnFolder,
) -> Result<Trial, Fault> {
    match observed {
        Ok(observed) => {
            let bytes = account_file::packed(&observed).map_err(|e| {
                let path = folder.path().join(account_file::PACKED);
                Fault::new(Class::Storage, path.display(), e, "this is a bug in pinwise; please report it")
            })?;
            write_bytes(folder, account_file::PACKED, &bytes)?;
        }
        Err(why) => trial.missing.push(why),
    }
    Ok(trial)
}

/// What a load failed of: the end of its server, where that comes at once, and else what the load itself reports.
fn cause_of(server: &mut Server, of_load: Fault) -> Fault {
    let until = Instant::now() + SEEN_TO_END;
    loop {
        match server.still_runs() {
            Err(of_server) => return of_server,
            Ok(()) if Instant::now() > until => return of_load,
            Ok(()) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// The outcome of a trial under the server's own traffic in which the server ended; it began then.
fn ended_with_its_server(began_ns: u64) -> Outcome {
    let to_ns = monotonic_ns();
    let breach = Breach {
        guard: format!("{SERVER_ENDS} == 0"),
        figure: SERVER_ENDS.into(),
        value: 1.0,
        limit: 0.0,
        requests: 0,
        seen_ns: to_ns,
        slice_began_ns: began_ns,
        certainty: Certainty::Counted,
    };
    let counted = Counted::Seen;
    Outcome { counted, from_ns: began_ns, to_ns, breach: Some(breach), ..Outcome::default() }
}

/// What places each process of a server that runs already.
fn pinned(processes: &[ProcessRef], cpus: &CpuSet) -> Vec<Setting> {
    let of = |process: &ProcessRef| Setting {
        knob: PIN.into(),
        target: process.pid.to_string(),
        value: cpus.to_list(),
    };
    processes.iter().map(of).collect()
}

/// Fails when something of a trial is still in force.
fn all_taken_back(undone: &[Undone]) -> Result<(), Fault> {
    let left: Vec<&Undone> = undone.iter().filter(|undone| !undone.how.is_final()).collect();
    if left.is_empty() {
        return Ok(());
    }
    let all: Vec<String> = left.iter().map(|left| left.to_string()).collect();
    let cause = format!("not everything could be taken back: {}", all.join("; "));
    Err(Fault::new(Class::No, "the machine is not as it was", cause, "look at it, then run 'pinwise undo'"))
}

fn timed_out(recipe: &Recipe) -> Fault {
    Fault::new(
        Class::WorkloadFailed,
        "load",
        format!("it had not ended after {} s", recipe.budget.trial_timeout_s),
        "shorten the load, or raise budget.trial_timeout_s (--trial-timeout)",
    )
}
