//! The hosts of one kind side by side.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::cards::Matched;
use super::consequences::Differing;
use super::judge::{Bench, Cell, Values, Verdict};
use super::kind::Group;
use super::reduced::Reduced;
use super::symbols::Symbols;
use super::values::{Key, Value};
use super::{Difference, FeatureId, Shape, Variation};

/// Values of one variation that are listed one by one.
const MOST_VALUES: usize = 12;

/// A difference, not in words yet.
struct Found {
    host: usize,
    key: Key,
    usual: Value,
    here: Value,
    shared_by: usize,
    known: usize,
}

/// Compares the hosts of a group.
pub(super) fn shape(group: &Group, all: &[Reduced], symbols: &Symbols) -> Shape {
    let mut hosts: Vec<&Reduced> = group.hosts.iter().filter_map(|place| all.get(*place)).collect();
    hosts.sort_by(|a, b| a.host.cmp(&b.host));
    let matched = Matched::of(&hosts, symbols);
    let bench = Bench::of(&hosts, symbols);
    let side = Side { hosts: &hosts, matched: &matched, symbols };
    let (mut usually, mut found, mut varying) = (Vec::new(), Vec::new(), Vec::new());
    for (key, cells) in side.columns() {
        match bench.judge(key, cells) {
            Verdict::Alike(value) => usually.push((key, value)),
            Verdict::Usual { value: usual, shared_by, known, others } => {
                usually.push((key, usual));
                let of = |(host, here): Cell| Found { host, key, usual, here, shared_by, known };
                found.extend(others.into_iter().map(of));
            }
            Verdict::Varies(values) => varying.push((key, values)),
            Verdict::Nothing => {}
        }
    }
    // What most do not have is no feature of the shape.
    let usually = usually.into_iter().filter(|(_, value)| *value != Value::Absent);
    Shape {
        id: group.id.clone(),
        title: group.kind.title(usual(&hosts, |host| host.cpus), usual(&hosts, |host| host.nodes), symbols),
        hosts: hosts.iter().map(|host| host.host.to_string()).collect(),
        differences: side.differences(found),
        features: usually.map(|(key, value)| (side.name(key), side.words(key, value))).collect(),
        varies: side.variations(varying),
    }
}

/// The most frequent number, of several the largest.
fn usual(hosts: &[&Reduced], number: impl Fn(&Reduced) -> usize) -> usize {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for host in hosts {
        *counts.entry(number(host)).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(number, count)| (*count, *number)).map_or(0, |(number, _)| number)
}

/// Of differences that weigh the same.
fn order(difference: &Difference) -> (FeatureId, &str, &str, &str) {
    (difference.feature, &difference.subject, &difference.host, &difference.here)
}

/// The hosts with the cards that are the same.
struct Side<'a> {
    hosts: &'a [&'a Reduced],
    matched: &'a Matched,
    symbols: &'a Symbols,
}

impl Side<'_> {
    /// Each feature with the values of all hosts.
    fn columns(&self) -> HashMap<Key, Vec<Cell>> {
        let mut columns: HashMap<Key, Vec<Cell>> = HashMap::new();
        for (place, (host, cards)) in self.hosts.iter().zip(&self.matched.facts).enumerate() {
            for (key, value) in host.facts.iter().chain(cards) {
                columns.entry(*key).or_default().push((place, *value));
            }
        }
        columns
    }

    /// Feature and subject, as [`Shape::features`] has them.
    fn name(&self, key: Key) -> String {
        match self.symbols.text(key.subject) {
            "" => key.feature.name().to_string(),
            subject => format!("{} {subject}", key.feature.name()),
        }
    }

    fn words(&self, key: Key, value: Value) -> String {
        value.words(key.feature, self.symbols)
    }

    fn host(&self, place: usize) -> String {
        self.hosts.get(place).map(|host| host.host.to_string()).unwrap_or_default()
    }

    fn differences(&self, mut found: Vec<Found>) -> Vec<Difference> {
        let differing = Differing::of(found.iter().map(|one| (one.host, one.key)));
        found.retain(|one| !differing.explains(one.host, one.key, self.symbols));
        let mut differences: Vec<Difference> = found.into_iter().map(|one| self.difference(&one)).collect();
        differences.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| order(a).cmp(&order(b))));
        differences
    }

    fn difference(&self, found: &Found) -> Difference {
        let Found { host, key, usual, here, shared_by, known } = *found;
        Difference {
            host: self.host(host),
            feature: key.feature,
            subject: self.symbols.text(self.matched.own_name(host, key)).to_string(),
            usual: self.words(key, usual),
            here: self.words(key, here),
            shared_by,
            weight: key.feature.weight() * shared_by as f64 / known.max(1) as f64,
            why: key.feature.why(),
        }
    }

    fn variations(&self, varying: Vec<(Key, Values)>) -> Vec<Variation> {
        // All hosts of the shape are one here: what varies is not a matter of any of them.
        let differing = Differing::of(varying.iter().map(|(key, _)| (0, *key)));
        let is_own = |key: &Key, values: &[(Value, Vec<usize>)]| {
            let known: usize = values.iter().map(|(_, hosts)| hosts.len()).sum();
            key.feature.is_fluid() && known > 2 && values.len() * 2 > known
        };
        let kept = varying
            .into_iter()
            .filter(|(key, values)| !is_own(key, values) && !differing.explains(0, *key, self.symbols));
        let mut variations: Vec<Variation> = kept.map(|(key, values)| self.variation(key, values)).collect();
        variations.sort_by(|a, b| {
            let heavier = b.feature.weight().total_cmp(&a.feature.weight());
            heavier.then_with(|| (a.feature, &a.subject).cmp(&(b.feature, &b.subject)))
        });
        variations
    }

    fn variation(&self, key: Key, values: Values) -> Variation {
        let mut values: Vec<(String, Vec<String>)> =
            values.into_iter().map(|(value, hosts)| (self.words(key, value), self.sorted(&hosts))).collect();
        values.sort_by(|a, b| (Reverse(a.1.len()), &a.0, &a.1).cmp(&(Reverse(b.1.len()), &b.0, &b.1)));
        if values.len() > MOST_VALUES {
            let rest = values.split_off(MOST_VALUES);
            let words = format!("{} other values", rest.len());
            let mut hosts: Vec<String> = rest.into_iter().flat_map(|(_, hosts)| hosts).collect();
            hosts.sort();
            values.push((words, hosts));
        }
        Variation { feature: key.feature, subject: self.symbols.text(key.subject).to_string(), values }
    }

    fn sorted(&self, hosts: &[usize]) -> Vec<String> {
        let mut hosts: Vec<String> = hosts.iter().map(|place| self.host(*place)).collect();
        hosts.sort();
        hosts
    }
}
