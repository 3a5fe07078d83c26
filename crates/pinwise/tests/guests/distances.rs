//! Distances of a machine of four nodes: each cell is there, and the memory lies where it was requested, according to the kernel.
//! Figures of an emulated machine mean nothing and are not looked at.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::guest;

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn four_nodes_have_sixteen_cells_and_memory_lies_where_it_was_asked_for() {
    let Some(guest) = guest::like("artemis") else { return };
    // While it measures, the guest's shell looks at where its memory lies: /proc/PID/numa_maps is produced by other kernel code than what pinwise
    // calls.
    let script = "\
        pinwise noise --memory --for 6s --format json > memory.json & pid=$!\n\
        while kill -0 $pid 2>/dev/null; do\n\
          grep -o 'bind:.*' /proc/$pid/numa_maps > maps.txt 2>/dev/null || true\n\
          [ $(grep -o 'bind:[0-9]*' maps.txt | sort -u | wc -l) = 4 ] && break\n\
          sleep 1\n\
        done\n\
        wait $pid\n\
        pinwise noise --cores --cpu 0,2,12,13 --for 1s --save d.json > cores.txt\n\
        pinwise map --distances d.json --format json > map.json\n";
    let outcome = guest::run(&guest, script);
    let read = |name: &str| serde_json::from_str::<Value>(&guest::text(&outcome, name)).unwrap();

    let memory = read("memory.json");
    let cells = memory["memory"]["cells"].as_array().unwrap();
    let number = |cell: &Value, key: &str| cell[key].as_u64().unwrap();
    let places: BTreeSet<(u64, u64)> =
        cells.iter().map(|cell| (number(cell, "from"), number(cell, "memory"))).collect();
    let all = (0..4).flat_map(|from| (0..4).map(move |memory| (from, memory)));
    assert_eq!(places, all.collect(), "{}", memory["missing"]);
    for cell in cells {
        for figure in ["latency_ns", "read_mb_per_s", "write_mb_per_s"] {
            assert!(cell[figure]["median"].as_f64().unwrap() > 0.0, "{cell:#}");
        }
        for buffer in ["latency_buffer", "bandwidth_buffer"] {
            let buffer = &cell[buffer];
            assert!(number(buffer, "pages_checked") > 0, "{buffer}");
            assert_eq!(number(buffer, "pages_there"), number(buffer, "pages_checked"), "{buffer}");
        }
        assert_eq!(cell["cpus"].as_array().unwrap().len(), 6, "{cell:#}");
    }

    // `bind:2 anon=512 dirty=512 N2=512 kernelpagesize_kB=4`: all pages on the node that it is bound to.
    let maps = guest::text(&outcome, "maps.txt");
    let mut nodes = BTreeSet::new();
    for line in maps.lines() {
        let mut words = line.split(' ');
        let asked = words.next().unwrap().trim_start_matches("bind:");
        let is_node = |word: &&str| {
            word.strip_prefix('N').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        for on in words.filter(is_node) {
            assert_eq!(on.split('=').next().unwrap(), format!("N{asked}"), "{line}");
            nodes.insert(asked.to_string());
        }
    }
    assert!(nodes.len() >= 3, "the last one may not have been touched yet: {maps}");

    let map = read("map.json");
    let cores = &map["measured_distances"]["cores"];
    assert_eq!(cores["pairs"].as_array().unwrap().len(), 12, "{cores:#}");
    let relation = |from: u64, to: u64| {
        let mut pairs = cores["pairs"].as_array().unwrap().iter();
        pairs.find(|pair| (number(pair, "from"), number(pair, "to")) == (from, to)).unwrap()["relation"]
            .clone()
    };
    assert_ne!(relation(0, 2), "machine");
    assert_eq!([relation(0, 12), relation(0, 13)], ["package", "machine"]);
    let words = guest::text(&outcome, "cores.txt");
    assert!(words.contains("across packages") && words.contains("across nodes of a package"), "{words}");
}
