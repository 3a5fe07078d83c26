//! The arms of a study: the placements that it compares, and its controls.

use std::collections::BTreeMap;

use machine::plan::Housekeeping;
use machine::topology::cpus::Cpu;
use machine::{Class, CpuChoice, CpuSet, Fault, Machine, Placement};
use serde::{Deserialize, Serialize};

use crate::combinations::combinations;
use crate::levels::{self, Level};
use crate::recipe::factor::{AllAlike, EachCpu};
use crate::recipe::place::Place;
use crate::recipe::{Factor, Fill, Recipe};

/// What an arm is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The placement that all others are compared with. It stands in every block twice: the A/A control.
    Baseline,
    /// A placement that is tried: a combination of levels.
    Candidate,
    /// The reference arm with a thief that takes a known share of the server's CPU time: the positive control.
    Dose,
    /// A deliberate mis-tuning of the recipe's own, in place of the dose.
    MisTuning,
    /// The cause of a finding left as it was found, or moved: an arm of `explain --prove`.
    Intervention,
}

impl Role {
    /// Whether it is a positive control, which shows that a difference would be seen.
    pub fn is_positive_control(self) -> bool {
        matches!(self, Role::Dose | Role::MisTuning)
    }
}

/// Which of the two copies of the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CopyLetter {
    /// The first.
    A,
    /// The second.
    B,
}

/// One of the two copies in which the baseline stands in every block: the A/A control compares them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BaselineCopy {
    /// Name of the baseline, which both copies share: `unpinned`.
    pub of: String,
    /// Which of the two it is.
    pub letter: CopyLetter,
}

impl BaselineCopy {
    /// Name of its arm, as cases have it: `unpinned A`.
    pub fn arm_name(&self) -> String {
        format!("{} {}", self.of, self.letter())
    }

    /// What texts call it where the two copies have to be distinguished, as in a table with a row of each: `unpinned (A)`. Otherwise a name
    /// of several words runs into the letter.
    pub fn shown_name(&self) -> String {
        format!("{} ({})", self.of, self.letter())
    }

    fn letter(&self) -> char {
        match self.letter {
            CopyLetter::A => 'A',
            CopyLetter::B => 'B',
        }
    }
}

/// So many CPUs for the server, of a study that scales.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// In which order CPUs were taken.
    pub fill: Fill,
    /// How many.
    pub cpus: usize,
}

/// One arm: a name, a role and a placement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// Name in tables and in `trials.jsonl`: `unpinned A`, `cpu 3`, `crowded`.
    pub name: String,
    /// What it is there for.
    pub role: Role,
    /// Which copy of the baseline it is, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<BaselineCopy>,
    /// The CPU that it tries, of a study that tries each in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// How far the server is scaled, of a study that scales.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
    /// Of a dose: the arm whose placement it has, and with which it is compared; of a baseline, either of its two arms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Where things are to run.
    #[serde(default)]
    pub placement: Placement,
    /// The level of each factor, by the factor's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub levels: BTreeMap<String, String>,
    /// Keys of the recipe that differ from it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub keys: BTreeMap<String, toml::Value>,
}

impl Arm {
    /// An arm of no level.
    pub fn new(name: impl Into<String>, role: Role, placement: Placement) -> Self {
        let (levels, keys) = (BTreeMap::new(), BTreeMap::new());
        Self {
            name: name.into(),
            role,
            copy: None,
            cpu: None,
            scale: None,
            reference: None,
            placement,
            levels,
            keys,
        }
    }

    /// What tables call it where both copies of the baseline are meant: the name of the baseline. Any other arm has its own name.
    pub fn title(&self) -> &str {
        self.copy.as_ref().map_or(&self.name, |copy| &copy.of)
    }

    /// Whether the load keeps off the server's CPUs, so that what the server loses is the server's alone.
    pub fn is_apart(&self) -> bool {
        match (&self.placement.server_cpus, &self.placement.load_cpus) {
            (Some(server), Some(load)) => server.intersection(load).is_empty(),
            _ => false,
        }
    }

