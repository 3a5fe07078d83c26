//! The trait of a load that pinwise drives itself.

use std::net::SocketAddr;

use machine::{Act, Fault, Missing, OwnFolder, Placement};

use super::about::About;
use super::spec::LoadSpec;
use crate::drive::{Course, Document, Keys};
use crate::outcome::Outcome;
use crate::server::Server;

/// What [`Driven::afterwards`] gives.
pub type Afterwards = Box<dyn FnOnce(Outcome) -> Result<Outcome, Fault> + Send>;

/// A load that pinwise drives itself, by the engine or in a way of its own.
pub trait Driven: Keys {
    /// What it is.
    fn about(&self) -> &'static About;

    /// Fails, naming the option, when its options make no sense.
    fn check(&self) -> Result<(), Fault>;

    /// The load as a recipe writes it.
    fn spec(&self) -> LoadSpec;

    /// The load as its process is started with it, against the server of a trial.
    fn spec_for(&self, server: &Server) -> LoadSpec {
        let _ = server;
        self.spec()
    }

    /// What it needs, beside its network namespace, that this machine does not have.
    fn missing(&self) -> Vec<Missing> {
        Vec::new()
    }

    /// What is to be done to the machine before it starts; taken back with the trial.
    ///
    /// Fails when `placement` cannot be had.
    fn acts(&self, placement: &Placement) -> Result<Vec<Act>, Fault> {
        let _ = placement;
        Ok(Vec::new())
    }

    /// What is done with the outcome of a trial once the load has ended; `dir` is the trial's folder.
    fn afterwards(&self, dir: OwnFolder) -> Afterwards {
        let _ = dir;
        Box::new(Ok)
    }

    /// How many conversations with the server it opens before its first request: connections, and channels in them.
    fn conversations(&self) -> u64 {
        u64::from(self.pace().connections)
    }

    /// Drives `server` to the end of the load, or until it is stopped.
    ///
    /// Fails only when it cannot begin (senseless options, no descriptors). What happens with the server is reported in the document.
    fn drive(&self, server: SocketAddr, course: Course<'_>) -> Result<Document, Fault>;
}
