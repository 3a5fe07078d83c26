//! How much of a thread's time is system calls.
//!
//! What getrusage(2) says of it is scaled from where the ticks of the kernel hit: of work that takes a ms ten times a second these are
//! a few dozen, and all that the thread did before counts as well.

use std::io;

use aya::maps::Array;
use aya::{Ebpf, include_bytes_aligned};
use rustix::thread::gettid;

use crate::kernel_programs;

/// `struct inside` of syscalls.bpf.c.
#[derive(Clone, Copy)]
#[repr(C)]
struct Inside {
    entered_ns: u64,
    total_ns: u64,
}

// SAFETY: repr(C), integers only, no padding.
unsafe impl aya::Pod for Inside {}

/// How often it is tried what asking takes.
const ASKED: usize = 20;

/// Counts the calls of the thread that began it, for as long as it lives.
pub struct SystemTime {
    programs: Ebpf,
    /// What asking takes of the time between two answers.
    asking_ns: u64,
}

impl SystemTime {
    /// Begins.
    ///
    /// # Errors
    /// When the kernel has no such trace points with types (5.12 and later, with BTF), or does not permit it (root).
    pub fn of_this_thread() -> io::Result<Self> {
        let object = include_bytes_aligned!("../../crates/probe/bpf/syscalls.tp_btf.o");
        let measured = gettid().as_raw_nonzero().get() as u32;
        let programs = kernel_programs::attach(object, ("measured", measured), &["sys_enter", "sys_exit"])?;
        let mut system = Self { programs, asking_ns: 0 };
        let asking = (0..ASKED).map(|_| system.so_far_ns().and_then(|before_ns| system.since_ns(before_ns)));
        system.asking_ns = asking.collect::<io::Result<Vec<_>>>()?.into_iter().min().unwrap_or(0);
        Ok(system)
    }

    /// Time in system calls since the previous reading, ns, without those of reading it.
    ///
    /// # Errors
    /// As of [`Self::so_far_ns`].
    pub fn since_ns(&self, before_ns: u64) -> io::Result<u64> {
        Ok((self.so_far_ns()? - before_ns).saturating_sub(self.asking_ns))
    }

    /// Time in calls that have ended, ns, on the clock: a thread that waits in one counts as well.
    ///
    /// # Errors
    /// When the table cannot be read, or nothing is in it although the asking is a call: in a PID namespace of its own this thread has
    /// another number than the kernel's.
    pub fn so_far_ns(&self) -> io::Result<u64> {
        let table = self.programs.map("inside").ok_or_else(|| io::Error::other("no table inside"))?;
        let table: Array<_, Inside> = Array::try_from(table).map_err(io::Error::other)?;
        // The first look is a call, the second sees it.
        table.get(&0, 0).map_err(io::Error::other)?;
        match table.get(&0, 0).map_err(io::Error::other)?.total_ns {
            0 => {
                Err(io::Error::other("no system call of this thread was seen (a PID namespace of its own?)"))
            }
            total_ns => Ok(total_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_call_that_takes_long_is_seen_and_work_outside_of_any_is_not() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: needs root");
            return;
        }
        let system = SystemTime::of_this_thread().unwrap();
        let before_ns = system.so_far_ns().unwrap();
        std::thread::sleep(Duration::from_millis(20));
        let slept_ns = system.so_far_ns().unwrap() - before_ns;
        assert!(slept_ns >= 20_000_000, "{slept_ns}");
        // Others' calls are not counted.
        std::thread::spawn(|| std::thread::sleep(Duration::from_millis(400))).join().unwrap();
        let before_ns = system.so_far_ns().unwrap();
        let other = std::thread::spawn(|| std::thread::sleep(Duration::from_millis(400)));
        while !other.is_finished() {
            std::hint::spin_loop();
        }
        let meanwhile_ns = system.so_far_ns().unwrap() - before_ns;
        assert!(meanwhile_ns < 400_000_000, "{meanwhile_ns}");
    }
}