    /// Adds what a level says, in the place of what was said before.
    fn add(&mut self, factor: &str, level: &Level, usable: &CpuSet) {
        let placement = &mut self.placement;
        if let Some(server) = &level.server {
            placement.server_cpus = Some(server.clone());
            if placement.load_cpus.is_none() && level.load.is_none() {
                placement.load_cpus = Some(left(usable, server));
            }
        }
        if let Some(load) = &level.load {
            placement.load_cpus = Some(load.clone());
        }
        if let Some(memory) = &level.memory {
            placement.memory = Some(memory.clone());
        }
        if let Some(cpus) = &level.housekeeping {
            placement.housekeeping = Some(Housekeeping { cpus: cpus.clone(), settings: Vec::new() });
        }
        if let Some(words) = &level.boot {
            placement.boot_words = words.clone();
        }
        placement.set(&level.settings);
        placement.neighbours.extend(level.neighbours.iter().cloned());
        self.keys.extend(level.keys.clone());
        self.levels.insert(factor.to_string(), level.name.clone());
        self.cpu = self.cpu.or(level.cpu);
        self.scale = self.scale.or(level.scale.map(|(fill, cpus)| Scale { fill, cpus }));
    }
}

/// The CPUs of `cpus` that the server leaves; with none left it shares them, and the report says so.
fn left(cpus: &CpuSet, server: &CpuSet) -> CpuSet {
    let rest = cpus.difference(server);
    if rest.is_empty() { cpus.clone() } else { rest }
}

/// What all arms of a recipe have in common on a machine.
pub(crate) struct Common<'a> {
    recipe: &'a Recipe,
    machine: &'a Machine,
    baseline: Arm,
}

impl<'a> Common<'a> {
    /// Reads the baseline of a recipe.
    ///
    /// # Errors
    /// CPUs or nodes of the baseline that this machine does not have.
    pub fn of(recipe: &'a Recipe, machine: &'a Machine) -> Result<Self, Fault> {
        Ok(Self { recipe, machine, baseline: baseline(recipe, machine)? })
    }

    /// Where the baseline has the load, if it says so.
    pub fn load(&self) -> Option<&CpuSet> {
        self.baseline.placement.load_cpus.as_ref()
    }

    /// The baseline twice: the A/A control.
    ///
    /// # Errors
    /// Keys that the recipe does not have.
    pub fn baselines(&self) -> Result<Vec<Arm>, Fault> {
        let copies = [CopyLetter::A, CopyLetter::B]
            .map(|letter| BaselineCopy { of: self.baseline.name.clone(), letter });
        let arms = copies.into_iter().map(|copy| {
            self.finished(Arm { name: copy.arm_name(), copy: Some(copy), ..self.baseline.clone() })
        });
        arms.collect()
    }

    /// The arm of one level of each factor.
    ///
    /// # Errors
    /// Keys that the recipe does not have.
    pub fn candidate(&self, levels: &[(&str, &Level)]) -> Result<Arm, Fault> {
        let mut arm = Arm { role: Role::Candidate, ..self.baseline.clone() };
        let names: Vec<&str> = levels.iter().map(|(_, level)| level.name.as_str()).collect();
        arm.name = names.join("; ");
        for (factor, level) in levels {
            arm.add(factor, level, &self.machine.usable());
        }
        // A load that the baseline places stays there; of its CPUs the server's are left out.
        let load_is_left = levels.iter().all(|(_, level)| level.load.is_none());
        if let (Some(given), Some(server), true) = (self.load(), &arm.placement.server_cpus, load_is_left) {
            arm.placement.load_cpus = Some(left(given, server));
        }
        if levels.len() > 1 {
            arm.cpu = None;
        }
        self.finished(arm)
    }

    /// The positive control beside `arms`: a dose in one of them, or what the recipe calls a mis-tuning.
    ///
    /// # Errors
    /// CPUs or keys that are not there.
    pub fn positive_control(&self, arms: &[Arm]) -> Result<Option<Arm>, Fault> {
        match &self.recipe.mis_tuning {
            Some(place) => {
                let arm = mis_tuning(place, self.machine, self.baseline.clone())?;
                self.finished(arm).map(Some)
            }
            None => Ok(dose(self.recipe, &self.machine.usable(), arms)),
        }
    }

