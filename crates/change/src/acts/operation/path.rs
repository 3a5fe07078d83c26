//! The files and folders that acts are about.

use std::io;
use std::path::Path;

use crate::kernel::Kernel;
use crate::procfs::says_ended;

/// Whether an error means that a file or folder is gone. Drivers answer ENODEV for a device that is there and sleeps.
pub(in crate::acts) fn is_path_gone(
    kernel: &dyn Kernel,
    error: &io::Error,
    path: &Path,
    netns: Option<&str>,
) -> io::Result<bool> {
    match says_ended(error) || error.raw_os_error() == Some(libc::ENODEV) {
        true => kernel.exists(path, netns).map(|there| !there),
        false => Ok(false),
    }
}
