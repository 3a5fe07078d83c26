//! contrib/grafana/pinwise.json asks for metrics that there are.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use super::families;

/// The dashboard.
fn dashboard() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/grafana/pinwise.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// All expressions below.
fn expressions(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(text) if key == "expr" => found.push(text.clone()),
                    _ => expressions(value, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| expressions(value, found)),
        _ => {}
    }
}

/// The names of ours in a text.
fn names(text: &str) -> Vec<&str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("pinwise_")).collect()
}

#[test]
fn every_expression_is_of_metrics_that_there_are() {
    let there_are: BTreeSet<String> = families::ALL
        .iter()
        .flat_map(|family| family.kind.endings().iter().map(|ending| format!("{}{ending}", family.name)))
        .collect();
    let mut all = Vec::new();
    expressions(&dashboard(), &mut all);
    assert!(all.len() >= 8, "{all:#?}");
    for expression in &all {
        assert!(!names(expression).is_empty(), "{expression}");
        for name in names(expression) {
            assert!(there_are.contains(name), "{name} in {expression}");
        }
    }
}

#[test]
fn it_lets_the_source_of_its_data_be_chosen() {
    let dashboard = dashboard();
    assert_eq!(dashboard["schemaVersion"], 39);
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    assert!(
        variables
            .iter()
            .any(|variable| variable["type"] == "datasource" && variable["query"] == "prometheus")
    );
    let panels = dashboard["panels"].as_array().unwrap();
    let mut ids = BTreeSet::new();
    for panel in panels {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{panel}");
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{panel}");
    }
}