    /// Adds what the recipe sets everywhere.
    fn finished(&self, mut arm: Arm) -> Result<Arm, Fault> {
        self.recipe.with_keys(&arm.keys)?;
        let own = std::mem::take(&mut arm.placement.settings);
        arm.placement.settings = self.recipe.settings.clone();
        arm.placement.set(&own);
        let beside = std::mem::take(&mut arm.placement.neighbours);
        let everywhere = self.recipe.neighbours.iter().map(|neighbour| neighbour.on(self.machine));
        arm.placement.neighbours = everywhere.collect::<Result<_, _>>()?;
        arm.placement.neighbours.extend(beside);
        Ok(arm)
    }
}

/// The arms of a recipe on a machine: the baseline twice, the combinations of the factors' levels, the positive control.
///
/// # Errors
/// Levels that this machine cannot have, or factors that do not go together.
pub fn of_recipe(recipe: &Recipe, machine: &Machine) -> Result<Vec<Arm>, Fault> {
    let common = Common::of(recipe, machine)?;
    let usual = [Factor::EachCpu(EachCpu { cpus: None })];
    let factors = if recipe.factors.is_empty() { &usual[..] } else { &recipe.factors };
    let levels = levels::of_factors(factors, machine, common.load())?;
    let mut arms = common.baselines()?;
    for combination in combinations(&levels, recipe.most_arms)? {
        arms.push(common.candidate(&combination)?);
    }
    arms.extend(common.positive_control(&arms)?);
    distinct(&arms)?;
    Ok(arms)
}

/// The arms for "each CPU in turn" on a machine of these CPUs of which nothing else is known.
///
/// # Errors
/// A candidate or a CPU of the load that is not allowed.
pub fn each_cpu_in_turn(
    candidates: &CpuSet,
    allowed: &CpuSet,
    load_cpus: Option<&CpuSet>,
) -> Result<Vec<Arm>, Fault> {
    let factors = vec![Factor::EachCpu(EachCpu { cpus: Some(candidates.clone().into()) })];
    let load_cpus = load_cpus.cloned().map(CpuChoice::from);
    of_recipe(&Recipe { factors, load_cpus, ..Recipe::default() }, &of_cpus(allowed))
}

/// The arms of an A/A study on a machine of these CPUs: `copies` beside the two baselines, all placed alike.
///
/// # Errors
/// None that is known.
pub fn all_alike(copies: usize, allowed: &CpuSet) -> Result<Vec<Arm>, Fault> {
    let factors = vec![Factor::AllAlike(AllAlike { copies })];
    of_recipe(&Recipe { factors, ..Recipe::default() }, &of_cpus(allowed))
}

/// A machine of which only the CPUs are known.
fn of_cpus(cpus: &CpuSet) -> Machine {
    let cpu = |id| Cpu { id, online: true, ..Cpu::default() };
    Machine { cpus: cpus.iter().map(cpu).collect(), ..Machine::default() }
}

/// What the recipe says of where things are when no factor says otherwise.
fn baseline(recipe: &Recipe, machine: &Machine) -> Result<Arm, Fault> {
    let mut level = levels::placed(&recipe.baseline, machine)?;
    if let Some(load) = &recipe.load_cpus {
        level.load = Some(load.on(machine)?);
    }
    let name = match (&recipe.baseline.name, &level.server) {
        (Some(name), _) => name.clone(),
        (None, None) => "unpinned".into(),
        (None, Some(_)) => "baseline".into(),
    };
    let mut arm = Arm::new(name, Role::Baseline, Placement::default());
    arm.add("", &level, &machine.usable());
    arm.levels.clear();
    Ok(arm)
}

/// The baseline with what the recipe calls a mis-tuning.
fn mis_tuning(place: &Place, machine: &Machine, baseline: Arm) -> Result<Arm, Fault> {
    let level = levels::placed(place, machine)?;
    let mut arm = baseline;
    arm.add("", &level, &machine.usable());
    arm.levels.clear();
    Ok(Arm { name: level.name, role: Role::MisTuning, ..arm })
}

