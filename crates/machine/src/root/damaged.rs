//! The fault for captures and archives that cannot be used as they are.

use crate::{Class, Fault};

/// A fault for a file of ours that cannot be taken.
pub(super) fn damaged(origin: &str, why: impl std::fmt::Display) -> Fault {
    Fault::new(Class::Storage, origin, why, "capture the machine again with `pinwise capture`")
}
