//! Programs in the kernel that do nothing, or look at the clock and do no more, at the trace points where those of watch meet each task,
//! each tick, or what is sent and received: what they cost hardly a tracer of the same can do without.

use std::io;

use aya::{Ebpf, include_bytes_aligned};

use crate::kernel_programs;

/// Where they are: the trace points, and the names of the programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Met {
    /// Each switch and each wake-up of a task.
    Tasks,
    /// Each tick: the interrupt of a CPU's own timer (x86), and the kernel's timer that expires in it.
    Ticks,
    /// Whatever is sent and received through sockets (6.3 and later), and what becomes of TCP connections.
    Sockets,
}

impl Met {
    fn hooks(self) -> &'static [&'static str] {
        match self {
            Met::Tasks => &["sched_switch", "sched_wakeup"],
            Met::Ticks => {
                &["local_timer_entry", "local_timer_exit", "hrtimer_expire_entry", "hrtimer_expire_exit"]
            }
            Met::Sockets => &["inet_sock_set_state", "sk_data_ready", "sock_recv_length", "sock_send_length"],
        }
    }
}

/// They run for as long as this lives.
pub struct Nothing {
    _programs: Ebpf,
}

impl Nothing {
    /// Loads and attaches them; `reads_clock`: each looks at the clock, else they do nothing at all.
    ///
    /// # Errors
    /// When the kernel has no trace points with types (5.12 and later, with BTF), is missing one of these, or does not permit it (root).
    pub fn attach(met: Met, reads_clock: bool) -> io::Result<Self> {
        let object = include_bytes_aligned!("../../crates/probe/bpf/nothing.tp_btf.o");
        let constant = ("reads_clock", u32::from(reads_clock));
        Ok(Self { _programs: kernel_programs::attach(object, constant, met.hooks())? })
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
        for met in [Met::Tasks, Met::Ticks, Met::Sockets] {
            for reads_clock in [false, true] {
                Nothing::attach(met, reads_clock).unwrap();
            }
        }
    }
}
