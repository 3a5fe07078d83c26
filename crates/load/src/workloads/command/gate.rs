//! A gate at which commands that are started one after another wait for the moment at which all of them begin.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use machine::{Fault, OwnFolder};
use rustix::fs::{CWD, FileType, Mode};

/// What waits: it reads a line of its own, byte by byte as POSIX asks of `read`, and becomes the command.
const WAIT: [&str; 3] = ["/bin/sh", "-c", "read -r line < \"$0\" && exec \"$@\""];

/// Its name in a folder.
const NAME: &str = "gate";

/// A named pipe that holds a line for each command that may begin.
#[derive(Debug)]
pub struct Gate {
    file: File,
    path: PathBuf,
}

impl Gate {
    /// Makes one in `folder`, in place of an earlier one; it is shut.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub fn shut(folder: &OwnFolder) -> Result<Self, Fault> {
        let make = || -> std::io::Result<Self> {
            folder.remove_all(NAME)?;
            let path = std::path::absolute(folder.path().join(NAME))?;
            rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
            // To read as well: so neither this waits for a reader, nor one that comes late for a writer.
            let file = File::options().read(true).write(true).open(&path)?;
            Ok(Self { file, path })
        };
        make().map_err(|e| Fault::io(folder.path().join(NAME).display(), &e, "free some space there"))
    }

    /// Lets so many commands begin, those that come later included.
    ///
    /// # Errors
    /// The pipe is full.
    pub fn open(&mut self, commands: usize) -> Result<(), Fault> {
        let lines = vec![b'\n'; commands];
        let written = self.file.write_all(&lines);
        written.map_err(|e| Fault::io(self.path.display(), &e, machine::IS_A_BUG))
    }

    /// The words that start a command behind it.
    pub(super) fn before(&self, command: &[String]) -> Vec<String> {
        let wait = WAIT.map(String::from).into_iter().chain([self.path.display().to_string()]);
        wait.chain(command.iter().cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use machine::own_folder::Reach;

    use super::*;

    #[test]
    fn nothing_begins_before_the_gate_is_open_and_everything_does_then() {
        let dir = tempfile::tempdir().unwrap();
        let folder = OwnFolder::make(&dir.path().join("folder"), Reach::Owner).unwrap();
        drop(Gate::shut(&folder).unwrap());
        let mut gate = Gate::shut(&folder).unwrap();
        let begun = |number: usize| dir.path().join(format!("begun {number}"));
        let start = |gate: &Gate, number: usize| {
            let words = gate.before(&["touch".to_string(), begun(number).display().to_string()]);
            Command::new(&words[0]).args(&words[1..]).stdin(Stdio::null()).spawn().unwrap()
        };
        let mut waiting: Vec<_> = (0..3).map(|number| start(&gate, number)).collect();
        // Shut, it lets none through however long that is.
        std::thread::sleep(Duration::from_millis(50));
        assert!(waiting.iter_mut().all(|child| child.try_wait().unwrap().is_none()));
        assert!((0..3).all(|number| !begun(number).exists()));
        gate.open(4).unwrap();
        waiting.push(start(&gate, 3));
        let until = Instant::now() + Duration::from_secs(30);
        for child in &mut waiting {
            while child.try_wait().unwrap().is_none() {
                assert!(Instant::now() < until, "it still waits");
                std::thread::sleep(Duration::from_millis(2));
            }
            assert!(child.wait().unwrap().success());
        }
        assert!((0..4).all(|number| begun(number).exists()));
    }
}
