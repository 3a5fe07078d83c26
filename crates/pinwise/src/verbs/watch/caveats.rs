//! What stands beside a trace or a list of stacks, which have no place for it.

use machine::Missing;
use probe::account::ChangedCpu;
use report::account::changed_cpus;

use crate::notes::note;

/// Says which CPUs changed in the window, and what is missing.
pub(super) fn note_all(changed: &[ChangedCpu], missing: &[Missing]) {
    for line in changed_cpus::lines(changed).lines() {
        note!("pinwise: {line}");
    }
    for missing in missing {
        note!("pinwise: missing: {}: {}", missing.fact, missing.why);
    }
}
