//! Recipes: studies as TOML files, with every default filled in when a case is made.

mod check;
pub mod crossing;
mod direction;
mod dose;
pub mod factor;
mod figure_name;
mod harm_budget;
mod hours;
mod keys;
mod looks;
mod neighbour;
mod own_traffic;
pub mod place;
mod schema;
mod search;
mod secrets;

use std::collections::BTreeMap;

use hosts::HostSpec;
use load::{LoadSpec, ServerSpec};
use machine::{Class, CpuChoice, Fault, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::direction::Direction;
pub use self::dose::DoseOptions;
pub use self::factor::{BootLevel, Factor, Fill};
pub use self::harm_budget::HarmBudget;
pub use self::hours::Hours;
pub(crate) use self::looks::FEWEST_BLOCKS;
pub use self::neighbour::NeighbourSpec;
use self::place::Place;
pub use self::schema::{SCHEMA, schema};
pub use self::search::Search;
pub use self::secrets::Secrets;
use crate::expectation::Expectation;

/// Most combinations of the levels of several factors that a study tries.
pub(crate) const MOST_ARMS: usize = 400;

/// What size of difference matters, and how sure a claim must be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Precision {
    /// Differences up to this share count as equal: 0.03 is 3 %.
    pub margin: f64,
    /// Chance of even one false claim within a family of comparisons.
    pub alpha: f64,
}

impl Default for Precision {
    fn default() -> Self {
        Self { margin: 0.03, alpha: 0.05 }
    }
}

/// How long and how often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// Complete blocks; 0: as many as the comparisons need, at least 14.
    pub blocks: usize,
    /// Length of the measured window of a trial, s.
    pub window_s: f64,
    /// Most that may be left out as warm-up, s; the load runs for `warm_up_cap_s + window_s`.
    pub warm_up_cap_s: f64,
    /// A trial that has not ended after this long has failed, s.
    pub trial_timeout_s: f64,
    /// Blocks after which it is checked whether everything is decided; the error is split over them. Empty: at the end only, and, if
    /// `blocks` is not given either, once after five sevenths of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<usize>,
    /// How often a trial is run at most until one is neither disturbed nor failed.
    pub attempts: usize,
    /// Most requests that may fail in a trial, share of all; with more it has failed. A wrong answer never passes. Of loads that pinwise
    /// drives itself.
    pub most_failed_share: f64,
    /// Observed blocks beside the deciding ones: each arm once more, with the kernel's account of the server running. They explain and
    /// decide nothing. Absent: 6, the fewest that give a 95 % interval; none in a study of fewer blocks, without root or eBPF, or across boots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_blocks: Option<usize>,
    /// How often each arm runs in a boot of its own, of a study of boot parameters; the block has the geometric mean of them.
    #[serde(skip_serializing_if = "is_one")]
    pub trials_a_boot: usize,
}

fn is_one(number: &usize) -> bool {
    *number == 1
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            blocks: 0,
            window_s: 1.0,
            warm_up_cap_s: 0.4,
            trial_timeout_s: 120.0,
            looks: Vec::new(),
            attempts: 3,
            most_failed_share: 0.001,
            observed_blocks: None,
            trials_a_boot: 1,
        }
    }
}

/// A figure that is compared beside the one that decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Also {
    /// Its name.
    pub metric: String,
    /// Which way it is better. Needed where its name and unit do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<Direction>,
}

impl Also {
    /// Which way it is better. See [`Recipe::direction`].
    pub fn direction(&self) -> Direction {
        self.better.or_else(|| Direction::known(&self.metric)).unwrap_or(Direction::Higher)
    }
}

/// When a trial counts as disturbed by what is neither server nor load. The rule looks at the disturbance alone, never at the
/// figure, so that repeating a trial favours no placement.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Disturbed {
    /// CPU time of other programs than server and load, in CPUs.
    pub others_cpus: f64,
    /// Time that the hypervisor gave to others, share of all CPUs' time.
    pub steal_share: f64,
}

impl Default for Disturbed {
    fn default() -> Self {
        Self { others_cpus: 0.5, steal_share: 0.1 }
    }
}

