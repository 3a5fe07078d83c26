//! The kernel's packet generator: which interfaces a thread of it sends through (net/core/pktgen.c).

use std::io;
use std::path::{Path, PathBuf};

use machine::{Act, Class, Fault};

use super::operation::refusal::{ENOTSUPP, Refusal, is_missing, is_permission, refusal};
use super::{Operation, is_path_gone};
use crate::kernel::Kernel;
use crate::record::Value;
use crate::subject::Scope;

const FOLDER: &str = "/proc/net/pktgen";

/// CPUs that are looked for at most: what a kernel can be built for.
const MOST_CPUS: u32 = 8192;

/// Has the generator send through an interface once it is started.
pub struct Generator<'a> {
    pub cpu: u32,
    pub device: &'a str,
    pub orders: &'a [String],
}

/// The file of the thread on a CPU.
fn thread_file(cpu: u32) -> PathBuf {
    Path::new(FOLDER).join(format!("kpktgend_{cpu}"))
}

/// The interfaces that the thread on a CPU sends through, or would.
fn devices(kernel: &dyn Kernel, cpu: u32) -> io::Result<Vec<String>> {
    let text = kernel.read_file(&thread_file(cpu), None)?;
    listed(&text).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it lists no interfaces"))
}

fn listed(text: &str) -> Option<Vec<String>> {
    let row = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let (running, stopped) = (row("Running:")?, row("Stopped:")?);
    Some(running.split_whitespace().chain(stopped.split_whitespace()).map(String::from).collect())
}

/// The first interface of another thread: starting the generator starts all of them.
fn elsewhere(kernel: &dyn Kernel, cpu: u32) -> io::Result<Option<(u32, Vec<String>)>> {
    for other in (0..MOST_CPUS).filter(|other| *other != cpu) {
        if !kernel.exists(&thread_file(other), None)? {
            continue;
        }
        let devices = devices(kernel, other)?;
        if !devices.is_empty() {
            return Ok(Some((other, devices)));
        }
    }
    Ok(None)
}

