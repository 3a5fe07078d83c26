//! Where programs are found.
//!
//! An empty entry of PATH, and a PATH that is unset, mean the working directory to execvp(3): as root that runs whatever somebody has
//! put there. So entries count only where they are absolute, and the programs that pinwise itself runs are looked for in the
//! system's own folders, whatever PATH says.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// Folders of the system's own programs, the first wins. The sbin folders are not in every PATH (su(1), cron(8)); the last is NixOS's.
const SYSTEM: [&str; 7] = [
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/run/current-system/sw/bin",
];

/// These folders, as a PATH for programs that run others.
pub fn system_path() -> String {
    SYSTEM.join(":")
}

/// A program of the system's own: `ip`, `systemctl`. `None` where it is not installed.
pub fn of_system(name: &str) -> Option<PathBuf> {
    SYSTEM.iter().map(|folder| Path::new(folder).join(name)).find(|path| is_executable(path))
}

/// A program that the user names, in the absolute folders of `path` (the value of a PATH), or in the system's own where that is unset or
/// empty.
pub fn in_path(name: &OsStr, path: Option<&OsStr>) -> Option<PathBuf> {
    let folders: Vec<PathBuf> = match path.filter(|path| !path.is_empty()) {
        Some(path) => std::env::split_paths(path).filter(|folder| folder.is_absolute()).collect(),
        None => SYSTEM.iter().map(PathBuf::from).collect(),
    };
    folders.into_iter().map(|folder| folder.join(name)).find(|path| is_executable(path))
}

/// Whether it is a file that we may execute.
pub fn is_executable(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_working_directory_is_no_place_for_programs() {
        let folder = tempfile::tempdir().unwrap();
        let name = OsStr::new("own-program-of-this-test");
        std::fs::copy("/proc/self/exe", folder.path().join(name)).unwrap();
        let there = in_path(name, Some(folder.path().as_os_str()));
        assert_eq!(there, Some(folder.path().join(name)));
        // Empty and relative entries mean the working directory to others.
        let here = std::env::current_dir().unwrap();
        let up = Path::new("../").join(folder.path().strip_prefix("/").unwrap());
        let relative = here.components().skip(2).fold(up, |path, _| Path::new("..").join(path));
        for path in [Some(OsStr::new("")), Some(OsStr::new(":.")), Some(relative.as_os_str()), None] {
            assert_eq!(in_path(name, path), None, "{path:?}");
        }
        assert_eq!(in_path(OsStr::new("sh"), None).unwrap().file_name(), Some(OsStr::new("sh")));
    }

    #[test]
    fn a_program_of_the_system_has_a_full_path() {
        assert!(of_system("sh").unwrap().is_absolute());
        assert_eq!(of_system("no-such-program-anywhere"), None);
    }
}