/// A whole study, as a file says it or as flags say it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Recipe {
    /// Title in reports.
    pub name: String,
    /// The figure that decides; it must be among those that the load gives.
    pub metric: String,
    /// Which way it is better. Needed where its name and unit do not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub better: Option<Direction>,
    /// Seed of the order; drawn when the case is made, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Samples of the counters a second.
    pub samples_per_s: f64,
    /// Work per request of the built-in string server, us of computation on this machine at the start of the study.
    pub work_us: f64,
    /// CPUs for the load, in the words of docs/cpus.md; none named: whatever the server leaves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_cpus: Option<CpuChoice>,
    /// How server and load are placed, and what is set, wherever no factor says otherwise; what it does not say is left to the
    /// kernel.
    #[serde(skip_serializing_if = "Place::is_empty")]
    pub baseline: Place,
    /// The positive control where no `mis_tuning` is given: a thief that takes a known share of the server's CPU time.
    pub dose: DoseOptions,
    /// A deliberate mis-tuning that must be seen, in place of the dose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mis_tuning: Option<Place>,
    /// What is varied; none: the server on each CPU in turn. Of several, all combinations of their levels, or the most informative
    /// of them where they are more than `most_arms`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub factors: Vec<Factor>,
    /// Most combinations of levels that are tried.
    pub most_arms: usize,
    /// Where every CPU in turn is tried and there are more of them than this, each is screened by a short trial first, and the full blocks
    /// are spent on those that look slow and on a few that stand for CPUs that are alike. With their number or more: no screening.
    pub screen_above: usize,
    /// A search, where there are too many placements to try each; without it every combination of levels is run in every block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<Search>,
    /// How long and how often.
    pub budget: Budget,
    /// What matters and how sure.
    pub precision: Precision,
    /// The server.
    pub server: ServerSpec,
    /// The load.
    pub load: LoadSpec,
    /// Other hosts that drive the load, all together; none: this host drives it. See docs/hosts.md.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostSpec>,
    /// Knobs that are set in every trial, and taken back after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
    /// What runs beside the server in every trial.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub neighbours: Vec<NeighbourSpec>,
    /// What a gate demands, such as `requests_per_s of "cpu 1" >= 0.97 x baseline`: `pinwise study` then ends with exit code 0 where all
    /// of it holds, 1 where some of it does not, and 8 where the trials cannot tell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<Expectation>,
    /// Figures that are compared too, and decide nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Also>,
    /// When a trial counts as disturbed, and is repeated.
    pub disturbed: Disturbed,
    /// How much harm a study of a running server may do to its own traffic before it ends (docs/own-traffic.md).
    #[serde(skip_serializing_if = "HarmBudget::is_usual")]
    pub harm: HarmBudget,
    /// Hours of each day in which trials may begin; absent: at any time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hours: Option<Hours>,
    /// Words in braces that commands of server and load may use beside those that a trial fills in, and their values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub variables: BTreeMap<String, toml::Value>,
    /// Keys whose texts are secrets beside those that are named like one (`password`, `token`, ...): `load.headers.Authorization`,
    /// `server.env.REDISCLI_AUTH`. No report, ledger or list of processes shows them (docs/security.md).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// Programs that server and load need, and the packages of Debian that have them: `slapd = "slapd"`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub needs: BTreeMap<String, String>,
    /// Keys and their values at the size for real machines (`--full`): `"budget.blocks" = 30`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub full: BTreeMap<String, toml::Value>,
    /// Free remarks that are copied into the case.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub notes: BTreeMap<String, String>,
}

impl Default for Recipe {
    fn default() -> Self {
        Self {
            name: String::new(),
            metric: "requests_per_s".into(),
            better: None,
            seed: None,
            samples_per_s: 10.0,
            // Enough that the server, not the client, is the limit: measured in crates/load/src/drive/mod.rs.
            work_us: load::string::work::DEFAULT_WORK_US,
            load_cpus: None,
            baseline: Place::default(),
            dose: DoseOptions::default(),
            mis_tuning: None,
            factors: Vec::new(),
            most_arms: 24,
            screen_above: 16,
            search: None,
            expectations: Vec::new(),
            also: Vec::new(),
            disturbed: Disturbed::default(),
            harm: HarmBudget::default(),
            hours: None,
            variables: BTreeMap::new(),
            secrets: Vec::new(),
            budget: Budget::default(),
            precision: Precision::default(),
            server: ServerSpec::default(),
            load: LoadSpec::default(),
            hosts: Vec::new(),
            settings: Vec::new(),
            neighbours: Vec::new(),
            needs: BTreeMap::new(),
            full: BTreeMap::new(),
            notes: BTreeMap::new(),
        }
    }
}

