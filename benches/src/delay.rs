//! A program in the kernel that makes each timer interrupt longer by a known time: what a measurement of longer gaps has to show.

use std::io;

use aya::{Ebpf, include_bytes_aligned};

use crate::kernel_programs;

/// Its trace point (x86), and its name.
const HOOK: &str = "local_timer_entry";

/// It runs for as long as this lives.
pub struct Delay {
    _program: Ebpf,
}

impl Delay {
    /// Loads and attaches it: each timer interrupt of each CPU takes `delay_ns` longer, and what it takes to call the program and to
    /// look at the clock.
    ///
    /// # Errors
    /// When the kernel has no trace points with types (5.12 and later, with BTF) or none of the timer interrupt (it is x86's), or does
    /// not permit it (root).
    pub fn attach(delay_ns: u32) -> io::Result<Self> {
        let object = include_bytes_aligned!("../../crates/probe/bpf/delay.tp_btf.o");
        Ok(Self { _program: kernel_programs::attach(object, ("delay_ns", delay_ns), &[HOOK])? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_can_be_attached() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: needs root");
            return;
        }
        drop(Delay::attach(500).unwrap());
    }
}
