//! `pinwise verify` where the truth is built: receive work is steered onto CPU 0, and a plan puts the server right there.

use crate::pinwise::Bench;
use crate::testbed::Testbed;

/// The answer of a verification of a plan that pins the server, and its exit code.
fn verified(bench: &Bench, cpu: u32) -> (serde_json::Value, Option<i32>) {
    let path = bench.case().with_file_name("plan.toml");
    let text = format!("[[setting]]\nknob = \"process-affinity\"\ntarget = \"server\"\nvalue = \"{cpu}\"\n");
    std::fs::write(&path, text).unwrap();
    let (case, path) = (bench.case().display().to_string(), path.display().to_string());
    let out = bench.run(&["verify", &case, "--plan", &path, "--format", "json"]);
    let stderr = String::from_utf8_lossy(&out.stderr);
    let told = serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {stderr}"));
    (told, out.status.code())
}

#[test]
#[ignore = "ground truth: needs root, ip netns and some 4 minutes; run by `make test`"]
fn a_plan_that_makes_it_worse_is_never_called_a_gain() {
    let Some(bed) = Testbed::new() else { return };
    bed.steer_onto(0);
    let before = bed.steering();
    let bench = Bench::new();
    // The study is only there to be verified: two blocks claim nothing.
    bench.study(&bed, &["--blocks", "2"]);
    let (told, code) = verified(&bench, 0);
    assert_eq!((told["holds"].as_bool(), code), (Some(false), Some(1)), "{told:#}");
    let verdict = &told["contrast"]["verdict"];
    // On a noisy host nothing may be decided; the other way round it never is.
    assert!(verdict == "worse" || verdict == "undecided" || told["trust"]["is"] != "sound", "{told:#}");
    assert_eq!(told["trials"], "verify/0001");
    assert!(
        bench.case().join("verdict.json").is_file()
            && bench.case().join("verify/0001/trials.jsonl").is_file()
    );
    assert_eq!(bed.steering(), before, "the machine must be as it was found");
    eprintln!("a server on the CPU that receives: {}", told["contrast"]);
}
