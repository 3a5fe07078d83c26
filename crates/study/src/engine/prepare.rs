//! Makes a case from a recipe: reads the machine, resolves every default, draws the order. Runs nothing yet.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use load::string::work::rounds_for;
use machine::kernel::boot;
use machine::knobs;
use machine::own_folder::Reach;
use machine::plan::BOOT_PARAMETERS;
use machine::secret::CONCEALED;
use machine::{Class, CpuChoice, CpuSet, Fault, Machine, Notes, Root, Setting};

use crate::arm::{self, Arm, Role};
use crate::boots::{self, Boots};
use crate::case::{Case, FORMAT, Resolved, abandoned};
use crate::case_search;
use crate::design;
use crate::engine::observation::accounting;
use crate::engine::{boot_parameters, housekeeping};
use crate::facts::Calibration;
use crate::looks;
use crate::observed_blocks;
use crate::pilot::Pilot;
use crate::recipe::{FEWEST_BLOCKS, Factor, Recipe};
use crate::screening::Screening;

/// Knobs that steer interrupts, and what the kernel does after them, onto CPUs; how they stand at the start goes into the case.
const STEERING: [&str; 6] = [
    "device-irqs",
    "irq-affinity",
    "irq-default-affinity",
    "irqbalance-banned-irqs",
    "rps-sock-flow-entries",
    "workqueue-cpus",
];

/// The same of network interfaces, which each network namespace has of its own.
const STEERING_OF_INTERFACES: [&str; 4] = ["napi-threaded", "rps-cpus", "rps-flow-count", "xps-cpus"];

/// Where a case is to lie and what it is made from.
#[derive(Debug)]
pub struct Request {
    /// The case folder.
    pub dir: PathBuf,
    /// The recipe.
    pub recipe: Recipe,
    /// The command line that asks for it.
    pub command: Vec<String>,
    /// Version of pinwise.
    pub version: String,
}

/// A case that is not made yet: the machine is read and every default resolved, and nothing is on disk. A pilot may still revise the recipe.
#[derive(Debug)]
pub struct Draft {
    dir: PathBuf,
    root: Root,
    machine: Machine,
    allowed: CpuSet,
    study: Resolved,
}

impl Draft {
    /// Reads the machine and resolves the recipe.
    ///
    /// # Errors
    /// The recipe asks for what this machine does not have; there is a case in the folder already.
    pub fn new(request: Request) -> Result<Self, Fault> {
        let Request { dir, mut recipe, command, version } = request;
        recipe.revealed(&[]).map_err(|missing| concealed(&missing))?;
        // Before the seconds of a pilot are spent on it.
        Case::is_free(&dir)?;
        let root = Root::recording(Root::live());
        let machine = Machine::read(&root);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // TOML holds signed 64-bit integers.
        recipe.seed.get_or_insert(u64::from(now.subsec_nanos()) ^ (now.as_secs() << 20) & (i64::MAX as u64));
        let allowed = usable(&machine)?;
        let string_rounds = recipe.server.is_unnamed().then(|| rounds_for(recipe.work_us));
        let study = Resolved {
            pinwise: version,
            made_unix_s: now.as_secs(),
            command,
            string_rounds,
            ..resolve(recipe, &machine)?
        };
        Ok(Self { dir, root, machine, allowed, study })
    }

    /// The folder that the case is to have.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The study as it stands.
    pub fn study(&self) -> &Resolved {
        &self.study
    }

