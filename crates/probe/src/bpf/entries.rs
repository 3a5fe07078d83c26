//! Entries of a table that has far more room than entries: to look for those that are there takes longer than to ask for each of them.

use aya::Pod;
use aya::maps::{HashMap, MapData, MapError};

/// A table by key. A twin in the tests counts how often it is gone through.
pub(crate) trait ByKey<K, V> {
    /// The keys of all entries, or none where they could not all be read.
    fn all_keys(&self) -> Option<Vec<K>>;
    /// The entry of a key, if it is there.
    fn entry(&self, key: &K) -> Option<V>;
}

impl<K: Pod, V: Pod> ByKey<K, V> for HashMap<MapData, K, V> {
    fn all_keys(&self) -> Option<Vec<K>> {
        self.keys().collect::<Result<_, MapError>>().ok()
    }

    fn entry(&self, key: &K) -> Option<V> {
        self.get(key, 0).ok()
    }
}

/// A table, with the keys that were found in it.
pub(crate) struct Entries<K, T> {
    table: T,
    keys: Vec<K>,
    /// Entries that had ever been made when the keys were looked for.
    made: Option<u64>,
}

impl<K: Copy, T> Entries<K, T> {
    pub(super) fn of(table: T) -> Self {
        Self { table, keys: Vec::new(), made: None }
    }

    /// All entries; `made` is how many have ever been made, read before this is called: one made later is found by the next call.
    pub(crate) fn read<V>(&mut self, made: u64) -> Vec<(K, V)>
    where
        T: ByKey<K, V>,
    {
        if self.made != Some(made)
            && let Some(keys) = self.table.all_keys()
        {
            (self.keys, self.made) = (keys, Some(made));
        }
        self.keys.iter().filter_map(|key| Some((*key, self.table.entry(key)?))).collect()
    }
}

impl<K: Pod, V: Pod> Entries<K, HashMap<MapData, K, V>> {
    /// Takes an entry away; if it is made again, that counts as made.
    ///
    /// # Errors
    /// When it is not there.
    pub(crate) fn remove(&mut self, key: &K) -> Result<(), MapError> {
        self.table.remove(key)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeMap;

    use super::*;

    #[derive(Default)]
    struct Twin {
        entries: BTreeMap<u32, u64>,
        times_gone_through: Cell<u32>,
        is_broken: bool,
    }

    impl ByKey<u32, u64> for Twin {
        fn all_keys(&self) -> Option<Vec<u32>> {
            self.times_gone_through.set(self.times_gone_through.get() + 1);
            (!self.is_broken).then(|| self.entries.keys().copied().collect())
        }

        fn entry(&self, key: &u32) -> Option<u64> {
            self.entries.get(key).copied()
        }
    }

    #[test]
    fn it_is_gone_through_when_entries_were_made_and_then_only() {
        let mut entries = Entries::of(Twin::default());
        assert_eq!(entries.read(0), []);
        entries.table.entries = BTreeMap::from([(1, 10), (2, 20)]);
        assert_eq!(entries.read(2), [(1, 10), (2, 20)]);
        entries.table.entries.insert(2, 21);
        assert_eq!(entries.read(2), [(1, 10), (2, 21)]);
        assert_eq!(entries.table.times_gone_through.get(), 2);
        // One is taken away, and comes back as another one is made.
        entries.table.entries.remove(&1);
        assert_eq!(entries.read(2), [(2, 21)]);
        entries.table.entries.extend([(1, 1), (3, 30)]);
        assert_eq!(entries.read(4), [(1, 1), (2, 21), (3, 30)]);
        assert_eq!(entries.table.times_gone_through.get(), 3);
    }

    #[test]
    fn what_could_not_be_gone_through_is_tried_again() {
        let mut entries = Entries::of(Twin { is_broken: true, ..Twin::default() });
        entries.table.entries.insert(1, 10);
        assert_eq!(entries.read(1), []);
        entries.table.is_broken = false;
        assert_eq!(entries.read(1), [(1, 10)]);
    }
}
