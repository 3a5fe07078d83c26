//! Where a recipe puts things, in words that fit machines of every size.

use std::collections::BTreeMap;

use machine::Setting;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::neighbour::NeighbourSpec;

/// What a level of a factor, the baseline or the mis-tuning says; what it does not say stays as the baseline has it, and what
/// that does not say either is left to the kernel.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Place {
    /// Name in tables; without one it is made from what follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// CPUs of the server, in the words of docs/cpus.md: `0-3`, `node:1`, `l3:0 & smt:0`, `!node:0`, `all,!siblings`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// CPUs of the load, likewise; without it, and with `server`: those that the server leaves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<String>,
    /// Where the server's memory comes from, as numactl(8) would have it: `bind:0`, `interleave:0-3`, `preferred:1`, `local`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// Keys of the recipe and their values here: `load.connections`, `server.env.GOMAXPROCS`, `variables.threads`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub keys: BTreeMap<String, toml::Value>,
    /// Knobs that are set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
    /// CPUs that the kernel's own work is moved to, in the same words: unbound workqueues, writeback, interrupts, its movable threads,
    /// its watchdogs; statistics are then summed up every two minutes only. What the kernel does not let move stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub housekeeping: Option<String>,
    /// Words on the kernel's command line: its trials run under kernels that were booted with them (docs/boot.md).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// What runs beside the server here, besides the neighbours that the recipe has everywhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub neighbours: Vec<NeighbourSpec>,
}

impl Place {
    /// Whether it says nothing at all, not even a name.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Its name, or one made from what it says.
    pub fn title(&self) -> String {
        if let Some(name) = &self.name {
            return name.clone();
        }
        let mut words = Vec::new();
        words.extend(self.server.as_ref().map(|cpus| format!("server {cpus}")));
        words.extend(self.load.as_ref().map(|cpus| format!("load {cpus}")));
        words.extend(self.memory.as_ref().map(|policy| format!("memory {policy}")));
        words.extend(self.keys.iter().map(|(key, value)| key_title(key, value)));
        words.extend(self.settings.iter().map(|s| setting_title(&s.knob, &s.target, &s.value)));
        words.extend(self.housekeeping.as_ref().map(|cpus| format!("housekeeping on {cpus}")));
        words.extend(self.boot.as_ref().map(|words| boot_title(words)));
        words.extend(self.neighbours.iter().map(|n| format!("beside {} on {}", n.command, n.cpus)));
        if words.is_empty() { "as found".into() } else { words.join(", ") }
    }
}

/// `booted with nosmt`, or that nothing is added.
pub fn boot_title(words: &str) -> String {
    match words.trim() {
        "" => "as it boots".into(),
        words => format!("booted with {words}"),
    }
}

/// `connections 16`: the last word of a key and its value.
pub fn key_title(key: &str, value: &toml::Value) -> String {
    let word = key.rsplit('.').next().unwrap_or(key);
    match value {
        toml::Value::String(text) => format!("{word} {text}"),
        other => format!("{word} {other}"),
    }
}

/// `rps-cpus of eth0/rx-0 3`, without the target where there is only one.
pub fn setting_title(knob: &str, target: &str, value: &str) -> String {
    match target {
        machine::plan::MACHINE | machine::plan::SERVER => format!("{knob} {value}"),
        _ => format!("{knob} of {target} {value}"),
    }
}
