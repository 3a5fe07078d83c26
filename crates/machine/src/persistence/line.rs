//! Lines of the platform's files.

use crate::PlatformFile;

/// Where a setting is kept, and the lines for it.
pub(super) struct Line {
    pub(super) file: PlatformFile,
    pub(super) lines: Vec<String>,
}

/// The lines for a setting, or why there are none.
pub(super) type Lines = Result<Vec<Line>, String>;
