//! Sums by name where names can be any number: those of a few are kept apart.

use std::collections::BTreeMap;

/// Who added nothing for so long makes room for another, ns: longer than what rates are usually taken over.
const IDLE_NS: u64 = 600_000_000_000;

/// Sums by key, of which only so many have their own. What comes then is added to the rest, and stays there: no sum that is shown goes down.
#[derive(Debug)]
pub(super) struct Bounded<K, V> {
    most: usize,
    /// The key of the rest.
    rest_key: K,
    own: BTreeMap<K, Own<V>>,
    rest: Option<V>,
}

#[derive(Debug, Default)]
struct Own<V> {
    sum: V,
    /// When something was added last.
    added_ns: u64,
}

impl<K: Ord, V: Default> Bounded<K, V> {
    pub(super) fn new(most: usize, rest_key: K) -> Self {
        Self { most, rest_key, own: BTreeMap::new(), rest: None }
    }

    /// The sum to add to at this moment, which never goes back.
    pub(super) fn sum(&mut self, key: K, at_ns: u64) -> &mut V {
        let is_known = self.own.contains_key(&key);
        if !is_known && self.own.len() >= self.most {
            self.make_room(at_ns);
        }
        if key == self.rest_key || (!is_known && self.own.len() >= self.most) {
            return self.rest.get_or_insert_default();
        }
        let own = self.own.entry(key).or_default();
        own.added_ns = at_ns;
        &mut own.sum
    }

    /// Leaves out who added nothing for long. It is not added to the rest: that would seem to have happened now.
    fn make_room(&mut self, at_ns: u64) {
        self.own.retain(|_, own| at_ns.saturating_sub(own.added_ns) < IDLE_NS);
    }

    /// All of them, the rest last.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let rest = self.rest.iter().map(|rest| (&self.rest_key, rest));
        self.own.iter().map(|(key, own)| (key, &own.sum)).chain(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(bounded: &Bounded<String, u64>) -> Vec<(&str, u64)> {
        bounded.iter().map(|(key, sum)| (key.as_str(), *sum)).collect()
    }

    #[test]
    fn those_beyond_the_bound_are_the_rest_and_stay_there() {
        let mut all: Bounded<String, u64> = Bounded::new(2, "other".into());
        for (key, more) in [("b", 1), ("a", 2), ("c", 4), ("d", 8), ("b", 16), ("c", 32)] {
            *all.sum(key.into(), 7) += more;
        }
        assert_eq!(sums(&all), [("a", 2), ("b", 17), ("other", 44)]);
    }

    #[test]
    fn a_name_like_that_of_the_rest_is_of_the_rest() {
        let mut all: Bounded<String, u64> = Bounded::new(2, "other".into());
        *all.sum("other".into(), 0) += 1;
        assert_eq!(sums(&all), [("other", 1)]);
    }

    #[test]
    fn who_added_nothing_for_long_makes_room() {
        let mut all: Bounded<String, u64> = Bounded::new(2, "other".into());
        *all.sum("a".into(), 0) += 1;
        *all.sum("b".into(), 1) += 2;
        *all.sum("c".into(), IDLE_NS - 1) += 4;
        assert_eq!(sums(&all), [("a", 1), ("b", 2), ("other", 4)], "not long enough");
        *all.sum("d".into(), IDLE_NS) += 8;
        assert_eq!(sums(&all), [("b", 2), ("d", 8), ("other", 4)]);
    }
}
