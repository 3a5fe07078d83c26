//! Where libvirt places a part of a guest.

use std::io;

use machine::{Act, CpuSet, GuestPin, PinScope, ThreadRef};

use super::operation::refusal::{Refusal, is_missing, is_permission};
use super::{Lifetime, Operation, first_thread, unfit};
use crate::kernel::Kernel;
use crate::procfs::says_ended;
use crate::record::Value;
use crate::subject::Scope;

/// Has libvirt place a part of a guest.
pub struct Pinned<'a> {
    pub pin: &'a GuestPin,
    pub cpus: &'a CpuSet,
}

impl Operation for Pinned<'_> {
    fn scope(&self) -> Scope<'_> {
        match self.pin.scope {
            PinScope::Running { .. } => Scope::Processes,
            PinScope::Definition => Scope::Files,
        }
    }

    fn lives_with(&self) -> Option<ThreadRef> {
        match self.pin.scope {
            PinScope::Running { process } => Some(first_thread(process)),
            PinScope::Definition => None,
        }
    }

    fn is_about_same(&self, other: &Act) -> bool {
        matches!(other, Act::PinGuest { pin, .. } if pin == self.pin)
    }

    fn lifetime(&self) -> Lifetime {
        match self.pin.scope {
            PinScope::Running { .. } => Lifetime::Boot,
            PinScope::Definition => Lifetime::Lasting,
        }
    }

    fn read(&self, kernel: &dyn Kernel) -> io::Result<Value> {
        Ok(Value::Cpus(kernel.guest_pin(self.pin)?))
    }

    fn perform(&self, kernel: &dyn Kernel, _now: &Value) -> io::Result<()> {
        kernel.pin_guest(self.pin, self.cpus)
    }

    fn put_back(&self, kernel: &dyn Kernel, old: &Value, _now: &Value) -> io::Result<()> {
        let Value::Cpus(cpus) = old else { return Err(unfit()) };
        kernel.pin_guest(self.pin, cpus)
    }

    fn took_effect(&self, now: &Value) -> bool {
        matches!(now, Value::Cpus(now) if now == self.cpus)
    }

    fn is_gone(&self, kernel: &dyn Kernel, error: &io::Error) -> io::Result<bool> {
        match self.pin.scope {
            // libvirt says so of its own guests.
            PinScope::Definition => Ok(says_ended(error)),
            PinScope::Running { .. } => Ok(self.has_ended(kernel, error)),
        }
    }

    fn object(&self) -> String {
        self.pin.to_string()
    }

    fn asked(&self) -> String {
        format!("CPUs {}", self.cpus)
    }

    fn call(&self) -> String {
        match self.pin.order(self.cpus) {
            Some(words) => format!("virsh {}", words.join(" ")),
            None => format!("have libvirt place {}", self.pin),
        }
    }

    fn still_in_force(&self) -> Option<String> {
        (self.pin.scope == PinScope::Definition)
            .then(|| "a guest that was started with it keeps it until it is restarted".into())
    }

    /// What virsh or libvirt says has no number.
    fn refused(&self, error: &io::Error) -> Option<Refusal> {
        let permission = || {
            Refusal::permission("only root and members of the libvirt group may place guests", "run as root")
        };
        Some(match error.kind() {
            _ if is_permission(error) => permission(),
            _ if is_missing(error) => Refusal::unavailable(
                "it does not exist (any more)",
                "the guest ended in the meantime, or was restarted: try again",
            ),
            io::ErrorKind::PermissionDenied => permission(),
            io::ErrorKind::NotFound => Refusal::unavailable(
                "libvirt has no such guest, or no definition of it that lasts",
                "see 'virsh list --all'; a transient guest is placed where it is created",
            ),
            io::ErrorKind::Unsupported => Refusal::unavailable(
                "",
                "install virsh (package libvirt-clients or libvirt-client): libvirt places this guest",
            ),
            _ => {
                Refusal::unavailable("", "see whether libvirt runs and answers: virsh -c qemu:///system list")
            }
        })
    }
}

/// A guest of libvirt's, for the tests that cover every kind.
#[cfg(any(test, feature = "emulated"))]
pub mod sample {
    use machine::{Act, CpuSet, GuestPart, GuestPin, PinScope};

    use super::Pinned;
    use crate::acts::samples::{ERRNOS_OF_TOOLS, Machine, Sampled, alter};
    use crate::kernel::EmulatedKernel;
    use crate::kernel::emulated::EmulatedState;

    /// A virtual CPU, in the definition of the guest.
    pub fn acts(machine: &Machine) -> Vec<Act> {
        let pin = GuestPin {
            name: "web".into(),
            uuid: "d3e8b3f2-0c0e-4e0c-9a9c-3b1f0a3a0c11".into(),
            part: GuestPart::Vcpu { vcpu: 0 },
            scope: PinScope::Definition,
        };
        machine.kernel.add_guest_pin(pin.clone(), &[]);
        vec![Act::PinGuest { pin, cpus: CpuSet::single(2) }]
    }

    impl Sampled for Pinned<'_> {
        fn variety(&self) -> Option<String> {
            (self.pin.scope == PinScope::Definition).then(|| "definition".into())
        }

        fn errnos(&self) -> &'static [i32] {
            ERRNOS_OF_TOOLS
        }

        fn is_of_process(&self) -> bool {
            true
        }

        fn change_by_others(&self, state: &mut EmulatedState) -> bool {
            let Some((cpus, _)) = state.guest_pins.get_mut(self.pin) else { return false };
            *cpus = CpuSet::single(3);
            true
        }

        fn remove(&self, kernel: &EmulatedKernel) -> bool {
            alter(kernel, |state| {
                state.guest_pins.remove(self.pin);
            })
        }
    }
}
