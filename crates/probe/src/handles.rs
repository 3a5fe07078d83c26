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

/// Room for a piece of a large file: it stays in the second-level cache, and holds a line of 10,000 CPUs.
const PIECE_BYTES: usize = 128 * 1024;

/// Open files by path. Roots that have no files (archives in memory) are read through.
#[derive(Debug, Default)]
pub(crate) struct Handles {
    open: HashMap<String, Handle>,
    piece: Vec<u8>,
    frame: usize,
}

#[derive(Debug)]
struct Handle {
    file: File,
    used: usize,
}

/// What serves a path.
enum Served<'a> {
    Open(&'a File),
    /// Opened for this once.
    Once(File),
    /// There is no file: this is its content.
    Content(Vec<u8>),
}

impl Handles {
    /// The content of a file, in place of what was in `content`. A handle on a file of a process never leads to another
    /// process of the same number.
    pub fn read(&mut self, root: &Root, path: &str, content: &mut Vec<u8>) -> Result<(), ReadError> {
        self.with(root, path, |served, _| match served {
            Served::Open(file) => whole(file, content),
            Served::Once(file) => whole(&file, content),
            Served::Content(bytes) => {
                *content = bytes;
                Ok(())
            }
        })
    }

    /// Hands the content of a file to `take` in pieces that end with a line (but for the last one): a file of 50 MB needs
    /// no room of its own. After an error some pieces may have been taken; `again` says that they come from the start again.
    pub fn pieces(
        &mut self,
        root: &Root,
        path: &str,
        mut take: impl FnMut(Piece<'_>),
    ) -> Result<(), ReadError> {
        self.with(root, path, |served, room| {
            take(Piece::Start);
            match served {
                Served::Open(file) => in_pieces(file, room, &mut take),
                Served::Once(file) => in_pieces(&file, room, &mut take),
                Served::Content(bytes) => {
                    take(Piece::Lines(&bytes));
                    Ok(())
                }
            }
        })
    }

    /// Finds what serves the path, and once more with a file opened anew when one that was kept fails.
    fn with(
        &mut self,
        root: &Root,
        path: &str,
        mut read: impl FnMut(Served<'_>, &mut Vec<u8>) -> std::io::Result<()>,
    ) -> Result<(), ReadError> {
        if let Some(handle) = self.open.get_mut(path) {
            handle.used = self.frame;
            if read(Served::Open(&handle.file), &mut self.piece).is_ok() {
                return Ok(());
            }
            // The CPU or process behind it is gone; there may be a new one.
            self.open.remove(path);
        }
        let error = |e: std::io::Error| ReadError::from_io(path, &e);
        match root.open(path)? {
            None => read(Served::Content(root.read_bytes(path)?), &mut self.piece).map_err(error),
            Some(file) if self.open.len() >= MOST_OPEN => {
                read(Served::Once(file), &mut self.piece).map_err(error)
            }
            Some(file) => {
                read(Served::Open(&file), &mut self.piece).map_err(error)?;
                self.open.insert(path.to_string(), Handle { file, used: self.frame });
                Ok(())
            }
        }
    }

    /// Ends a frame: closes what is not asked for any more.
    pub fn end_frame(&mut self) {
        self.frame += 1;
        if self.frame.is_multiple_of(IDLE_FRAMES) {
            self.open.retain(|_, handle| handle.used + IDLE_FRAMES > self.frame);
        }
    }
}

/// What [`Handles::pieces`] hands over.
pub(crate) enum Piece<'a> {
    /// The file begins; what was handed over before counts no more.
    Start,
    /// Its next lines.
    Lines(&'a [u8]),
}

/// Reads from the start to the end: the kernel prints the file anew.
fn whole(file: &File, content: &mut Vec<u8>) -> std::io::Result<()> {
    content.clear();
    content.reserve(FIRST_BYTES);
    loop {
        // Files of /proc come in pieces of a page: only an empty piece is the end.
        let offset = content.len() as u64;
        match rustix::io::pread(file, rustix::buffer::spare_capacity(content), offset)? {
            0 => return Ok(()),
            _ if content.len() == content.capacity() => content.reserve(content.len()),
            _ => {}
        }
    }
}

/// The same in pieces of whole lines; `room` holds one and grows if a line needs it.
fn in_pieces(file: &File, room: &mut Vec<u8>, take: &mut impl FnMut(Piece<'_>)) -> std::io::Result<()> {
    if room.len() < PIECE_BYTES {
        room.resize(PIECE_BYTES, 0);
    }
    let (mut offset, mut filled) = (0, 0);
    loop {
        let read = file.read_at(&mut room[filled..], offset)?;
        if read == 0 {
            take(Piece::Lines(&room[..filled]));
            return Ok(());
        }
        offset += read as u64;
        let from = filled;
        filled += read;
        match room[from..filled].iter().rposition(|b| *b == b'\n') {
            Some(at) => {
                let end = from + at + 1;
                take(Piece::Lines(&room[..end]));
                room.copy_within(end..filled, 0);
                filled -= end;
            }
            None if filled == room.len() => room.resize(filled * 2, 0),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn read(handles: &mut Handles, root: &Root, path: &str) -> Result<Vec<u8>, ReadError> {
        let mut content = b"of before".to_vec();
        handles.read(root, path, &mut content).map(|()| content)
    }

    #[test]
    fn a_kept_file_is_printed_anew_and_in_full() {
        let (root, mut handles) = (Root::live(), Handles::default());
        let first = read(&mut handles, &root, "/proc/uptime").unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert_ne!(read(&mut handles, &root, "/proc/uptime").unwrap(), first);
        assert_eq!(handles.open.len(), 1);
        // Longer than the first room, and in many pieces.
        let symbols = read(&mut handles, &root, "/proc/self/mountinfo").unwrap();
        assert_eq!(symbols, root.read_bytes("/proc/self/mountinfo").unwrap());
    }

    #[test]
    fn pieces_are_whole_lines_and_together_the_file() {
        let dir = std::env::temp_dir().join(format!("pinwise-pieces-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let long = "y".repeat(3 * PIECE_BYTES);
        let text = "short\n".repeat(40_000) + &long + "\n" + &"x\n".repeat(70_000) + "no end of line";
        std::fs::write(dir.join("table"), &text).unwrap();
        let root = Root::at(&dir).unwrap();
        let (mut handles, mut seen) = (Handles::default(), Vec::new());
        for _ in 0..2 {
            let mut pieces = 0;
            let take = |piece: Piece<'_>| match piece {
                Piece::Start => seen.clear(),
                Piece::Lines(lines) => {
                    assert!(lines.ends_with(b"\n") || lines.ends_with(b"line"));
                    pieces += 1;
                    seen.extend_from_slice(lines);
                }
            };
            handles.pieces(&root, "/table", take).unwrap();
            assert_eq!(seen, text.as_bytes());
            assert!(pieces > 3);
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_process_that_ended_is_not_read_any_more() {
        let (root, mut handles) = (Root::live(), Handles::default());
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let path = format!("/proc/{}/stat", child.id());
        assert!(read(&mut handles, &root, &path).is_ok());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(read(&mut handles, &root, &path).is_err());
        assert!(handles.open.is_empty());
    }

    #[test]
    fn files_that_are_not_asked_for_are_closed() {
        let (root, mut handles) = (Root::live(), Handles::default());
        read(&mut handles, &root, "/proc/uptime").unwrap();
        (0..2 * IDLE_FRAMES).for_each(|_| handles.end_frame());
        assert!(handles.open.is_empty());
        assert!(read(&mut handles, &root, "/proc/no-such-file").unwrap_err().is_absent());
    }
}
