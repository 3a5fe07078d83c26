//! The packet generator of the emulated machine, as net/core/pktgen.c shows it. Its devices never run.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::kernel::emulated::error;

/// Content of files, by network namespace and path.
type Contents = BTreeMap<(Option<String>, PathBuf), String>;

const FOLDER: &str = "/proc/net/pktgen";

/// Whether a path is the file of one of its threads.
pub fn is_thread(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    path.parent() == Some(Path::new(FOLDER)) && name.starts_with("kpktgend_")
}

/// Carries out a command that is written to the file of a thread in network namespace `netns`.
///
/// Errors: `EINVAL` for commands other than `add_device NAME` and `rem_device_all`; `EBUSY` for a device that a thread
/// has already.
pub fn command(files: &mut Contents, netns: &Option<String>, thread: &Path, command: &str) -> io::Result<()> {
    let key = |path: PathBuf| (netns.clone(), path);
    let own = devices(files, netns, thread);
    let shown = match command.split_whitespace().collect::<Vec<_>>()[..] {
        ["add_device", device] => {
            let threads = files.keys().filter(|(of, path)| of == netns && is_thread(path));
            let mut all = threads.flat_map(|(_, path)| devices(files, netns, path));
            if all.any(|other| other == device) {
                return Err(error(libc::EBUSY));
            }
            files.insert(key(Path::new(FOLDER).join(device)), "\n".into());
            let listed: Vec<String> = own.iter().map(|device| format!("{device} ")).collect();
            format!("Running: \nStopped: {}{device} \nResult: OK: add_device={device}\n", listed.concat())
        }
        ["rem_device_all"] => {
            for device in own {
                files.remove(&key(Path::new(FOLDER).join(device)));
            }
            "Running: \nStopped: \nResult: OK: rem_device_all\n".to_string()
        }
        _ => return Err(error(libc::EINVAL)),
    };
    files.insert(key(thread.to_path_buf()), shown);
    Ok(())
}

/// Devices of a thread.
fn devices(files: &Contents, netns: &Option<String>, thread: &Path) -> Vec<String> {
    let text = files.get(&(netns.clone(), thread.to_path_buf())).map(String::as_str).unwrap_or_default();
    let stopped = text.lines().find_map(|line| line.strip_prefix("Stopped:")).unwrap_or_default();
    stopped.split_whitespace().map(String::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_has_one_thread_and_a_file_until_it_is_removed() {
        let threads = ["kpktgend_0", "kpktgend_1"].map(|name| Path::new(FOLDER).join(name));
        let unused =
            |path: &PathBuf| ((None, path.clone()), "Running: \nStopped: \nResult: NA\n".to_string());
        let mut files: Contents = threads.iter().map(unused).collect();
        let text = |files: &Contents, path: &Path| files.get(&(None, path.to_path_buf())).cloned();
        for device in ["d0", "d1"] {
            command(&mut files, &None, &threads[0], &format!("add_device {device}")).unwrap();
        }
        let shown = "Running: \nStopped: d0 d1 \nResult: OK: add_device=d1\n";
        assert_eq!(text(&files, &threads[0]).as_deref(), Some(shown));
        assert!(text(&files, &Path::new(FOLDER).join("d0")).is_some());
        let errno = |result: io::Result<()>| result.unwrap_err().raw_os_error();
        assert_eq!(errno(command(&mut files, &None, &threads[1], "add_device d0")), Some(libc::EBUSY));
        assert_eq!(errno(command(&mut files, &None, &threads[1], "rem_device d0")), Some(libc::EINVAL));
        command(&mut files, &None, &threads[0], "rem_device_all").unwrap();
        let shown = "Running: \nStopped: \nResult: OK: rem_device_all\n";
        assert_eq!(text(&files, &threads[0]).as_deref(), Some(shown));
        assert_eq!(files.len(), 2, "files of devices go with them");
        command(&mut files, &None, &threads[1], "add_device d0").unwrap();
    }
}
