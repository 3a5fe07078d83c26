//! Whether a running irqbalance leaves an interrupt alone: set through its socket, and lasts as long as it runs.
//!
//! It takes the whole list at a time (`settings ban irqs` of irqbalance.c). Only one interrupt is put in or taken out, so that what the
//! administrator or somebody else asked for stays.

use std::io;

use machine::{Act, ProcessRef, ThreadRef};

use super::operation::refusal::{Refusal, is_missing, is_permission};
use super::{Operation, first_thread, unfit};
use crate::kernel::Kernel;
use crate::record::Value;
use crate::subject::Scope;

/// Asks irqbalance to leave an interrupt alone, or not to.
pub struct IrqBan {
    pub process: ProcessRef,
    pub irq: u32,
    pub banned: bool,
}

impl IrqBan {
    fn ask(&self, kernel: &dyn Kernel, banned: bool) -> io::Result<()> {
        let mut irqs = kernel.irq_bans(&self.process)?;
        match if banned { irqs.insert(self.irq) } else { irqs.remove(&self.irq) } {
            true => kernel.set_irq_bans(&self.process, &irqs),
            false => Ok(()),
        }
    }
}

impl Operation for IrqBan {
    fn scope(&self) -> Scope<'_> {
        Scope::Processes
    }

    fn lives_with(&self) -> Option<ThreadRef> {
        Some(first_thread(self.process))
    }

    fn is_about_same(&self, other: &Act) -> bool {
        matches!(other, Act::SetIrqBan { process, irq, .. } if (process, irq) == (&self.process, &self.irq))
    }

    /// irqbalance would move what the later one has put there.
    fn is_held_by(&self, later: &Act) -> bool {
        match later {
            Act::WriteFile { path, .. } => path.starts_with(format!("/proc/irq/{}", self.irq)),
            _ => self.is_about_same(later),
        }
    }

    fn restrains(&self) -> Option<u32> {
        self.banned.then_some(self.process.pid)
    }

    fn read(&self, kernel: &dyn Kernel) -> io::Result<Value> {
        Ok(Value::Banned(kernel.irq_bans(&self.process)?.contains(&self.irq)))
    }

    fn perform(&self, kernel: &dyn Kernel, _now: &Value) -> io::Result<()> {
        self.ask(kernel, self.banned)
    }

    fn put_back(&self, kernel: &dyn Kernel, old: &Value, _now: &Value) -> io::Result<()> {
        let Value::Banned(banned) = old else { return Err(unfit()) };
        self.ask(kernel, *banned)
    }

    fn took_effect(&self, now: &Value) -> bool {
        *now == Value::Banned(self.banned)
    }

    fn typed(&self, value: Value) -> Value {
        match &value {
            Value::Text(text) if text == "left alone" => Value::Banned(true),
            Value::Text(text) if text == "moved by it" => Value::Banned(false),
            _ => value,
        }
    }

    fn object(&self) -> String {
        format!("irqbalance (process {}): IRQ {}", self.process.pid, self.irq)
    }

    fn asked(&self) -> String {
        Value::Banned(self.banned).to_string()
    }

    fn call(&self) -> String {
        let what = match self.banned {
            true => format!("leave IRQ {} alone", self.irq),
            false => format!("take care of IRQ {} again", self.irq),
        };
        format!("ask irqbalance (process {}) to {what}", self.process.pid)
    }

    fn refused(&self, error: &io::Error) -> Option<Refusal> {
        Some(match error.kind() {
            _ if is_permission(error) => {
                Refusal::permission("irqbalance accepts requests from root alone", "run as root")
            }
            _ if is_missing(error) => Refusal::unavailable(
                "it does not exist (any more)",
                "irqbalance ended in the meantime, or was restarted: try again",
            ),
            io::ErrorKind::InvalidInput => Refusal::unavailable(
                "",
                "name fewer, or start irqbalance with --banmod for the driver of these lines (IRQBALANCE_ARGS in its settings)",
            ),
            _ => Refusal::unavailable(
                "",
                "see what irqbalance does (journalctl -u irqbalance), or stop it: systemctl stop irqbalance",
            ),
        })
    }
}

/// An irqbalance, for the tests that cover every kind.
#[cfg(any(test, feature = "emulated"))]
pub mod sample {
    use machine::Act;

    use super::IrqBan;
    use crate::acts::samples::{ERRNOS_OF_TOOLS, Machine, Sampled, end_process};
    use crate::kernel::EmulatedKernel;
    use crate::kernel::emulated::EmulatedState;

    /// It leaves another interrupt alone already.
    pub fn acts(machine: &Machine) -> Vec<Act> {
        let process = machine.kernel.add_irqbalance(60, &[7]);
        vec![Act::SetIrqBan { process, irq: 38, banned: true }]
    }

    impl Sampled for IrqBan {
        fn errnos(&self) -> &'static [i32] {
            ERRNOS_OF_TOOLS
        }

        fn is_of_process(&self) -> bool {
            true
        }

        fn change_by_others(&self, _state: &mut EmulatedState) -> bool {
            false
        }

        fn remove(&self, kernel: &EmulatedKernel) -> bool {
            end_process(kernel, self.process.pid)
        }
    }
}
