//! Measured distances as a file keeps them.

use serde::{Deserialize, Serialize};

use super::{CoreDistances, CorePair, MadeOn, MemoryDistances};
use crate::Missing;

/// The version of the form of the file. Raised when an older pinwise could not read it any more.
pub const FORMAT: u32 = 1;

/// What was measured on one machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Distances {
    /// Version of the form, [`FORMAT`].
    pub format: u32,
    /// Version of pinwise that measured.
    pub pinwise: String,
    /// When it was measured, s since 1970.
    pub measured_unix_s: u64,
    /// The machine, so that they are not taken for those of another one.
    pub made_on: MadeOn,
    /// From CPU to CPU; `None` when that was not asked for.
    pub cores: Option<CoreDistances>,
    /// From node to node; `None` when that was not asked for.
    pub memory: Option<MemoryDistances>,
    /// What could not be measured, and what casts doubt on what was.
    pub missing: Vec<Missing>,
}

impl Distances {
    /// Reads the text of a file. The error says in words what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        // The version first: a file of another format need not have the fields of this one.
        let version: Version = serde_json::from_slice(text.as_bytes()).map_err(|e| e.to_string())?;
        if version.format != FORMAT {
            return Err(format!(
                "it is of format {}, and this pinwise reads format {FORMAT}",
                version.format
            ));
        }
        serde_json::from_slice(text.as_bytes()).map_err(|e| e.to_string())
    }

    /// The pair of two CPUs in this direction.
    pub fn pair(&self, from: u32, to: u32) -> Option<&CorePair> {
        self.cores.as_ref()?.pairs.iter().find(|pair| (pair.from, pair.to) == (from, to))
    }
}
