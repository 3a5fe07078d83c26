//! A scenario: how a cause is made, and what is true then.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::simulated::Simulated;

/// What a load that reports a figure says of how long it runs; a trial of `score explain` has another length there.
pub const ENDLESS: &str = "--seconds 60";

/// A cause made on purpose. Commands are scripts of sh; see [`crate::stage`] for what they find in their environment.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name: that of its folder.
    #[serde(skip)]
    pub name: String,
    /// Its folder.
    #[serde(skip)]
    pub folder: PathBuf,
    /// What is done, in one sentence.
    pub about: String,
    /// The rule that must be among the first two; none where nothing may be claimed.
    #[serde(default)]
    pub truth: Option<String>,
    /// Rules of which causes are true as well, or follow from the truth.
    #[serde(default)]
    pub also: Vec<String>,
    /// Rules that must not be named at all, not even as possible: what is only possible is no wrong claim else.
    #[serde(default)]
    pub never: Vec<String>,
    /// The limit that must be named, where one is sure.
    #[serde(default)]
    pub limit: Option<String>,
    /// The scenario that it looks like.
    #[serde(default)]
    pub looks_like: Option<String>,
    /// Not looked at while rules are tuned.
    #[serde(default)]
    pub held_out: bool,
    /// Prepares: run to its end before the server is started.
    #[serde(default)]
    pub prepare: Option<String>,
    /// The server; it must listen at $PORT. The process that the script becomes (exec) is the one that is diagnosed.
    #[serde(default)]
    pub server: String,
    /// The server without the cause, where that is in the server or around it: what `score explain` holds it against.
    #[serde(default)]
    pub without: Option<String>,
    /// The load.
    #[serde(default)]
    pub load: String,
    /// The load without the cause, where that is in the load: likewise.
    #[serde(default)]
    pub load_without: Option<String>,
    /// How long the load of a trial of `score explain` runs, s, where the cause shows only in a longer one than usual: it comes once a second, or
    /// the server compiles its code first. Only of loads that say [`ENDLESS`].
    #[serde(default)]
    pub trial_s: Option<f64>,
    /// Makes the cause, after the load; stopped at the end.
    #[serde(default)]
    pub cause: Option<String>,
    /// Takes back what `prepare` and `cause` did; always run.
    #[serde(default)]
    pub undo: Option<String>,
    /// The window itself, of what cannot be made here: then nothing is played.
    #[serde(default)]
    pub simulated: Option<Simulated>,
}

impl Scenario {
    /// Those of [`all`](Self::all) that are played.
    pub fn played(names: &[String]) -> Result<Vec<Self>, String> {
        Ok(Self::all(names)?.into_iter().filter(|scenario| scenario.simulated.is_none()).collect())
    }

    /// The scenarios whose names begin with one of these; all where none is named. In order of their names.
    pub fn all(names: &[String]) -> Result<Vec<Self>, String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
        let entries = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let mut folders: Vec<PathBuf> =
            entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()).collect();
        folders.sort();
        let mut all = Vec::new();
        for folder in folders {
            let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_string();
            if names.is_empty() || names.iter().any(|wanted| name.starts_with(wanted.as_str())) {
                all.push(Self::read(folder, name)?);
            }
        }
        Ok(all)
    }

    fn read(folder: PathBuf, name: String) -> Result<Self, String> {
        let file = folder.join("scenario.toml");
        let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let scenario: Self = toml::from_str(&text).map_err(|e| format!("{}: {e}", file.display()))?;
        scenario.check().map_err(|why| format!("{}: {why}", file.display()))?;
        Ok(Self { name, folder, ..scenario })
    }

    /// The key of a load that does not say [`ENDLESS`], and so reports no figure; `None` where each does.
    pub fn not_endless(&self) -> Option<&'static str> {
        let loads = [("load", Some(&self.load)), ("load_without", self.load_without.as_ref())];
        let found = loads.iter().find(|(_, load)| load.is_some_and(|load| !load.contains(ENDLESS)));
        found.map(|(key, _)| *key)
    }

    /// Whether what it says has an effect.
    fn check(&self) -> Result<(), String> {
        let Some(trial_s) = self.trial_s else { return Ok(()) };
        let is_length = trial_s.is_finite() && trial_s > 0.0;
        if !is_length {
            return Err(format!("trial_s = {trial_s} is no length of a trial: write seconds above 0"));
        }
        match self.not_endless() {
            Some(key) => Err(format!(
                "trial_s has no effect: {key} does not say `{ENDLESS}`, which a trial replaces; write that there, or remove trial_s"
            )),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_scenario_can_be_read_and_names_what_there_is() {
        let all = Scenario::all(&[]).unwrap();
        let names: BTreeSet<&str> = all.iter().map(|scenario| scenario.name.as_str()).collect();
        let rules: BTreeSet<&str> = advise::diagnosis::rules::all().map(|rule| rule.about().id).collect();
        for scenario in &all {
            for rule in scenario.truth.iter().chain(&scenario.also).chain(&scenario.never) {
                assert!(rules.contains(rule.as_str()), "{}: there is no rule {rule}", scenario.name);
            }
            if let Some(other) = &scenario.looks_like {
                assert!(
                    names.contains(other.as_str()) && *other != scenario.name,
                    "{}: {other}",
                    scenario.name
                );
            }
            let is_made = scenario.simulated.is_some() == scenario.server.is_empty();
            assert!(scenario.about.ends_with('.') && is_made, "{}", scenario.name);
        }
    }

    #[test]
    fn a_length_of_trials_that_has_no_effect_is_an_error_that_names_the_scenario() {
        let read = |keys: &str| {
            let folder = tempfile::tempdir().unwrap();
            let text = format!("about = 'A.'\nserver = 'a'\n{keys}\n");
            std::fs::write(folder.path().join("scenario.toml"), text).unwrap();
            let path = folder.path().join("scenario.toml").display().to_string();
            Scenario::read(folder.path().to_path_buf(), "hog".into())
                .map(|scenario| scenario.trial_s)
                .map_err(|error| error.strip_prefix(&path).unwrap_or_else(|| panic!("{error}")).to_string())
        };
        let (endless, other) = ("load = 'drive --seconds 60'", "load = 'redis-benchmark -n 100'");
        assert_eq!(read(&format!("{endless}\ntrial_s = 2.5")), Ok(Some(2.5)));
        assert_eq!(read(other), Ok(None), "without trial_s any load will do");
        let both = format!("{endless}\nload_without = 'drive --connections 1 --seconds 60'\ntrial_s = 2");
        assert_eq!(read(&both), Ok(Some(2.0)));
        for (keys, words) in [
            (format!("{other}\ntrial_s = 2.5"), ": trial_s has no effect: load does not say `--seconds 60`"),
            ("trial_s = 2.5".into(), ": trial_s has no effect: load does not say"),
            (format!("{endless}\nload_without = 'b'\ntrial_s = 2.5"), "effect: load_without does not say"),
            (format!("{endless}\ntrial_s = 0.0"), ": trial_s = 0 is no length of a trial"),
            (format!("{endless}\ntrial_s = nan"), ": trial_s = NaN is no length of a trial"),
        ] {
            let error = read(&keys).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
