//! Files in which names of tasks stand, as text.

use crate::{ReadError, Root};

/// The text of a file in which names of tasks stand: those are bytes that anybody may have chosen, and what is no
/// UTF-8 in them is replaced by U+FFFD.
pub(super) fn text(root: &Root, path: &str) -> Result<String, ReadError> {
    let bytes = root.read_bytes(path)?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}
