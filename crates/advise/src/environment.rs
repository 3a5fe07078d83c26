//! What differs between the environments of several cases, what may bear most on the figures first. Pure.
//!
//! Machines are compared by the features of [`crate::fleet`], with its weights. What is not known of a case is no difference; that it is
//! not known is said.

mod paths;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use machine::Machine;
use machine::devices::path::NetworkPath;
use machine::ethtool::Offload;
use serde::Serialize;
use study::comparison::KeyDifference;

use crate::fleet::{FeatureId, Grouper, Processor};
use crate::network_paths::End;

/// Weight of other hardware: more than any feature has.
const HARDWARE: f64 = 11.0;

/// Weight of another version of pinwise, which drives the load.
const PINWISE: f64 = 6.0;

/// How much a host that drives load counts, of what the server's does: its settings matter where the load is the limit.
const LOAD_HOST: f64 = 0.5;

/// A machine with what its map does not have.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Captured {
    /// The machine.
    pub machine: Machine,
    /// Model and microcode of its CPUs.
    pub processor: Processor,
}

/// A host that drives load, as a case knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadHost {
    /// Its name in the study.
    pub name: String,
    /// Its capture, or in words why there is none.
    pub captured: Result<Captured, String>,
}

/// The environment of a case.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// What the case is called; no two are alike.
    pub case: &'a str,
    /// The server's machine; without any CPU where that is not known.
    pub machine: &'a Machine,
    /// Model and microcode of its CPUs, or in words why they are not known.
    pub processor: &'a Result<Processor, String>,
    /// Version of pinwise that made the case.
    pub pinwise: &'a str,
    /// The hosts that drive the load.
    pub hosts: &'a [LoadHost],
    /// How they and the server's host reach each other.
    pub paths: &'a [NetworkPath],
}

/// What differs, and what cannot be compared.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Environment {
    /// How many of the cases know their machine; fewer than two are not compared.
    pub machines_compared: usize,
    /// What differs, the heaviest first.
    pub differences: Vec<Difference>,
    /// What is not known, and so may differ.
    pub cannot_tell: Vec<CannotTell>,
}

impl Environment {
    /// Whether machines were compared, and nothing differs.
    pub fn is_same(&self) -> bool {
        self.machines_compared > 1 && self.differences.is_empty()
    }
}

/// Something that at least two cases know and that is not the same in all of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// What.
    #[serde(flatten)]
    pub what: What,
    /// The host that drives load that it is of; `None` of the server's host, and of the study.
    pub host: Option<String>,
    /// Its value in each case, in words; `None` where it is not known.
    pub values: Vec<Option<String>>,
    /// How much it may bear on the figures, 0 to 11.
    pub weight: f64,
}

/// What differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum What {
    /// The hardware as a whole.
    Hardware,
    /// A feature of a machine.
    Feature {
        /// Which.
        feature: FeatureId,
        /// What of; empty for what a machine has once.
        of: String,
    },
    /// A key of the recipe.
    RecipeKey {
        /// With the tables that it is in.
        key: String,
    },
    /// The version of pinwise.
    Pinwise,
    /// The path between the server's host and the one of the difference.
    Path {
        /// At which end.
        end: End,
        /// What of it.
        fact: PathFact,
    },
}

/// A fact of an end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathFact {
    /// What stands behind the interface.
    Interface,
    /// Its driver.
    Driver,
    /// Its link speed.
    Speed,
    /// The largest packet that it sends.
    Mtu,
    /// What the kernel knows of the largest packet that gets through.
    PathMtu,
    /// Its queues.
    Queues,
    /// Whether an offload is in force.
    Offload(Offload),
}

/// Something that cases do not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CannotTell {
    /// What.
    #[serde(flatten)]
    pub unknown: Unknown,
    /// The cases.
    pub cases: Vec<String>,
    /// Why.
    pub why: String,
}

/// What is not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "unknown", rename_all = "kebab-case")]
pub enum Unknown {
    /// The server's machine.
    Machine,
    /// Model and microcode of its CPUs.
    Processor,
    /// A host that drives load.
    Host {
        /// Its name.
        host: String,
    },
    /// How it and the server's host reach each other.
    Path {
        /// Its name.
        host: String,
    },
}