impl Recipe {
    /// What reports call the study.
    pub fn title(&self) -> String {
        match (&self.server.running, self.server.is_unnamed()) {
            _ if !self.name.is_empty() => self.name.clone(),
            (Some(running), _) => format!("{running}, already running"),
            (None, true) => "built-in string server".into(),
            (None, false) => self.server.command.to_string(),
        }
    }

    /// Whether the deciding figure is a rate that a closed loop drives as high as the server lets it. A command's loop is not known: its
    /// rates are taken for capacities, and a control that is not seen then says so.
    pub(crate) fn measures_capacity(&self) -> bool {
        self.direction() == Direction::Higher && figure_name::is_rate(&self.metric) && !self.load.has_rate()
    }

    /// Reads a recipe; errors name `file`, line and column, the key and what would be right.
    pub fn from_toml(text: &str, file: &str) -> Result<Self, Fault> {
        let recipe: Recipe = toml::from_str(text).map_err(|e| {
            Fault::new(
                Class::Usage,
                position(file, text, &e),
                secrets::kept_out_of_message(e.message(), text),
                "see docs/study.md for the keys of a recipe",
            )
        })?;
        let checked = recipe.check().and_then(|()| recipe.check_looks());
        checked.map_err(|fault| Fault { object: format!("{file}: {}", fault.object), ..fault })?;
        Ok(recipe)
    }

    /// The recipe with the direction of every figure filled in: as given, or as name and unit say it.
    ///
    /// # Errors
    /// Neither gives the direction of a figure; the fault names it.
    pub fn with_directions(mut self) -> Result<Self, Fault> {
        let unknown = |figure: String, remedy: &str| {
            Fault::new(
                Class::Usage,
                figure,
                "its name and unit do not say whether higher or lower is better",
                remedy,
            )
        };
        if self.better.is_none() {
            let remedy = "use --better higher or --better lower (key better of a recipe), or end its name in a unit (_us, _per_s)";
            let known = Direction::known(&self.metric);
            self.better = Some(known.ok_or_else(|| unknown(format!("metric {}", self.metric), remedy))?);
        }
        for also in self.also.iter_mut().filter(|also| also.better.is_none()) {
            let remedy = "put better = \"higher\" or better = \"lower\" beside it, or end its name in a unit (_us, _per_s)";
            let known = Direction::known(&also.metric);
            also.better =
                Some(known.ok_or_else(|| unknown(format!("also: metric {}", also.metric), remedy))?);
        }
        Ok(self)
    }

    /// Lets another figure decide. What was said of the direction of the one before is not said of this one.
    pub fn set_metric(&mut self, metric: String) {
        if metric != self.metric {
            (self.metric, self.better) = (metric, None);
        }
    }

    /// Which way the figure that decides is better. Of the recipe of a case, which has [all directions](Self::with_directions); of
    /// another one whose figure is not known, higher.
    pub fn direction(&self) -> Direction {
        self.better.or_else(|| Direction::known(&self.metric)).unwrap_or(Direction::Higher)
    }

    /// The recipe as TOML.
    pub fn to_toml(&self) -> Result<String, Fault> {
        toml::to_string_pretty(self).map_err(|e| Fault::new(Class::Storage, "recipe", e, machine::IS_A_BUG))
    }

    /// The recipe by its keys.
    fn as_value(&self) -> Result<toml::Value, Fault> {
        toml::Value::try_from(self).map_err(|e| Fault::new(Class::Storage, "recipe", e, machine::IS_A_BUG))
    }

    /// Whether it says of any trial which words its kernel is booted with.
    pub fn asks_for_boots(&self) -> bool {
        let says = |place: &Place| place.boot.is_some();
        let varies = |factor: &Factor| match factor {
            Factor::Boot(_) => true,
            Factor::Places(places) => places.levels.iter().any(says),
            _ => false,
        };
        says(&self.baseline) || self.mis_tuning.as_ref().is_some_and(says) || self.factors.iter().any(varies)
    }
}