    /// The machine as it was read.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The same with another recipe, whose arms are resolved anew.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn revised(self, recipe: Recipe) -> Result<Self, Fault> {
        let Resolved { pinwise, made_unix_s, command, string_rounds, .. } = self.study;
        let study = resolve(recipe, &self.machine)?;
        Ok(Self { study: Resolved { pinwise, made_unix_s, command, string_rounds, ..study }, ..self })
    }

    /// Makes the case, with what its pilot saw, and what was chosen by a screening.
    ///
    /// # Errors
    /// Boot words that cannot be had; the folder cannot be written, or holds a case.
    pub fn create(self, pilot: Option<&Pilot>, screening: Option<&Screening>) -> Result<Case, Fault> {
        let Self { dir, root, machine, allowed, mut study } = self;
        for moved in study.arms.iter_mut().filter_map(|arm| arm.placement.housekeeping.as_mut()) {
            moved.settings = housekeeping::settings(&Root::live(), &moved.cpus);
        }
        let made_in = boot_parameters::can_be_had(&study, &machine, &dir)?;
        if let Some(boots) = &mut study.boots {
            boots.made_in = made_in;
        }
        let unseen = match study.recipe.budget.observed_blocks {
            None | Some(0) => None,
            Some(_) => accounting::why_not(&machine),
        };
        if unseen.is_some() {
            study.recipe.budget.observed_blocks = Some(0);
        }
        let netns = namespaces(&study.recipe);
        // Its arms are not known yet.
        let of_search = match study.recipe.search {
            Some(_) => case_search::settings(&study.recipe, &machine)?,
            None => Vec::new(),
        };
        Case::create_with(&dir, study, |case| {
            snapshot(&root, machine, case)?;
            let mut as_found = steering_as_found(&netns);
            let arms = case.study.arms.iter().flat_map(|arm| arm.placement.all_settings());
            add_what_arms_set(&mut as_found, arms.chain(&of_search));
            case.write_json("as_found.json", &as_found)?;
            let mut calibration = calibrate(allowed.last());
            calibration.missing.extend(unseen);
            case.write_json("calibration.json", &calibration)?;
            pilot.map_or(Ok(()), |pilot| case.write_json("pilot.json", pilot).map(drop))?;
            screening.map_or(Ok(()), |chosen| case.write_json("screening.json", chosen).map(drop))
        })
    }
}

/// Writes the machine as it was read through the recording `root`: `machine/`, masked as captures are, and `machine.json`, whose kernel is
/// what `machine/` says, so that it has no secret of the command line. Interfaces, guests and cgroups have the names there that trials
/// know them by.
///
/// # Errors
/// The folder cannot be written to, or holds a `machine/`.
fn snapshot(root: &Root, mut machine: Machine, case: &Case) -> Result<(), Fault> {
    if let Some(mut capture) = root.take_capture() {
        capture.mask();
        let folder = case.folder()?.make_folder("machine", Reach::Owner)?;
        capture.write_into(&folder)?;
        machine.kernel = Machine::read(&Root::at(folder.path())?).kernel;
    }
    case.write_json("machine.json", &machine).map(drop)
}

/// A recipe that came out of a report.
fn concealed(keys: &[String]) -> Fault {
    let cause = format!("{CONCEALED} is in the place of a secret that was left out");
    let remedy = "write the secret itself, into a recipe that only you may read (chmod 600)";
    Fault::new(Class::Usage, keys.join(", "), cause, remedy)
}

/// Reads the machine and makes the case, without a pilot.
///
/// # Errors
/// As [`Draft::new`] and [`Draft::create`].
pub fn make_case(request: Request) -> Result<Case, Fault> {
    Draft::new(request)?.create(None, None)
}

