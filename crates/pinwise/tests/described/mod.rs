//! What of a document its schema describes.

use std::collections::BTreeSet;

use serde_json::Value;

/// A document beside its schema.
pub struct Described<'a> {
    root: &'a Value,
    /// Keys and elements of the document that the schema says nothing of.
    pub undescribed: BTreeSet<String>,
}

impl<'a> Described<'a> {
    /// This document beside this schema.
    pub fn of(schema: &'a Value, document: &Value) -> Self {
        let mut described = Self { root: schema, undescribed: BTreeSet::new() };
        described.walk(vec![schema], document, "");
        described
    }

    /// The schemas with all that they refer to and consist of.
    fn expanded(&self, schemas: Vec<&'a Value>) -> Vec<&'a Value> {
        let (mut open, mut all) = (schemas, Vec::<&Value>::new());
        while let Some(schema) = open.pop() {
            if all.iter().any(|known| std::ptr::eq(*known, schema)) {
                continue;
            }
            all.push(schema);
            if let Some(name) = schema["$ref"].as_str() {
                open.push(self.root.pointer(name.trim_start_matches('#')).unwrap());
            }
            open.extend(["allOf", "anyOf"].iter().filter_map(|key| schema[*key].as_array()).flatten());
        }
        all
    }

    fn walk(&mut self, schemas: Vec<&'a Value>, value: &Value, at: &str) {
        let schemas = self.expanded(schemas);
        // Of a value of any form no part is described.
        if schemas.iter().any(|schema| is_of_any_form(schema)) {
            return;
        }
        match value {
            Value::Object(keys) => {
                for (key, below) in keys {
                    let named = schemas.iter().filter_map(|schema| schema["properties"].get(key));
                    let named: Vec<&'a Value> = named.collect();
                    let others = schemas.iter().filter_map(|schema| schema.get("additionalProperties"));
                    let found = if named.is_empty() { others.collect() } else { named };
                    self.below(found, below, format!("{at}/{key}"));
                }
            }
            Value::Array(elements) => {
                for (number, below) in elements.iter().enumerate() {
                    let all = schemas.iter().filter_map(|schema| schema.get("items"));
                    let placed = schemas.iter().filter_map(|schema| schema["prefixItems"].get(number));
                    self.below(all.chain(placed).collect(), below, format!("{at}/{number}"));
                }
            }
            _ => {}
        }
    }

    fn below(&mut self, schemas: Vec<&'a Value>, value: &Value, at: String) {
        if schemas.is_empty() {
            self.undescribed.insert(at);
        } else {
            self.walk(schemas, value, &at);
        }
    }
}

/// Whether a schema takes any value.
fn is_of_any_form(schema: &Value) -> bool {
    schema.as_object().is_some_and(|keys| keys.keys().all(|key| key == "description"))
}

/// Keys without a word of what they mean; those that have one value alone need none.
pub fn without_description(schema: &Value, at: &str, found: &mut Vec<String>) {
    match schema {
        Value::Object(keys) => {
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                if property.get("description").is_none() && property.get("const").is_none() {
                    found.push(format!("{at}/{name}"));
                }
            }
            keys.iter().for_each(|(key, below)| without_description(below, &format!("{at}/{key}"), found));
        }
        Value::Array(elements) => elements.iter().for_each(|below| without_description(below, at, found)),
        _ => {}
    }
}
