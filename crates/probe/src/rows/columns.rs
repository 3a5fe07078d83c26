//! The CPUs that the values of a row belong to.

use std::sync::Arc;

/// The CPUs of a row's values, shared between rows and frames.
#[derive(Debug, Clone)]
pub struct Columns(pub(super) Arc<[u32]>);

impl Columns {
    pub(crate) fn cpus(&self) -> &[u32] {
        &self.0
    }

    pub(crate) fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The column of rows that have no CPU.
pub(crate) const SYSTEM: u32 = u32::MAX;