/// The study that a recipe comes to on a machine: its arms and their order, or the controls of a search. Pure.
///
/// # Errors
/// The recipe asks for what this machine does not have, or for a knob that does not exist, or does not say which way a figure is better
/// whose name does not say it.
pub fn resolve(recipe: Recipe, machine: &Machine) -> Result<Resolved, Fault> {
    recipe.check()?;
    recipe.check_own_traffic()?;
    let mut recipe = recipe.with_directions()?;
    let is_search = recipe.search.is_some();
    let arms = arms(&recipe, machine)?;
    recipe.expectations.iter().try_for_each(|expectation| expectation.check(&arms))?;
    // Rather than after the first trials, when it is an arm's turn.
    arms.iter().flat_map(|arm| &arm.placement.settings).try_for_each(|s| knobs::named(&s.knob).map(drop))?;
    if recipe.server.running.is_some() {
        without_memory(&recipe, &arms)?;
    }
    let across_boots = across_boots(&recipe, &arms)?;
    if recipe.budget.blocks == 0 {
        let fewest = if across_boots { 0 } else { FEWEST_BLOCKS };
        recipe.budget.blocks = blocks_for(&arms, recipe.precision.alpha).max(fewest);
        if recipe.budget.looks.is_empty() && !across_boots && !is_search {
            recipe.budget.looks = vec![usual_look(recipe.budget.blocks)];
        }
    }
    let observed = match recipe.has_own_traffic() {
        true => 0,
        false => observed_blocks::usual(recipe.budget.blocks, across_boots),
    };
    recipe.budget.observed_blocks.get_or_insert(observed);
    let (blocks, seed) = (recipe.budget.blocks, recipe.seed.unwrap_or_default());
    let (order, boots) = match across_boots {
        _ if is_search => (Vec::new(), None),
        false => (design::draw_order(arms.len(), blocks, seed), None),
        true => {
            let found = boot::words(machine.kernel.cmdline.as_deref().unwrap_or_default());
            let rounds = recipe.budget.trials_a_boot;
            let (order, trials) = design::draw_boots(&boots::sharing(&arms), rounds, blocks, seed);
            (order, Some(Boots { trials, found, made_in: String::new() }))
        }
    };
    Ok(Resolved {
        format: FORMAT,
        pinwise: String::new(),
        made_unix_s: 0,
        command: Vec::new(),
        order,
        boots,
        string_rounds: None,
        recipe,
        arms,
        stages: Vec::new(),
        found: None,
        added: Vec::new(),
    })
}

/// The arms of a recipe, or the controls of a search. Where other hosts drive the load, or nobody does, it takes none of this host's CPUs,
/// and no arm relates the server's to them.
fn arms(recipe: &Recipe, machine: &Machine) -> Result<Vec<Arm>, Fault> {
    let of = |recipe: &Recipe| match recipe.search {
        Some(_) => case_search::controls(recipe, machine),
        None => arm::of_recipe(recipe, machine),
    };
    if recipe.hosts.is_empty() && !recipe.has_own_traffic() {
        return of(recipe);
    }
    let anywhere = CpuChoice::from(usable(machine)?);
    let mut arms = of(&Recipe { load_cpus: Some(anywhere), ..recipe.clone() })?;
    arms.iter_mut().for_each(|arm| arm.placement.load_cpus = None);
    Ok(arms)
}

/// Whether trials run under kernels that were booted for them.
///
/// # Errors
/// Boot parameters as a setting of trials, or keys that go with boots alone.
fn across_boots(recipe: &Recipe, arms: &[Arm]) -> Result<bool, Fault> {
    let is_boot = |factor: &Factor| matches!(factor, Factor::Boot(_));
    let across =
        recipe.factors.iter().any(is_boot) || arms.iter().any(|arm| !arm.placement.boot_words.is_empty());
    let set_in_trials =
        arms.iter().flat_map(|arm| &arm.placement.settings).any(|s| s.knob == BOOT_PARAMETERS);
    let wrong =
        |object: &str, cause: &str, remedy: &str| Err(Fault::new(Class::Usage, object, cause, remedy));
    if set_in_trials {
        let remedy = "turn them into a factor of kind boot (docs/boot.md)";
        return wrong(BOOT_PARAMETERS, "no trial would see them: they take effect at boot", remedy);
    }
    if !across && recipe.budget.trials_a_boot > 1 {
        let remedy = "leave it out, or vary boot parameters (a factor of kind boot)";
        return wrong("budget.trials_a_boot", "the study does not span reboots", remedy);
    }
    let by_number = |running: &String| running.bytes().all(|byte| byte.is_ascii_digit());
    if across && recipe.server.running.as_ref().is_some_and(by_number) {
        let cause = "a process does not survive a reboot";
        return wrong("server.running", cause, "name a systemd unit that starts at boot");
    }
    Ok(across)
}

