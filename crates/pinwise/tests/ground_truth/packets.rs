//! Packets over a pair of network namespaces, by the recipe that we ship: one block.

use std::process::Command;

use crate::pinwise::Bench;

#[test]
#[ignore = "ground truth: makes network namespaces; run by `make test`"]
fn packets_are_sent_in_every_way_and_the_crowded_sink_loses_some() {
    if Command::new("ip").arg("-V").output().is_err() {
        eprintln!("skipped: iproute2 is not installed (apt-get install iproute2)");
        return;
    }
    let bench = Bench::new();
    let recipe = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes/packets.toml");
    let (recipe, case) = (recipe.display().to_string(), bench.case().display().to_string());
    let result = bench.json(&["study", &recipe, "--blocks", "1", "--format", "json", "-o", &case]);
    let arms = result["arms"].as_array().unwrap();
    let ways = ["sendmmsg", "GSO", "AF_XDP", "a call each"];
    for way in ways {
        let of_way = arms.iter().filter(|arm| arm["arm"].as_str().unwrap().contains(way));
        let means: Vec<f64> = of_way.map(|arm| arm["figure"]["mean"].as_f64().unwrap()).collect();
        assert!(!means.is_empty() && means.iter().all(|mean| *mean > 1.0), "{way}: {arms:#?}");
    }
    let trials = std::fs::read_to_string(bench.case().join("trials.jsonl")).unwrap();
    let trials: Vec<serde_json::Value> =
        trials.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let lost = |arm: &str| {
        let trial = trials.iter().find(|trial| trial["arm"].as_str().unwrap().contains(arm)).unwrap();
        trial["figures"]["lost_share"].as_f64().unwrap()
    };
    // A sink that has no CPU of its own reads only while the sender does not run.
    assert!(lost("on one CPU") > 0.0, "{trials:#?}");
    // Receive work that is steered onto the sink's CPU runs there; handing a packet over is a run on the sender's, too.
    let received_by_sink = |arm: &str| {
        let trial = trials.iter().find(|trial| trial["arm"].as_str().unwrap().contains(arm)).unwrap();
        trial["figures"]["net_rx_server_share"].as_f64().unwrap()
    };
    let (steered, not) =
        (received_by_sink("received on the sink's CPU"), received_by_sink("a call each, veth A"));
    assert!(steered > 0.25 && not < 0.05, "{steered} {not}");
    bench.nothing_is_changed();
}
