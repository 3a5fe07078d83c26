//! How a server is started: the table `[server]` of a recipe.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use change::MemoryLimit;
use machine::{Class, Fault, Scheduling};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::process::own_binary;
use crate::template::{self, Command};
use crate::workloads::string::server::ServerOptions;

/// What a server's command and environment may ask to have filled in.
pub const PLACEHOLDERS: [&str; 6] = ["address", "cpu", "cpus", "dir", "exe", "port"];

/// The folder that [`ServerSpec::prepare`] fills, as commands name it.
pub const DATA: &str = "data";

/// 16 TiB: more than there is, and far from where bytes no longer fit.
const MOST_MB: u64 = 1 << 24;

/// How a server is started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServerSpec {
    /// Command with the placeholders of [`PLACEHOLDERS`]; empty until somebody says which server it is.
    #[serde(skip_serializing_if = "Command::is_empty")]
    pub command: Command,
    /// A server that runs already, in the place of a command: a process number (with its descendants), a systemd unit, or a cgroup.
    /// It is neither started nor ended; in each trial its threads are placed, and put back after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<String>,
    /// A command that makes what all trials share, as a database that they only read: run once, before the first trial, in a folder of
    /// its own, which `{data}` names in this command, in `command` and in `env`. The folder goes when the study is over.
    #[serde(skip_serializing_if = "Command::is_empty")]
    pub prepare: Command,
    /// How long that may take, s.
    pub prepare_timeout_s: f64,
    /// Variables beside (or in place of) those of our own environment, with the placeholders of [`PLACEHOLDERS`].
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Folder to start in; none for ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// Network namespace (/run/netns/NAME) that it runs in; none for ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub netns: Option<String>,
    /// Whether server and load run in two network namespaces of the trial's own, which a pair of virtual Ethernet devices joins (veth):
    /// `pinwise-server` and `pinwise-load`, the device `veth0` in each. `address`, `netns` and the load's are then the pair's. Needs root
    /// and iproute2.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pair: bool,
    /// Whether a cpuset cgroup holds it to its CPUs too: for servers that set their own affinity.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub confine: bool,
    /// Most memory that it and all that it starts may have, MiB, by a cgroup of its own; none for no limit but ours. Needs root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit_mb: Option<u64>,
    /// Swap that it may use beyond that, MiB: an area of this size is made for the study, in a file, and switched on in each trial. 0: it may
    /// not swap, and is killed at its limit. None: the swap of the machine, as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap_mb: Option<u64>,
    /// Folder of that file; none for the case's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap_dir: Option<PathBuf>,
    /// Scheduling policy; none for ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<Scheduling>,
    /// Address that it listens on, as the load reaches it.
    pub address: IpAddr,
    /// TCP port that it listens on; none to choose a free one for each trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// How long it may take until it accepts a connection, s.
    pub ready_timeout_s: f64,
}

impl Default for ServerSpec {
    fn default() -> Self {
        Self {
            command: Command::default(),
            running: None,
            prepare: Command::default(),
            prepare_timeout_s: 600.0,
            env: BTreeMap::new(),
            cwd: None,
            netns: None,
            pair: false,
            confine: false,
            memory_limit_mb: None,
            swap_mb: None,
            swap_dir: None,
            scheduling: None,
            address: IpAddr::from([127, 0, 0, 1]),
            port: None,
            ready_timeout_s: 10.0,
        }
    }
}

impl ServerSpec {
    /// The built-in string server with this much work a request (see [`crate::workloads::string::work::rounds_for`]), as the
    /// binary `exe` (none: the one that runs) serves it.
    pub fn built_in(exe: Option<&Path>, rounds: u64) -> Self {
        let default = Self::default();
        // The options' own flags, so that both sides agree; address and port are for the trial to fill in.
        let options = ServerOptions { address: default.address, port: 0, rounds };
        let mut words = vec![own_binary::exe(exe), "string-server".into()];
        words.extend(options.to_args());
        for (flag, placeholder) in [("--address", "{address}"), ("--port", "{port}")] {
            if let Some(at) = words.iter().position(|w| w == flag) {
                words[at + 1] = placeholder.into();
            }
        }
        Self { command: Command::new(words), ..default }
    }

    /// Whether it names no server: then the built-in one is meant.
    pub fn is_unnamed(&self) -> bool {
        self.command.is_empty() && self.running.is_none()
    }

    /// The same with these words in braces filled in, in commands and environment; every other placeholder stays as it is.
    pub fn with_variables(&self, variables: &BTreeMap<String, String>) -> Self {
        let env =
            self.env.iter().map(|(name, value)| (name.clone(), template::substituted(value, variables)));
        Self {
            command: self.command.with_variables(variables),
            prepare: self.prepare.with_variables(variables),
            env: env.collect(),
            ..self.clone()
        }
    }

