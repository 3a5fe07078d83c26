//! What the engine of studies costs itself: between the trials of a live study, and in the analysis of ten thousand trials.

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use benches::blocks::middle;
use benches::cpu_time;
use report::number;
use study::engine::{self, prepare};
use study::simulated::{Landscape, Studied};
use study::{Case, Recipe, Trial, evidence};

use crate::section::Section;
use crate::tools;

/// Blocks of the live study, of four trials each.
const LIVE_BLOCKS: usize = 10;
/// The simulated study: every CPU of a machine of 64 in turn, and the controls.
const LANDSCAPE: &str = "cpus-64";
/// Blocks of it, which with its arms make at least ten thousand trials.
const SIMULATED_BLOCKS: usize = 150;

/// Runs of `pinwise explain`.
const EXPLAINED: usize = 5;

/// Measures the engine.
pub fn measure() -> io::Result<Section> {
    let mut section = Section::new("The engine of studies");
    between_trials(&mut section)?;
    on_paper(&mut section)?;
    Ok(section)
}

/// A study of the built-in string server, all placements alike; of each trial what is neither server nor load.
fn between_trials(section: &mut Section) -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let case = folder.path().join("case");
    let blocks = LIVE_BLOCKS.to_string();
    let mut study = Command::new(tools::pinwise()?);
    study.args([
        "study",
        "--aa",
        "1",
        "--window",
        "0.4",
        "--warm-up",
        "0.2",
        "--attempts",
        "1",
        "--blocks",
        &blocks,
    ]);
    let ran = study.arg("-o").arg(&case).env("PINWISE_STATE_DIR", folder.path().join("state")).output()?;
    if !ran.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&ran.stderr).into_owned()));
    }
    let trials = Case::open(&case).map_err(|fault| io::Error::other(fault.to_string()))?.trials;
    let own: Vec<f64> = trials.windows(2).filter_map(|pair| own_ms(&pair[0], &pair[1])).collect();
    let slowest = own.iter().fold(0.0, |most: f64, ms| most.max(*ms));
    section.say(format!(
        "Live, {} trials of the built-in string server: {} ms from the start of a trial to the start of the next beyond the start of \
         the server, the load and the end of the server (median; at most {}). Goal: 50 ms.",
        trials.len(),
        number::figure(middle(&own)),
        number::figure(slowest),
    ));
    Ok(())
}

/// What a trial and the way to the next took beyond its parts, ms.
fn own_ms(trial: &Trial, next: &Trial) -> Option<f64> {
    let parts = trial.parts?;
    let all_s = next.began_unix_s - trial.began_unix_s;
    Some((all_s - parts.server_start_s - parts.load_s - parts.server_stop_s) * 1e3)
}

/// A study of ten thousand trials that take no time.
fn on_paper(section: &mut Section) -> io::Result<()> {
    let as_io = |fault: machine::Fault| io::Error::other(fault.to_string());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../fixtures/landscapes/{LANDSCAPE}.toml"));
    let text = std::fs::read_to_string(&path)?;
    let truth = Landscape::parse(&path.display().to_string(), &text).map_err(as_io)?.truth();
    let recipe = format!("seed = 1\n[budget]\nblocks = {SIMULATED_BLOCKS}\n");
    let recipe = Recipe::from_toml(&recipe, "recipe").map_err(as_io)?;
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())?;
    let resolved = prepare::resolve(recipe, truth.machine()).map_err(as_io)?;
    let mut case = Case::create(folder.path(), resolved).map_err(as_io)?;
    let began = Instant::now();
    engine::run(&mut case, &mut Studied::new(truth, 1), &false.into(), &mut |_| {}).map_err(as_io)?;
    let run_s = began.elapsed().as_secs_f64();
    let began = Instant::now();
    let weighed = evidence::of_case(&case.study, &case.trials);
    let weighed_s = began.elapsed().as_secs_f64();
    section.say(format!(
        "Simulated, {} trials of {} arms in {} complete blocks (the case in memory): {} ms a trial to choose it and to write it down; \
         all weighed in {} s. Goal: 10,000 in 1 s.",
        number::count(case.trials.len()),
        case.study.arms.len(),
        weighed.blocks,
        number::figure(run_s * 1e3 / case.trials.len() as f64),
        number::figure(weighed_s),
    ));
    explained(folder.path(), section)
}

/// `pinwise explain` of that case, which has no observed trials: all files are read and all arms weighed, no account is.
fn explained(case: &Path, section: &mut Section) -> io::Result<()> {
    let mut explain = Command::new(tools::pinwise()?);
    explain.arg("explain").arg(case);
    let costs = (0..EXPLAINED).map(|_| cpu_time::of(&mut explain)).collect::<io::Result<Vec<_>>>()?;
    let seconds = |of: fn(&cpu_time::Cost) -> u64| -> Vec<f64> {
        costs.iter().map(|cost| of(cost) as f64 / 1e9).collect()
    };
    section.say(format!(
        "`pinwise explain` of this case: {} s, {} s of CPU time (medians of {EXPLAINED}). Goal: 10,000 trials in 2 s.",
        number::figure(middle(&seconds(|cost| cost.wall_ns))),
        number::figure(middle(&seconds(|cost| cost.cpu_ns))),
    ));
    Ok(())
}
