//! Plays a scenario as a study of two arms, one with the cause and one without, and explains the difference as `pinwise explain` does.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use advise::explanation::claim::{Claim, Side};
use advise::explanation::{Explanation, explain};
use study::{Case, Facts};

use crate::scenario::Scenario;
use crate::stage::{self, Scene, Undo};

/// How long the load of a trial runs, s.
const LOAD_S: &str = "0.7";
/// What loads of scenarios say instead.
const ENDLESS: &str = "--seconds 60";

/// What one explanation claims, in its order.
#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    /// Id of the rule.
    pub rule: String,
    /// As it is printed.
    pub id: String,
    /// What it costs the arm with the cause more, share of a request's time there; `None` where that is not known.
    pub share: Option<f64>,
}

/// Runs the study and explains it.
///
/// # Errors
/// In words: why this scenario cannot be two arms, or what did not work.
pub fn play(scenario: &Scenario, pinwise: &Path) -> Result<Vec<Claimed>, String> {
    let has_difference = scenario.cause.is_some() || scenario.without.is_some();
    if scenario.truth.is_some() && !has_difference {
        return Err("nothing says how the server is without the cause".into());
    }
    let scripts =
        [Some(&scenario.load), scenario.cause.as_ref(), scenario.without.as_ref(), Some(&scenario.server)];
    if scripts
        .into_iter()
        .flatten()
        .any(|script| script.contains("$SERVER_PID") || script.contains("$LOAD_PID"))
    {
        return Err("its cause is about one process, and each trial has its own".into());
    }
    if !scenario.load.contains("$PINWISE drive") {
        return Err("its load reports no figure".into());
    }
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let scene = Scene::new(pinwise, folder.path(), 0)?;
    let _undo = Undo::of(&scene, scenario);
    scene.prepare(scenario)?;
    write(&scene, scenario, folder.path())?;
    let case = folder.path().join("case");
    run_study(pinwise, folder.path(), &case)?;
    let facts = Case::open(&case).and_then(|case| Facts::read(&case)).map_err(|e| e.to_string())?;
    let explanation = explain(&facts, "with", "without").map_err(|e| format!("{}: {}", e.fact, e.why))?;
    Ok(claims(&explanation))
}

fn run_study(pinwise: &Path, folder: &Path, case: &Path) -> Result<(), String> {
    let output = Command::new(pinwise)
        .args(["study", "r.toml", "--anyway", "--format", "json", "-o"])
        .arg(case)
        .current_dir(folder)
        .env("PINWISE_STATE_DIR", folder.join("state"))
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("pinwise study: {e}"))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("pinwise study: {}", said.lines().last().unwrap_or_default()))
        }
    }
}

/// Writes the scripts of both arms, and the recipe that runs them.
fn write(scene: &Scene, scenario: &Scenario, folder: &Path) -> Result<(), String> {
    let without = scenario.without.as_ref().unwrap_or(&scenario.server);
    let load = scenario.load.replace(ENDLESS, &format!("--seconds {LOAD_S}"));
    let cause = scenario.cause.as_deref().unwrap_or_default();
    let scripts =
        [("with", &scenario.server), ("without", without), ("load", &load), ("cause", &cause.to_string())];
    for (name, script) in scripts {
        let text = format!("{}PORT=${{1:-0}}\nexport PORT\n{script}\n", scene.as_script());
        fs::write(folder.join(format!("{name}.sh")), text).map_err(|e| e.to_string())?;
    }
    let at = |name: &str| folder.join(format!("{name}.sh")).display().to_string();
    let neighbours = match scenario.cause {
        Some(_) => format!(
            "neighbours = [{{ command = '/bin/sh {}', cpus = '{}' }}],",
            at("cause"),
            stage::all_cpus()?
        ),
        None => String::new(),
    };
    let recipe = format!(
        "[budget]\nblocks = 1\nobserved_blocks = 6\nwindow_s = 0.5\nwarm_up_cap_s = 0.1\nattempts = 1\n\
         [dose]\nshare = 0\n[disturbed]\nothers_cpus = 1000\nsteal_share = 1\n\
         [server]\ncommand = '/bin/sh {without} {{port}}'\n\
         [load]\ndriver = 'command'\ncommand = '/bin/sh {load} {{port}}'\n\
         [load.figures]\nrequests_per_s = {{ json-pointer = '/outcome/figures/requests_per_s' }}\n\
         [[factors]]\nkind = 'places'\nlevels = [\n{{ name = 'without' }},\n\
         {{ name = 'with', {neighbours} keys = {{ 'server.command' = '/bin/sh {with} {{port}}' }} }},\n]\n",
        without = at("without"),
        load = at("load"),
        with = at("with"),
    );
    fs::write(folder.join("r.toml"), recipe).map_err(|e| e.to_string())
}

/// Claims that something costs the arm with the cause more, without the server's own work.
fn claims(explanation: &Explanation) -> Vec<Claimed> {
    let total = explanation.server.total.to;
    let is_cause = |claim: &&Claim| !claim.own_work && claim.evidence.costlier() == Side::Arm;
    let claimed = |claim: &Claim| Claimed {
        rule: claim.id.rule.clone(),
        id: format!("{} {}", claim.id.rule, serde_json::json!(claim.id.subject)),
        share: claim.evidence.cost().map(|cost| cost.difference() / total),
    };
    explanation.claims.iter().filter(is_cause).map(claimed).collect()
}
