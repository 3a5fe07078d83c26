//! One feature of all hosts of a shape, as a table has it: small, since most hosts have the same.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::FeatureId;

/// What the hosts of a shape have of one feature. Hosts are given by their places in [`super::Shape::hosts`].
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    feature: FeatureId,
    subject: String,
    usual: Option<String>,
    /// The values in words, each once, in the order of the first host that has it.
    words: Vec<String>,
    /// What most hosts have, as a place in `words`; `None` where it is not known on most.
    most: Option<u32>,
    /// The other hosts in order, each with what it has, or `None` where that is not known.
    others: Vec<(u32, Option<u32>)>,
    /// Hosts, in order, that have another name for the subject.
    renamed: Vec<(u32, String)>,
}

impl Column {
    /// The column of a feature and what it is of, for so many `hosts`. `known` has the hosts on which a value is known; of several values
    /// of one host the first counts.
    pub fn new<'a>(
        feature: FeatureId,
        subject: &str,
        usual: Option<String>,
        hosts: usize,
        known: impl IntoIterator<Item = (usize, &'a str)>,
    ) -> Self {
        let mut known: Vec<(u32, &str)> =
            known.into_iter().filter_map(|(host, words)| Some((u32::try_from(host).ok()?, words))).collect();
        known.sort_by_key(|(host, _)| *host);
        known.dedup_by_key(|(host, _)| *host);
        let mut places: HashMap<&str, u32> = HashMap::new();
        let (mut words, mut counts): (Vec<String>, Vec<usize>) = (Vec::new(), Vec::new());
        let mut cells = Vec::with_capacity(known.len());
        for (host, value) in known {
            let place = *places.entry(value).or_insert_with(|| {
                words.push(value.to_string());
                counts.push(0);
                (words.len() - 1) as u32
            });
            counts[place as usize] += 1;
            cells.push((host, place));
        }
        let unknown = hosts.saturating_sub(cells.len());
        // Of several values that as many hosts have the first one.
        let most = (0_u32..).zip(&counts).max_by_key(|(place, count)| (**count, Reverse(*place)));
        let most = most.filter(|(_, count)| **count >= unknown).map(|(place, _)| place);
        let others = match most {
            None => cells.into_iter().map(|(host, place)| (host, Some(place))).collect(),
            Some(_) => all_but(most, hosts, &cells),
        };
        Self { feature, subject: subject.to_string(), usual, words, most, others, renamed: Vec::new() }
    }

    /// The same with the names that single hosts have for what it is of.
    pub fn with_names(mut self, names: impl IntoIterator<Item = (usize, String)>) -> Self {
        let place = |(host, name): (usize, String)| Some((u32::try_from(host).ok()?, name));
        self.renamed = names.into_iter().filter_map(place).collect();
        self.renamed.sort_unstable();
        self
    }

    /// Which feature.
    pub fn feature(&self) -> FeatureId {
        self.feature
    }

    /// What is usual; `None` where nothing is.
    pub fn usual(&self) -> Option<&str> {
        self.usual.as_deref()
    }

    /// What it is of, by the name that the host has for it: a card may be called otherwise there. Empty for what a machine has once.
    pub fn subject(&self, host: usize) -> &str {
        let own = found(&self.renamed, host).map(String::as_str);
        own.unwrap_or(&self.subject)
    }

    /// What the host has; `None` where that is not known.
    pub fn value(&self, host: usize) -> Option<&str> {
        let place = found(&self.others, host).copied().unwrap_or(self.most)?;
        self.words.get(place as usize).map(String::as_str)
    }

    /// Feature and subject, as [`super::Shape::features`] has them.
    pub(super) fn name(&self) -> String {
        match self.subject.as_str() {
            "" => self.feature.name().to_string(),
            subject => format!("{} {subject}", self.feature.name()),
        }
    }

    /// By what columns are sorted.
    pub(super) fn order(&self) -> (&'static str, &str) {
        (self.feature.name(), &self.subject)
    }
}

/// The hosts that have something else than `most`, or of which it is not known what they have.
fn all_but(most: Option<u32>, hosts: usize, cells: &[(u32, u32)]) -> Vec<(u32, Option<u32>)> {
    let mut left = cells.iter().peekable();
    let all = (0..u32::try_from(hosts).unwrap_or(u32::MAX)).map(|host| {
        let here = left.next_if(|(known, _)| *known == host);
        (host, here.map(|(_, place)| *place))
    });
    let mut others: Vec<(u32, Option<u32>)> = all.filter(|(_, place)| *place != most).collect();
    others.shrink_to_fit();
    others
}

/// What a list in order of hosts has of one.
fn found<T>(list: &[(u32, T)], host: usize) -> Option<&T> {
    let place = list.binary_search_by(|(other, _)| (*other as usize).cmp(&host)).ok()?;
    list.get(place).map(|(_, of)| of)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_host_has_its_value_and_no_other_has_one(
            values in prop::collection::vec(prop::option::of("[ab]{0,2}"), 0..12)
        ) {
            let known = values.iter().enumerate().rev();
            let known = known.filter_map(|(host, value)| Some((host, value.as_deref()?)));
            let column = Column::new(FeatureId::Kernel, "", None, values.len(), known);
            let read: Vec<Option<String>> =
                (0..values.len()).map(|host| column.value(host).map(String::from)).collect();
            prop_assert_eq!(&read, &values);
            prop_assert!(column.others.len() <= values.len());
        }
    }

    #[test]
    fn only_what_is_not_as_most_have_it_is_kept_host_by_host() {
        let of = |known: &[(usize, &'static str)]| {
            Column::new(FeatureId::Kernel, "", None, 1000, known.iter().copied())
        };
        assert_eq!(of(&[(7, "6.1")]).others, [(7, Some(0))], "known on one host");
        let mut all: Vec<(usize, &str)> = (0..999).map(|host| (host, "6.1")).collect();
        all[3].1 = "5.10";
        assert_eq!(of(&all).others, [(3, Some(1)), (999, None)], "not known on one host");
    }

    #[test]
    fn a_host_with_two_values_hides_those_of_no_other() {
        let known = [(0, "a"), (1, "b"), (1, "c"), (2, "a"), (3, "a")];
        let column = Column::new(FeatureId::CardNode, "eth0", None, 4, known);
        let values = [0, 1, 2, 3].map(|host| column.value(host));
        assert_eq!(values, [Some("a"), Some("b"), Some("a"), Some("a")]);
    }

    #[test]
    fn a_host_that_has_another_name_for_a_card_is_asked_by_it() {
        let known = [(0, "node 0"), (1, "node 0")];
        let column = Column::new(FeatureId::CardNode, "eth0", Some("node 0".into()), 2, known)
            .with_names([(1, "enp59s0".to_string())]);
        assert_eq!([0, 1].map(|host| column.subject(host)), ["eth0", "enp59s0"]);
        assert_eq!([0, 1].map(|host| column.value(host)), [Some("node 0"); 2]);
    }
}
