//! The pinwise binary, for the processes that it starts from itself.

use std::path::Path;

/// `given`, or the binary that runs. After an upgrade in place its path leads nowhere, /proc/self/exe still does.
pub(crate) fn exe(given: Option<&Path>) -> String {
    let own = || std::env::current_exe().ok().filter(|path| path.exists());
    let path = given.map(Path::to_path_buf).or_else(own);
    path.map_or_else(|| "/proc/self/exe".into(), |path| path.to_string_lossy().into_owned())
}