/// `file:line:column` of a TOML error.
fn position(file: &str, text: &str, error: &toml::de::Error) -> String {
    let Some(span) = error.span() else { return file.to_string() };
    let before = &text[..span.start.min(text.len())];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
    format!("{file}:{line}:{column}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_is_the_default_study() {
        let recipe = Recipe::from_toml("", "x.toml").unwrap();
        assert_eq!(recipe.metric, "requests_per_s");
        assert!(recipe.factors.is_empty());
        let again = Recipe::from_toml(&recipe.to_toml().unwrap(), "again").unwrap();
        assert_eq!(again, recipe);
    }

    #[test]
    fn a_baseline_that_has_a_name_alone_keeps_it() {
        let recipe = Recipe::from_toml("[baseline]\nname = 'free to move'\n", "x.toml").unwrap();
        assert_eq!(Recipe::from_toml(&recipe.to_toml().unwrap(), "again").unwrap(), recipe);
        let unnamed = Recipe::from_toml("[baseline]\n", "x.toml").unwrap().to_toml().unwrap();
        assert!(!unnamed.contains("baseline"), "{unnamed}");
    }

    #[test]
    fn an_unknown_key_is_named_with_its_place() {
        let fault = Recipe::from_toml("metric = \"x\"\n\n[budget]\nblock = 3\n", "x.toml").unwrap_err();
        assert_eq!(fault.class, Class::Usage);
        assert!(fault.object.starts_with("x.toml:4:1"), "{fault}");
        assert!(fault.cause.contains("block"), "{fault}");
    }

    #[test]
    fn every_recipe_that_we_ship_is_one() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes");
        let files = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
        let recipes: Vec<_> =
            files.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
        assert!(!recipes.is_empty());
        for path in recipes {
            let text = std::fs::read_to_string(&path).unwrap();
            let recipe = Recipe::from_toml(&text, &path.display().to_string()).unwrap();
            assert!(!recipe.name.is_empty(), "{} has no name", path.display());
        }
    }

    #[test]
    fn a_direction_is_given_or_known_or_asked_for() {
        let of = |text: &str| Recipe::from_toml(text, "x").unwrap().with_directions();
        assert_eq!(of("").unwrap().better, Some(Direction::Higher));
        assert_eq!(of("metric = 'latency_p99_us'").unwrap().better, Some(Direction::Lower));
        let said = of("metric = 'latency_p99_us'\nbetter = 'higher'").unwrap();
        assert_eq!(said.better, Some(Direction::Higher), "what was said holds");
        let fault = of("metric = 'score'").unwrap_err();
        assert!(fault.class == Class::Usage && fault.object.contains("score"), "{fault}");
        assert!(fault.remedy.contains("--better higher"), "{fault}");
        assert_eq!(of("metric = 'score'\nbetter = 'lower'").unwrap().better, Some(Direction::Lower));
        let also = of("also = [{ metric = 'p99_us' }, { metric = 'tps' }]").unwrap().also;
        assert_eq!((also[0].better, also[1].better), (Some(Direction::Lower), Some(Direction::Higher)));
        assert!(of("also = [{ metric = 'score' }]").unwrap_err().object.contains("score"));
        let again = Recipe::from_toml(&said.to_toml().unwrap(), "again").unwrap();
        assert_eq!(again, said);
    }

    #[test]
    fn another_metric_has_a_direction_of_its_own() {
        let mut recipe = Recipe::from_toml("metric = 'requests_per_s'\nbetter = 'higher'", "x").unwrap();
        recipe.set_metric("latency_p99_us".into());
        assert_eq!(recipe.with_directions().unwrap().better, Some(Direction::Lower));
        let recipe = Recipe::from_toml("metric = 'requests_per_s'\nbetter = 'higher'", "x").unwrap();
        let keys = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter().map(|(key, value)| (key.to_string(), toml::Value::from(*value)));
            recipe.overridden(&pairs.collect()).unwrap().better
        };
        assert_eq!(keys(&[("metric", "latency_p99_us")]), None);
        assert_eq!(keys(&[("metric", "requests_per_s")]), Some(Direction::Higher));
        assert_eq!(keys(&[("metric", "score"), ("better", "lower")]), Some(Direction::Lower));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "(?s).{0,60}") {
            let _ = Recipe::from_toml(&text, "x");
        }
    }
}
