//! Studies across boots on a machine that is not there: it is rebooted, killed and disobeyed at every point.

use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use machine::{Class, Fault};

use super::*;
use crate::arm::tests::alike;
use crate::case::Case;
use crate::engine::boot_parameters::{BootLoader, prepare};
use crate::engine::prepare::resolve;
use crate::engine::{self, Ended, Planned, Trials};
use crate::recipe::Recipe;

const TWO_LEVELS: &str = "seed = 5\n[budget]\nblocks = 2\n\
    [[factors]]\nkind = \"boot\"\nlevels = [{ name = \"as it is\", words = \"\" }, { words = \"mitigations=off nosmt\" }]\n";

fn study(text: &str) -> Resolved {
    let mut machine = alike(4);
    machine.kernel.cmdline = Some("root=/dev/vda1 quiet".into());
    let mut study = resolve(Recipe::from_toml(text, "x").unwrap(), &machine).unwrap();
    study.boots.as_mut().unwrap().made_in = "boot 0".into();
    study
}

fn refused(text: &str) -> String {
    let recipe = Recipe::from_toml(text, "x");
    recipe.and_then(|recipe| resolve(recipe, &alike(4))).unwrap_err().to_string()
}

/// A machine with a boot loader. Its process is killed at step `fuse`, and its boot `disobeys` comes up without what was added.
#[derive(Default)]
struct Machine {
    boot: usize,
    runs_with: Vec<String>,
    on_the_lines: Vec<String>,
    is_unfinished: bool,
    steps: Cell<usize>,
    fuse: Option<usize>,
    disobeys: Option<usize>,
    /// Which outcomes of trials: 0 for good ones alone.
    seed: u64,
    kernel: &'static str,
}

impl Machine {
    fn step(&self) -> Result<(), Fault> {
        self.steps.set(self.steps.get() + 1);
        match self.fuse == Some(self.steps.get()) {
            true => Err(Fault::new(Class::Storage, "pinwise", "killed", "")),
            false => Ok(()),
        }
    }

    fn restart(&mut self) {
        self.boot += 1;
        let obeys = self.disobeys != Some(self.boot);
        self.runs_with = if obeys { self.on_the_lines.clone() } else { Vec::new() };
    }
}

impl Trials for Machine {
    fn run(&mut self, planned: &Planned<'_>, _dir: &Path) -> Result<Trial, Fault> {
        self.step()?;
        assert_eq!(self.runs_with, planned.arm.placement.boot_words, "{}", planned.arm.name);
        let mixed =
            (self.seed + 7 * planned.block as u64 + 3 * planned.position as u64 + planned.attempt as u64) % 5;
        if self.seed > 0 && mixed == 1 {
            return Err(Fault::new(Class::WorkloadFailed, "server", "died", ""));
        }
        let Planned { index, block, position, attempt, arm, .. } = *planned;
        let disturbed = (self.seed > 0 && mixed == 0).then(|| "x".into());
        let figures = [("requests_per_s".to_string(), 1.0 + index as f64)].into();
        Ok(Trial {
            index,
            block,
            position,
            attempt,
            disturbed,
            figures,
            arm: arm.name.clone(),
            ..Trial::default()
        })
    }

    fn booted(&self) -> Option<Booted> {
        let cmdline = format!("root=/dev/vda1 quiet {}", self.runs_with.join(" "));
        Some(Booted { id: format!("boot {}", self.boot), cmdline, kernel: self.kernel.into() })
    }
}

impl BootLoader for Machine {
    fn standing(&self) -> Result<Standing, Fault> {
        Ok(match self.is_unfinished {
            true => Standing::Unfinished,
            false => Standing::Words(self.on_the_lines.clone()),
        })
    }

    fn take_back(&mut self) -> Result<(), Fault> {
        self.step()?;
        (self.on_the_lines, self.is_unfinished) = (Vec::new(), false);
        self.step()
    }

    fn put(&mut self, words: &[String]) -> Result<(), Fault> {
        assert!(self.on_the_lines.is_empty(), "what stood there was not taken back");
        self.is_unfinished = true;
        self.step()?;
        self.on_the_lines = words.to_vec();
        self.step()?;
        self.is_unfinished = false;
        self.step()
    }
}

