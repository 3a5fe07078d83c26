//! What a measurement asks of its caller.

use machine::Fault;

/// What the caller does for a measurement: this crate sets nothing.
pub trait Surroundings: Sync {
    /// Confines the calling thread to a CPU.
    ///
    /// # Errors
    /// It may not run there.
    fn enter(&self, cpu: u32) -> Result<(), Fault>;

    /// So much of `what` is done, 0 to 1.
    fn passes(&self, what: &str, done: f64);
}
