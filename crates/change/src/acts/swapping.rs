//! Whether the kernel swaps to an area (swapon(2)).

use std::io;
use std::path::Path;

use machine::{Act, Class, Fault};

use super::operation::refusal::{Refusal, is_permission};
use super::{Operation, unfit};
use crate::kernel::Kernel;
use crate::record::Value;
use crate::subject::Scope;

/// Has the kernel swap to a file.
pub struct Swapping<'a> {
    pub path: &'a Path,
}

impl Operation for Swapping<'_> {
    fn scope(&self) -> Scope<'_> {
        Scope::Files
    }

    fn is_about_same(&self, other: &Act) -> bool {
        matches!(other, Act::SwapOn { path } if path == self.path)
    }

    fn read(&self, kernel: &dyn Kernel) -> io::Result<Value> {
        Ok(Value::of_presence(kernel.swaps_to(self.path)?))
    }

    fn is_read_again(&self) -> bool {
        false
    }

    fn examine(&self, _kernel: &dyn Kernel, old: &mut Value) -> Result<(), Fault> {
        if *old != Value::Present {
            return Ok(());
        }
        let remedy = "leave it: pinwise does not switch off what it did not switch on";
        Err(Fault::new(Class::Usage, self.path.display(), "the kernel swaps to it already", remedy))
    }

    fn perform(&self, kernel: &dyn Kernel, _now: &Value) -> io::Result<()> {
        kernel.swap_on(self.path)
    }

    fn put_back(&self, kernel: &dyn Kernel, old: &Value, _now: &Value) -> io::Result<()> {
        match old {
            Value::Absent => kernel.swap_off(self.path),
            _ => Err(unfit()),
        }
    }

    fn took_effect(&self, now: &Value) -> bool {
        *now == Value::Present
    }

    fn object(&self) -> String {
        format!("swapping to {}", self.path.display())
    }

    fn asked(&self) -> String {
        "there".into()
    }

    fn call(&self) -> String {
        format!("swapon {}", self.path.display())
    }

    fn refused(&self, error: &io::Error) -> Option<Refusal> {
        match error.raw_os_error() {
            _ if is_permission(error) => Some(Refusal::permission(
                "swap areas need CAP_SYS_ADMIN",
                "run as root, or leave server.swap_mb out",
            )),
            Some(libc::EINVAL) => Some(Refusal::unavailable(
                "this file system does not support swap files, or not with shared or compressed blocks",
                "name a folder on ext4 or xfs (server.swap_dir)",
            )),
            Some(libc::EBUSY) => Some(Refusal::unavailable(
                "the kernel swaps to this file already",
                "see /proc/swaps; run swapoff on it if it is no longer used",
            )),
            Some(libc::ENOMEM) => Some(Refusal::unavailable(
                "there is not enough memory to bring back what is swapped out",
                "end what uses it, and try again",
            )),
            _ => None,
        }
    }
}

/// A swap area, for the tests that cover every kind.
#[cfg(any(test, feature = "emulated"))]
pub mod sample {
    use libc::{EBUSY, EINVAL, EIO, ENODEV, ENOENT, ENOSPC, EROFS, ETXTBSY};
    use machine::Act;

    use super::Swapping;
    use crate::acts::samples::{Machine, Sampled, alter};
    use crate::acts::swap_file::sample::SWAP_FILE;
    use crate::kernel::EmulatedKernel;
    use crate::kernel::emulated::EmulatedState;

    /// To the file that was made before.
    pub fn acts(_machine: &Machine) -> Vec<Act> {
        vec![Act::SwapOn { path: SWAP_FILE.into() }]
    }

    impl Sampled for Swapping<'_> {
        /// mm/swapfile.c.
        fn errnos(&self) -> &'static [i32] {
            &[EBUSY, EINVAL, EIO, ENODEV, ENOENT, ENOSPC, EROFS, ETXTBSY]
        }

        fn prepare(&self, state: &mut EmulatedState) {
            state.files.insert((None, self.path.to_path_buf()), "swap".into());
        }

        fn change_by_others(&self, _state: &mut EmulatedState) -> bool {
            false
        }

        fn remove(&self, kernel: &EmulatedKernel) -> bool {
            alter(kernel, |state| {
                state.swaps.remove(self.path);
            })
        }
    }
}
