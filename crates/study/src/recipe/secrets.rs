//! Secrets of a recipe: texts whose names speak of one, and those that it marks. They are taken out of a recipe before anybody sees it, and put
//! back where a server or a load is started.

use std::fmt;

use load::{Command, LoadSpec};
use machine::{Class, Fault, secret};
use toml::{Table, Value};

use super::Recipe;

/// Where secrets can be. Whatever else a recipe says stands in reports, ledgers and lists of processes.
const PLACES: [&str; 3] = ["load.", "server.env.", "variables."];

/// What of it does, too.
const IN_THE_OPEN: [&str; 2] = ["load.command", "load.exe"];

/// Names of figures, which may count tokens, are no names of secrets.
const FIGURES: &str = "load.figures.";

/// The table of what changes a recipe at its full size; its keys are those of a recipe.
const FULL: &str = "full.";

/// A shorter text is not looked for in errors: it would be found everywhere.
const SHORTEST_BYTES: usize = 4;

/// Secrets of a recipe, under the keys that they have there.
#[derive(Clone, PartialEq, Default)]
pub struct Secrets(Table);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets of {:?}", self.0.keys().collect::<Vec<_>>())
    }
}

impl Secrets {
    /// Reads what [`to_toml`](Self::to_toml) writes; the error says in words what is wrong, and quotes nothing.
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map(Self).map_err(|why| why.message().to_string())
    }

    /// As TOML, in the form of a recipe: `[load]`, `password = "..."`.
    pub fn to_toml(&self) -> Result<String, Fault> {
        toml::to_string(&self.0).map_err(|e| Fault::new(Class::Storage, "secrets", e, machine::IS_A_BUG))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fault without what it quotes of them.
    pub fn kept_out_of(&self, fault: Fault) -> Fault {
        let mut texts = Vec::new();
        leaves("", &Value::Table(self.0.clone()), &mut |_, value| {
            texts.extend(value.as_str().map(String::from))
        });
        // A text may be part of another one.
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        let without = |quoted: String| {
            let long = texts.iter().filter(|text| text.len() >= SHORTEST_BYTES);
            long.fold(quoted, |quoted, text| quoted.replace(text, secret::CONCEALED))
        };
        // Without its source, whose text is not looked through.
        let Fault { class, object, cause, remedy, .. } = fault;
        Fault::new(class, without(object), without(cause), without(remedy))
    }
}

impl Recipe {
    /// The recipe with [`secret::CONCEALED`] in the place of every secret, and what was taken out of it. One that is concealed already stays
    /// so.
    ///
    /// # Errors
    /// It marks what may not be any text, as a choice.
    pub fn concealed(&self) -> Result<(Self, Secrets), Fault> {
        let mut whole = self.as_value()?;
        let Some(Value::Table(taken)) = take(&self.secrets, "", &mut whole) else {
            return Ok((self.clone(), Secrets::default()));
        };
        let concealed = whole.try_into().map_err(|_| {
            let remedy = "mark only keys that can hold any text: those of [load], server.env and variables";
            Fault::new(Class::Usage, "secrets", "one of the marked keys cannot hold any text", remedy)
        })?;
        Ok((concealed, Secrets(taken)))
    }

    /// The recipe with these secrets where it is concealed. What it says itself holds.
    ///
    /// # Errors
    /// The keys that stay concealed, each with its name in the recipe.
    pub fn revealed(&self, secrets: &[&Secrets]) -> Result<Self, Vec<String>> {
        let left = |whole: &Value| {
            let mut keys = Vec::new();
            leaves("", whole, &mut |key, value| {
                if is_concealed(value) && is_kept(&self.secrets, key) {
                    keys.push(key.to_string());
                }
            });
            keys
        };
        // One that cannot be written down was not read from a case, and nothing of it is concealed.
        let Ok(mut whole) = self.as_value() else { return Ok(self.clone()) };
        let concealed = left(&whole);
        if concealed.is_empty() {
            return Ok(self.clone());
        }
        secrets.iter().for_each(|secrets| give(&mut whole, &Value::Table(secrets.0.clone())));
        let left = left(&whole);
        if left.is_empty() { whole.try_into().map_err(|_| concealed) } else { Err(left) }
    }

    /// Whether this value of a key is a secret, or has one in it.
    pub fn is_secret(&self, key: &str, value: &Value) -> bool {
        let mut found = false;
        leaves(key, value, &mut |key, value| found |= value.is_str() && is_kept(&self.secrets, key));
        found
    }

    /// # Errors
    /// A command uses a variable that is a secret.
    pub(super) fn check_commands(&self) -> Result<(), Fault> {
        let of_load = match &self.load {
            LoadSpec::Command(load) => Some(("load.command", &load.command)),
            _ => None,
        };
        let commands = [("server.command", &self.server.command), ("server.prepare", &self.server.prepare)];
        let uses = |command: &Command, name: &str| {
            *command != command.with_variables(&[(name.to_string(), String::new())].into())
        };
        for (name, value) in &self.variables {
            let key = format!("variables.{name}");
            let used = commands.into_iter().chain(of_load).find(|(_, command)| uses(command, name));
            if let (true, Some((command, _))) = (self.is_secret(&key, value), used) {
                let cause = format!("it is a secret, and the list of processes shows {command}");
                let remedy = "have the program read it from an environment variable (server.env, load.env)";
                return Err(Fault::new(Class::Usage, key, cause, remedy));
            }
        }
        Ok(())
    }

