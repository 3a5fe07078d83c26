//! The trait behind which every load stands.

use change::Hand;
use machine::{Fault, Missing, OwnFolder, Placement};

use super::about::About;
use crate::process::running::Running;
use crate::server::Server;

/// A load with its options.
pub trait Workload {
    /// What it is.
    fn about(&self) -> &'static About;

    /// Fails, naming the option, when its options make no sense; starts nothing.
    fn check(&self) -> Result<(), Fault>;

    /// What it needs that this machine does not have: programs, network namespaces.
    fn needs(&self) -> Vec<Missing>;

    /// Starts it against `server` on `placement.load_cpus`; `dir` takes its log.
    fn start(
        &self,
        server: &Server,
        placement: &Placement,
        hand: &mut Hand,
        dir: &OwnFolder,
    ) -> Result<Running, Fault>;
}