/// The reference arm with a thief on the CPUs of its server; `None` where the recipe wants no dose, or there is no CPU.
fn dose(recipe: &Recipe, usable: &CpuSet, arms: &[Arm]) -> Option<Arm> {
    let reference = dose_reference(arms, recipe.dose.reference.as_deref())?;
    let cpus = reference.placement.server_cpus.as_ref().unwrap_or(usable);
    let dose = recipe.dose.on(cpus.clone()).filter(|dose| !dose.cpus.is_empty())?;
    let name = reference.title();
    let placement = Placement { dose: Some(dose), ..reference.placement.clone() };
    Some(Arm {
        reference: Some(reference.name.clone()),
        keys: reference.keys.clone(),
        ..Arm::new(format!("dose on {name}"), Role::Dose, placement)
    })
}

/// The arm in which a dose is judged: the one that is named, where there is one of this name; else one whose load keeps off the server's CPUs, so that the loss is the server's alone. Of those
/// the baseline, which has two trials a block, else the first; where there is none, the baseline.
fn dose_reference<'a>(arms: &'a [Arm], named: Option<&str>) -> Option<&'a Arm> {
    let named = named.and_then(|name| arms.iter().find(|arm| arm.name == name));
    let baseline = arms.iter().find(|arm| arm.role == Role::Baseline);
    let candidate = arms.iter().find(|arm| arm.role == Role::Candidate && arm.is_apart());
    named.or(baseline.filter(|arm| arm.is_apart())).or(candidate).or(baseline)
}

/// What tables call the baseline of a study with these arms.
pub fn baseline_name(arms: &[Arm]) -> String {
    let first = arms.iter().find(|arm| arm.role == Role::Baseline);
    first.map_or("baseline", Arm::title).to_string()
}

fn distinct(arms: &[Arm]) -> Result<(), Fault> {
    for (i, arm) in arms.iter().enumerate() {
        if arms[..i].iter().any(|earlier| earlier.name == arm.name) {
            let cause = "two arms have this name";
            return Err(Fault::new(
                Class::Usage,
                format!("arm '{}'", arm.name),
                cause,
                "give the level another name",
            ));
        }
    }
    Ok(())
}

/// Whether the arm of this name is the baseline, or a copy of it.
pub fn is_of_baseline(arms: &[Arm], name: &str) -> bool {
    arms.iter().any(|arm| arm.name == name && arm.role == Role::Baseline)
}

#[cfg(test)]
pub(crate) mod tests {
    use machine::Dose;

    use super::*;
    use crate::levels::tests::two_nodes_of_two_cores_of_two_threads;

    fn set(list: &str) -> CpuSet {
        CpuSet::from_list(list).unwrap()
    }

    pub(crate) fn alike(cpus: u32) -> Machine {
        of_cpus(&(0..cpus).collect())
    }

    /// The arms of a recipe in TOML on a machine of so many CPUs.
    fn arms(cpus: u32, recipe: &str) -> Vec<Arm> {
        of_recipe(&Recipe::from_toml(recipe, "x").unwrap(), &alike(cpus)).unwrap()
    }

    #[test]
    fn a_cpu_that_is_not_allowed_is_named() {
        for (candidates, load) in [("0,9", None), ("0", Some("9"))] {
            let load = load.map(set);
            let fault = each_cpu_in_turn(&set(candidates), &set("0-1"), load.as_ref()).unwrap_err();
            assert_eq!(fault.class, Class::Usage);
            assert!(fault.to_string().contains('9') && fault.to_string().contains("0-1"), "{fault}");
        }
    }

    fn names(arms: &[Arm]) -> Vec<&str> {
        arms.iter().map(|arm| arm.name.as_str()).collect()
    }

