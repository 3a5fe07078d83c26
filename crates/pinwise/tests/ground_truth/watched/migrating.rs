//! A thread whose affinity is flipped every 10 ms.

use super::actor::{Actor, now_ns, pin};
use super::figures::{assert_near, number};
use super::watching::{Stage, when_told};

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn each_flip_of_the_affinity_is_a_migration() {
    when_told(|| {
        let Some(stage) = Stage::new() else { return };
        let cpus = [stage.aside, stage.cpu];
        let flipper = Actor::start("flipper", stage.cpu, move |until| {
            let mut flips = Vec::new();
            while until.goes_on() {
                let to = cpus[flips.len() % 2];
                pin(to);
                flips.push((now_ns(), to));
                let next_ns = now_ns() + 10_000_000;
                while now_ns() < next_ns {}
            }
            flips
        });
        let tid = flipper.tid;
        let sheet = stage.watch(&["--thread", &tid.to_string(), "--for", "2s"]);
        let flips: Vec<u32> =
            flipper.stop().into_iter().filter(|(at_ns, _)| sheet.has(*at_ns)).map(|(_, to)| to).collect();
        let migrations = sheet.thread(tid)["migrations"].as_object().unwrap().values().map(number).sum();
        assert_near("migrations", migrations, flips.len() as u64, 0.02, 1);
        for (from, to) in [(cpus[0], cpus[1]), (cpus[1], cpus[0])] {
            let route =
                sheet.rows("routes").iter().find(|route| route["from"] == from && route["to"] == to).unwrap();
            let truth = flips.iter().filter(|on| **on == to).count() as u64;
            assert_near(&format!("from CPU {from} to CPU {to}"), number(&route["times"]), truth, 0.02, 1);
        }
        assert_eq!(sheet.rows("routes").len(), 2, "{:#}", sheet.json["routes"]);
    });
}
