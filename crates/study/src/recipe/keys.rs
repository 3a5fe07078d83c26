//! Keys of a recipe that a level sets, and variables of its commands.

use std::collections::BTreeMap;

use load::LoadSpec;
use machine::{Class, Fault};
use toml::Value;

use super::factor::Key;
use super::{Factor, Recipe};

/// What a level may change: all that concerns server and load, and nothing of how the study itself is made.
const OPEN: [&str; 4] = ["server.", "load.", "variables.", "work_us"];

impl Recipe {
    /// The recipe with these keys at these values, checked; every variable is filled in.
    ///
    /// # Errors
    /// A key that is none, that no level may change, or a value that it cannot have.
    pub fn with_keys(&self, keys: &BTreeMap<String, Value>) -> Result<Self, Fault> {
        if let Some(key) = keys.keys().find(|key| !OPEN.iter().any(|open| key.starts_with(open))) {
            let remedy = format!("choose one that begins with {}", OPEN.join(" or "));
            return Err(Fault::new(Class::Usage, format!("key {key}"), "no level may change it", remedy));
        }
        self.put_all(keys)?.filled()
    }

    /// The recipe with any keys at these values, as if its file said so; checked.
    ///
    /// # Errors
    /// A key that is none, or a value that it cannot have.
    pub fn overridden(&self, keys: &BTreeMap<String, Value>) -> Result<Self, Fault> {
        let changed = self.put_all(keys)?;
        changed.check()?;
        Ok(changed)
    }

    /// The recipe at the size for real machines, which its table `full` says.
    ///
    /// # Errors
    /// It has no such table, or the table has a key that is none.
    pub fn at_full_size(mut self) -> Result<Self, Fault> {
        let full = std::mem::take(&mut self.full);
        if full.is_empty() {
            let remedy = "leave --full out, or enlarge it with --key";
            return Err(Fault::new(Class::Usage, "--full", "this recipe has one size only", remedy));
        }
        self.overridden(&full)
    }

    /// Every key that a level sets, with its value.
    pub(super) fn keys_of_levels(&self) -> Vec<(&str, &Value)> {
        let mut all = Vec::new();
        let of_factors = self.factors.iter().flat_map(|factor| match factor {
            Factor::Places(places) => places.levels.as_slice(),
            _ => &[],
        });
        for place in self.mis_tuning.iter().chain([&self.baseline]).chain(of_factors) {
            all.extend(place.keys.iter().map(|(key, value)| (key.as_str(), value)));
        }
        for factor in &self.factors {
            if let Factor::Key(Key { key, values }) = factor {
                all.extend(values.iter().map(|value| (key.as_str(), value)));
            }
        }
        all
    }

    fn put_all(&self, keys: &BTreeMap<String, Value>) -> Result<Self, Fault> {
        let mut whole = self.as_value()?;
        let metric = keys.get("metric").and_then(Value::as_str);
        if metric.is_some_and(|metric| metric != self.metric)
            && let Some(table) = whole.as_table_mut()
        {
            // It was said of the figure that decided before.
            table.remove("better");
        }
        for (key, value) in keys {
            put(&mut whole, key, value.clone())?;
        }
        whole.try_into().map_err(|e: toml::de::Error| {
            let names: Vec<&str> = keys.keys().map(String::as_str).collect();
            let remedy = "see docs/study.md for the keys of a recipe";
            Fault::new(Class::Usage, format!("key {}", names.join(", ")), e.message(), remedy)
        })
    }

    /// The recipe with its variables in the commands of server and load, and in the server's environment; it has none then.
    ///
    /// # Errors
    /// A command uses a secret; what server or load cannot be.
    pub(super) fn filled(mut self) -> Result<Self, Fault> {
        self.check_commands()?;
        let texts: BTreeMap<String, String> = std::mem::take(&mut self.variables)
            .into_iter()
            .map(|(name, value)| (name, text(&value)))
            .collect();
        self.server = self.server.with_variables(&texts);
        if let LoadSpec::Command(load) = &mut self.load {
            load.command = load.command.with_variables(&texts);
        }
        self.check_filled()?;
        Ok(self)
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Sets the value at a dotted path; tables on the way are made.
fn put(whole: &mut Value, key: &str, value: Value) -> Result<(), Fault> {
    let mut at = whole;
    for word in key.split('.') {
        let table = at.as_table_mut().ok_or_else(|| {
            Fault::new(
                Class::Usage,
                format!("key {key}"),
                "it leads into a value that is not a table",
                "shorten it",
            )
        })?;
        at = table.entry(word).or_insert_with(|| Value::Table(toml::Table::new()));
    }
    *at = value;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe() -> Recipe {
        let text = "[variables]\nthreads = 2\nname = \"x\"\n\
                    [server]\ncommand = \"srv -t{threads} -n {name} -p{port} '{{threads}}'\"\n\
                    [load]\ndriver = \"command\"\ncommand = \"wrk -t{threads} {address}\"\n\
                    [load.figures]\nrequests_per_s = { regex = \"(x)\" }\n";
        Recipe::from_toml(text, "x.toml").unwrap()
    }

    fn with(keys: &[(&str, Value)]) -> Result<Recipe, Fault> {
        recipe().with_keys(&keys.iter().map(|(key, value)| (key.to_string(), value.clone())).collect())
    }

    #[test]
    fn variables_are_filled_in_and_placeholders_stay() {
        let changed = with(&[("variables.threads", Value::Integer(8))]).unwrap();
        assert_eq!(changed.server.command.words(), ["srv", "-t8", "-n", "x", "-p{port}", "{{threads}}"]);
        let LoadSpec::Command(load) = &changed.load else { panic!("{:?}", changed.load) };
        assert_eq!(load.command.words(), ["wrk", "-t8", "{address}"]);
        assert!(changed.variables.is_empty());
    }

    #[test]
    fn keys_reach_into_server_and_load() {
        let changed = with(&[
            ("server.env.GOMAXPROCS", Value::String("3".into())),
            ("server.ready_timeout_s", Value::Float(4.0)),
        ])
        .unwrap();
        assert_eq!(changed.server.env["GOMAXPROCS"], "3");
        assert_eq!(changed.server.ready_timeout_s, 4.0);
    }

    #[test]
    fn the_full_size_is_the_recipe_with_other_keys() {
        let mut small = recipe();
        assert!(small.clone().at_full_size().unwrap_err().to_string().contains("one size only"));
        let larger = |key: &str, value: i64| BTreeMap::from([(key.to_string(), Value::Integer(value))]);
        small.full = larger("budget.blocks", 30);
        let full = small.clone().at_full_size().unwrap();
        assert!(full.budget.blocks == 30 && full.full.is_empty());
        small.full = larger("budget.block", 30);
        assert!(small.at_full_size().unwrap_err().to_string().contains("budget.block"));
    }

    #[test]
    fn what_cannot_be_changed_is_named() {
        for (key, value, why) in [
            ("budget.blocks", Value::Integer(3), "no level may change it"),
            ("load.conections", Value::Integer(3), "conections"),
            ("load.command.x", Value::Integer(3), "not a table"),
            ("server.ready_timeout_s", Value::Integer(-4), "out of range"),
            ("server.port", Value::String("x".into()), ""),
        ] {
            let fault = with(&[(key, value)]).unwrap_err();
            assert!(fault.to_string().contains(why), "{key}: {fault}");
        }
    }
}
