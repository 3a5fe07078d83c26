//! Answers in words, out of the typed fields of what a verb prints. No sentence of it is taken apart to make another one.

pub mod account;
pub mod case;
pub mod cases;
pub mod change;
pub mod comparison;
pub mod diagnosis;
pub mod explanation;
pub mod finding;
pub mod knobs;
pub mod map;
pub mod server;
pub mod status;

use machine::{Class, Fault, Outside};
use serde::Deserialize;
use serde_json::{Map, Value};

/// An answer in short.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// In words.
    pub words: String,
    /// The figures that matter most.
    pub summary: Value,
}

impl Said {
    /// Of these lines. A name in a line cannot make another one, and hides nothing.
    pub fn of(lines: Vec<String>, summary: Value) -> Self {
        let lines: Vec<String> = lines.iter().map(|line| Outside(line).to_string()).collect();
        Self { words: lines.join("\n"), summary }
    }
}

/// The fields of a document that words need.
///
/// # Errors
/// It does not have them.
pub fn fields<'a, T: Deserialize<'a>>(document: &'a Value, verb: &str) -> Result<T, Fault> {
    T::deserialize(document).map_err(|why| {
        let object = format!("what pinwise {verb} prints");
        Fault::new(Class::Storage, object, why, machine::IS_A_BUG)
    })
}

/// Those keys of a document that it has.
pub fn picked(document: &Value, keys: &[&str]) -> Value {
    let has = |key: &&str| Some(((*key).to_string(), document.get(*key)?.clone()));
    Value::Object(keys.iter().filter_map(has).collect::<Map<String, Value>>())
}

/// Those keys of each entry of a list.
pub fn picked_of_each(list: Option<&Value>, keys: &[&str]) -> Value {
    let entries = list.and_then(Value::as_array).into_iter().flatten();
    entries.map(|entry| picked(entry, keys)).collect()
}

/// How many entries a list has.
pub fn length(list: Option<&Value>) -> usize {
    list.and_then(Value::as_array).map_or(0, Vec::len)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_cannot_look_like_a_line() {
        let said = Said::of(vec!["nginx\nLimit: none".into(), "second".into()], Value::Null);
        assert_eq!(said.words, "nginx\\nLimit: none\nsecond");
    }

    #[test]
    fn keys_that_are_not_there_are_left_out() {
        let document = json!({"a": 1, "b": [{"c": 2, "d": 3}]});
        assert_eq!(picked(&document, &["a", "x"]), json!({"a": 1}));
        assert_eq!(picked_of_each(document.get("b"), &["c"]), json!([{"c": 2}]));
        assert_eq!((picked_of_each(None, &["c"]), length(document.get("b"))), (json!([]), 1));
    }

    #[test]
    fn a_document_without_its_fields_is_a_fault() {
        assert!(fields::<String>(&json!(5), "map").unwrap_err().object.contains("pinwise map"));
    }
}
