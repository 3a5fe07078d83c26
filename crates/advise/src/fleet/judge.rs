//! What is usual of one feature, and which hosts have something else.

use std::collections::{HashMap, HashSet};

use machine::CpuSet;

use super::FeatureId;
use super::feature::Comparison;
use super::reduced::Reduced;
use super::symbols::Symbols;
use super::values::{Key, Value};

/// Sizes differ when they are one part in so many apart: 4 %.
const PARTS: u128 = 25;

/// Fewer hosts have nothing that is usual.
const FEWEST: usize = 3;

/// A value of a host, by its place in the shape.
pub(super) type Cell = (usize, Value);

/// Values, each with the hosts that have it.
pub(super) type Values = Vec<(Value, Vec<usize>)>;

/// What the hosts of a shape make of a feature.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// All that know it have the same.
    Alike(Value),
    /// Most have the same.
    Usual {
        /// What they have.
        value: Value,
        /// How many of them there are.
        shared_by: usize,
        /// How many hosts know the feature.
        known: usize,
        /// The others.
        others: Vec<Cell>,
    },
    /// Nothing is usual: values with their hosts, in no order.
    Varies(Values),
    /// No host knows it.
    Nothing,
}

/// The hosts of a shape, as far as all features are judged by them.
pub(super) struct Bench<'a> {
    symbols: &'a Symbols,
    /// CPUs that are online on each host.
    online: Vec<Option<CpuSet>>,
    /// For features that can be absent: the hosts that know all there are.
    knowing: HashMap<FeatureId, Vec<usize>>,
}

impl<'a> Bench<'a> {
    pub(super) fn of(hosts: &[&Reduced], symbols: &'a Symbols) -> Self {
        let online = hosts.iter().map(|host| cpus_of(symbols.text(host.online)));
        let mut knowing: HashMap<FeatureId, Vec<usize>> = HashMap::new();
        for (place, host) in hosts.iter().enumerate() {
            for feature in &host.knows_all {
                knowing.entry(*feature).or_default().push(place);
            }
        }
        Self { symbols, online: online.collect(), knowing }
    }

    /// Judges the values of a feature. Afterwards `cells` are those of the hosts that know it, with those that know that there is none;
    /// the latter not where that is usual.
    pub(super) fn judge(&self, key: Key, cells: &mut Vec<Cell>) -> Verdict {
        if key.feature.absent().is_some() {
            let absent = self.knowing(key.feature).len().saturating_sub(cells.len());
            let known = cells.iter().filter(|(_, value)| *value != Value::Unknown).count();
            // Most words of command lines are those of few hosts: not all hosts are gone through for each.
            if is_usual(absent, absent + known) {
                cells.retain(|(_, value)| *value != Value::Unknown);
                return against(Value::Absent, absent + known, cells.clone());
            }
        }
        self.complete(key.feature, cells);
        match key.feature.comparison() {
            Comparison::Near => near(cells),
            Comparison::Exact => exact(cells, |_, _| false),
            Comparison::OfOnline => exact(cells, |usual, cell| self.is_same_but_for_offline(usual, cell)),
        }
    }

    /// Makes `cells` those of the hosts that know a feature, with those that know that there is none.
    pub(super) fn complete(&self, feature: FeatureId, cells: &mut Vec<Cell>) {
        if feature.absent().is_some() {
            let having: HashSet<usize> = cells.iter().map(|(place, _)| *place).collect();
            let without = self.knowing(feature).iter().filter(|place| !having.contains(*place));
            cells.extend(without.map(|place| (*place, Value::Absent)));
        }
        cells.retain(|(_, value)| *value != Value::Unknown);
    }

