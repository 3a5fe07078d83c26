//! What a factor says of itself, whatever its kind.

use machine::{CpuSet, Fault, Machine};

use crate::levels::Level;

/// A kind of factor, with its options.
pub(super) trait FactorKind {
    /// Name in tables.
    fn name(&self) -> String;

    /// How many levels it names, or objects of them; 0 where the machine says them.
    fn named_levels(&self) -> usize;

    /// Its levels on this machine. `load` is what the recipe's baseline gives the load, which a server that grows keeps off.
    ///
    /// # Errors
    /// A level that this machine cannot have.
    fn levels(&self, machine: &Machine, load: Option<&CpuSet>) -> Result<Vec<Level>, Fault>;

    /// Holds levels, each of which has a name of its own, to differing in what they do.
    ///
    /// # Errors
    /// Two that are one.
    fn check_levels(&self, _levels: &[Level]) -> Result<(), Fault> {
        Ok(())
    }
}
