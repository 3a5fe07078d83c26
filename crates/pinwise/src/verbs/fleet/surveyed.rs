//! The hosts that a verb works on, and what they are.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use advise::environment::Captured;
use advise::fleet::Fleet;
use clap::ArgGroup;
use hosts::{HostSpec, inventory, survey};
use machine::Fault;
use report::fleet::NotRead;

use super::gathered::Gathered;
use super::reached;

// Flags that name the hosts.
#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("named").required(true).multiple(true).args(["hosts", "host"])))]
pub(super) struct HostFlags {
    /// File of hosts: TOML, or an Ansible inventory in INI format (docs/hosts.md)
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// The same hosts by name, as ssh takes them: load=web1,web2; the role makes no difference
    #[arg(long, value_name = "ROLE=HOST,...")]
    host: Vec<String>,
}

/// All hosts that were named, and their shapes.
pub(super) struct Surveyed {
    /// In the order in which they were named.
    pub(super) specs: Vec<HostSpec>,
    /// Those that were read.
    pub(super) fleet: Fleet,
    /// The others.
    pub(super) not_read: Vec<NotRead>,
}

impl Surveyed {
    /// The host of this name.
    pub(super) fn spec(&self, name: &str) -> Option<&HostSpec> {
        self.specs.iter().find(|spec| spec.name == name)
    }
}

/// Captures all hosts and groups them by their shapes; `beside` is a machine that is grouped with them under a name that no host has.
///
/// # Errors
/// The hosts make no sense, none of them can be read, or a signal stopped it.
pub(super) fn survey(
    flags: &HostFlags,
    beside: Option<(&str, Captured)>,
    interrupted: &AtomicBool,
) -> Result<Surveyed, Fault> {
    let specs = inventory::given(flags.hosts.as_deref(), &flags.host)?;
    let gathered = Gathered::begin(specs.len());
    if let Some((name, host)) = beside {
        gathered.take(name, Ok(host));
    }
    reached::read_all(&specs, None, survey::AT_A_TIME, interrupted, &gathered)?;
    let (fleet, not_read) = gathered.finish()?;
    Ok(Surveyed { specs, fleet, not_read })
}