impl Operation for Generator<'_> {
    fn scope(&self) -> Scope<'_> {
        Scope::Network(Some(self.device))
    }

    fn is_about_same(&self, other: &Act) -> bool {
        matches!(other, Act::AttachPktgen { cpu, .. } if *cpu == self.cpu)
    }

    fn moved(&self, _renamed: Option<(&str, &str)>) -> Option<Act> {
        // Undoing it takes all interfaces from the thread, whatever they are called.
        Some(Act::AttachPktgen { cpu: self.cpu, device: self.device.into(), orders: self.orders.to_vec() })
    }

    fn read(&self, kernel: &dyn Kernel) -> io::Result<Value> {
        Ok(Value::Devices(devices(kernel, self.cpu)?))
    }

    fn is_read_again(&self) -> bool {
        false
    }

    fn examine(&self, kernel: &dyn Kernel, old: &mut Value) -> Result<(), Fault> {
        let Value::Devices(devices) = old else { return Ok(()) };
        let (cause, remedy) = match devices.is_empty() {
            true => match elsewhere(kernel, self.cpu).map_err(|e| refusal(self, &e))? {
                None => return Ok(()),
                Some((other, devices)) => (
                    format!(
                        "the generator's thread on CPU {other} has {}, and would be started as well",
                        devices.join(" ")
                    ),
                    "remove them (rem_device_all) if nothing needs them",
                ),
            },
            false => (
                format!("it sends through {} already", devices.join(" ")),
                "choose another CPU, or remove them (rem_device_all) if nothing needs them",
            ),
        };
        Err(Fault::new(Class::MachineLacks, self.object(), cause, remedy))
    }

    fn perform(&self, kernel: &dyn Kernel, _now: &Value) -> io::Result<()> {
        if self.device.is_empty() || self.device.contains(['/', ' ', '\n']) || self.device == ".." {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "this is not a valid interface name"));
        }
        kernel.write_file(&thread_file(self.cpu), &format!("add_device {}", self.device), None)?;
        let file = Path::new(FOLDER).join(self.device);
        self.orders.iter().try_for_each(|order| kernel.write_file(&file, order, None))
    }

    /// It had none: all interfaces are taken from the thread, and with them what was ordered of them.
    fn put_back(&self, kernel: &dyn Kernel, _old: &Value, _now: &Value) -> io::Result<()> {
        kernel.write_file(&thread_file(self.cpu), "rem_device_all", None)
    }

    fn took_effect(&self, now: &Value) -> bool {
        matches!(now, Value::Devices(now) if now.iter().eq([self.device]))
    }

    /// The module was taken out.
    fn is_gone(&self, kernel: &dyn Kernel, error: &io::Error) -> io::Result<bool> {
        is_path_gone(kernel, error, &thread_file(self.cpu), None)
    }

    fn typed(&self, value: Value) -> Value {
        match value {
            Value::Text(text) => Value::Devices(text.split_whitespace().map(String::from).collect()),
            value => value,
        }
    }

    fn object(&self) -> String {
        format!("pktgen on CPU {}", self.cpu)
    }

    fn asked(&self) -> String {
        self.device.to_string()
    }

    fn call(&self) -> String {
        let (device, cpu) = (self.device, self.cpu);
        let of_device = self.orders.iter().map(|order| format!("; echo {order} > {FOLDER}/{device}"));
        format!("echo add_device {device} > {}{}", thread_file(cpu).display(), of_device.collect::<String>())
    }

    fn refused(&self, error: &io::Error) -> Option<Refusal> {
        let is_many_times = |order: &String| order.starts_with("clone_skb") && order != "clone_skb 0";
        match error.raw_os_error() {
            _ if is_permission(error) => None,
            _ if is_missing(error) => Some(Refusal::unavailable(
                "it does not exist (any more)",
                "load the generator: modprobe pktgen",
            )),
            Some(libc::EIO | libc::EOPNOTSUPP | ENOTSUPP) if self.orders.iter().any(is_many_times) => {
                Some(Refusal::unavailable(
                    "the interface cannot send one packet many times",
                    "use clone_skb = 0, or an interface that can: a dummy interface or most cards, but not veth or a bridge",
                ))
            }
            Some(libc::EBUSY | libc::EEXIST) => Some(Refusal::unavailable(
                "a thread of the generator has this interface already",
                "remove it from that thread (echo rem_device_all), or name another interface",
            )),
            Some(libc::ENODEV | libc::EINVAL) => Some(Refusal::unavailable(
                "there is no such interface, or pktgen does not accept it",
                "see 'ip link'; the kernel's log may say more",
            )),
            Some(libc::ENETDOWN) => {
                Some(Refusal::unavailable("the interface is down", "ip link set DEVICE up"))
            }
            _ => None,
        }
    }
}

/// The generator, for the tests that cover every kind.
#[cfg(any(test, feature = "emulated"))]
pub mod sample {
    use libc::{EBUSY, EEXIST, EINVAL, EIO, ENETDOWN, ENODEV, ENOENT, EOPNOTSUPP};
    use machine::Act;

    use super::Generator;
    use crate::acts::samples::{Machine, Sampled};
    use crate::kernel::EmulatedKernel;
    use crate::kernel::emulated::EmulatedState;

    /// An interface with two orders.
    pub fn acts(machine: &Machine) -> Vec<Act> {
        // As after an earlier use, so that an undo leaves the same text.
        let text = "Running: \nStopped: \nResult: OK: rem_device_all\n";
        machine.kernel.add_file("/proc/net/pktgen/kpktgend_0", text);
        let orders = vec!["clone_skb 0".into(), "count 1000".into()];
        vec![Act::AttachPktgen { cpu: 0, device: "dummy0".into(), orders }]
    }

    impl Sampled for Generator<'_> {
        /// net/core/pktgen.c.
        fn errnos(&self) -> &'static [i32] {
            &[EBUSY, EEXIST, EINVAL, EIO, ENETDOWN, ENODEV, ENOENT, EOPNOTSUPP]
        }

        fn change_by_others(&self, _state: &mut EmulatedState) -> bool {
            false
        }

        fn remove(&self, _kernel: &EmulatedKernel) -> bool {
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_are_listed_whether_they_run_or_not() {
        assert_eq!(listed("Running: \nStopped: \nResult: NA\n").unwrap(), [""; 0]);
        assert_eq!(listed("Running: d0 \nStopped: d1 d2 \nResult: OK\n").unwrap(), ["d0", "d1", "d2"]);
        assert_eq!(listed("Result: NA\n"), None);
    }
}
