//! Makes a case from a recipe: reads the machine, resolves every default, draws the order. Runs nothing yet.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use load::string::work::rounds_for;
use machine::knobs;
use machine::{Class, CpuSet, Fault, Machine, Notes, Root, Setting};

use crate::arm::{self, Arm, Role};
use crate::case::{Case, FORMAT, Resolved};
use crate::design;
use crate::facts::Calibration;
use crate::recipe::Recipe;
use crate::searching;

/// Fewest blocks of a study that names no number. Many short blocks, because on a shared host the machine itself drifts by
/// tens of per cent within a minute: with 8 blocks two contrary ones hid a storm that takes a quarter of a CPU
/// (docs/journal/0006-many-short-blocks.md).
const FEWEST_BLOCKS: usize = 14;

/// Knobs that steer interrupts and receive work onto CPUs; how they stand at the start goes into the case.
const STEERING: [&str; 2] = ["irq-affinity", "rps-cpus"];

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

/// Reads the machine and makes the case.
pub fn make_case(request: Request) -> Result<Case, Fault> {
    let Request { dir, mut recipe, command, version } = request;
    let root = Root::recording(Root::live());
    let machine = Machine::read(&root);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // TOML holds signed 64-bit integers.
    recipe.seed.get_or_insert(u64::from(now.subsec_nanos()) ^ (now.as_secs() << 20) & (i64::MAX as u64));
    let allowed = usable(&machine)?;
    let string_rounds = recipe.server.command.is_empty().then(|| rounds_for(recipe.work_us));
    let study = Resolved {
        pinwise: version,
        made_unix_s: now.as_secs(),
        command,
        string_rounds,
        ..resolve(recipe, &machine)?
    };
    let netns = namespaces(&study.recipe);
    Case::create_with(&dir, study, |case| {
        case.write_json("machine.json", &machine)?;
        if let Some(capture) = root.take_capture() {
            capture.write(&case.dir().join("machine"))?;
        }
        case.write_json("as_found.json", &steering_as_found(&netns))?;
        case.write_json("calibration.json", &calibrate(allowed.last()))?;
        Ok(())
    })
}

/// The study that a recipe comes to on a machine: its arms and their order, or the controls of a search. Pure.
///
/// # Errors
/// The recipe asks for what this machine does not have, or for a knob that does not exist.
pub fn resolve(mut recipe: Recipe, machine: &Machine) -> Result<Resolved, Fault> {
    recipe.check()?;
    let is_search = recipe.search.is_some();
    let arms =
        if is_search { searching::controls(&recipe, machine)? } else { arm::of_recipe(&recipe, machine)? };
    // Rather than after the first trials, when it is an arm's turn.
    arms.iter().flat_map(|arm| &arm.placement.settings).try_for_each(|s| knobs::named(&s.knob).map(drop))?;
    if recipe.budget.blocks == 0 {
        recipe.budget.blocks = blocks_for(&arms, recipe.precision.alpha);
    }
    let order = match is_search {
        true => Vec::new(),
        false => design::draw_order(arms.len(), recipe.budget.blocks, recipe.seed.unwrap_or_default()),
    };
    Ok(Resolved {
        format: FORMAT,
        pinwise: String::new(),
        made_unix_s: 0,
        command: Vec::new(),
        order,
        string_rounds: None,
        recipe,
        arms,
        stages: Vec::new(),
        found: None,
    })
}

/// Where this process may run: the CPUs that are online and that its affinity and cpuset allow.
pub fn usable(machine: &Machine) -> Result<CpuSet, Fault> {
    let usable = machine.usable();
    if usable.is_empty() {
        return Err(Fault::new(
            Class::MachineLacks,
            "/sys/devices/system/cpu",
            "it tells of no CPU that pinwise may use",
            "mount /sys and /proc",
        ));
    }
    Ok(usable)
}

/// As many blocks as the largest family of comparisons needs, and one more.
fn blocks_for(arms: &[Arm], alpha: f64) -> usize {
    let claims = arms.iter().filter(|a| a.role == Role::Candidate).count();
    (design::fewest_blocks(claims, alpha) + 1).max(FEWEST_BLOCKS)
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
    let mut found = settings_of(&Root::live(), "");
    for name in netns {
        if let Ok(root) = Root::live_in_netns(name) {
            found
                .extend(settings_of(&root, &format!("{name}:")).into_iter().filter(|s| s.knob == "rps-cpus"));
        }
    }
    found
}

fn settings_of(root: &Root, prefix: &str) -> Vec<Setting> {
    let mut found = Vec::new();
    for knob in knobs::ALL.iter().filter(|k| STEERING.contains(&k.about().id)) {
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

/// Measures what one timer interrupt costs a computing thread on this machine, on one CPU.
fn calibrate(cpu: Option<u32>) -> Calibration {
    let mut notes = Notes::new();
    let interrupt_cost_ns =
        cpu.and_then(|cpu| notes.keep("cost of one timer interrupt", load::interrupt_cost_ns(cpu)));
    Calibration { interrupt_cost_ns, missing: notes.into_vec() }
}

/// A free folder name for a case in the current directory: `cases/2026-11-21-string-1`.
pub fn free_dir(base: &Path, name: &str) -> PathBuf {
    (1..)
        .map(|n| base.join(format!("{name}-{n}")))
        .find(|dir| !dir.exists())
        .unwrap_or_else(|| base.join(name))
}