    #[test]
    fn two_baselines_each_cpu_every_pair_and_one_dose() {
        let arms = arms(2, "");
        let expected =
            ["unpinned A", "unpinned B", "cpu 0", "cpu 1", "both on cpu 0", "both on cpu 1", "dose on cpu 0"];
        assert_eq!(names(&arms), expected);
        let titles: Vec<&str> = arms.iter().map(Arm::title).collect();
        assert_eq!((&titles[..2], &titles[2..]), (&["unpinned"; 2][..], &expected[2..]));
        let letters = arms.iter().map(|arm| arm.copy.as_ref().map(|copy| copy.letter));
        assert!(letters.eq([Some(CopyLetter::A), Some(CopyLetter::B), None, None, None, None, None]));
        let shown = arms.iter().filter_map(|arm| arm.copy.as_ref()).map(BaselineCopy::shown_name);
        assert!(shown.eq(["unpinned (A)", "unpinned (B)"]));
        assert_eq!(arms[2].placement.load_cpus, Some(set("1")));
        assert_eq!(arms[4].placement.load_cpus, arms[4].placement.server_cpus);
        let dose = &arms[6];
        assert_eq!((dose.role, dose.reference.as_deref(), dose.cpu), (Role::Dose, Some("cpu 0"), None));
        assert_eq!(dose.placement.dose, Some(Dose { cpus: set("0"), share_permille: 200 }));
        assert_eq!(Placement { dose: None, ..dose.placement.clone() }, arms[2].placement);
        assert_eq!(arms[3].cpu, Some(1));
    }

    #[test]
    fn words_for_cpus_hold_for_the_load_and_for_each_cpu_in_turn() {
        let text = "load_cpus = \"node:1 & !siblings\"\n[[factors]]\nkind = \"each-cpu\"\ncpus = \"node:0,!siblings\"";
        let recipe = Recipe::from_toml(text, "x").unwrap();
        let machine = levels::tests::two_nodes_of_two_cores_of_two_threads();
        let arms = of_recipe(&recipe, &machine).unwrap();
        let tried: Vec<u32> = arms.iter().filter_map(|arm| arm.cpu).collect();
        let of = |words: &str| machine::cpu_choice::resolve(words, &machine).unwrap();
        assert_eq!(tried, of("node:0,!siblings").iter().collect::<Vec<_>>());
        let load = of("node:1,!siblings");
        assert!(arms.iter().all(|arm| arm.placement.load_cpus == Some(load.clone())));
        assert_eq!(Recipe::from_toml(&recipe.to_toml().unwrap(), "x").unwrap(), recipe);
    }

    #[test]
    fn the_load_keeps_off_the_servers_cpu_within_what_the_user_named() {
        let arms = arms(8, "load_cpus = \"4-5\"\n[[factors]]\nkind = \"each-cpu\"\ncpus = \"0,5\"");
        assert_eq!(arms[0].placement.load_cpus, Some(set("4-5")));
        assert_eq!(arms[2].placement.load_cpus, Some(set("4-5")));
        assert_eq!(arms[3].placement.load_cpus, Some(set("4")));
    }

    #[test]
    fn one_cpu_alone_is_shared() {
        assert_eq!(arms(1, "")[2].placement.load_cpus, Some(set("0")));
    }

    #[test]
    fn factors_are_combined_and_each_arm_knows_its_levels() {
        let text = "settings = [{ knob = \"swappiness\", target = \"machine\", value = \"10\" }]\n\
                    [[factors]]\nkind = \"places\"\nname = \"split\"\n\
                    levels = [{ name = \"together\" }, { name = \"apart\", server = \"node:0\", load = \"node:1\" }]\n\
                    [[factors]]\nkind = \"knob\"\nknob = \"swappiness\"\nvalues = [\"0\", \"60\"]\n";
        let recipe = Recipe::from_toml(text, "x").unwrap();
        let arms = of_recipe(&recipe, &two_nodes_of_two_cores_of_two_threads()).unwrap();
        let expected = [
            "unpinned A",
            "unpinned B",
            "together; swappiness 0",
            "together; swappiness 60",
            "apart; swappiness 0",
            "apart; swappiness 60",
            "dose on apart; swappiness 0",
        ];
        assert_eq!(names(&arms), expected);
        let last = &arms[5];
        assert_eq!(last.levels["split"], "apart");
        assert_eq!(
            last.placement.settings[0].value, "60",
            "a level stands above what the recipe sets everywhere"
        );
        assert_eq!(arms[0].placement.settings[0].value, "10");
        assert_eq!(last.placement.load_cpus, Some(set("1,3,5,7")));
        assert_eq!(arms[2].placement.server_cpus, None);
    }

