//! The fleet as rows: one for each host and feature.

use std::collections::HashSet;

use advise::fleet::{Difference, Fleet, Shape, Variation};

/// A feature of a host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row<'a> {
    /// The host.
    pub host: &'a str,
    /// The id of its shape.
    pub shape: &'a str,
    /// The feature, as it is called in JSON (`card-node`).
    pub feature: &'a str,
    /// What it is of (`eth0`); empty for what a machine has once.
    pub subject: &'a str,
    /// What this host has, where that is not what is usual. None where nothing deviates: as usual, as near to it as makes no difference, or
    /// not known.
    pub value: Option<&'a str>,
    /// What is usual for the shape; none where nothing is.
    pub usual: Option<&'a str>,
    /// Whether the host deviates from what is usual.
    pub differs: bool,
    /// How much that bears on a server, 0 to 10; none where the host does not deviate.
    pub weight: Option<f64>,
}

/// All rows, shape by shape: first the features that have a usual value, each with the hosts that do not deviate, then what deviates, then
/// the features that have no usual value, with the hosts on which they are known.
pub fn rows(fleet: &Fleet) -> impl Iterator<Item = Row<'_>> {
    fleet.shapes.iter().flat_map(|shape| {
        let deviating = shape.differences.iter().map(move |difference| of_difference(shape, difference));
        let varying = shape.varies.iter().flat_map(move |variation| of_variation(shape, variation));
        as_usual(shape).chain(deviating).chain(varying)
    })
}

/// The features that have a usual value, with the hosts that do not deviate from it.
fn as_usual(shape: &Shape) -> impl Iterator<Item = Row<'_>> {
    let deviating = shape.differences.iter().map(|d| (d.feature.name(), d.subject.as_str(), d.host.as_str()));
    let deviating: HashSet<(&str, &str, &str)> = deviating.collect();
    shape.features.iter().flat_map(move |(name, usual)| {
        // The name of a feature has no blank.
        let (feature, subject) = name.split_once(' ').unwrap_or((name.as_str(), ""));
        let hosts = shape.hosts.iter().map(String::as_str);
        let alike = hosts.filter(|host| !deviating.contains(&(feature, subject, *host)));
        let row = |host| Row {
            host,
            shape: &shape.id,
            feature,
            subject,
            value: None,
            usual: Some(usual.as_str()),
            differs: false,
            weight: None,
        };
        alike.map(row).collect::<Vec<_>>()
    })
}

fn of_difference<'a>(shape: &'a Shape, difference: &'a Difference) -> Row<'a> {
    Row {
        host: &difference.host,
        shape: &shape.id,
        feature: difference.feature.name(),
        subject: &difference.subject,
        value: Some(&difference.here),
        usual: Some(&difference.usual),
        differs: true,
        weight: Some(difference.weight),
    }
}

fn of_variation<'a>(shape: &'a Shape, variation: &'a Variation) -> impl Iterator<Item = Row<'a>> {
    variation.values.iter().flat_map(move |(value, hosts)| {
        // Of very many values the last entry is all others: which of them a host has is not known.
        let value = Some(value.as_str()).filter(|value| !value.ends_with(" other values"));
        hosts.iter().map(move |host| Row {
            host,
            shape: &shape.id,
            feature: variation.feature.name(),
            subject: &variation.subject,
            value,
            usual: None,
            differs: false,
            weight: None,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::sample::fleet;

    #[test]
    fn every_host_has_a_row_of_each_feature_that_is_known_of_it() {
        let fleet = fleet();
        let rows: Vec<Row<'_>> = rows(&fleet).collect();
        let of = |feature: &str, subject: &str| {
            let rows = rows.iter().filter(|row| (row.feature, row.subject) == (feature, subject));
            rows.map(|row| (row.host, row.value, row.usual, row.differs)).collect::<Vec<_>>()
        };
        let usual = Some("madvise");
        assert_eq!(
            of("transparent-huge-pages", ""),
            [("a", None, usual, false), ("b\n", None, usual, false), ("c", Some("always"), usual, true)]
        );
        assert_eq!(of("card-node", "eth0").iter().filter(|row| row.2 == Some("0")).count(), 3);
        // What most do not have is in no list of features.
        assert_eq!(of("boot-parameter", "nosmt"), [("a", Some("given"), Some("not given"), true)]);
        assert_eq!(of("kernel", ""), [("a", Some("6.1"), None, false), ("c", None, None, false)]);
        assert!(rows.iter().all(|row| row.shape == "0badcafe" && row.weight.is_some() == row.differs));
    }
}
