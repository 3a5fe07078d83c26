//! Whether a program is there.

use std::path::Path;

use machine::program_path::{in_path, is_executable};

/// Whether it would be found: a path, as seen from the folder `cwd`, or a name in the absolute folders of PATH.
pub fn is_there(program: &str, cwd: &Path) -> bool {
    match program.contains('/') {
        true => is_executable(&cwd.join(program)),
        false => in_path(program.as_ref(), std::env::var_os("PATH").as_deref()).is_some(),
    }
}
