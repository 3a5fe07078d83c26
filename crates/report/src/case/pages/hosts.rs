//! How the server's host and those that drive the load reach each other.

use advise::network_paths::{End, kind_words};
use machine::devices::path::{NetworkPath, PathEnd};
use machine::wording::link_speed;

use super::{About, Page};
use crate::markup::blocks::table;
use crate::{CaseView, Html};

/// See [`About::docs`].
pub struct Hosts;

static ABOUT: About = About {
    id: "hosts",
    title: "The load hosts",
    docs: "How the server's host and those that drive the load reach each other, from both ends.",
};

const HEADS: [&str; 9] =
    ["host", "end", "interface", "driver", "speed", "MTU, bytes", "path MTU, bytes", "queues", "offloads"];

impl Page for Hosts {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn render(&self, case: &CaseView) -> Html {
        let mut html = Html::new();
        let paths = &case.facts.paths;
        if !paths.is_empty() {
            let both = |path: &NetworkPath| End::BOTH.map(|end| row(path, end));
            let rows: Vec<Vec<String>> = paths.iter().flat_map(both).collect();
            table(&mut html, &HEADS, &[], &rows);
            let words = "Nothing was sent to find this out: the path MTU is what the kernel knew about the route, and the number of \
                         hops is not known.";
            html.element("p", &[], words);
        }
        html
    }
}

fn row(path: &NetworkPath, end: End) -> Vec<String> {
    let of = end.of(path);
    let known = |value: Option<String>| value.unwrap_or_else(|| "not known".into());
    let queues = of.rx_queues.zip(of.tx_queues).map(|(rx, tx)| format!("{rx} rx, {tx} tx"));
    vec![
        path.host.clone(),
        end.words().into(),
        known(interface(of)),
        known(of.driver.clone()),
        known(of.speed_mbit.map(link_speed)),
        known(of.mtu_bytes.map(|bytes| bytes.to_string())),
        known(of.path_mtu_bytes.map(|bytes| bytes.to_string())),
        known(queues),
        known(offloads(of)),
    ]
}

/// `eth0, a card`.
fn interface(of: &PathEnd) -> Option<String> {
    let name = of.interface.as_ref()?;
    Some(match of.kind {
        Some(kind) => format!("{name}, {}", kind_words(kind)),
        None => name.clone(),
    })
}

/// `tso, gro on; lro off`.
fn offloads(of: &PathEnd) -> Option<String> {
    let listed = |wanted: bool, word: &str| {
        let names: Vec<&str> =
            of.offloads.iter().filter(|(_, on)| **on == wanted).map(|(offload, _)| offload.name()).collect();
        (!names.is_empty()).then(|| format!("{} {word}", names.join(", ")))
    };
    let parts: Vec<String> = [listed(true, "on"), listed(false, "off")].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

#[cfg(test)]
mod tests {
    use machine::devices::path::InterfaceKind;
    use machine::ethtool::Offload;

    use super::*;

    #[test]
    fn a_row_says_what_is_known_of_an_end_and_what_is_not() {
        let load = PathEnd {
            interface: Some("eth0".into()),
            kind: Some(InterfaceKind::Card),
            speed_mbit: Some(25_000),
            rx_queues: Some(4),
            tx_queues: Some(2),
            offloads: [(Offload::Gro, true), (Offload::Tso, true), (Offload::Lro, false)].into(),
            ..PathEnd::default()
        };
        let path = NetworkPath { host: "b".into(), load, ..NetworkPath::default() };
        let of_load = row(&path, End::Load);
        assert_eq!(of_load[2..5], ["eth0, a card", "not known", "25 Gbit/s"]);
        assert_eq!(of_load[7..], ["4 rx, 2 tx", "tso, gro on; lro off"]);
        let of_server = row(&path, End::Server);
        assert!(of_server[2..].iter().all(|cell| cell == "not known"), "{of_server:?}");
        assert_eq!((of_load.len(), of_server.len()), (HEADS.len(), HEADS.len()));
    }
}