    #[test]
    fn a_recipe_names_its_own_baseline_and_mis_tuning() {
        let text = "[baseline]\nserver = \"0-1\"\nload = \"2\"\nkeys = { \"load.connections\" = 4 }\n\
                    [mis_tuning]\nname = \"one connection\"\nkeys = { \"load.connections\" = 1 }\n\
                    [[factors]]\nkind = \"cores\"\ncounts = [1, 2]\n";
        let arms = arms(4, text);
        assert_eq!(names(&arms), ["baseline A", "baseline B", "1 CPU", "2 CPUs", "one connection"]);
        assert_eq!(arms[3].placement.server_cpus, Some(set("0-1")));
        assert_eq!(arms[3].placement.load_cpus, Some(set("2")));
        assert_eq!(arms[3].scale, Some(Scale { fill: Fill::CoresFirst, cpus: 2 }));
        let connections = |arm: &Arm| arm.keys["load.connections"].as_integer().unwrap();
        assert_eq!((connections(&arms[2]), connections(&arms[4])), (4, 1));
    }

    #[test]
    fn a_level_has_neighbours_and_housekeeping_of_its_own() {
        let text = "[[neighbours]]\ncommand = \"everywhere\"\ncpus = \"0\"\n\
                    [mis_tuning]\nname = \"storm\"\nserver = \"1\"\nneighbours = [{ command = \"storm\", cpus = \"1\" }]\n\
                    [[factors]]\nkind = \"places\"\nlevels = [{ name = \"moved\", server = \"1\", housekeeping = \"!1\" }]\n";
        let arms = arms(4, text);
        let beside = |at: usize| {
            let of_arm = arms[at].placement.neighbours.iter();
            of_arm.map(|neighbour| neighbour.command.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(names(&arms), ["unpinned A", "unpinned B", "moved", "storm"]);
        assert_eq!(
            (beside(0), beside(2), beside(3)),
            (vec!["everywhere"], vec!["everywhere"], vec!["everywhere", "storm"])
        );
        assert_eq!(
            arms[2].placement.housekeeping.as_ref().map(|moved| moved.cpus.to_list()),
            Some("0,2-3".into())
        );
        assert_eq!((&arms[0].placement.housekeeping, &arms[3].placement.housekeeping), (&None, &None));
    }

    #[test]
    fn a_machine_without_the_cpus_that_a_recipe_asks_for_says_how_to_get_them() {
        let recipe = Recipe::from_toml(include_str!("../../../recipes/quiet-cpu-nohz.toml"), "x").unwrap();
        let fault = of_recipe(&recipe, &alike(4)).unwrap_err();
        assert!(fault.class == Class::MachineLacks && fault.remedy.contains("nohz_full=LIST"), "{fault}");
        let mut booted = alike(4);
        booted.kernel.nohz_full = Some(set("2-3"));
        let arms = of_recipe(&recipe, &booted).unwrap();
        assert_eq!((arms[2].placement.server_cpus.clone(), arms.len()), (Some(set("2")), 6));
    }

    #[test]
    fn factors_that_both_place_the_server_are_refused() {
        let text = "[[factors]]\nkind = \"each-cpu\"\n[[factors]]\nkind = \"cores\"\n";
        let fault = of_recipe(&Recipe::from_toml(text, "x").unwrap(), &alike(4)).unwrap_err();
        assert!(fault.cause.contains("cpu and cores"), "{fault}");
    }

    #[test]
    fn a_level_whose_key_cannot_be_is_named_before_anything_runs() {
        let text = "[[factors]]\nkind = \"places\"\nlevels = [{ name = \"x\", keys = { \"load.conections\" = 4 } }]\n";
        let fault = of_recipe(&Recipe::from_toml(text, "x").unwrap(), &alike(4)).unwrap_err();
        assert!(fault.to_string().contains("conections"), "{fault}");
    }
}