/// Runs the case in this boot and gets the next one ready; whether there is to be one.
fn one_boot(dir: &Path, machine: &mut Machine, restarts: Restarts) -> Result<bool, Fault> {
    let mut case = Case::resume(dir)?;
    match engine::run(&mut case, machine, &AtomicBool::new(false), &mut |_| {})? {
        Ended::Finished => machine.take_back().map(|()| false),
        Ended::NeedsBoot(group, _) => {
            let now = machine.booted().unwrap();
            prepare(&mut case, (group, &now), machine, restarts)?;
            Ok(true)
        }
    }
}

/// Runs a study to its end. A process that is killed is restarted; the machine is rebooted, too, where `restarts` says so.
fn played(study: &Resolved, machine: &mut Machine, restarts: bool) -> Case {
    let dir = tempfile::tempdir().unwrap();
    drop(Case::create(dir.path(), study.clone()).unwrap());
    loop {
        assert!(machine.boot < 100, "it does not end");
        match one_boot(dir.path(), machine, Restarts::ByHand) {
            Ok(true) => machine.restart(),
            Ok(false) => break,
            Err(fault) if fault.cause == "killed" || fault.cause.contains("was rebooted without") => {
                if restarts || fault.cause != "killed" {
                    machine.restart();
                }
            }
            // What failed before anything ran, or a control each time: somebody looks, and goes on.
            Err(fault) if fault.cause == "died" => machine.seed += 1,
            Err(fault) => panic!("{fault}"),
        }
    }
    assert_eq!(
        (&machine.on_the_lines, machine.is_unfinished),
        (&Vec::new(), false),
        "what was added is gone"
    );
    Case::open(dir.path()).unwrap()
}

/// No two groups have a boot in common.
fn each_has_its_own(case: &Case) {
    let mut boots = std::collections::BTreeMap::new();
    for trial in &case.trials {
        let group = case.study.group_of(trial.block, trial.position);
        let id = trial.boot.as_ref().unwrap().id.clone();
        assert_eq!(*boots.entry(id).or_insert(group), group, "trial {}", trial.index);
    }
}

fn ran(case: &Case) -> Vec<(usize, usize, usize)> {
    case.trials.iter().map(|trial| (trial.block, trial.position, trial.attempt)).collect()
}

#[test]
fn a_block_has_a_boot_for_each_choice_of_words_and_one_more_for_the_baseline() {
    let study = study(TWO_LEVELS);
    let names: Vec<&str> = study.arms.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(
        names,
        ["unpinned A", "unpinned B", "as it is", "booted with mitigations=off nosmt", "dose on unpinned"]
    );
    assert_eq!(sharing(&study.arms), [vec![0, 2, 4], vec![1], vec![3]]);
    assert_eq!(study.boots_to_run(&[]), 6);
    let mut machine = Machine::default();
    let case = played(&study, &mut machine, false);
    assert_eq!((machine.boot, case.trials.len(), used(&study, &case.trials)), (6, 10, (6, 0)));
    each_has_its_own(&case);
    let evidence = crate::evidence::of_case(&study, &case.trials);
    assert!(evidence.notes.iter().any(|note| note.contains("6 boots")), "{:?}", evidence.notes);
}

#[test]
fn the_baseline_has_words_of_its_own_and_other_factors_share_boots() {
    let text = "[baseline]\nboot = \"nosmt\"\n[[factors]]\nkind = \"boot\"\nname = \"kernel\"\n\
                levels = [{ words = \"\" }, { words = \"nosmt\" }, { words = \"nohz=off\" }]\n\
                [[factors]]\nkind = \"knob\"\nknob = \"swappiness\"\nvalues = [\"0\", \"60\"]\n";
    let study = study(text);
    let boots = sharing(&study.arms);
    assert_eq!(boots, [vec![0, 4, 5, 8], vec![1], vec![2, 3], vec![6, 7]]);
    let words = |at: usize| study.arms[at].placement.boot_words.join(" ");
    assert_eq!(
        (words(0), words(1), words(8), words(2)),
        ("nosmt".into(), "nosmt".into(), "nosmt".into(), String::new())
    );
    assert_eq!(
        study.recipe.budget.blocks, 10,
        "as many as six claims need at the level of the looks, and one more"
    );
}

