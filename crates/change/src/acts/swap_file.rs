//! A file with a swap area of our own.

use std::io;
use std::path::Path;

use machine::{Act, Class, Fault};

use super::operation::refusal::{Refusal, is_missing, is_permission};
use super::{Lifetime, Operation, unfit};
use crate::kernel::Kernel;
use crate::record::Value;
use crate::subject::Scope;

/// Makes the file.
pub struct SwapFile<'a> {
    pub path: &'a Path,
    pub bytes: u64,
}

impl Operation for SwapFile<'_> {
    fn scope(&self) -> Scope<'_> {
        Scope::Files
    }

    fn is_about_same(&self, _other: &Act) -> bool {
        false
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::Lasting
    }

    fn read(&self, kernel: &dyn Kernel) -> io::Result<Value> {
        Ok(Value::of_presence(kernel.exists(self.path, None)?))
    }

    fn is_read_again(&self) -> bool {
        false
    }

    fn examine(&self, _kernel: &dyn Kernel, old: &mut Value) -> Result<(), Fault> {
        if *old != Value::Present {
            return Ok(());
        }
        let remedy = "choose another folder: pinwise does not remove what it did not create";
        Err(Fault::new(Class::Usage, self.path.display(), "there is a file of this name", remedy))
    }

    fn perform(&self, kernel: &dyn Kernel, _now: &Value) -> io::Result<()> {
        kernel.make_swap_file(self.path, self.bytes)
    }

    fn put_back(&self, kernel: &dyn Kernel, old: &Value, _now: &Value) -> io::Result<()> {
        match old {
            Value::Absent => kernel.remove_swap_file(self.path),
            _ => Err(unfit()),
        }
    }

    fn took_effect(&self, now: &Value) -> bool {
        *now == Value::Present
    }

    fn object(&self) -> String {
        format!("swap file {}", self.path.display())
    }

    fn asked(&self) -> String {
        format!("{} MiB", self.bytes >> 20)
    }

    fn call(&self) -> String {
        format!("mkswap {} of {} MiB", self.path.display(), self.bytes >> 20)
    }

    fn refused(&self, error: &io::Error) -> Option<Refusal> {
        Some(match error.kind() {
            _ if is_permission(error) => Refusal::permission(
                "swap areas need CAP_SYS_ADMIN",
                "run as root, or leave server.swap_mb out",
            ),
            _ if is_missing(error) => Refusal::unavailable(
                "its folder does not exist",
                "create it, or name another one (server.swap_dir)",
            ),
            io::ErrorKind::StorageFull => {
                Refusal::storage("free some space, or name a folder that has more (server.swap_dir)")
            }
            _ => Refusal::storage("name another folder (server.swap_dir)"),
        })
    }
}

/// A swap file, for the tests that cover every kind.
#[cfg(any(test, feature = "emulated"))]
pub mod sample {
    use machine::Act;

    use super::SwapFile;
    use crate::acts::samples::{ERRNOS_OF_DISKS, Machine, Sampled, alter};
    use crate::kernel::EmulatedKernel;
    use crate::kernel::emulated::EmulatedState;

    /// The file that is made.
    pub const SWAP_FILE: &str = "/var/tmp/pinwise-swap-4711";

    /// A small one.
    pub fn acts(_machine: &Machine) -> Vec<Act> {
        vec![Act::MakeSwapFile { path: SWAP_FILE.into(), bytes: 8 << 20 }]
    }

    impl Sampled for SwapFile<'_> {
        fn errnos(&self) -> &'static [i32] {
            ERRNOS_OF_DISKS
        }

        fn change_by_others(&self, _state: &mut EmulatedState) -> bool {
            false
        }

        fn remove(&self, kernel: &EmulatedKernel) -> bool {
            alter(kernel, |state| {
                state.files.remove(&(None, self.path.to_path_buf()));
            })
        }
    }
}
