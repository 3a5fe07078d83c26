//! Studies on a simulated machine that are killed (SIGKILL) at random moments, a hundred times in all: each is gone on with until it
//! ends, and then its files are byte for byte those of a study that nobody disturbed.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use machine::{Class, Fault};
use pinwise_study::engine::{self, Planned, Trials, prepare};
use pinwise_study::simulated::{Landscape, Studied};
use pinwise_study::statistics::draws::Draws;
use pinwise_study::{Case, Recipe, Trial, evidence};

/// How often a study is killed, all studies together.
const KILLS: usize = 100;
/// Names the folder of the case to the process that is killed.
const FOLDER: &str = "PINWISE_TEST_KILLED_CASE";
/// Names the seed to it.
const SEED: &str = "PINWISE_TEST_KILLED_SEED";
/// What a trial takes: long enough that most kills meet one.
const TRIAL: Duration = Duration::from_millis(1);

/// A search and a study of two factors with looks, in turn.
fn recipe(seed: u64) -> Recipe {
    let kind = match seed % 2 {
        0 => "[search]\nserver = [1]\ntrials = 24\n[budget]\nblocks = 6\n",
        _ => {
            "[budget]\nblocks = 8\nlooks = [7]\n[[factors]]\nkind = \"cores\"\ncounts = [1, 4]\n\
             [[factors]]\nkind = \"memory\"\npolicies = [\"local\", \"bind:0\"]\n"
        }
    };
    Recipe::from_toml(&format!("seed = {seed}\n{kind}"), "recipe").unwrap()
}

/// A machine on which some trials are disturbed and some fail.
struct Rough(Studied);

impl Trials for Rough {
    fn run(&mut self, planned: &Planned<'_>, dir: &Path) -> Result<Trial, Fault> {
        std::thread::sleep(TRIAL);
        let Planned { block, position, attempt, .. } = *planned;
        let drawn = Draws::new((block * 1000 + position * 10 + attempt) as u64).uniform();
        if drawn < 0.05 && block + position > 0 {
            return Err(Fault::new(Class::WorkloadFailed, "server", "died", "look at its log"));
        }
        let trial = self.0.run(planned, dir)?;
        Ok(Trial { disturbed: (drawn > 0.9).then(|| "somebody else".into()), ..trial })
    }
}

/// Makes the case or goes on with it, and runs it to its end.
fn run(folder: &Path, seed: u64) {
    let path = format!("{}/../../fixtures/landscapes/corsair.toml", env!("CARGO_MANIFEST_DIR"));
    let truth = Landscape::parse(&path, &std::fs::read_to_string(&path).unwrap()).unwrap().truth();
    let mut case = match folder.join("study.toml").exists() {
        true => Case::resume(folder).unwrap(),
        false => {
            let study = prepare::resolve(recipe(seed), truth.machine()).unwrap();
            Case::create_with(folder, study, |case| {
                case.write_json("machine.json", truth.machine()).map(drop)
            })
            .unwrap()
        }
    };
    // Some get blocks while they are unfinished, once each.
    if seed % 2 == 1 && case.study.added.is_empty() {
        case.add_blocks(2, 0).unwrap();
    }
    let mut trials = Rough(Studied::new(truth, seed));
    engine::run(&mut case, &mut trials, &AtomicBool::new(false), &mut |_| {}).unwrap();
    case.write_json("evidence.json", &evidence::of_case(&case.study, &case.trials)).unwrap();
}

#[test]
fn the_process_that_is_killed() {
    // Alone it has nothing to do: the other test starts it again with a folder.
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    run(Path::new(&folder), std::env::var(SEED).unwrap().parse().unwrap());
}

/// Runs it in a process of its own, killed after `life` if that is given; whether it came to its end.
fn in_a_process(folder: &Path, seed: u64, life: Option<Duration>) -> bool {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_process_that_is_killed"])
        .env(FOLDER, folder)
        .env(SEED, seed.to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    if let Some(life) = life {
        std::thread::sleep(life);
        child.kill().unwrap();
    }
    child.wait().unwrap().success()
}

#[test]
fn a_hundred_kills_change_nothing_of_what_is_found() {
    let mut draws = Draws::new(20_261_122);
    let (mut kills, mut studies, mut in_the_middle) = (0, 0, 0);
    while kills < KILLS {
        let seed = studies;
        studies += 1;
        let (killed, whole) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        assert!(in_a_process(whole.path(), seed, None));
        let mut ended = false;
        for _ in 0..12 {
            let life = Duration::from_micros(draws.below(60_000) as u64);
            ended = in_a_process(killed.path(), seed, Some(life));
            kills += usize::from(!ended);
            in_the_middle += usize::from(!ended && killed.path().join("trials.jsonl").exists());
            if ended {
                break;
            }
        }
        assert!(
            ended || in_a_process(killed.path(), seed, None),
            "seed {seed}: it could not be gone on with"
        );
        for name in ["study.toml", "added.jsonl", "trials.jsonl", "search.jsonl", "evidence.json"] {
            let read = |dir: &Path| std::fs::read(dir.join(name)).ok();
            assert_eq!(read(killed.path()), read(whole.path()), "seed {seed}: {name}");
        }
    }
    println!("{kills} kills of {studies} studies, {in_the_middle} of them after the first trial");
    assert!(
        in_the_middle * 2 > kills,
        "most kills must meet a study in the middle: {in_the_middle} of {kills}"
    );
}
