//! BOOTS: guests under QEMU's software emulation in the shape of a machine, for tests and for trying what needs a reboot.
//!
//! What a guest shows is real in *function* (which CPU gets which interrupt, whether the tick stops, whether the kernel
//! takes a mask) and not in *timing*: nothing that is measured in one may be said of a machine's speed.
//!
//! [`Shape`] says what the machine is like, [`Layout`] where each of its CPUs sits in QEMU, [`Kernel`] what is booted,
//! [`Guest`] puts them together and runs a command inside.

#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "what is said goes through one place of the binary"
)]

pub mod acpi;
pub mod cache;
mod emulation;
pub mod guest;
pub mod kernel;
pub mod layout;
mod os;
pub mod plan;
pub mod qemu;
pub mod shape;
pub mod userland;

pub use emulation::Emulation;
pub use guest::{Guest, Outcome};
pub use kernel::Kernel;
pub use layout::Layout;
pub use shape::Shape;
pub use userland::Userland;
