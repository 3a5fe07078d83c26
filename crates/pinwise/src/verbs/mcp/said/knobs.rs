//! The settings that pinwise knows, in words.

use machine::Fault;
use report::number;
use serde::Deserialize;
use serde_json::Value;

use super::{Said, fields, picked_of_each};

#[derive(Debug, Deserialize)]
struct Knob {
    id: String,
}

/// The list.
pub fn of(document: &Value) -> Result<Said, Fault> {
    let knobs: Vec<Knob> = fields(document, "list knobs")?;
    let ids: Vec<&str> = knobs.iter().map(|knob| knob.id.as_str()).collect();
    let lines = vec![format!("{}: {}.", number::counted(knobs.len(), "setting"), ids.join(", "))];
    let summary = picked_of_each(Some(document), &["id", "title", "unit", "scope", "risk"]);
    Ok(Said::of(lines, summary))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_are_listed_by_id() {
        let said =
            of(&json!([{"id": "governor", "title": "x", "docs": "y"}, {"id": "irq-affinity", "title": "z"}]))
                .unwrap();
        assert_eq!(said.words, "2 settings: governor, irq-affinity.");
        assert_eq!(said.summary[0], json!({"id": "governor", "title": "x"}));
    }
}
