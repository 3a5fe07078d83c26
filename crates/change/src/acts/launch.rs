//! A process group of our own.

use std::io;
use std::time::Duration;

use machine::Act;

use super::{Operation, TakenBack};
use crate::kernel::Kernel;
use crate::launch::process_group;
use crate::record::{Entry, How, Value};
use crate::subject::Scope;

/// Starts a process group; [`Hand::launch`](crate::Hand::launch) performs it.
pub struct ProcessGroup<'a> {
    pub argv: &'a [String],
}

/// Ends every process of a launch that can be shown to belong to it.
pub fn end(kernel: &dyn Kernel, entry: &Entry, marker: &str, force: bool) -> How {
    // Without this record the process never passed its gate.
    let Some(leader) = entry.started else { return How::Already };
    let ended = match process_group::members(kernel, &leader, marker) {
        Ok(members) if members.is_empty() => How::Gone,
        Ok(_) => match process_group::end(kernel, &leader, marker, Duration::ZERO) {
            Ok(_) => How::Restored,
            Err(why) => return How::Refused { why: why.to_string() },
        },
        Err(error) => return How::Refused { why: error.to_string() },
    };
    match process_group::unproven(kernel, &leader, marker) {
        Ok(left) if left.is_empty() || force => ended,
        Ok(left) => How::Unproven { pids: left.iter().map(|process| process.pid).collect() },
        Err(error) => How::Refused { why: error.to_string() },
    }
}

impl Operation for ProcessGroup<'_> {
    fn scope(&self) -> Scope<'_> {
        Scope::Processes
    }

    fn is_about_same(&self, _other: &Act) -> bool {
        false
    }

    fn read(&self, _kernel: &dyn Kernel) -> io::Result<Value> {
        Ok(Value::Absent)
    }

    fn is_read_again(&self) -> bool {
        false
    }

    fn take_back(&self, kernel: &dyn Kernel, of: &TakenBack, force: bool) -> Option<How> {
        Some(end(kernel, of.entry, of.marker, force))
    }

    fn took_effect(&self, _now: &Value) -> bool {
        false
    }

    fn object(&self) -> String {
        format!("process group of {}", self.argv.join(" "))
    }

    fn asked(&self) -> String {
        "running".into()
    }

    fn call(&self) -> String {
        format!("start {}", self.argv.join(" "))
    }
}

/// A program, for the tests that cover every kind.
#[cfg(any(test, feature = "emulated"))]
pub mod sample {
    use machine::Act;

    use super::ProcessGroup;
    use crate::acts::samples::{ERRNOS_OF_STARTS, Machine, Sampled, alter};
    use crate::kernel::EmulatedKernel;
    use crate::kernel::emulated::EmulatedState;

    /// One with arguments.
    pub fn acts(_machine: &Machine) -> Vec<Act> {
        vec![Act::Launch { argv: vec!["server".into(), "--port".into(), "7".into()] }]
    }

    /// Ends what acts have started.
    pub fn end_started(kernel: &EmulatedKernel) -> bool {
        alter(kernel, |state| state.threads.retain(|_, thread| thread.marker.is_none()))
    }

    impl Sampled for ProcessGroup<'_> {
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