    /// # Errors
    /// It marks what cannot be a secret, or what is not there; a level sets a secret.
    pub(super) fn check_secrets(&self) -> Result<(), Fault> {
        self.check_marks()?;
        self.check_levels()
    }

    fn check_marks(&self) -> Result<(), Fault> {
        if self.secrets.is_empty() {
            return Ok(());
        }
        let whole = self.as_value()?;
        for mark in &self.secrets {
            let wrong = |cause: &str, remedy: &str| {
                Err(Fault::new(Class::Usage, format!("secrets: {mark}"), cause, remedy))
            };
            if !PLACES.iter().any(|place| format!("{mark}.").starts_with(place)) {
                return wrong("no such key can be a secret", "mark texts of [load], server.env or variables");
            }
            if IN_THE_OPEN.iter().any(|open| is_below(open, mark) || is_below(mark, open)) {
                let remedy =
                    "pass it to the program in its environment (server.env, load.env), and mark that";
                return wrong("the list of processes shows it", remedy);
            }
            let mut texts = 0;
            leaves("", &whole, &mut |key, value| {
                texts += usize::from(value.is_str() && is_below(key.strip_prefix(FULL).unwrap_or(key), mark));
            });
            if texts == 0 {
                return wrong("the recipe has no text of this name", "write the name as the recipe has it");
            }
        }
        Ok(())
    }

    /// What levels set names arms, and stands in all that is reported of them.
    fn check_levels(&self) -> Result<(), Fault> {
        let set = self.keys_of_levels();
        match set.into_iter().find(|(key, value)| self.is_secret(key, value)) {
            None => Ok(()),
            Some((key, _)) => Err(Fault::new(
                Class::Usage,
                format!("key {key}"),
                "a level sets it, and it is a secret",
                "set it once, for the whole study",
            )),
        }
    }
}

/// What a parser says of a recipe, without what it quotes of a secret.
pub(super) fn kept_out_of_message(message: &str, recipe: &str) -> String {
    let Ok(table) = recipe.parse::<Table>() else { return message.to_string() };
    let marks = table.get("secrets").and_then(Value::as_array).into_iter().flatten();
    let marks: Vec<String> = marks.filter_map(Value::as_str).map(String::from).collect();
    let mut kept = message.to_string();
    leaves("", &Value::Table(table), &mut |key, value| {
        let text = value.as_str().map_or_else(|| value.to_string(), String::from);
        if is_kept(&marks, key) && !text.is_empty() {
            kept = kept.replace(&text, secret::CONCEALED);
        }
    });
    kept
}

/// Whether a text of this name is a secret, in a recipe with these marks.
fn is_kept(marks: &[String], key: &str) -> bool {
    let key = key.strip_prefix(FULL).unwrap_or(key);
    let is_named = !key.starts_with(FIGURES) && key.split('.').any(secret::is_named);
    PLACES.iter().any(|place| key.starts_with(place))
        && (is_named || marks.iter().any(|mark| is_below(key, mark)))
}

/// Whether a key is the other one or in its table.
fn is_below(key: &str, above: &str) -> bool {
    key.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn is_concealed(value: &Value) -> bool {
    value.as_str() == Some(secret::CONCEALED)
}

fn joined(key: &str, word: &str) -> String {
    if key.is_empty() { word.to_string() } else { format!("{key}.{word}") }
}

/// Everything that is no table and no list, under its key; what is in a list has the list's.
fn leaves(key: &str, value: &Value, see: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Table(table) => table.iter().for_each(|(word, value)| leaves(&joined(key, word), value, see)),
        Value::Array(items) => items.iter().for_each(|item| leaves(key, item, see)),
        leaf => see(key, leaf),
    }
}

/// Takes the secrets out, a list as a whole.
fn take(marks: &[String], key: &str, value: &mut Value) -> Option<Value> {
    let is_open = |value: &Value| value.is_str() && !is_concealed(value);
    match value {
        Value::Table(table) => {
            let taken = |(word, value): (&String, &mut Value)| {
                Some((word.clone(), take(marks, &joined(key, word), value)?))
            };
            let taken: Table = table.iter_mut().filter_map(taken).collect();
            (!taken.is_empty()).then_some(Value::Table(taken))
        }
        Value::Array(items) if items.iter().any(is_open) && is_kept(marks, key) => {
            let taken = Value::Array(items.clone());
            items.iter_mut().filter(|item| item.is_str()).for_each(|item| *item = secret::CONCEALED.into());
            Some(taken)
        }
        text if is_open(text) && is_kept(marks, key) => {
            Some(std::mem::replace(text, secret::CONCEALED.into()))
        }
        _ => None,
    }
}

/// Puts what was taken where it was.
fn give(value: &mut Value, taken: &Value) {
    match (value, taken) {
        (Value::Table(table), Value::Table(taken)) => {
            for (word, taken) in taken {
                if let Some(value) = table.get_mut(word) {
                    give(value, taken);
                }
            }
        }
        (Value::Array(items), Value::Array(taken)) if items.iter().any(is_concealed) => {
            items.clone_from(taken)
        }
        (value, taken) if is_concealed(value) => *value = taken.clone(),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
