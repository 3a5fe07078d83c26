//! Files of one JSON document a line, whose last line may be torn.

use std::io;
use std::path::{Path, PathBuf};

use machine::Fault;
use serde::de::DeserializeOwned;

use super::fault::{malformed, storage};

/// Reads a file of a case.
pub(super) type Read<'a> = dyn Fn(&str) -> io::Result<Vec<u8>> + 'a;

/// The whole lines of a file, and what is torn at its end.
pub(super) struct Lines<T> {
    pub whole: Vec<T>,
    pub torn: Option<Torn>,
}

/// A last line without its end: the writer was killed, or the disk was full.
pub(super) struct Torn {
    path: PathBuf,
    line: usize,
    pub whole_bytes: u64,
}

impl Torn {
    pub fn note(&self) -> String {
        format!(
            "{}: line {} is torn (killed or disk full while it was written); it counts as not written",
            self.path.display(),
            self.line
        )
    }
}

/// The lines of file `name` of the case in `dir`; none where there is no such file.
pub(super) fn read_lines<T: DeserializeOwned>(
    dir: &Path,
    name: &str,
    bytes_of: &Read<'_>,
) -> Result<Lines<T>, Fault> {
    let path = dir.join(name);
    let text = match bytes_of(name) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Lines { whole: Vec::new(), torn: None }),
        Err(e) => return Err(storage(&path, &e)),
        Ok(text) => text,
    };
    let mut whole = Vec::new();
    let mut whole_bytes = 0;
    for (number, line) in text.split_inclusive(|b| *b == b'\n').enumerate() {
        if !line.ends_with(b"\n") {
            let torn = Torn { path, line: number + 1, whole_bytes };
            return Ok(Lines { whole, torn: Some(torn) });
        }
        let value = serde_json::from_slice(line);
        whole.push(value.map_err(|e| malformed(format!("{}:{}", path.display(), number + 1), e))?);
        whole_bytes += line.len() as u64;
    }
    Ok(Lines { whole, torn: None })
}
