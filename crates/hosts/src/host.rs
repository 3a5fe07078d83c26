//! A host that takes part in a study, as a recipe or an inventory describes it.

use std::collections::BTreeSet;

use machine::{Class, Fault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a host does in a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It drives the load, or a part of it.
    #[default]
    Load,
    /// It runs the server.
    Server,
}

/// How a host is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// By ssh(1), with the user's own configuration, keys and jump hosts.
    #[default]
    Ssh,
    /// By srun(1), as a node of the Slurm allocation that the study runs in.
    Srun,
    /// It is this host: the agent is a child of the study.
    Local,
}

/// A host that takes part in a study: a table of `[[hosts]]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostSpec {
    /// Its name in tables and figures, and, where `ssh` does not say otherwise, what ssh or srun is given.
    pub name: String,
    /// What it does.
    pub role: Role,
    /// How it is reached.
    pub via: Via,
    /// Destination as ssh takes it (`[user@]host`, or a name of ~/.ssh/config); none: `name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh: Option<String>,
    /// Further arguments of ssh, before the destination: `["-p", "2222"]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ssh_options: Vec<String>,
    /// Network namespace (/run/netns/NAME) that the agent runs in, of a host that is this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub netns: Option<String>,
    /// Processes of the load on this host. Each has the connections that the recipe gives the load; an open loop's rate is shared by all.
    pub processes: u32,
    /// CPUs that these processes may use, in the words of docs/cpus.md, by the map of that host; none: wherever its scheduler puts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<String>,
    /// Folder of that host that takes pinwise's binary; none: `.cache/pinwise` in the home of the user there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

/// Most processes of a load on one host.
const MOST_PROCESSES: u32 = 256;

impl Default for HostSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            role: Role::Load,
            via: Via::Ssh,
            ssh: None,
            ssh_options: Vec::new(),
            netns: None,
            processes: 1,
            cpus: None,
            folder: None,
        }
    }
}

impl HostSpec {
    /// A host of this name that drives load and is reached by ssh.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// What ssh is given as its destination.
    pub fn destination(&self) -> &str {
        self.ssh.as_deref().unwrap_or(&self.name)
    }

    /// # Errors
    /// The name is empty or could be taken for an option, a number is out of range, or a key does not fit how the host is reached; the
    /// fault names host and key.
    pub fn check(&self) -> Result<(), Fault> {
        let wrong = |key: &str, cause: &str, remedy: &str| {
            Err(Fault::new(Class::Usage, format!("host {}: {key}", self.name), cause, remedy))
        };
        let is_option = |text: &str| text.starts_with('-');
        if self.name.trim().is_empty() || is_option(&self.name) {
            return wrong("name", "is empty or begins with -", "give the host a name");
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._@:-".contains(c);
        if !self.name.chars().all(is_plain) || self.name.contains("..") || self.name.len() > 255 {
            return wrong(
                "name",
                "has characters that no host name has",
                "use letters, digits and . _ @ : -",
            );
        }
        if is_option(self.destination()) || self.destination().trim().is_empty() {
            return wrong("ssh", "is empty or begins with -", "give [user@]host, and options in ssh_options");
        }
        if !(1..=MOST_PROCESSES).contains(&self.processes) {
            return wrong("processes", "is out of range", "choose 1 to 256");
        }
        if self.netns.is_some() && self.via != Via::Local {
            return wrong("netns", "is of another host", "leave it out, or say via = \"local\"");
        }
        if self.via != Via::Ssh && (self.ssh.is_some() || !self.ssh_options.is_empty()) {
            return wrong("ssh", "the host is not reached by ssh", "leave it out, or say via = \"ssh\"");
        }
        Ok(())
    }
}

/// Fails when a host makes no sense or two have the same name.
pub fn check_all(hosts: &[HostSpec]) -> Result<(), Fault> {
    let mut names = BTreeSet::new();
    for host in hosts {
        host.check()?;
        if !names.insert(&host.name) {
            let remedy = "give each host once; several processes on it are its key processes";
            return Err(Fault::new(Class::Usage, format!("host {}", host.name), "is given twice", remedy));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_refused_by_host_and_key() {
        let named = |name: &str| HostSpec::named(name);
        named("b").check().unwrap();
        let why = |host: HostSpec| host.check().unwrap_err().to_string();
        assert!(why(named("-oProxyCommand=x")).contains("name"));
        assert!(why(named("../b")).contains("name") && why(named("b\nc")).contains("name"));
        assert!(why(HostSpec { ssh: Some("-x".into()), ..named("b") }).contains("host b: ssh"));
        assert!(why(HostSpec { processes: 0, ..named("b") }).contains("processes"));
        assert!(why(HostSpec { netns: Some("n".into()), ..named("b") }).contains("netns"));
        assert!(why(HostSpec { via: Via::Local, ssh: Some("c".into()), ..named("b") }).contains("ssh"));
        assert!(check_all(&[named("b"), named("b")]).unwrap_err().to_string().contains("twice"));
    }
}
