//! Numbers for rows: a row is its probe, name and label.

use std::collections::HashMap;

use super::{Kind, Row};

/// What a row is, kept for as long as the recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub probe: &'static str,
    pub name: String,
    pub label: String,
    pub unit: &'static str,
    pub kind: Kind,
}

impl Head {
    /// `probe/name`, as in `Observation::still`.
    pub fn key(&self) -> String {
        format!("{}/{}", self.probe, self.name)
    }
}

#[derive(Default)]
pub(crate) struct Registry {
    heads: Vec<Head>,
    index: HashMap<(&'static str, String, String), u32>,
}

impl Registry {
    /// The row's number, a new one if it was never seen.
    pub fn id(&mut self, probe: &'static str, row: Row<'_>) -> u32 {
        let key = (probe, row.name.to_string(), row.label.to_string());
        *self.index.entry(key).or_insert_with_key(|(probe, name, label)| {
            let (name, label) = (name.clone(), label.clone());
            self.heads.push(Head { probe, name, label, unit: row.unit, kind: row.kind });
            self.heads.len() as u32 - 1
        })
    }

    /// Whether `id` is this row.
    pub fn is(&self, id: u32, probe: &'static str, row: &Row<'_>) -> bool {
        self.head(id)
            .is_some_and(|head| head.probe == probe && head.name == row.name && head.label == row.label)
    }

    pub fn head(&self, id: u32) -> Option<&Head> {
        self.heads.get(id as usize)
    }

    pub fn into_heads(self) -> Vec<Head> {
        self.heads
    }
}
