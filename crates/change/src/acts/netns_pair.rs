//! Two network namespaces that are joined.

use std::io;

use machine::{Act, Class, Fault, NetnsPair};

use super::operation::refusal::{Refusal, is_missing, is_permission};
use super::{Operation, unfit};
use crate::kernel::Kernel;
use crate::record::Value;
use crate::subject::Scope;

/// Makes both.
pub struct NamespacePair<'a> {
    pub pair: &'a NetnsPair,
}

impl Operation for NamespacePair<'_> {
    fn scope(&self) -> Scope<'_> {
        Scope::Files
    }

    fn is_about_same(&self, _other: &Act) -> bool {
        false
    }

    fn makes(&self) -> bool {
        true
    }

    fn makes_networks(&self) -> &[String] {
        &self.pair.names
    }

    /// Half a pair is one that has to go as well.
    fn read(&self, kernel: &dyn Kernel) -> io::Result<Value> {
        Ok(Value::of_presence(self.pair.names.iter().any(|name| kernel.has_netns(name))))
    }

    fn is_read_again(&self) -> bool {
        false
    }

    fn examine(&self, _kernel: &dyn Kernel, old: &mut Value) -> Result<(), Fault> {
        if *old != Value::Present {
            return Ok(());
        }
        let cause = "one of them already exists: another study's, or left by one that was killed";
        let remedy = "wait for that study, or run 'pinwise undo'; pinwise does not remove those of others (ip netns del)";
        Err(Fault::new(Class::No, self.object(), cause, remedy))
    }

    fn perform(&self, kernel: &dyn Kernel, _now: &Value) -> io::Result<()> {
        kernel.make_netns_pair(self.pair)
    }

    fn put_back(&self, kernel: &dyn Kernel, old: &Value, _now: &Value) -> io::Result<()> {
        if *old != Value::Absent {
            return Err(unfit());
        }
        let mut there = self.pair.names.iter().filter(|name| kernel.has_netns(name));
        there.try_for_each(|name| kernel.remove_netns(name))
    }

    fn took_effect(&self, now: &Value) -> bool {
        *now == Value::Present
    }

    fn object(&self) -> String {
        format!("network namespaces {}", self.pair.names.join(" and "))
    }

    fn asked(&self) -> String {
        "there".into()
    }

    fn call(&self) -> String {
        let orders = self.pair.orders().into_iter().map(|words| format!("ip {}", words.join(" ")));
        orders.collect::<Vec<_>>().join("; ")
    }

    fn refused(&self, error: &io::Error) -> Option<Refusal> {
        if is_missing(error) {
            return None;
        }
        Some(match error.kind() {
            _ if is_permission(error) => {
                Refusal::permission("only root may create network namespaces", "run as root")
            }
            io::ErrorKind::Unsupported => Refusal::unavailable("", "install it: apt install iproute2"),
            _ => Refusal::unavailable(
                "",
                "check that the kernel has veth devices (modprobe veth) and that this is not a container without CAP_SYS_ADMIN",
            ),
        })
    }
}

/// A pair, for the tests that cover every kind.
#[cfg(any(test, feature = "emulated"))]
pub mod sample {
    use machine::{Act, NetnsPair};

    use super::NamespacePair;
    use crate::acts::samples::{ERRNOS_OF_TOOLS, Machine, Sampled, alter};
    use crate::kernel::EmulatedKernel;
    use crate::kernel::emulated::EmulatedState;

    /// One pair.
    pub fn acts(_machine: &Machine) -> Vec<Act> {
        vec![Act::MakeNetnsPair { pair: NetnsPair { names: ["left".into(), "right".into()] } }]
    }

    impl Sampled for NamespacePair<'_> {
        fn errnos(&self) -> &'static [i32] {
            ERRNOS_OF_TOOLS
        }

        fn change_by_others(&self, _state: &mut EmulatedState) -> bool {
            false
        }

        fn remove(&self, kernel: &EmulatedKernel) -> bool {
            alter(kernel, |state| state.namespaces.retain(|name| !self.pair.names.contains(name)))
        }
    }
}
