//! Plays a scenario as a study of two arms, one with the cause and one without, and explains the difference as `pinwise explain` does.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use advise::explanation::claim::{Claim, Side};
use advise::explanation::{Explanation, explain};
use study::{Case, Facts};

use crate::scenario::{ENDLESS, Scenario};
use crate::stage::{self, Scene, Undo};

/// How long the load of a trial runs unless the scenario says otherwise, s.
const LOAD_S: f64 = 0.7;
/// Where loads report their figure, in JSON.
pub const FIGURE: &str = "/outcome/figures/requests_per_s";

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
    if let Some(why) = why_not(scenario) {
        return Err(why.into());
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

/// Why it cannot be played as two arms; `None`: it can.
fn why_not(scenario: &Scenario) -> Option<&'static str> {
    let Scenario { load, load_without, cause, server, without, .. } = scenario;
    if scenario.truth.is_some() && cause.is_none() && without.is_none() && load_without.is_none() {
        return Some("nothing says how the server is without the cause");
    }
    let others = [cause, without, load_without].into_iter().flatten();
    let mut scripts = others.chain([server, load]);
    if scripts.any(|script| script.contains("$SERVER_PID") || script.contains("$LOAD_PID")) {
        return Some("its cause is about one process, and each trial has its own");
    }
    scenario.not_endless().map(|_| "its load reports no figure")
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
    let load_s = scenario.trial_s.unwrap_or(LOAD_S);
    let brief = |load: &String| load.replace(ENDLESS, &format!("--seconds {load_s}"));
    let load = brief(&scenario.load);
    let load_without = scenario.load_without.as_ref().map_or_else(|| load.clone(), brief);
    let cause = scenario.cause.clone().unwrap_or_default();
    let scripts = [
        ("with", &scenario.server),
        ("without", without),
        ("load", &load),
        ("load-without", &load_without),
        ("cause", &cause),
    ];
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
    // Arms whose loads are the same can be compared in everything.
    let other_load = match scenario.load_without {
        Some(_) => format!(", 'load.command' = '/bin/sh {} {{port}}'", at("load")),
        None => String::new(),
    };
    let recipe = format!(
        "[budget]\nblocks = 1\nobserved_blocks = 6\nwindow_s = 0.5\nwarm_up_cap_s = 0.1\nattempts = 1\n\
         [dose]\nshare = 0\n[disturbed]\nothers_cpus = 1000\nsteal_share = 1\n\
         [server]\ncommand = '/bin/sh {without} {{port}}'\n\
         [load]\ndriver = 'command'\ncommand = '/bin/sh {load} {{port}}'\n\
         [load.figures]\nrequests_per_s = {{ json-pointer = '{FIGURE}' }}\n\
         [[factors]]\nkind = 'places'\nlevels = [\n{{ name = 'without' }},\n\
         {{ name = 'with', {neighbours} keys = {{ 'server.command' = '/bin/sh {with} {{port}}'{other_load} }} }},\n]\n",
        without = at("without"),
        load = at("load-without"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_is_two_arms_where_something_says_how_they_differ() {
        let why_not = |name: &str| {
            let scenarios = Scenario::all(&[name.to_string()]).unwrap();
            super::why_not(scenarios.iter().find(|scenario| scenario.name == name).unwrap())
        };
        let in_the_server = ["quota-many-threads", "together-beside-an-idle-cpu", "receive-steered"];
        let in_the_load = ["slow-client", "sleepy-client", "slow-reader", "threads-64"];
        for name in
            in_the_server.into_iter().chain(in_the_load).chain(["stopped", "hog-on-server", "light-load"])
        {
            assert_eq!(why_not(name), None, "{name}");
        }
        assert_eq!(why_not("real-redis-alone"), Some("its load reports no figure"));
    }

    #[test]
    fn a_cause_that_is_everywhere_or_of_one_process_is_none() {
        let quota = Scenario::all(&["quota-many-threads".to_string()]).unwrap().remove(0);
        let everywhere = Scenario { without: None, ..quota.clone() };
        assert_eq!(why_not(&everywhere), Some("nothing says how the server is without the cause"));
        let in_the_load = Scenario { load_without: Some(quota.load.clone()), ..everywhere };
        assert_eq!(why_not(&in_the_load), None);
        let of_one = Scenario { cause: Some("kill -STOP $SERVER_PID".into()), ..quota };
        assert_eq!(why_not(&of_one), Some("its cause is about one process, and each trial has its own"));
    }
}
