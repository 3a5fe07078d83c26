//! Files of one JSON document a line, whose last line may be torn.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use machine::Fault;
use serde::de::DeserializeOwned;

use super::{malformed, storage};

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

pub(super) fn read_lines<T: DeserializeOwned>(path: &Path) -> Result<Lines<T>, Fault> {
    let mut text = Vec::new();
    match File::open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Lines { whole: Vec::new(), torn: None }),
        Err(e) => return Err(storage(path, &e)),
        Ok(mut file) => file.read_to_end(&mut text).map_err(|e| storage(path, &e))?,
    };
    let mut whole = Vec::new();
    let mut whole_bytes = 0;
    for (number, line) in text.split_inclusive(|b| *b == b'\n').enumerate() {
        if !line.ends_with(b"\n") {
            let torn = Torn { path: path.to_path_buf(), line: number + 1, whole_bytes };
            return Ok(Lines { whole, torn: Some(torn) });
        }
        let value = serde_json::from_slice(line);
        whole.push(value.map_err(|e| malformed(format!("{}:{}", path.display(), number + 1), e))?);
        whole_bytes += line.len() as u64;
    }
    Ok(Lines { whole, torn: None })
}
