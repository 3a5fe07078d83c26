//! Configuration files of ours, in the form that the ledger keeps.

use std::io;

use machine::PlatformFile;

use crate::kernel::{Kernel, PlacedFile};
use crate::record::Value;

impl dyn Kernel + '_ {
    /// [`placed_file`](crate::kernel::Platform::placed_file) in the form that the ledger keeps.
    pub(crate) fn platform_file(&self, file: &PlatformFile) -> io::Result<Value> {
        Ok(match self.placed_file(file)? {
            PlacedFile::Placed(text) => Value::Text(text),
            PlacedFile::Missing { folders } => Value::Unplaced { folders },
        })
    }
}