/// Compares the environments of cases, of which `recipes` are the keys in which their recipes differ.
pub fn compare(cases: &[Surroundings<'_>], recipes: &[KeyDifference]) -> Environment {
    let mut environment = Environment::default();
    environment.differences.extend(recipes.iter().map(of_key));
    environment.add_machines(cases);
    environment.differences.extend(versions(cases));
    let names: BTreeSet<&str> =
        cases.iter().flat_map(|case| case.hosts).map(|host| host.name.as_str()).collect();
    for name in names {
        environment.add_host(cases, name);
    }
    // Of those that weigh the same, the order in which they were found stays.
    environment.differences.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    environment
}

fn of_key(differs: &KeyDifference) -> Difference {
    let what = What::RecipeKey { key: differs.key.clone() };
    let absent = || Some("not given".to_string());
    let values = differs.values.iter().map(|value| value.clone().or_else(absent)).collect();
    Difference { what, host: None, values, weight: key_weight(&differs.key) }
}

/// What decides how much is measured, and what is expected of it, bears less on a figure than what is measured.
fn key_weight(key: &str) -> f64 {
    match key.split('.').next().unwrap_or_default() {
        "budget" if key != "budget.window_s" && key != "budget.warm_up_cap_s" => 2.0,
        "precision" | "expectations" | "also" | "needs" | "full" | "secrets" | "disturbed" => 2.0,
        "dose" | "factors" | "mis_tuning" | "most_arms" | "screen_above" | "search" | "variables" => 4.0,
        _ => 10.0,
    }
}

fn versions(cases: &[Surroundings<'_>]) -> Option<Difference> {
    let values: Vec<Option<String>> = cases.iter().map(|case| Some(case.pinwise.to_string())).collect();
    let differ = values.windows(2).any(|pair| pair[0] != pair[1]);
    differ.then_some(Difference { what: What::Pinwise, host: None, values, weight: PINWISE })
}

impl Environment {
    fn cannot_tell(&mut self, unknown: Unknown, case: &str, why: &str) {
        let same = self.cannot_tell.iter_mut().find(|one| one.unknown == unknown && one.why == why);
        match same {
            Some(one) => one.cases.push(case.to_string()),
            None => {
                self.cannot_tell.push(CannotTell { unknown, cases: vec![case.to_string()], why: why.into() });
            }
        }
    }

    fn add_machines(&mut self, cases: &[Surroundings<'_>]) {
        let unread = Processor::default();
        let mut there = Vec::new();
        for (place, case) in cases.iter().enumerate() {
            if case.machine.cpus.is_empty() {
                self.cannot_tell(Unknown::Machine, case.case, "the case does not have it");
                continue;
            }
            if let Err(why) = case.processor {
                self.cannot_tell(Unknown::Processor, case.case, why);
            }
            there.push((place, case.machine, case.processor.as_ref().unwrap_or(&unread)));
        }
        self.machines_compared = there.len();
        self.differences.extend(machines(cases.len(), &there, None));
    }

    /// Adds what differs in a host that drives load, of the cases that have it; one that a single case has is in no comparison.
    fn add_host(&mut self, cases: &[Surroundings<'_>], name: &str) {
        let of = |case: &Surroundings<'_>| case.hosts.iter().position(|host| host.name == name);
        let having: Vec<(usize, usize)> =
            cases.iter().enumerate().filter_map(|(place, case)| Some((place, of(case)?))).collect();
        if having.len() < 2 {
            return;
        }
        let mut there = Vec::new();
        let mut ends: Vec<Option<&NetworkPath>> = vec![None; cases.len()];
        for (place, host) in having {
            let case = &cases[place];
            match &case.hosts[host].captured {
                Ok(captured) => there.push((place, &captured.machine, &captured.processor)),
                Err(why) => self.cannot_tell(Unknown::Host { host: name.into() }, case.case, why),
            }
            ends[place] = case.paths.iter().find(|path| path.host == name);
            if ends[place].is_none() {
                self.cannot_tell(Unknown::Path { host: name.into() }, case.case, "the case does not have it");
            }
        }
        self.differences.extend(machines(cases.len(), &there, Some(name)));
        self.differences.extend(paths::differences(name, &ends));
    }
}

/// What differs between machines, each with the place of its case among so many.
fn machines(cases: usize, there: &[(usize, &Machine, &Processor)], host: Option<&str>) -> Vec<Difference> {
    let mut grouper = Grouper::default();
    for (place, machine, processor) in there {
        grouper.add_with(&place.to_string(), machine, processor);
    }
    let side_by_side = grouper.side_by_side();
    let spread = |values: Vec<Option<String>>| {
        let mut all = vec![None; cases];
        for ((place, ..), value) in there.iter().zip(values) {
            all[*place] = value;
        }
        all
    };
    let scale = if host.is_some() { LOAD_HOST } else { 1.0 };
    let difference = |what: What, values: Vec<Option<String>>, weight: f64| Difference {
        what,
        host: host.map(String::from),
        values: spread(values),
        weight: weight * scale,
    };
    let hardware: Vec<Option<String>> = side_by_side.hardware.into_iter().map(Some).collect();
    let hardware = (!hardware.is_empty()).then(|| difference(What::Hardware, hardware, HARDWARE));
    let features = side_by_side.differences.into_iter().map(|apart| {
        let weight = apart.feature.weight();
        difference(What::Feature { feature: apart.feature, of: apart.subject }, apart.values, weight)
    });
    hardware.into_iter().chain(features).collect()
}
