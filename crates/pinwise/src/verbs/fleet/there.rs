//! Verbs of pinwise on other hosts. Each has a connection of its own, so that none has to be kept while hosts settle, and a host that was
//! lost is reached anew.

use std::path::PathBuf;

use hosts::transport::Transport;
use hosts::{Connection, HostSpec, RemoteEnd, RemoteVerb, Verb};
use machine::{Class, Fault};

use crate::run_case::own_binary;

/// Runs verbs on hosts.
pub(super) struct There {
    exe: PathBuf,
    transport: Transport,
}

/// Why a verb has no end that is known.
pub(super) enum NotRun {
    /// The host could not be reached: nothing was begun.
    NotBegun(Fault),
    /// The host was lost or refused, and how far the verb came is not known.
    Lost(Fault),
}

impl NotRun {
    /// Why.
    pub(super) fn fault(self) -> Fault {
        match self {
            Self::NotBegun(fault) | Self::Lost(fault) => fault,
        }
    }
}

/// A verb that has ended.
pub(super) struct Ran {
    /// To fetch what it has left.
    pub(super) connection: Connection,
    /// What came of it.
    pub(super) end: RemoteEnd,
    verb: Verb,
    /// The last line on its standard error.
    said: String,
}

impl There {
    /// # Errors
    /// No temporary folder can be made.
    pub(super) fn new() -> Result<Self, Fault> {
        Ok(Self { exe: own_binary()?, transport: Transport::new()? })
    }

    /// Runs a verb on a host to its end. When `interrupted` says so the verb is asked to end, and takes back what it changed.
    ///
    /// # Errors
    /// The host cannot be reached, or is lost.
    pub(super) fn run(
        &self,
        host: &HostSpec,
        verb: &RemoteVerb,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Ran, NotRun> {
        let mut connection = Connection::open(host, &self.exe, &self.transport).map_err(NotRun::NotBegun)?;
        let mut said = String::new();
        let mut keep = |line: &str| {
            if !line.trim().is_empty() {
                said = line.trim().to_string();
            }
        };
        let end = connection.run_verb(verb, &mut keep, interrupted).map_err(NotRun::Lost)?;
        Ok(Ran { connection, end, verb: verb.verb, said })
    }
}

impl Ran {
    /// That it did not succeed, in the words of its own last line.
    pub(super) fn failed(&self) -> Fault {
        let exit_code = self.end.exit_code;
        let class = Class::of_exit_code(exit_code).unwrap_or(Class::WorkloadFailed);
        let object = format!("host {}: pinwise {}", self.connection.host().name, self.verb.word());
        let cause = match self.said.as_str() {
            "" => format!("ended with exit code {exit_code}"),
            said => format!("ended with exit code {exit_code}: {said}"),
        };
        Fault::new(class, object, cause, "see 'pinwise status' on that host")
    }

    /// Removes its folder there. One that stays does no harm.
    pub(super) fn tidy(mut self) {
        let folder = self.end.folder.clone();
        let _ = self.connection.remove_folder(&folder);
    }
}
