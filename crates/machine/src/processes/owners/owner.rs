//! An owner: a program that sets where things run, and its settings.

use serde::{Deserialize, Serialize};

use super::OwnerId;
use super::irqbalance::Irqbalance;
use crate::Root;

/// A program that sets where things run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Owner {
    /// Which program it is; `None` in a record that was written by a pinwise without ids.
    pub id: Option<OwnerId>,
    /// Name, as its project calls it.
    pub name: String,
    /// What it sets.
    pub sets: String,
    /// Its process, if it runs; `None` when it was not seen.
    pub pid: Option<u32>,
    /// What its configuration says that bears on placement, each with its file.
    ///
    /// Files say what the next start will take: a daemon that was not restarted since may hold something else.
    pub settings: Vec<OwnerSetting>,
    /// The same decoded, for irqbalance.
    pub irqbalance: Option<Irqbalance>,
}

/// One setting of an owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerSetting {
    /// The key, as the file has it.
    pub key: String,
    /// The value, as the file has it.
    pub value: String,
    /// The file.
    pub file: String,
}

/// A file of one line, where it is there.
pub(super) fn one_line(root: &Root, key: &str, file: &str) -> Option<OwnerSetting> {
    let value = root.line(file).ok().filter(|value| !value.is_empty())?;
    Some(OwnerSetting { key: key.into(), value, file: file.into() })
}
