//! How long changes last.

use machine::{Act, Setting};

use super::{Lifetime, operation};
use crate::record::Entry;

/// Whether an act is in force in later boots as well: a file that is read at each start, and what such a file among `entries`, those of
/// its session, sets.
pub fn outlives_boots<'a>(entry: &Entry, mut entries: impl Iterator<Item = &'a Entry>) -> bool {
    let keeps = |entry: &Entry, setting: &Setting| match &entry.act {
        Act::PlaceFile { keeps, .. } => keeps.contains(setting),
        _ => false,
    };
    match operation(&entry.act).lifetime() {
        Lifetime::Boot => false,
        Lifetime::Lasting => true,
        Lifetime::BootUnlessKept => {
            let setting = entry.setting.as_ref();
            setting.is_some_and(|setting| entries.any(|entry| keeps(entry, setting)))
        }
    }
}