    /// The hosts that know all there are of a feature that can be absent.
    fn knowing(&self, feature: FeatureId) -> &[usize] {
        self.knowing.get(&feature).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether a list of CPUs is the usual one without those that are offline on the host.
    pub(super) fn is_same_but_for_offline(&self, usual: Value, (place, here): Cell) -> bool {
        let (Value::Text(usual), Value::Text(here)) = (usual, here) else { return false };
        let (usual, here) = (cpus_of(self.symbols.text(usual)), cpus_of(self.symbols.text(here)));
        let online = self.online.get(place).and_then(Option::as_ref);
        let (Some(usual), Some(here), Some(online)) = (usual, here, online) else { return false };
        usual.intersection(online) == here.intersection(online)
    }
}

/// The CPUs of a text that [`CpuSet`] wrote; `None` for any other.
fn cpus_of(text: &str) -> Option<CpuSet> {
    CpuSet::from_list(text).ok()
}

fn is_usual(count: usize, of: usize) -> bool {
    of >= FEWEST && count * 2 > of
}

/// By equality; `same` says whether a cell with another value than the usual one has it all the same.
fn exact(cells: &[Cell], same: impl Fn(Value, Cell) -> bool) -> Verdict {
    let mut hosts: HashMap<Value, Vec<usize>> = HashMap::new();
    for (place, value) in cells {
        hosts.entry(*value).or_default().push(*place);
    }
    let Some((most, count)) =
        hosts.iter().map(|(value, hosts)| (*value, hosts.len())).max_by_key(|most| most.1)
    else {
        return Verdict::Nothing;
    };
    if hosts.len() == 1 {
        return Verdict::Alike(most);
    }
    if !is_usual(count, cells.len()) {
        return Verdict::Varies(hosts.into_iter().collect());
    }
    let known = cells.len();
    let others: Vec<Cell> =
        cells.iter().copied().filter(|cell| cell.1 != most && !same(most, *cell)).collect();
    against(most, known, others)
}

/// By size: the middle one is usual where more than half are near it.
fn near(cells: &[Cell]) -> Verdict {
    let mut sizes: Vec<(u64, usize)> =
        cells.iter().filter_map(|(place, value)| Some((size(*value)?, *place))).collect();
    sizes.sort_unstable();
    let Some((middle, _)) = sizes.get(sizes.len().saturating_sub(1) / 2).copied() else {
        return Verdict::Nothing;
    };
    let known = sizes.len();
    let far: Vec<Cell> = sizes
        .iter()
        .filter(|(size, _)| is_far(*size, middle))
        .map(|(size, place)| (*place, Value::Bytes(*size)))
        .collect();
    if far.is_empty() || is_usual(known - far.len(), known) {
        return against(Value::Bytes(middle), known, far);
    }
    let mut groups: Vec<(u64, Vec<usize>)> = Vec::new();
    for (size, place) in sizes {
        match groups.last_mut().filter(|(first, _)| !is_far(size, *first)) {
            Some((_, places)) => places.push(place),
            None => groups.push((size, vec![place])),
        }
    }
    Verdict::Varies(groups.into_iter().map(|(size, places)| (Value::Bytes(size), places)).collect())
}

fn against(value: Value, known: usize, others: Vec<Cell>) -> Verdict {
    match others.is_empty() {
        true => Verdict::Alike(value),
        false => Verdict::Usual { value, shared_by: known - others.len(), known, others },
    }
}

pub(super) fn size(value: Value) -> Option<u64> {
    match value {
        Value::Bytes(bytes) => Some(bytes),
        Value::Text(_) | Value::Absent | Value::Unknown => None,
    }
}

pub(super) fn is_far(size: u64, usual: u64) -> bool {
    size != usual && u128::from(size.abs_diff(usual)) * PARTS >= u128::from(usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(sizes: &[u64]) -> Verdict {
        let cells: Vec<Cell> = sizes.iter().map(|size| Value::Bytes(*size)).enumerate().collect();
        near(&cells)
    }

    #[test]
    fn sizes_within_four_percent_are_one() {
        assert_eq!(sizes(&[1000, 1039, 961, 1001]), Verdict::Alike(Value::Bytes(1000)));
        let Verdict::Usual { value, shared_by, others, .. } = sizes(&[1000, 960, 1001, 1002]) else {
            panic!("none is usual")
        };
        assert_eq!((value, shared_by, others), (Value::Bytes(1000), 3, vec![(1, Value::Bytes(960))]));
        assert_eq!(sizes(&[]), Verdict::Nothing);
        assert_eq!(sizes(&[0, 0, 0]), Verdict::Alike(Value::Bytes(0)));
        assert!(matches!(sizes(&[0, 0, 1]), Verdict::Usual { shared_by: 2, .. }));
    }

    #[test]
    fn of_two_hosts_nothing_is_usual_and_of_three_what_two_have() {
        let [a, b, c] = [1, 2, 3].map(Value::Bytes);
        let judged = |values: &[Value]| {
            let cells: Vec<Cell> = values.iter().copied().enumerate().collect();
            exact(&cells, |_, _| false)
        };
        assert!(matches!(judged(&[a, b]), Verdict::Varies(values) if values.len() == 2));
        assert_eq!(judged(&[a, a]), Verdict::Alike(a));
        assert!(matches!(judged(&[a, b, a]), Verdict::Usual { shared_by: 2, known: 3, .. }));
        assert!(matches!(judged(&[a, b, c]), Verdict::Varies(values) if values.len() == 3));
        assert!(matches!(judged(&[a, a, b, b]), Verdict::Varies(_)), "half is not most");
        assert!(matches!(sizes(&[100, 200]), Verdict::Varies(values) if values.len() == 2));
    }
}
