//! A cgroup of our own.

use std::io;
use std::path::Path;

use machine::{Act, Class, Fault};

use super::operation::refusal::{Refusal, is_missing};
use super::{Operation, is_path_gone, unfit};
use crate::kernel::Kernel;
use crate::record::Value;
use crate::subject::Scope;

/// Makes a cgroup.
pub struct CgroupCreation<'a> {
    pub path: &'a Path,
}

impl Operation for CgroupCreation<'_> {
    fn scope(&self) -> Scope<'_> {
        Scope::Cgroup(self.path)
    }

    fn is_about_same(&self, _other: &Act) -> bool {
        false
    }

    fn makes(&self) -> bool {
        true
    }

    /// A process that has left it goes back into it, so it may not be removed first, empty as it is.
    fn is_needed_by(&self, later: &Act, found: &Value) -> bool {
        let is_within = |path: &Path| path.starts_with(self.path);
        match (later, found) {
            (Act::JoinCgroup { path, .. }, Value::Cgroup { path: from, .. }) => {
                is_within(path) || is_within(from)
            }
            (Act::JoinCgroup { path, .. }, _) => is_within(path),
            _ => false,
        }
    }

    fn read(&self, kernel: &dyn Kernel) -> io::Result<Value> {
        Ok(Value::of_presence(kernel.is_dir(self.path)))
    }

    fn is_read_again(&self) -> bool {
        false
    }

    fn examine(&self, _kernel: &dyn Kernel, old: &mut Value) -> Result<(), Fault> {
        match old {
            Value::Present => {
                let remedy = "choose another name: pinwise does not remove what it did not create";
                Err(Fault::new(Class::Usage, self.path.display(), "the cgroup already exists", remedy))
            }
            _ => Ok(()),
        }
    }

    fn perform(&self, kernel: &dyn Kernel, _now: &Value) -> io::Result<()> {
        kernel.make_dir(self.path)
    }

    fn put_back(&self, kernel: &dyn Kernel, old: &Value, _now: &Value) -> io::Result<()> {
        if *old != Value::Absent {
            return Err(unfit());
        }
        kernel.remove_dir(self.path)
    }

    fn took_effect(&self, now: &Value) -> bool {
        *now == Value::Present
    }

    fn is_gone(&self, kernel: &dyn Kernel, error: &io::Error) -> io::Result<bool> {
        is_path_gone(kernel, error, self.path, None)
    }

    fn object(&self) -> String {
        format!("cgroup {}", self.path.display())
    }

    fn asked(&self) -> String {
        "there".into()
    }

    fn call(&self) -> String {
        format!("mkdir {}", self.path.display())
    }

    fn refused(&self, error: &io::Error) -> Option<Refusal> {
        match error.raw_os_error() {
            Some(libc::EROFS) => Some(Refusal::unavailable(
                "the cgroup tree is read-only, as in a container",
                "run outside of the container",
            )),
            Some(libc::EEXIST) => Some(Refusal::usage(
                "there is a cgroup of this name",
                "choose another name: pinwise does not remove what it did not create",
            )),
            Some(libc::EAGAIN) => Some(Refusal::unavailable(
                "a cgroup above it allows no more cgroups below (cgroup.max.depth, cgroup.max.descendants)",
                "raise that limit, or remove cgroups that are no longer used",
            )),
            Some(libc::ENODEV) => Some(Refusal::unavailable(
                "the cgroup above it is being removed",
                "choose another cgroup above it, or try again",
            )),
            Some(libc::ENOSPC | libc::ENOMEM) => Some(Refusal::unavailable(
                "the kernel has no room for another cgroup",
                "remove cgroups that are no longer used (see num_cgroups in /proc/cgroups)",
            )),
            _ if is_missing(error) => Some(Refusal::unavailable(
                "it does not exist (any more)",
                "check the path: the device may have gone, or the kernel does not have it",
            )),
            _ => None,
        }
    }
}

/// A cgroup, for the tests that cover every kind.
#[cfg(any(test, feature = "emulated"))]
pub mod sample {
    use libc::{EAGAIN, EEXIST, EINVAL, ENAMETOOLONG, ENODEV, ENOENT, ENOSPC, ENOTDIR, EROFS};
    use machine::Act;

    use super::CgroupCreation;
    use crate::acts::kernel_file::sample::write;
    use crate::acts::samples::{Machine, Sampled, alter};
    use crate::kernel::EmulatedKernel;
    use crate::kernel::emulated::EmulatedState;

    /// The cgroup that is made.
    pub const CGROUP: &str = "/sys/fs/cgroup/cpuset/site";

    /// It is made, and gets its CPUs.
    pub fn acts(_machine: &Machine) -> Vec<Act> {
        vec![Act::CreateCgroup { path: CGROUP.into() }, write(&format!("{CGROUP}/cpuset.cpus"), "0-1", None)]
    }

    /// Makes it, as an earlier act would have.
    pub fn make(state: &mut EmulatedState) {
        state.folders.insert(CGROUP.into());
        state.files.insert((None, format!("{CGROUP}/cpuset.cpus").into()), "\n".into());
    }

    impl Sampled for CgroupCreation<'_> {
        /// kernel/cgroup/cgroup.c.
        fn errnos(&self) -> &'static [i32] {
            &[EAGAIN, EEXIST, EINVAL, ENAMETOOLONG, ENODEV, ENOENT, ENOSPC, ENOTDIR, EROFS]
        }

        fn change_by_others(&self, _state: &mut EmulatedState) -> bool {
            false
        }

        fn remove(&self, kernel: &EmulatedKernel) -> bool {
            alter(kernel, |state| {
                state.folders.remove(self.path);
                state.files.retain(|(_, file), _| !file.starts_with(self.path));
            })
        }
    }
}
