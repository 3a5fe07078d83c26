//! Whether a program is there.

use std::path::Path;

use rustix::fs::{Access, access};

/// Whether execvp(3) would find it: a path, as seen from the folder `cwd`, or a name in PATH.
pub fn is_there(program: &str, cwd: &Path) -> bool {
    match program.contains('/') {
        true => is_executable(&cwd.join(program)),
        false => {
            let path = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&path).any(|folder| is_executable(&folder.join(program)))
        }
    }
}

/// Whether it is a file that we may execute.
pub fn is_executable(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}