#[test]
fn several_trials_of_an_arm_in_a_boot_count_as_one() {
    let study = study(&TWO_LEVELS.replace("blocks = 2", "blocks = 2\ntrials_a_boot = 3"));
    let case = played(&study, &mut Machine::default(), false);
    assert_eq!((case.trials.len(), used(&study, &case.trials).0), (30, 6));
    let evidence = crate::evidence::of_case(&study, &case.trials);
    let arm = evidence.arm("unpinned B").unwrap();
    let figures = case.trials.iter().filter(|trial| trial.arm == "unpinned B" && trial.block == 0);
    let product: f64 = figures.map(|trial| trial.figures["requests_per_s"]).product();
    assert_eq!(arm.by_block.len(), 2);
    assert!((arm.by_block[0] - product.cbrt()).abs() < 1e-9);
}

#[test]
fn what_does_not_go_across_boots_is_refused() {
    let boot = "[[factors]]\nkind = \"boot\"\nlevels = [{ words = \"\" }, { words = \"nosmt\" }]\n";
    for (text, why) in [
        (format!("[server]\nrunning = \"4711\"\nport = 80\n{boot}"), "does not survive"),
        (
            format!(
                "{boot}[[settings]]\nknob = \"boot-parameters\"\ntarget = \"machine\"\nvalue = \"nosmt\"\n"
            ),
            "kind boot",
        ),
        ("[budget]\ntrials_a_boot = 2\n".into(), "does not span reboots"),
        (boot.replace("words = \"\"", "name = \"x\", words = \" nosmt \""), "have the same words"),
        (
            format!("{boot}[[factors]]\nkind = \"places\"\nlevels = [{{ boot = \"nohz=off\" }}]\n"),
            "all set the parameters",
        ),
    ] {
        let cause = refused(&text);
        assert!(cause.contains(why), "{text}: {cause}");
    }
    let unit = format!("[server]\nrunning = \"nginx.service\"\nport = 80\n{boot}");
    assert_eq!(study(&unit).boots_to_run(&[]), 3 * 8);
}

#[test]
fn a_kernel_that_was_installed_meanwhile_is_noted() {
    let study = study(TWO_LEVELS);
    let mut case = played(&study, &mut Machine { kernel: "6.1", ..Machine::default() }, false);
    let is_noted = |case: &Case| {
        crate::evidence::of_case(&study, &case.trials).notes.iter().any(|note| note.contains("6.1, 6.12"))
    };
    assert!(!is_noted(&case));
    case.trials.last_mut().unwrap().boot.as_mut().unwrap().kernel = "6.12".into();
    assert!(is_noted(&case));
}

#[test]
fn repeats_run_before_their_boot_is_left() {
    let study = study(TWO_LEVELS);
    for seed in 1..6 {
        let mut machine = Machine { seed, ..Machine::default() };
        let case = played(&study, &mut machine, false);
        each_has_its_own(&case);
        assert!(case.trials.iter().any(|trial| trial.attempt > 0));
        assert_eq!(machine.boot, 6, "no boot more than undisturbed");
    }
}

