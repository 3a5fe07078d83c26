//! The hosts of one kind side by side.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::cards::Matched;
use super::column::Column;
use super::consequences::Differing;
use super::feature::heaviest_first;
use super::judge::{Bench, Cell, Values, Verdict};
use super::kind::Group;
use super::reduced::Reduced;
use super::symbols::Symbols;
use super::values::{Key, Value};
use super::{Difference, FeatureId, Others, Shape, Variation};

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

/// A feature without a usual value, not in words yet.
struct Varying {
    key: Key,
    values: Values,
    column: Column,
}

/// Compares the hosts of a group.
pub(super) fn shape(group: &Group, all: &[Reduced], symbols: &Symbols) -> Shape {
    let mut hosts: Vec<&Reduced> = group.hosts.iter().filter_map(|place| all.get(*place)).collect();
    hosts.sort_by(|a, b| a.host.cmp(&b.host));
    let matched = Matched::of(&hosts, symbols);
    let bench = Bench::of(&hosts, symbols);
    let side = Side { hosts: &hosts, matched: &matched, symbols };
    let (mut columns, mut found, mut varying) = (Vec::new(), Vec::new(), Vec::new());
    for (key, mut cells) in matched.columns(&hosts) {
        let usual = match bench.judge(key, &mut cells) {
            Verdict::Alike(value) => value,
            Verdict::Usual { value: usual, shared_by, known, others } => {
                let of = |(host, here): Cell| Found { host, key, usual, here, shared_by, known };
                found.extend(others.into_iter().map(of));
                usual
            }
            Verdict::Varies(values) => {
                varying.push(Varying { key, values, column: side.column(key, None, &cells) });
                continue;
            }
            Verdict::Nothing => continue,
        };
        // What most do not have is no feature of the shape.
        if usual != Value::Absent {
            columns.push(side.column(key, Some(usual), &cells));
        }
    }
    let feature = |column: &Column| Some((column.name(), column.usual()?.to_string()));
    let features = columns.iter().filter_map(feature).collect();
    let varies = side.variations(varying, &mut columns);
    columns.sort_unstable_by(|a, b| a.order().cmp(&b.order()));
    Shape {
        id: group.id.clone(),
        title: group.kind.title(usual(&hosts, |host| host.cpus), usual(&hosts, |host| host.nodes), symbols),
        hosts: hosts.iter().map(|host| host.host.to_string()).collect(),
        differences: side.differences(found),
        features,
        varies,
        columns,
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
    fn words(&self, key: Key, value: Value) -> String {
        value.words(key.feature, self.symbols)
    }

    /// The values of a feature in words, each once.
    fn column(&self, key: Key, usual: Option<Value>, cells: &[Cell]) -> Column {
        let mut words: HashMap<Value, String> = HashMap::new();
        for (_, value) in cells {
            words.entry(*value).or_insert_with(|| self.words(key, *value));
        }
        let known = cells.iter().filter_map(|(host, value)| Some((*host, words.get(value)?.as_str())));
        let (subject, usual) = (self.symbols.text(key.subject), usual.map(|value| self.words(key, value)));
        let names =
            self.matched.other_names(key).map(|(host, name)| (host, self.symbols.text(name).to_string()));
        Column::new(key.feature, subject, usual, self.hosts.len(), known).with_names(names)
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

    /// Those that are listed; their columns go to the others.
    fn variations(&self, varying: Vec<Varying>, columns: &mut Vec<Column>) -> Vec<Variation> {
        // All hosts of the shape are one here: what varies is not a matter of any of them.
        let differing = Differing::of(varying.iter().map(|one| (0, one.key)));
        let mut variations = Vec::new();
        for Varying { key, values, column } in varying {
            let known: usize = values.iter().map(|(_, hosts)| hosts.len()).sum();
            let is_own = key.feature.is_fluid() && known > 2 && values.len() * 2 > known;
            if !is_own && !differing.explains(0, key, self.symbols) {
                variations.push(self.variation(key, values));
                columns.push(column);
            }
        }
        variations.sort_by(|a, b| heaviest_first((a.feature, &a.subject), (b.feature, &b.subject)));
        variations
    }

    fn variation(&self, key: Key, values: Values) -> Variation {
        let mut values: Vec<(String, Vec<String>)> =
            values.into_iter().map(|(value, hosts)| (self.words(key, value), self.sorted(&hosts))).collect();
        values.sort_by(|a, b| (Reverse(a.1.len()), &a.0, &a.1).cmp(&(Reverse(b.1.len()), &b.0, &b.1)));
        let rest = values.split_off(values.len().min(MOST_VALUES));
        let others = (!rest.is_empty()).then(|| {
            let count = rest.len();
            let mut hosts: Vec<String> = rest.into_iter().flat_map(|(_, hosts)| hosts).collect();
            hosts.sort();
            Others { values: count, hosts }
        });
        let subject = self.symbols.text(key.subject).to_string();
        Variation { feature: key.feature, subject, values, others }
    }

    fn sorted(&self, hosts: &[usize]) -> Vec<String> {
        let mut hosts: Vec<String> = hosts.iter().map(|place| self.host(*place)).collect();
        hosts.sort();
        hosts
    }
}