/// A memory policy holds from the start of a server: one that runs already has had its start.
fn without_memory(recipe: &Recipe, arms: &[Arm]) -> Result<(), Fault> {
    let is_memory = |factor: &Factor| matches!(factor, Factor::Memory(_));
    let asked = arms.iter().any(|arm| arm.placement.memory.is_some()) || recipe.factors.iter().any(is_memory);
    match asked {
        false => Ok(()),
        true => Err(Fault::new(
            Class::Usage,
            "memory",
            "the server is already running, and where its memory comes from is set at its start",
            "move its pages with a factor of kind knob (process-memory-nodes of server), or have the study start it",
        )),
    }
}

/// Where this process may run: the CPUs that are online and that its affinity and cpuset allow.
pub fn usable(machine: &Machine) -> Result<CpuSet, Fault> {
    let usable = machine.usable();
    if usable.is_empty() {
        return Err(Fault::new(
            Class::MachineLacks,
            "/sys/devices/system/cpu",
            "it has no CPU that pinwise may use",
            "mount /sys and /proc",
        ));
    }
    Ok(usable)
}

/// As many blocks as the largest family of comparisons needs, and one more.
fn blocks_for(arms: &[Arm], alpha: f64) -> usize {
    let claims = arms.iter().filter(|a| a.role == Role::Candidate).count();
    design::fewest_blocks(claims, looks::spent_by_looks(alpha)) + 1
}

/// After how many of `blocks` it is looked whether everything is decided, where the recipe does not say: late enough that little error is
/// spent on it, early enough to save a third of the time where all is plain.
fn usual_look(blocks: usize) -> usize {
    (blocks * 5).div_ceil(7)
}

/// Network namespaces that the server and the load of a recipe run in.
fn namespaces(recipe: &Recipe) -> Vec<String> {
    let mut names: Vec<String> =
        [recipe.server.netns.clone(), recipe.load.netns().cloned()].into_iter().flatten().collect();
    names.sort();
    names.dedup();
    names
}

/// Reads how interrupts and receive work are steered, in our own namespace and in those of the study. What cannot be
/// read is left out: a rule then has fewer causes to offer, and says so.
fn steering_as_found(netns: &[String]) -> Vec<Setting> {
    let all = [&STEERING[..], &STEERING_OF_INTERFACES].concat();
    let mut found = settings_of(&Root::live(), "", &all);
    for name in netns {
        if let Ok(root) = Root::live_in_netns(name) {
            found.extend(settings_of(&root, &format!("{name}:"), &STEERING_OF_INTERFACES));
        }
    }
    found
}

fn settings_of(root: &Root, prefix: &str, ids: &[&str]) -> Vec<Setting> {
    let mut found = Vec::new();
    for knob in knobs::ALL.iter().filter(|knob| ids.contains(&knob.about().id)) {
        for target in knob.targets(root).unwrap_or_default() {
            if let Ok(value) = knob.read(root, &target.id) {
                found.push(Setting {
                    knob: knob.about().id.to_string(),
                    target: format!("{prefix}{}", target.id),
                    value,
                });
            }
        }
    }
    found
}

/// Adds how the machine's settings stand that arms set, whatever knob they are of: a plan says what was before it.
fn add_what_arms_set<'a>(found: &mut Vec<Setting>, set: impl Iterator<Item = &'a Setting>) {
    let root = Root::live();
    for setting in set {
        if found.iter().any(|known| known.same_object(setting)) {
            continue;
        }
        // What is of the server is not there yet.
        let value = knobs::find(&setting.knob).and_then(|knob| knob.read(&root, &setting.target).ok());
        found.extend(value.map(|value| Setting { value, ..setting.clone() }));
    }
}

