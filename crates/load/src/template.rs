//! Command lines with placeholders, as recipes and flags give them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use machine::{Class, Fault};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Program and arguments in which `{port}`, `{address}`, `{cpus}`, `{cpu}` (and for loads `{seconds}`) stand for what a
/// trial fills in. `{{port}}` is the text `{port}` itself; braces around anything but a lower-case word are plain text.
///
/// Written as one line in shell quoting, or as an array; no shell runs it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Command(Vec<String>);

impl Command {
    /// A command of these words.
    pub fn new(words: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(words.into_iter().map(Into::into).collect())
    }

    /// Whether there is no word.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The words, placeholders in place.
    pub fn words(&self) -> &[String] {
        &self.0
    }

    /// The words with every placeholder filled in. Fails on one that `values` does not have, naming it.
    pub fn fill(&self, values: &BTreeMap<&str, String>) -> Result<Vec<String>, Fault> {
        self.0.iter().map(|word| fill(word, values)).collect()
    }

    /// The words with these variables filled in; every other placeholder, and what stands in double braces, stays as it is.
    pub fn with_variables(&self, variables: &BTreeMap<String, String>) -> Self {
        Self(self.0.iter().map(|word| substituted(word, variables)).collect())
    }

    /// Fails when the command is empty or uses a placeholder that is not among `known`; for checking a recipe before
    /// anything runs.
    pub fn check(&self, what: &str, known: &[&str]) -> Result<(), Fault> {
        if self.0.first().is_none_or(String::is_empty) {
            return Err(Fault::new(
                Class::Usage,
                what,
                "no command is given",
                "name a program and its arguments",
            ));
        }
        self.fill(&known.iter().map(|name| (*name, String::new())).collect()).map(drop)
    }
}

/// The word with every placeholder filled in. Fails on one that `values` does not have, naming it.
pub(crate) fn fill(word: &str, values: &BTreeMap<&str, String>) -> Result<String, Fault> {
    let mut out = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(name) = name_in_braces(&rest[1..]).filter(|name| rest[name.len() + 3..].starts_with('}'))
        {
            // {{name}} is {name} as text.
            out.push_str(&rest[1..name.len() + 3]);
            rest = &rest[name.len() + 4..];
        } else if let Some(name) = name_in_braces(rest) {
            out.push_str(values.get(name).ok_or_else(|| unknown(name, word, values))?);
            rest = &rest[name.len() + 2..];
        } else {
            out.push('{');
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// The word with these variables filled in; what else stands in braces stays as it is.
pub(crate) fn substituted(word: &str, variables: &BTreeMap<String, String>) -> String {
    let (mut out, mut rest) = (String::with_capacity(word.len()), word);
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        // {{name}} is left for when everything is filled in.
        let whole = match rest.starts_with("{{") {
            true => name_in_braces(&rest[1..]).map_or(1, |name| name.len() + 3),
            false => name_in_braces(rest).map_or(1, |name| name.len() + 2),
        };
        let value = name_in_braces(rest).and_then(|name| variables.get(name));
        out.push_str(value.map_or(&rest[..whole], String::as_str));
        rest = &rest[whole..];
    }
    out.push_str(rest);
    out
}

/// The lower-case word in braces that `text` starts with.
fn name_in_braces(text: &str) -> Option<&str> {
    let (name, _) = text.strip_prefix('{')?.split_once('}')?;
    let plain = !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    plain.then_some(name)
}

fn unknown(name: &str, word: &str, values: &BTreeMap<&str, String>) -> Fault {
    let known: Vec<String> = values.keys().map(|k| format!("{{{k}}}")).collect();
    Fault::new(
        Class::Usage,
        format!("placeholder {{{name}}}"),
        format!("unknown, in '{word}'"),
        format!("choose from {}, or write {{{{{name}}}}} for the text itself", known.join(" ")),
    )
}

impl FromStr for Command {
    type Err = Fault;

    /// Splits a line as a POSIX shell splits words; nothing is expanded.
    fn from_str(line: &str) -> Result<Self, Fault> {
        let words = shell_words::split(line).map_err(|why| {
            Fault::new(
                Class::Usage,
                format!("command '{line}'"),
                why,
                "close every quote, or give an array of words",
            )
        })?;
        Ok(Self(words))
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shell_words::join(&self.0))
    }
}

impl JsonSchema for Command {
    fn schema_name() -> Cow<'static, str> {
        "Command".into()
    }

    /// Both forms that a recipe may have.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A command line in shell quoting, or an array of its words; no shell runs it.",
            "anyOf": [
                { "type": "string" },
                { "type": "array", "items": { "type": "string" } },
            ],
        })
    }
}

impl Serialize for Command {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Command {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a command line, or an array of words")]
        enum Either {
            Line(String),
            Words(Vec<String>),
        }
        match Either::deserialize(deserializer)? {
            Either::Line(line) => line.parse().map_err(serde::de::Error::custom),
            Either::Words(words) => Ok(Self(words)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> BTreeMap<&'static str, String> {
        BTreeMap::from([("port", "4242".to_string()), ("cpus", "0-1".to_string())])
    }

    fn filled(line: &str) -> Result<Vec<String>, Fault> {
        line.parse::<Command>()?.fill(&values())
    }

    #[test]
    fn placeholders_are_filled_in_and_other_braces_stay() {
        assert_eq!(
            filled("srv -p{port} --on '{cpus} {port}'").unwrap(),
            ["srv", "-p4242", "--on", "0-1 4242"]
        );
        assert_eq!(
            filled(r#"x '{"a":{"b":1}}' '{ print $1 }' '{{port}}' '{}' '{'"#).unwrap()[1..],
            [r#"{"a":{"b":1}}"#, "{ print $1 }", "{port}", "{}", "{"]
        );
    }

    #[test]
    fn an_unknown_placeholder_and_an_open_quote_are_named() {
        let fault = filled("srv {prot}").unwrap_err().to_string();
        assert!(fault.contains("{prot}") && fault.contains("choose from {cpus} {port}"), "{fault}");
        assert!(filled("srv 'x").unwrap_err().to_string().contains("quote"));
        let check = |line: &str| line.parse::<Command>().unwrap().check("server", &["port"]);
        assert!(check("srv {cpu}").unwrap_err().to_string().contains("{cpu}"));
        assert!(check("").unwrap_err().to_string().contains("no command"));
        check("srv {port}").unwrap();
    }

    #[test]
    fn recipes_may_give_a_line_or_words() {
        let line: Command = serde_json::from_str(r#""a 'b c'""#).unwrap();
        let words: Command = serde_json::from_str(r#"["a", "b c"]"#).unwrap();
        assert_eq!(line, words);
        assert_eq!(serde_json::from_str::<Command>(&serde_json::to_string(&line).unwrap()).unwrap(), line);
        assert!(serde_json::from_str::<Command>("3").unwrap_err().to_string().contains("command line"));
        assert!(serde_json::from_str::<Command>(r#""a 'b""#).is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(line in ".{0,40}", braces in "[{}a-z]{0,20}") {
            let _ = filled(&line);
            let _ = filled(&braces);
        }
    }
}
