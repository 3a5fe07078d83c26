//! Facts that could not be had, kept beside those that could.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A fact that is not known, and why: absent file, refused permission, malformed text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Missing {
    /// The fact by name or path, for example `eth0 numa_node` or `/proc/schedstat`.
    pub fact: String,
    /// Why it is not known, with the remedy where there is one.
    pub why: String,
}

impl Missing {
    /// A missing fact with its reason.
    pub fn new(fact: impl fmt::Display, why: impl fmt::Display) -> Self {
        Self { fact: fact.to_string(), why: why.to_string() }
    }
}

/// Collects the missing facts while a machine or a sample is read.
#[derive(Debug, Default)]
pub struct Notes {
    in_order: Vec<Missing>,
    /// The same: a tree from elsewhere can have a million facts missing.
    known: BTreeSet<Missing>,
}

impl Notes {
    /// An empty collection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes that `fact` is missing.
    pub fn missing(&mut self, fact: impl fmt::Display, why: impl fmt::Display) {
        let missing = Missing::new(fact, why);
        if self.known.insert(missing.clone()) {
            self.in_order.push(missing);
        }
    }

    /// Turns a result into an option; an error becomes a missing `fact`.
    pub fn keep<T, E: fmt::Display>(&mut self, fact: impl fmt::Display, result: Result<T, E>) -> Option<T> {
        result.map_err(|why| self.missing(fact, why)).ok()
    }

    /// What was noted, in order.
    pub fn into_vec(self) -> Vec<Missing> {
        self.in_order
    }
}
