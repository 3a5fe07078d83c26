//! Which hosts are not built as the one that a plan was made for: numbers of CPUs in it mean something else there.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Column, FeatureId, Fleet, Shape};

/// A host that is not built alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unlike {
    /// The host.
    pub host: String,
    /// In what, at least one.
    pub why: Vec<Deviation>,
}

/// In what a host is built otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deviation {
    /// Its hardware is of another shape.
    Shape {
        /// Its own, in words.
        here: String,
        /// That of the other, in words.
        there: String,
    },
    /// It is of the same shape, and its CPUs, nodes or caches are arranged otherwise.
    Feature {
        /// What.
        feature: FeatureId,
        /// What of; empty for what a machine has once.
        subject: String,
        /// What this host has.
        here: String,
        /// What the other has.
        there: String,
    },
}

/// The hosts that are not built as `reference` is, which is one of the fleet; in order of their names. All, where there is no such host.
pub fn unlike(fleet: &Fleet, reference: &str) -> Vec<Unlike> {
    let place_in = |shape: &Shape| shape.hosts.iter().position(|host| host == reference);
    let own = fleet.shapes.iter().find_map(|shape| Some((shape, place_in(shape)?)));
    let mut unlike: BTreeMap<&str, Vec<Deviation>> = BTreeMap::new();
    for shape in &fleet.shapes {
        for (place, host) in shape.hosts.iter().enumerate().filter(|(_, host)| *host != reference) {
            let why = match own {
                Some((own, there)) if own.id == shape.id => arranged_otherwise(shape, place, there),
                _ => vec![Deviation::Shape {
                    here: shape.title.clone(),
                    there: own.map(|(own, _)| own.title.clone()).unwrap_or_default(),
                }],
            };
            if !why.is_empty() {
                unlike.insert(host, why);
            }
        }
    }
    unlike.into_iter().map(|(host, why)| Unlike { host: host.to_string(), why }).collect()
}

/// What of the arrangement of CPUs differs between two hosts of a shape, by their places in it.
fn arranged_otherwise(shape: &Shape, host: usize, reference: usize) -> Vec<Deviation> {
    let deviation = |column: &Column| {
        let (here, there) = (column.value(host)?, column.value(reference)?);
        (here != there).then(|| Deviation::Feature {
            feature: column.feature(),
            subject: column.subject(host).to_string(),
            here: here.to_string(),
            there: there.to_string(),
        })
    };
    let arranging = shape.columns.iter().filter(|column| is_arrangement(column.feature()));
    arranging.filter_map(deviation).collect()
}

/// Whether a number of a CPU or node means something else where this is otherwise.
fn is_arrangement(feature: FeatureId) -> bool {
    matches!(
        feature,
        FeatureId::CpusPresent
            | FeatureId::CpusOffline
            | FeatureId::Smt
            | FeatureId::Nodes
            | FeatureId::NodeCpus
            | FeatureId::PackageCpus
            | FeatureId::CacheSharing
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(id: &str, hosts: &[&str], columns: Vec<Column>) -> Shape {
        Shape {
            id: id.into(),
            title: format!("of {id}"),
            hosts: hosts.iter().map(ToString::to_string).collect(),
            differences: Vec::new(),
            features: BTreeMap::new(),
            varies: Vec::new(),
            columns,
        }
    }

    fn column(feature: FeatureId, values: &[(usize, &str)]) -> Column {
        Column::new(feature, "", None, 4, values.iter().copied())
    }

    fn names(unlike: &[Unlike]) -> Vec<&str> {
        unlike.iter().map(|one| one.host.as_str()).collect()
    }

    #[test]
    fn hosts_of_another_shape_are_unlike_and_all_are_where_the_other_is_not_known() {
        let fleet =
            Fleet { shapes: vec![shape("x", &["a", "b"], Vec::new()), shape("y", &["c"], Vec::new())] };
        assert_eq!(names(&unlike(&fleet, "a")), ["c"]);
        let why = &unlike(&fleet, "a")[0].why;
        assert_eq!(*why, [Deviation::Shape { here: "of y".into(), there: "of x".into() }]);
        assert_eq!(names(&unlike(&fleet, "nobody")), ["a", "b", "c"]);
    }

    #[test]
    fn within_a_shape_what_arranges_the_cpus_counts_and_nothing_else() {
        let columns = vec![
            column(FeatureId::Smt, &[(0, "on"), (1, "off"), (2, "on")]),
            column(FeatureId::Kernel, &[(0, "6.1"), (1, "6.1"), (2, "5.15"), (3, "6.1")]),
        ];
        let fleet = Fleet { shapes: vec![shape("x", &["a", "b", "c", "d"], columns)] };
        assert_eq!(names(&unlike(&fleet, "a")), ["b"], "of d it is not known");
        assert_eq!(names(&unlike(&fleet, "b")), ["a", "c"], "seen from the one that deviates");
        let smt = Deviation::Feature {
            feature: FeatureId::Smt,
            subject: String::new(),
            here: "off".into(),
            there: "on".into(),
        };
        assert_eq!(unlike(&fleet, "a")[0].why, [smt]);
    }
}
