//! The facts of a case, for reading alone. Files that are missing or damaged are reported on stderr.

use std::path::Path;

use crate::notes::note;
use machine::Fault;
use report::absent;
use study::{Case, Facts};

/// The facts of the case in `dir`. What had to be left out is reported on stderr.
///
/// # Errors
/// There is no case, or what it cannot do without is malformed.
pub fn read(dir: &Path) -> Result<Facts, Fault> {
    let case = Case::open(dir)?;
    case.repairs.iter().for_each(|repair| note!("pinwise: {repair}"));
    let facts = Facts::read(&case)?;
    for absent in absent::of_files(&facts) {
        let alike =
            if absent.alike > 0 { format!(" (and {} more like it)", absent.alike) } else { String::new() };
        note!("pinwise: {}: {}: {}{alike}", dir.display(), absent.fact, absent.why);
    }
    Ok(facts)
}
