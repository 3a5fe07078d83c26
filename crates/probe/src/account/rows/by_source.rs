//! What interrupted a CPU, by source.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};

use super::source::{Interruptions, Source};

/// What each source did that came, in the order of [`Source::ALL`].
///
/// They are few, and each CPU of a large machine has them: they lie in a row, in as much memory as they take.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(from = "BTreeMap<Source, Interruptions>")]
pub struct BySource(Vec<(Source, Interruptions)>);

impl BySource {
    /// One after the other.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Source, &Interruptions)> {
        self.0.iter().map(|(source, seen)| (*source, seen))
    }

    /// The same, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Interruptions> {
        self.0.iter_mut().map(|(_, seen)| seen)
    }

    /// What this source did; `None` if it did not come.
    pub fn get(&self, source: Source) -> Option<&Interruptions> {
        self.place_of(source).ok().map(|place| &self.0[place].1)
    }

    /// Whether none came.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts in what a source did, in the place of what it did before.
    pub fn insert(&mut self, source: Source, seen: Interruptions) {
        match self.place_of(source) {
            Ok(place) => self.0[place].1 = seen,
            Err(place) => self.0.insert(place, (source, seen)),
        }
    }

    fn place_of(&self, source: Source) -> Result<usize, usize> {
        self.0.binary_search_by_key(&source, |(source, _)| *source)
    }
}

impl FromIterator<(Source, Interruptions)> for BySource {
    /// In any order; of a source that comes twice the last one stays.
    fn from_iter<I: IntoIterator<Item = (Source, Interruptions)>>(sources: I) -> Self {
        let sources = sources.into_iter();
        let mut all = Self(Vec::with_capacity(sources.size_hint().0));
        sources.for_each(|(source, seen)| all.insert(source, seen));
        all
    }
}

impl From<BTreeMap<Source, Interruptions>> for BySource {
    fn from(sources: BTreeMap<Source, Interruptions>) -> Self {
        Self(sources.into_iter().collect())
    }
}

impl Serialize for BySource {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Stretches;

    fn seen(count: u64) -> Interruptions {
        Interruptions { all: Stretches { count, ..Stretches::default() }, ..Interruptions::default() }
    }

    #[test]
    fn they_are_in_the_order_of_the_sources_and_each_is_there_once() {
        let sources = [(Source::SoftirqRcu, seen(1)), (Source::Tick, seen(2)), (Source::SoftirqRcu, seen(3))];
        let all: BySource = sources.into_iter().collect();
        let counts: Vec<_> = all.iter().map(|(source, seen)| (source, seen.all.count)).collect();
        assert_eq!(counts, [(Source::Tick, 2), (Source::SoftirqRcu, 3)]);
        assert_eq!(all.get(Source::Tick), Some(&seen(2)));
        assert_eq!(all.get(Source::Nmi), None);
        assert!(!all.is_empty() && BySource::default().is_empty());
    }

    #[test]
    fn as_json_they_are_an_object_by_source() {
        let all: BySource = [(Source::Tick, seen(2)), (Source::Nmi, seen(1))].into_iter().collect();
        let json = serde_json::to_value(&all).unwrap();
        assert_eq!(json["tick"]["count"], 2);
        assert_eq!(json.as_object().unwrap().len(), 2);
        assert_eq!(serde_json::from_value::<BySource>(json).unwrap(), all);
    }
}
