//! A file of /proc, /sys or a cgroup.

pub mod form;
#[cfg(any(test, feature = "emulated"))]
pub mod sample;

use std::io;
use std::path::Path;

use machine::Act;

use super::operation::refusal::{ENOTSUPP, Refusal, is_missing, is_permission, is_root};
use super::{Lifetime, Operation, is_path_gone, unfit, within};
use crate::kernel::Kernel;
use crate::record::Value;
use crate::subject::{Scope, scope};

/// Writes a text to a file.
pub struct KernelFile<'a> {
    pub path: &'a Path,
    pub value: &'a str,
    pub netns: Option<&'a str>,
}

impl KernelFile<'_> {
    /// The content of a file, without what ends it.
    fn text(&self, kernel: &dyn Kernel, path: &Path) -> io::Result<String> {
        Ok(kernel.read_file(path, self.netns)?.trim_end_matches(['\n', '\0']).to_string())
    }

    fn is_irq(&self) -> bool {
        self.path.starts_with("/proc/irq")
    }
}

fn pair(value: &Value) -> Option<(&str, &str)> {
    match value {
        Value::Paired { text, twin } => Some((text, twin)),
        _ => None,
    }
}

/// What a file with or without a twin reads.
fn text(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) | Value::Paired { text, .. } => Some(text),
        _ => None,
    }
}

impl Operation for KernelFile<'_> {
    fn scope(&self) -> Scope<'_> {
        scope::of_path(self.path)
    }

    fn netns(&self) -> Option<&str> {
        self.netns
    }

    fn is_in_sys(&self) -> bool {
        self.path.starts_with("/sys")
    }

    fn is_about_same(&self, other: &Act) -> bool {
        matches!(other, Act::WriteFile { path, netns, .. }
            if netns.as_deref() == self.netns
                && (path == self.path || form::twin(self.path).as_ref() == Some(path)))
    }

    fn moved(&self, renamed: Option<(&str, &str)>) -> Option<Act> {
        let path = match renamed {
            Some((old, new)) => scope::with_interface(self.path, old, new),
            None => self.path.to_path_buf(),
        };
        Some(Act::WriteFile { path, value: self.value.into(), netns: None })
    }

    fn lifetime(&self) -> Lifetime {
        if self.netns.is_none() { Lifetime::BootUnlessKept } else { Lifetime::Boot }
    }

    fn read(&self, kernel: &dyn Kernel) -> io::Result<Value> {
        let text = self.text(kernel, self.path)?;
        match form::twin(self.path).map(|twin| self.text(kernel, &twin)) {
            Some(Ok(twin)) => Ok(Value::Paired { text, twin }),
            Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(Value::Text(text)),
        }
    }

    fn perform(&self, kernel: &dyn Kernel, _now: &Value) -> io::Result<()> {
        kernel.write_file(self.path, self.value, self.netns)
    }

    fn put_back(&self, kernel: &dyn Kernel, old: &Value, now: &Value) -> io::Result<()> {
        match (old, now) {
            (Value::Text(old), Value::Text(now)) => {
                kernel.write_file(self.path, &form::restoring(self.path, old, now), self.netns)
            }
            (Value::Paired { .. }, Value::Paired { .. }) => {
                let twin = form::twin(self.path).ok_or_else(unfit)?;
                let (old, now) = (pair(old).ok_or_else(unfit)?, pair(now).ok_or_else(unfit)?);
                let mut writes = form::restoring_pair(self.path, &twin, old, now).into_iter();
                writes.try_for_each(|(path, text)| kernel.write_file(&path, &text, self.netns))
            }
            _ => Err(unfit()),
        }
    }

    fn same(&self, a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::Text(a), Value::Text(b)) => form::same(self.path, a, b),
            _ => a == b,
        }
    }

    fn took_effect(&self, now: &Value) -> bool {
        text(now).is_some_and(|now| form::took_effect(self.path, self.value, now))
    }

    fn may_be_ours(&self, old: &Value, now: &Value) -> bool {
        let in_part = || Some(form::is_done_in_part(self.path, text(old)?, self.value, text(now)?));
        self.took_effect(now) || in_part() == Some(true)
    }

    fn is_half_restored(&self, old: &Value, now: &Value) -> bool {
        pair(old).zip(pair(now)).is_some_and(|(old, now)| form::is_half_restored(self.path, old, now))
    }

    fn is_what_was_found(&self, now: &Value, other: &Act, found: &Value) -> bool {
        match (pair(now), other, pair(found)) {
            (Some((text, twin)), Act::WriteFile { path, .. }, Some((found, found_twin)))
                if form::twin(self.path).as_ref() == Some(path) =>
            {
                (text, twin) == (found_twin, found)
            }
            _ => self.is_about_same(other) && self.same(now, found),
        }
    }

    fn is_gone(&self, kernel: &dyn Kernel, error: &io::Error) -> io::Result<bool> {
        is_path_gone(kernel, error, self.path, self.netns)
    }

    fn object(&self) -> String {
        let within = self.netns.map(|netns| format!(" in {netns}")).unwrap_or_default();
        format!("{}{within}", self.path.display())
    }

    fn asked(&self) -> String {
        Value::Text(self.value.trim_end().to_string()).to_string()
    }

    fn call(&self) -> String {
        format!("write '{}' to {}{}", self.value, self.path.display(), within(self.netns))
    }

    fn refused(&self, error: &io::Error) -> Option<Refusal> {
        if is_permission(error) {
            return self.not_permitted(error);
        }
        if is_missing(error) {
            let remedy = match self.netns {
                Some(_) => "check the name of the network namespace and of the device (ip netns)",
                None => "check the path: the device may have gone, or the kernel does not have it",
            };
            return Some(Refusal::unavailable("it does not exist (any more)", remedy));
        }
        self.of_value(error.raw_os_error()?).or_else(|| of_any_file(error.raw_os_error()?))
    }
}

