//! Which hosts stand for the shape that they are of.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Fleet, Shape};

/// The hosts that stand for a shape.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Chosen {
    /// Id of the shape.
    pub shape: String,
    /// What it is, in words.
    pub title: String,
    /// How many hosts are of it.
    pub of_hosts: usize,
    /// Those that stand for it, the most usual first.
    pub hosts: Vec<String>,
}

/// For each shape `per_shape` hosts, or as many as it has: those with the fewest differences from what is usual, and of those with as
/// many the first by name.
pub fn chosen(fleet: &Fleet, per_shape: usize) -> Vec<Chosen> {
    let of_shape = |shape: &Shape| {
        let mut differences: BTreeMap<&str, usize> = BTreeMap::new();
        for difference in &shape.differences {
            *differences.entry(&difference.host).or_default() += 1;
        }
        let of = |host: &str| differences.get(host).copied().unwrap_or(0);
        let mut hosts: Vec<&String> = shape.hosts.iter().collect();
        hosts.sort_by(|a, b| (of(a), *a).cmp(&(of(b), *b)));
        Chosen {
            shape: shape.id.clone(),
            title: shape.title.clone(),
            of_hosts: shape.hosts.len(),
            hosts: hosts.into_iter().take(per_shape).cloned().collect(),
        }
    };
    fleet.shapes.iter().map(of_shape).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Difference, FeatureId};
    use super::*;

    fn shape(id: &str, hosts: &[&str], differing: &[&str]) -> Shape {
        let difference = |host: &&str| Difference {
            host: host.to_string(),
            feature: FeatureId::Kernel,
            subject: String::new(),
            usual: "6.1".into(),
            here: "5.15".into(),
            shared_by: 3,
            weight: 1.0,
            why: "",
        };
        Shape {
            id: id.into(),
            title: id.into(),
            hosts: hosts.iter().map(ToString::to_string).collect(),
            differences: differing.iter().map(difference).collect(),
            features: BTreeMap::new(),
            varies: Vec::new(),
            columns: Vec::new(),
        }
    }

    fn names(chosen: &[Chosen]) -> Vec<Vec<&str>> {
        chosen.iter().map(|one| one.hosts.iter().map(String::as_str).collect()).collect()
    }

    #[test]
    fn the_first_host_without_a_difference_stands_for_its_shape() {
        let fleet =
            Fleet { shapes: vec![shape("x", &["a", "b", "c", "d"], &["a"]), shape("y", &["e"], &["e"])] };
        assert_eq!(names(&chosen(&fleet, 1)), [vec!["b"], vec!["e"]]);
        assert_eq!(chosen(&fleet, 1)[0].of_hosts, 4);
    }

    #[test]
    fn where_all_differ_it_is_one_with_the_fewest_and_more_may_be_asked_for() {
        let fleet = Fleet { shapes: vec![shape("x", &["a", "b", "c"], &["a", "a", "b", "c", "c"])] };
        assert_eq!(names(&chosen(&fleet, 1)), [vec!["b"]]);
        assert_eq!(names(&chosen(&fleet, 2)), [vec!["b", "a"]]);
        assert_eq!(names(&chosen(&fleet, 9)), [vec!["b", "a", "c"]]);
        assert_eq!(names(&chosen(&Fleet { shapes: Vec::new() }, 1)), Vec::<Vec<&str>>::new());
    }
}
