//! A thread on one CPU.

use std::io;

use rustix::thread::{sched_getaffinity, sched_setaffinity};

/// This thread is kept on a CPU while this lives.
pub struct Pinned(rustix::thread::CpuSet);

impl Pinned {
    /// Keeps this thread on a CPU; on the first where none is given.
    pub fn to(cpu: Option<u32>) -> io::Result<Self> {
        let before = sched_getaffinity(None)?;
        let mut one = rustix::thread::CpuSet::new();
        one.set(cpu.unwrap_or(0) as usize);
        sched_setaffinity(None, &one)?;
        Ok(Self(before))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = sched_setaffinity(None, &self.0);
    }
}
