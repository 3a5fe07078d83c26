//! What the machine or its hypervisor does to the server's CPUs.

pub mod clock;
pub mod idle_exit;
pub mod smt_sibling;
pub mod steal;

use super::Rule;

/// All of this field.
pub static ALL: &[&dyn Rule] =
    &[&steal::Steal, &idle_exit::IdleExit, &smt_sibling::SmtSibling, &clock::Clock];
