//! Entries of a table that has far more room than entries: to look for those that are there takes longer than to ask for each of them.

use aya::Pod;
use aya::maps::{HashMap, MapData, MapError};

/// A table by key, with the keys that were found in it.
pub(crate) struct Entries<K: Pod, V: Pod> {
    table: HashMap<MapData, K, V>,
    keys: Vec<K>,
    /// Entries that had ever been made when the keys were looked for.
    made: Option<u64>,
}

impl<K: Pod, V: Pod> Entries<K, V> {
    pub(super) fn of(table: HashMap<MapData, K, V>) -> Self {
        Self { table, keys: Vec::new(), made: None }
    }

    /// All entries; `made` is how many have ever been made, read before this is called: one made later is found by the next call.
    pub(crate) fn read(&mut self, made: u64) -> Vec<(K, V)> {
        if self.made != Some(made)
            && let Ok(keys) = self.table.keys().collect()
        {
            (self.keys, self.made) = (keys, Some(made));
        }
        let entry = |key: &K| Some((*key, self.table.get(key, 0).ok()?));
        self.keys.iter().filter_map(entry).collect()
    }

    /// Takes an entry away; if it is made again, that counts as made.
    ///
    /// # Errors
    /// When it is not there.
    pub(crate) fn remove(&mut self, key: &K) -> Result<(), MapError> {
        self.table.remove(key)
    }
}