    /// Fails when the spec makes no sense: no command, unknown placeholder, number out of range; what only a start can give, of a
    /// server that runs already.
    pub fn check(&self) -> Result<(), Fault> {
        match &self.running {
            Some(_) => self.check_running()?,
            None => self.check_started()?,
        }
        let wrong = |key: &str, cause: String, remedy: &str| {
            Err(Fault::new(Class::Usage, format!("server: {key}"), cause, remedy))
        };
        if self.pair && self.netns.is_some() {
            return wrong("netns", "with `pair` it is one of the pair".into(), "leave one of them out");
        }
        if self.port == Some(0) {
            return wrong("port", "0 is not a port".into(), "leave it out to have one chosen");
        }
        self.check_memory()?;
        for (key, most, value) in [
            ("ready_timeout_s", 3_600.0, self.ready_timeout_s),
            ("prepare_timeout_s", 86_400.0, self.prepare_timeout_s),
        ] {
            if !(value > 0.0 && value <= most) {
                return wrong(key, format!("{value} is out of range"), &format!("choose above 0, to {most}"));
            }
        }
        Ok(())
    }

    fn check_memory(&self) -> Result<(), Fault> {
        let wrong = |key: &str, cause: String, remedy: &str| {
            Err(Fault::new(Class::Usage, format!("server: {key}"), cause, remedy))
        };
        for (key, value, least) in
            [("memory_limit_mb", self.memory_limit_mb, 1), ("swap_mb", self.swap_mb, 0)]
        {
            if let Some(value) = value.filter(|value| !(least..=MOST_MB).contains(value)) {
                return wrong(
                    key,
                    format!("{value} is out of range"),
                    &format!("choose {least} to {MOST_MB} (MiB)"),
                );
            }
        }
        match (self.memory_limit_mb, self.swap_mb, &self.swap_dir) {
            (None, Some(_), _) => {
                let cause = "without a limit of its memory the server swaps only when the whole machine does";
                wrong("swap_mb", cause.into(), "set memory_limit_mb, or leave it out")
            }
            (_, None, Some(_)) => {
                wrong("swap_dir", "no swap area is asked for".into(), "set swap_mb, or leave it out")
            }
            _ => Ok(()),
        }
    }

    /// The limit of its memory, in bytes.
    pub(super) fn memory_limit(&self) -> Option<MemoryLimit> {
        let memory_bytes = self.memory_limit_mb? << 20;
        Some(MemoryLimit { memory_bytes, swap_bytes: self.swap_mb.map(|mb| mb << 20) })
    }

    fn check_started(&self) -> Result<(), Fault> {
        let mut known = PLACEHOLDERS.to_vec();
        if !self.prepare.is_empty() {
            known.push(DATA);
            self.prepare.check("server: prepare", &[DATA])?;
        }
        self.command.check("server: command", &known)?;
        let nothing = known.iter().map(|name| (*name, String::new())).collect();
        self.env.iter().try_for_each(|variable| filled(variable, &nothing).map(drop))
    }

    fn check_running(&self) -> Result<(), Fault> {
        let wrong = |key: &str, cause: &str, remedy: &str| {
            Err(Fault::new(Class::Usage, format!("server: {key}"), cause, remedy))
        };
        let at_start = [
            ("pair", self.pair),
            ("command", !self.command.is_empty()),
            ("prepare", !self.prepare.is_empty()),
            ("env", !self.env.is_empty()),
            ("cwd", self.cwd.is_some()),
            ("confine", self.confine),
            ("memory_limit_mb", self.memory_limit_mb.is_some()),
            ("scheduling", self.scheduling.is_some()),
        ];
        if let Some((key, _)) = at_start.iter().find(|(_, given)| *given) {
            return wrong(
                key,
                "a server that runs already is not started",
                "leave it out, or leave running out",
            );
        }
        match self.port {
            None => wrong("port", "it is not known where the running server listens", "name it (ss -ltnp)"),
            Some(_) => Ok(()),
        }
    }
}

/// A variable with every placeholder filled in. A fault does not quote its value, which may be a secret.
pub(super) fn filled(
    (name, value): (&String, &String),
    values: &BTreeMap<&str, String>,
) -> Result<(String, String), Fault> {
    let unknown = |_| {
        let known: Vec<String> = values.keys().map(|known| format!("{{{known}}}")).collect();
        let remedy =
            format!("choose from {}, or write {{{{word}}}} for the text {{word}} itself", known.join(" "));
        let cause = "a word in braces in its value is no placeholder";
        Fault::new(Class::Usage, format!("server: env.{name}"), cause, remedy)
    };
    Ok((name.clone(), template::fill(value, values).map_err(unknown)?))
}
