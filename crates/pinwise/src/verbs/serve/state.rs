//! What every request of the live page shares.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use tokio::sync::{Mutex, Semaphore};

use super::access::Access;
use super::{cases, changes, live};

/// Verbs that read cases at a time; a further one waits for its turn.
const MOST_READING: usize = 4;

/// What the requests share; a copy is the same one.
#[derive(Clone)]
pub(super) struct Served(Arc<Inner>);

/// The server's memory. Nothing of it outlives the process.
pub(super) struct Inner {
    /// The folder whose cases are shown, without links.
    pub(super) dir: PathBuf,
    /// Who may ask for what.
    pub(super) access: Access,
    /// The cases as they were read last.
    pub(super) cases: cases::Known,
    /// So many verbs at a time read cases: each takes memory of its own.
    pub(super) reading: Semaphore,
    /// One report at a time is made: a large one takes much memory.
    pub(super) reporting: Semaphore,
    /// Where the figures of each second come from.
    pub(super) live: live::Hub,
    /// The machine as it was read last, and when.
    pub(super) machine: Mutex<Option<(Instant, Arc<Value>)>>,
    /// One diagnosis at a time: two would find each other's load.
    pub(super) diagnosing: Semaphore,
    /// The plans that are waiting to be applied, and the change that is under way.
    pub(super) changes: changes::Changes,
}

impl Served {
    /// The state of a server that has answered nothing yet.
    pub(super) fn new(dir: PathBuf, access: Access) -> Self {
        Self(Arc::new(Inner {
            dir,
            access,
            cases: cases::Known::default(),
            reading: Semaphore::new(MOST_READING),
            reporting: Semaphore::new(1),
            live: live::Hub::default(),
            machine: Mutex::new(None),
            diagnosing: Semaphore::new(1),
            changes: changes::Changes::default(),
        }))
    }
}

impl Deref for Served {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}