const MANAGED: Refusal = Refusal {
    class: machine::Class::MachineLacks,
    meaning: "the kernel manages this interrupt's CPUs itself",
    remedy: "leave it: its driver spreads it over the CPUs; change the number of queues instead",
};

impl KernelFile<'_> {
    fn not_permitted(&self, error: &io::Error) -> Option<Refusal> {
        match self.path {
            _ if !is_root() => None,
            // write_irq_affinity of kernel/irq/proc.c; EACCES is of the file alone, as to root of a container.
            _ if self.is_irq() && error.raw_os_error() == Some(libc::EPERM) => Some(MANAGED),
            _ if self.is_cpuset() => Some(Refusal::usage(
                "the cpuset above it does not hold all of these (version 1), or this is a container",
                "widen the cpuset above it first, or run outside of the container",
            )),
            path if path.ends_with("intel_pstate/no_turbo") => Some(Refusal::unavailable(
                "firmware has switched turbo off",
                "switch it on in the firmware's setup",
            )),
            _ => None,
        }
    }

    /// Whether it is the set of CPUs or nodes of a cgroup.
    fn is_cpuset(&self) -> bool {
        let name = self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        matches!(name, "cpuset.cpus" | "cpuset.mems" | "cpus" | "mems")
    }

    /// What an error means of this very file.
    fn of_value(&self, errno: i32) -> Option<Refusal> {
        if self.is_cpuset() {
            return of_cpuset(errno);
        }
        match errno {
            libc::EIO if self.is_irq() => Some(MANAGED),
            libc::ENOSPC if self.is_irq() => Some(Refusal::unavailable(
                "no interrupt vector is free on that CPU",
                "name more CPUs, or move another interrupt away",
            )),
            libc::EINVAL | libc::EBUSY if self.path.ends_with("sched_rt_runtime_us") => {
                Some(Refusal::unavailable(
                    "real-time groups or deadline threads have been promised more, or it exceeds sched_rt_period_us",
                    "choose more, or lower cpu.rt_runtime_us of the cgroups first",
                ))
            }
            libc::EBUSY if self.path.ends_with("energy_performance_preference") => {
                Some(Refusal::unavailable(
                    "under the governor performance the kernel keeps this at performance",
                    "set the knob frequency-governor to another governor first",
                ))
            }
            _ => None,
        }
    }
}

/// validate_change of kernel/cgroup/cpuset.c and cpuset-v1.c.
fn of_cpuset(errno: i32) -> Option<Refusal> {
    match errno {
        libc::EBUSY => Some(Refusal::unavailable(
            "a cpuset below it uses what the set no longer holds (version 1), or SCHED_DEADLINE threads have been promised run time there",
            "narrow the cpusets below it first; move the deadline threads away",
        )),
        libc::ENOSPC => Some(Refusal::usage(
            "there are processes in the cgroup, so the set must not become empty",
            "name at least one that is online, or move the processes away first",
        )),
        libc::EINVAL => Some(Refusal::usage(
            "the kernel rejects this set: part of it does not exist, or is exclusive to a sibling cpuset",
            "choose from the set of the cgroup above it, without what others have in cpuset.cpus.exclusive",
        )),
        _ => None,
    }
}

fn of_any_file(errno: i32) -> Option<Refusal> {
    match errno {
        libc::EINVAL | libc::ERANGE | libc::EOVERFLOW => Some(Refusal::usage(
            "the kernel rejects this value",
            "check it against what the file reads, and that its CPUs are online",
        )),
        libc::EROFS => Some(Refusal::unavailable(
            "it is mounted read-only, as in a container",
            "run outside of the container",
        )),
        // nmi_watchdog of /proc/sys/kernel answers the latter.
        libc::EOPNOTSUPP | ENOTSUPP => Some(Refusal::unavailable(
            "this device, driver or CPU cannot do it",
            "leave it: the file is there for others of its kind",
        )),
        _ => None,
    }
}