#[test]
fn a_boot_that_came_up_without_its_words_changes_nothing_and_says_so() {
    let study = study(TWO_LEVELS);
    let dir = tempfile::tempdir().unwrap();
    drop(Case::create(dir.path(), study.clone()).unwrap());
    let mut machine = Machine::default();
    while machine.on_the_lines.is_empty() {
        assert!(one_boot(dir.path(), &mut machine, Restarts::ByHand).unwrap());
        machine.disobeys = Some(machine.boot + 1).filter(|_| !machine.on_the_lines.is_empty());
        machine.restart();
    }
    let (before, asked) = (machine.on_the_lines.clone(), Case::open(dir.path()).unwrap().asked_boots);
    for _ in 0..2 {
        let fault = one_boot(dir.path(), &mut machine, Restarts::ByHand).unwrap_err();
        assert!(
            fault.cause.contains("without 'mitigations=off nosmt'") && fault.remedy.contains("update-grub"),
            "{fault}"
        );
        assert_eq!(machine.on_the_lines, before);
        assert_eq!(Case::open(dir.path()).unwrap().asked_boots, asked);
    }
    // Whoever gives up and takes the words back goes on as from the start of this boot.
    machine.on_the_lines.clear();
    assert!(one_boot(dir.path(), &mut machine, Restarts::ByHand).unwrap());
    assert_eq!(machine.on_the_lines, before);
}

#[test]
fn by_itself_the_machine_is_started_no_more_often_than_it_helps() {
    let study = study(TWO_LEVELS);
    let dir = tempfile::tempdir().unwrap();
    drop(Case::create(dir.path(), study.clone()).unwrap());
    let mut machine = Machine::default();
    assert!(one_boot(dir.path(), &mut machine, Restarts::GoOn).unwrap());
    assert!(one_boot(dir.path(), &mut machine, Restarts::GoOn).unwrap(), "twice in one boot is once");
    machine.restart();
    assert!(one_boot(dir.path(), &mut machine, Restarts::GoOn).unwrap());
    // A boot that finishes nothing: somebody else restarted the machine, and its trials were those of a boot that is spent.
    let asked = Case::open(dir.path()).unwrap().asked_boots;
    let last = asked.last().unwrap();
    let now = Booted { id: "another".into(), ..Booted::default() };
    let trials = Case::open(dir.path()).unwrap().trials;
    let enough = |asked: &[Asked], now: &Booted, restarts| enough(&study, &trials, asked, now, restarts);
    let why = enough(&asked, &now, Restarts::GoOn);
    assert_eq!(why.as_deref(), Some("the last boot has finished no trial"));
    assert_eq!(enough(&asked, &now, Restarts::Begin), None, "who has just asked for it may");
    let same = Booted { id: last.in_boot.clone(), ..now.clone() };
    assert_eq!(enough(&asked, &same, Restarts::GoOn), None, "it has not been started yet");
    let often = vec![last.clone(); 12];
    assert!(enough(&often, &same, Restarts::Begin).unwrap().contains("12 times"));
    assert_eq!(enough(&often, &now, Restarts::ByHand), None, "the user knows");
    assert_eq!(enough(&often[..11], &same, Restarts::GoOn), None);
}

#[test]
fn words_of_other_levels_are_amiss_and_those_of_the_machine_are_not() {
    let study = study(TWO_LEVELS);
    let now = |cmdline: &str| Booted { id: "1".into(), cmdline: cmdline.into(), ..Booted::default() };
    let words: Vec<String> = boot::words("mitigations=off nosmt");
    assert_eq!(amiss(&study, &[], &now("quiet isolcpus=3")), None);
    assert_eq!(amiss(&study, &[], &now("quiet nosmt")).as_deref(), Some("the kernel runs with 'nosmt'"));
    assert_eq!(amiss(&study, &words, &now("nosmt x mitigations=off")), None);
    let missing = amiss(&study, &words, &now("mitigations=offf nosmt"));
    assert_eq!(missing.as_deref(), Some("the kernel runs without 'mitigations=off'"));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(60))]
    #[test]
    fn cut_anywhere_it_goes_on_as_it_would_have(
        seed in 0u64..4, fuse in 1usize..60, restarts in proptest::bool::ANY, disobeys in 1usize..10
    ) {
        let study = study(TWO_LEVELS);
        let whole = ran(&played(&study, &mut Machine { seed, ..Machine::default() }, false));
        let mut machine = Machine { seed, fuse: Some(fuse), disobeys: Some(disobeys), ..Machine::default() };
        let case = played(&study, &mut machine, restarts);
        each_has_its_own(&case);
        proptest::prop_assert_eq!(ran(&case), whole);
    }
}
