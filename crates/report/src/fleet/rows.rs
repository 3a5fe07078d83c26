//! The fleet as rows: one for each host and feature.

use std::collections::HashSet;

use advise::fleet::{Column, Difference, Fleet, Shape};

/// A feature of a host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row<'a> {
    /// The host.
    pub host: &'a str,
    /// The id of its shape.
    pub shape: &'a str,
    /// The feature, as it is called in JSON (`card-node`).
    pub feature: &'a str,
    /// What it is of, by the name that this host has for it (`eth0`); empty for what a machine has once.
    pub subject: &'a str,
    /// What this host has; none where that is not known.
    pub value: Option<&'a str>,
    /// What is usual for the shape; none where nothing is.
    pub usual: Option<&'a str>,
    /// Whether that is one of the differences of the shape: not where it is as near to what is usual as makes no difference, or follows
    /// from another difference of the host.
    pub differs: bool,
    /// How much that bears on a server, 0 to 10; none where the host does not deviate.
    pub weight: Option<f64>,
}

/// All rows, shape by shape: first the features by their names, each with the hosts that do not deviate, then what deviates.
pub fn rows(fleet: &Fleet) -> impl Iterator<Item = Row<'_>> {
    fleet.shapes.iter().flat_map(|shape| {
        let deviating = shape.differences.iter().map(move |difference| of_difference(shape, difference));
        not_deviating(shape).chain(deviating)
    })
}

/// The features with the hosts that do not deviate. Of one without a usual value only the hosts on which it is known.
fn not_deviating(shape: &Shape) -> impl Iterator<Item = Row<'_>> {
    let deviating = shape.differences.iter().map(|d| (d.feature.name(), d.subject.as_str(), d.host.as_str()));
    let deviating: HashSet<(&str, &str, &str)> = deviating.collect();
    shape.columns.iter().flat_map(move |column| {
        let hosts = shape.hosts.iter().enumerate();
        let rows = hosts.map(|(place, host)| of_column(shape, column, place, host));
        let is_listed = |row: &Row<'_>| {
            let says_something = row.usual.is_some() || row.value.is_some();
            says_something && !deviating.contains(&(row.feature, row.subject, row.host))
        };
        rows.filter(is_listed).collect::<Vec<_>>()
    })
}

/// What the host at this place of its shape has.
fn of_column<'a>(shape: &'a Shape, column: &'a Column, place: usize, host: &'a str) -> Row<'a> {
    Row {
        host,
        shape: &shape.id,
        feature: column.feature().name(),
        subject: column.subject(place),
        value: column.value(place),
        usual: column.usual(),
        differs: false,
        weight: None,
    }
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
            [("a", usual, usual, false), ("b\n", None, usual, false), ("c", Some("always"), usual, true)]
        );
        assert_eq!(of("card-node", "eth0").iter().filter(|row| row.2 == Some("0")).count(), 3);
        // What most do not have is in no list of features.
        assert_eq!(of("boot-parameter", "nosmt"), [("a", Some("given"), Some("not given"), true)]);
        assert_eq!(of("kernel", ""), [("a", Some("6.1"), None, false), ("c", Some("5.10"), None, false)]);
        // A renamed card that deviates has one row, by its own name.
        let speeds: Vec<_> = ["eth0", "ens1"].into_iter().flat_map(|card| of("card-speed", card)).collect();
        let usual = Some("25 Gbit/s");
        let expected = [("a", usual, usual, false), ("b\n", usual, usual, false)];
        assert_eq!(speeds[..2], expected);
        assert_eq!(speeds[2..], [("c", Some("10 Gbit/s"), usual, true)]);
        assert!(rows.iter().all(|row| row.shape == "0badcafe" && row.weight.is_some() == row.differs));
    }
}
