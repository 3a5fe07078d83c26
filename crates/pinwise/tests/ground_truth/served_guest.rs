//! A server in a guest, started, driven, placed by threads and ended as any other server of a study.

use std::path::Path;

use serde_json::Value;

use crate::pinwise::Bench;

#[test]
#[ignore = "ground truth: needs root, QEMU and a guest's kernel; run by `make test`"]
fn a_guest_is_a_server_whose_threads_are_placed_and_which_is_gone_after() {
    if let Some(why) = rehearse::Guest::unavailable() {
        eprintln!("skipped: no guest can be run here: {why}");
        return;
    }
    let recipe = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes/vm-pinning.toml");
    let bench = Bench::new();
    let (case, recipe) = (bench.case().display().to_string(), recipe.display().to_string());
    let result =
        bench.json(&["study", &recipe, "--blocks", "1", "--attempts", "1", "--format", "json", "-o", &case]);
    let arms = result["arms"].as_array().unwrap();
    assert!(
        arms.len() == 5 && arms.iter().all(|arm| arm["figure"]["mean"].as_f64().unwrap() > 1.0),
        "{arms:#?}"
    );
    let trials = std::fs::read_to_string(bench.case().join("trials.jsonl")).unwrap();
    for trial in trials.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        assert_eq!(trial["as_run"]["not_as_asked"], Value::Array(Vec::new()), "{trial:#}");
        let used = trial["as_run"]["server_cpus_used"].as_object().unwrap();
        let both = used.values().filter(|share| share.as_f64().unwrap() > 0.0).count() == 2;
        match trial["arm"].as_str().unwrap() {
            "together" => assert!(!both && used.contains_key("0"), "{trial:#}"),
            "apart" => assert!(both, "{trial:#}"),
            _ => {}
        }
    }
    bench.nothing_is_changed();
}
