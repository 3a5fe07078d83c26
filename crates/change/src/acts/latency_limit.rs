//! A limit on the exit latency of idle CPUs, which a process of ours holds.

use std::io;

use machine::Act;
use machine::power::NO_LATENCY_LIMIT_US;

use super::operation::refusal::{Refusal, is_missing};
use super::{Operation, TakenBack, launch};
use crate::kernel::Kernel;
use crate::record::{How, Value};
use crate::subject::Scope;

/// Holds a limit; [`Hand`](crate::Hand) starts the process that does.
pub struct LatencyLimit {
    pub limit_us: u32,
}

impl Operation for LatencyLimit {
    fn scope(&self) -> Scope<'_> {
        Scope::Processes
    }

    fn is_about_same(&self, other: &Act) -> bool {
        matches!(other, Act::HoldLatency { .. })
    }

    /// Each holder is a request of its own.
    fn is_held_by(&self, _later: &Act) -> bool {
        false
    }

    fn read(&self, kernel: &dyn Kernel) -> io::Result<Value> {
        Ok(Value::LatencyLimit(kernel.cpu_latency_us()?))
    }

    fn is_read_again(&self) -> bool {
        false
    }

    fn take_back(&self, kernel: &dyn Kernel, of: &TakenBack, force: bool) -> Option<How> {
        let how = launch::end(kernel, of.entry, of.marker, force);
        // Nobody else waits for a holder.
        if let (How::Restored, Some(holder)) = (&how, of.entry.started) {
            kernel.reap(holder.pid);
        }
        Some(how)
    }

    /// Somebody else may ask for less.
    fn took_effect(&self, now: &Value) -> bool {
        matches!(now, Value::LatencyLimit(us) if *us <= self.limit_us)
    }

    fn typed(&self, value: Value) -> Value {
        match &value {
            Value::Text(text) if text == "unlimited" => Value::LatencyLimit(NO_LATENCY_LIMIT_US),
            Value::Text(text) => {
                let us = text.strip_suffix(" us").and_then(|us| us.parse().ok());
                us.map_or(value, Value::LatencyLimit)
            }
            _ => value,
        }
    }

    fn object(&self) -> String {
        "exit latency of idle CPUs".into()
    }

    fn asked(&self) -> String {
        Value::LatencyLimit(self.limit_us).to_string()
    }

    fn call(&self) -> String {
        format!("start a process that holds {} us at /dev/cpu_dma_latency", self.limit_us)
    }

    fn running(&self, pid: u32) -> String {
        format!("{}, held by process {pid}", self.asked())
    }

    fn refused(&self, error: &io::Error) -> Option<Refusal> {
        is_missing(error).then(|| {
            Refusal::unavailable(
                "it does not exist (any more)",
                "this kernel has no /dev/cpu_dma_latency (CONFIG_CPU_IDLE): leave it out",
            )
        })
    }
}

/// A limit, for the tests that cover every kind.
#[cfg(any(test, feature = "emulated"))]
pub mod sample {
    use machine::Act;

    use super::LatencyLimit;
    use crate::acts::launch::sample::end_started;
    use crate::acts::samples::{ERRNOS_OF_STARTS, Machine, Sampled};
    use crate::kernel::EmulatedKernel;
    use crate::kernel::emulated::EmulatedState;

    /// Where nobody else asks for less.
    pub fn acts(_machine: &Machine) -> Vec<Act> {
        vec![Act::HoldLatency { limit_us: 20 }]
    }

    impl Sampled for LatencyLimit {
        fn errnos(&self) -> &'static [i32] {
            ERRNOS_OF_STARTS
        }

        fn change_by_others(&self, _state: &mut EmulatedState) -> bool {
            false
        }

        fn remove(&self, kernel: &EmulatedKernel) -> bool {
            end_started(kernel)
        }
    }
}
