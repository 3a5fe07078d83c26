//! Programs in the kernel that do nothing, or look at the clock and do no more, at the trace points where those of watch meet each task:
//! what they cost hardly a tracer of switches and wake-ups can do without.

use std::io;

use aya::{Ebpf, include_bytes_aligned};

use crate::kernel_programs;

/// Their trace points, and their names.
const HOOKS: [&str; 2] = ["sched_switch", "sched_wakeup"];

/// They run for as long as this lives.
pub struct Nothing {
    _programs: Ebpf,
}

impl Nothing {
    /// Loads and attaches them; `reads_clock`: each looks at the clock, else they do nothing at all.
    ///
    /// # Errors
    /// When the kernel has no trace points with types (5.12 and later, with BTF), or does not permit it (root).
    pub fn attach(reads_clock: bool) -> io::Result<Self> {
        let object = include_bytes_aligned!("../../crates/probe/bpf/nothing.tp_btf.o");
        let constant = ("reads_clock", u32::from(reads_clock));
        Ok(Self { _programs: kernel_programs::attach(object, constant, &HOOKS)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_can_be_attached() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: needs root");
            return;
        }
        for reads_clock in [false, true] {
            Nothing::attach(reads_clock).unwrap();
        }
    }
}
