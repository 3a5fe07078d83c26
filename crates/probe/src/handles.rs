//! Files that are read again and again stay open: opening one costs more than most of them take to print.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

use machine::{ReadError, Root};

/// Most files that stay open at once; the others are opened each time. Far below the usual limit of 1024.
const MOST_OPEN: usize = 192;

/// A file that was not asked for in this many frames is closed.
const IDLE_FRAMES: usize = 20;

/// Room for what most files of /proc print.
const FIRST_BYTES: usize = 4096;

/// Open files of the running system by path. Other roots are read through.
#[derive(Debug, Default)]
pub(crate) struct Handles {
    open: HashMap<String, Handle>,
    frame: usize,
}

#[derive(Debug)]
struct Handle {
    file: File,
    bytes: usize,
    used: usize,
}

impl Handles {
    /// The content of a file. A handle on a file of a process never leads to another process of the same number.
    pub fn read(&mut self, root: &Root, path: &str) -> Result<Vec<u8>, ReadError> {
        if !root.is_live() {
            return root.read_bytes(path);
        }
        if let Some(handle) = self.open.get_mut(path) {
            handle.used = self.frame;
            if let Ok(content) = handle.content() {
                return Ok(content);
            }
            // The CPU or process behind it is gone; there may be a new one.
            self.open.remove(path);
        }
        if self.open.len() >= MOST_OPEN {
            return root.read_bytes(path);
        }
        let file = File::open(path).map_err(|e| ReadError::from_io(path, &e))?;
        let mut handle = Handle { file, bytes: FIRST_BYTES, used: self.frame };
        let content = handle.content().map_err(|e| ReadError::from_io(path, &e))?;
        self.open.insert(path.to_string(), handle);
        Ok(content)
    }

    /// Ends a frame: closes what is not asked for any more.
    pub fn end_frame(&mut self) {
        self.frame += 1;
        if self.frame.is_multiple_of(IDLE_FRAMES) {
            self.open.retain(|_, handle| handle.used + IDLE_FRAMES > self.frame);
        }
    }
}

impl Handle {
    /// Reads from the start to the end: the kernel prints the file anew.
    fn content(&mut self) -> std::io::Result<Vec<u8>> {
        let mut content = vec![0; self.bytes];
        let mut filled = 0;
        loop {
            // Files of /proc come in pieces of a page: only an empty piece is the end.
            match self.file.read_at(&mut content[filled..], filled as u64)? {
                0 => break,
                read => filled += read,
            }
            if filled == content.len() {
                content.resize(filled * 2, 0);
            }
        }
        self.bytes = content.len();
        content.truncate(filled);
        Ok(content)
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_kept_file_is_printed_anew_and_in_full() {
        let (root, mut handles) = (Root::live(), Handles::default());
        let first = handles.read(&root, "/proc/uptime").unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert_ne!(handles.read(&root, "/proc/uptime").unwrap(), first);
        assert_eq!(handles.open.len(), 1);
        // Longer than the first room, and in many pieces.
        let symbols = handles.read(&root, "/proc/self/mountinfo").unwrap();
        assert_eq!(symbols, root.read_bytes("/proc/self/mountinfo").unwrap());
    }

    #[test]
    fn a_process_that_ended_is_not_read_any_more() {
        let (root, mut handles) = (Root::live(), Handles::default());
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let path = format!("/proc/{}/stat", child.id());
        assert!(handles.read(&root, &path).is_ok());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(handles.read(&root, &path).is_err());
        assert!(handles.open.is_empty());
    }

    #[test]
    fn files_that_are_not_asked_for_are_closed() {
        let (root, mut handles) = (Root::live(), Handles::default());
        handles.read(&root, "/proc/uptime").unwrap();
        (0..2 * IDLE_FRAMES).for_each(|_| handles.end_frame());
        assert!(handles.open.is_empty());
        assert!(handles.read(&root, "/proc/no-such-file").unwrap_err().is_absent());
    }
}
