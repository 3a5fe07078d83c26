//! What differs between cases in how the server's host and one that drives load reach each other.

use std::collections::BTreeSet;

use machine::devices::path::{NetworkPath, PathEnd};
use machine::ethtool::Offload;
use machine::wording::link_speed;

use super::{Difference, PathFact, What};
use crate::network_paths::{End, kind_words};

/// The differences of the path to host `name`; `paths` are those of the cases, in their order.
pub(super) fn differences(name: &str, paths: &[Option<&NetworkPath>]) -> Vec<Difference> {
    let mut differences = Vec::new();
    for end in End::BOTH {
        for fact in facts() {
            let value = |path: &Option<&NetworkPath>| value(fact, end.of((*path)?));
            let values: Vec<Option<String>> = paths.iter().map(value).collect();
            let known: BTreeSet<&String> = values.iter().flatten().collect();
            if known.len() > 1 {
                let (what, weight) = (What::Path { end, fact }, weight(fact));
                differences.push(Difference { what, host: Some(name.into()), values, weight });
            }
        }
    }
    differences
}

fn facts() -> impl Iterator<Item = PathFact> {
    use PathFact as F;
    let of_interface = [F::Interface, F::Driver, F::Speed, F::Mtu, F::PathMtu, F::Queues];
    of_interface.into_iter().chain(Offload::ALL.map(F::Offload))
}

/// How much it may bear on the figures, on the scale of the features of machines.
fn weight(fact: PathFact) -> f64 {
    match fact {
        // A card against loopback is another experiment.
        PathFact::Interface => 9.0,
        PathFact::Speed => 8.0,
        PathFact::Mtu | PathFact::PathMtu => 7.0,
        PathFact::Driver | PathFact::Queues => 6.0,
        PathFact::Offload(_) => 5.0,
    }
}

fn value(fact: PathFact, end: &PathEnd) -> Option<String> {
    match fact {
        PathFact::Interface => end.kind.map(|kind| kind_words(kind).to_string()),
        PathFact::Driver => end.driver.clone(),
        PathFact::Speed => end.speed_mbit.map(link_speed),
        PathFact::Mtu => end.mtu_bytes.map(|bytes| bytes.to_string()),
        PathFact::PathMtu => end.path_mtu_bytes.map(|bytes| bytes.to_string()),
        PathFact::Queues => Some(format!("{} rx, {} tx", end.rx_queues?, end.tx_queues?)),
        PathFact::Offload(offload) => {
            end.offloads.get(&offload).map(|on| if *on { "on" } else { "off" }.to_string())
        }
    }
}