/// Measures what one timer interrupt costs a computing thread on this machine, on one CPU.
fn calibrate(cpu: Option<u32>) -> Calibration {
    let mut notes = Notes::new();
    let interrupt_cost_ns =
        cpu.and_then(|cpu| notes.keep("cost of one timer interrupt", load::interrupt_cost_ns(cpu)));
    Calibration { interrupt_cost_ns, missing: notes.into_vec() }
}

/// A free folder name for a case in `base`: `cases/string-server-1`.
pub fn free_dir(base: &Path, name: &str) -> PathBuf {
    abandoned::numbered(base, name).find(|dir| !dir.exists()).unwrap_or_else(|| base.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{Placement, Tree};

    #[test]
    fn the_knobs_that_steer_are_knobs() {
        for id in STEERING.iter().chain(&STEERING_OF_INTERFACES) {
            assert!(knobs::find(id).is_some(), "{id}");
        }
        let steers = |id: &str| id.contains("irq") || ["rps-", "xps-"].iter().any(|of| id.starts_with(of));
        let missing = knobs::ALL
            .iter()
            .map(|knob| knob.about().id)
            .filter(|id| steers(id) && !STEERING.contains(id) && !STEERING_OF_INTERFACES.contains(id));
        assert_eq!(missing.collect::<Vec<_>>(), ["napi-defer-hard-irqs"], "which says when and not where");
    }

    #[test]
    fn the_machine_of_a_case_is_masked_as_a_capture_is() {
        let tree = Tree::new()
            .file("/proc/cmdline", "quiet nic.auth_token=hunter2 isolcpus=2-3 ip=10.0.0.7\n")
            .file("/sys/devices/system/cpu/isolated", "2-3\n")
            .file("/sys/devices/system/cpu/present", "0-3\n");
        let root = Root::recording(Root::from_tree(tree).with_fact("nodename", "web7"));
        let machine = Machine::read(&root);
        assert!(format!("{machine:?}").contains("hunter2"), "the machine that was read has it");
        let dir = tempfile::tempdir().unwrap();
        let case = Case::create(dir.path(), crate::case::tests::resolved()).unwrap();
        snapshot(&root, machine.clone(), &case).unwrap();

        let mut texts = String::new();
        for name in ["machine.json", "machine/pinwise-capture.json", "machine/proc/cmdline"] {
            texts += &std::fs::read_to_string(dir.path().join(name)).unwrap();
        }
        for masked in ["hunter2", "10.0.0.7", "web7"] {
            assert!(!texts.contains(masked), "{masked}: {texts}");
        }
        // What is masked is named, and all else is as it was read.
        assert!(texts.contains("nic.auth_token=masked") && texts.contains("isolcpus=2-3"), "{texts}");
        let read: Machine = case.read_json("machine.json").unwrap().unwrap();
        assert_eq!(read.kernel.isolated, machine.kernel.isolated);
        assert_eq!(Machine { kernel: machine.kernel.clone(), ..read }, machine);
    }

    #[test]
    fn what_arms_set_is_read_once_each() {
        let Ok(now) = std::fs::read_to_string("/proc/sys/vm/swappiness") else { return };
        let set = |value: &str| {
            let setting =
                Setting { knob: "swappiness".into(), target: "machine".into(), value: value.into() };
            let mut placement = Placement::default();
            placement.set(&[setting]);
            Arm::new("x", Role::Candidate, placement)
        };
        let mut found = Vec::new();
        let arms = [set("1"), set("2")];
        add_what_arms_set(&mut found, arms.iter().flat_map(|arm| &arm.placement.settings));
        assert_eq!(found.iter().map(|found| found.value.as_str()).collect::<Vec<_>>(), [now.trim()]);
    }
}
