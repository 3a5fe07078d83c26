//! The tick of CPUs in nohz_full, counted in guests that have some (published: 4 against 1005 a second at 1000 Hz).

use serde_json::Value;

use super::guest;

const QUIET: &str = "isolcpus=2-3 nohz_full=2-3 rcu_nocbs=2-3";

fn cpu(seen: &Value, cpu: u64) -> &Value {
    let cpus = seen["cpus"].as_array().unwrap();
    cpus.iter().find(|seen| seen["cpu"] == cpu).unwrap_or_else(|| panic!("CPU {cpu}: {seen}"))
}

fn per_s(seen: &Value, number: u64) -> f64 {
    cpu(seen, number)["ticks_per_s"].as_f64().unwrap_or_else(|| panic!("CPU {number}: {seen}"))
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn one_task_has_no_tick_two_bring_it_back_and_pinwise_says_why() {
    let Some(guest) = guest::like("plain") else { return };
    let guest = guest.cmdline(QUIET);
    let script = "\
        pinwise ticks --cpu 1,2 --for 10s --spin 1 --format json > one.json\n\
        pinwise ticks --cpu 2 --for 10s --spin 2 --format json > two.json\n\
        pinwise ticks --cpu 2 --for 2s --spin 2 > two.txt\n";
    let outcome = guest::run(&guest, script);
    let read = |name: &str| serde_json::from_str::<Value>(&guest::text(&outcome, name)).unwrap();
    let [one, two] = [read("one.json"), read("two.json")];
    assert!(per_s(&one, 2) < 10.0, "{one}");
    assert!(per_s(&one, 1) > 50.0, "{one}");
    assert!(per_s(&two, 2) > 50.0, "{two}");
    assert_eq!(cpu(&one, 1)["nohz_full"], false);
    let kept = cpu(&two, 2)["kept"].as_array().unwrap();
    assert_eq!(kept[0]["dependency"], "SCHED", "{two}");
    let words = guest::text(&outcome, "two.txt");
    assert!(words.contains("more than one task can run on this CPU"), "{words}");
}

/// `make soak`: the recipe. What it rests on is in the tests above and in `watched`.
mod soak {
    use super::*;

    #[test]
    #[ignore = "boots guests under QEMU; run by `make soak`"]
    fn a_study_of_a_cpu_without_a_tick_and_of_what_brings_it_back() {
        let Some(guest) = guest::like("plain") else { return };
        let recipe = concat!(env!("CARGO_MANIFEST_DIR"), "/../../recipes/quiet-cpu-nohz.toml");
        let guest = guest.cmdline(QUIET).file(recipe);
        // One block, since what is asserted is true of each trial; where a guest's times are, no verdict is.
        let script = "pinwise study quiet-cpu-nohz.toml --blocks 1 --window 2 --attempts 1 -o /tmp/case --format json > study.json\ncp /tmp/case/trials.jsonl .\n\
                      pinwise status --format json > left.json\n";
        let outcome = guest::run(&guest, script);
        let trials = guest::lines(&outcome, "trials.jsonl");
        let ticks = |arm: &str| {
            let trial = trials
                .iter()
                .find(|trial| trial["arm"] == arm)
                .unwrap_or_else(|| panic!("{arm}: {trials:#?}"));
            trial["figures"]["ticks_per_s"].as_f64().unwrap_or_else(|| panic!("{trial:#}"))
        };
        for (arm, has_ticks) in [
            ("ordinary CPU A", true),
            ("ordinary CPU B", true),
            ("nohz_full", false),
            ("nohz_full, housekeeping moved", false),
            ("nohz_full, CPU time limited", true),
        ] {
            let ticks = ticks(arm);
            // A host with much else to do takes time from the guest, ticks and all; without a tick there is one a second at most.
            assert!(if has_ticks { ticks > 20.0 } else { ticks < 10.0 }, "{arm}: {ticks}");
        }
        let left: Value = serde_json::from_str(&guest::text(&outcome, "left.json")).unwrap();
        assert!(left["sessions"].as_array().is_none_or(Vec::is_empty), "{left:#}");
    }

    #[test]
    #[ignore = "boots guests under QEMU; `make soak` runs it"]
    fn a_plan_is_tried_before_the_reboot() {
        if guest::like("plain").is_none() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let rehearse = |parameters: &str| {
            let plan = folder.path().join("plan.toml");
            std::fs::write(&plan, format!("[[setting]]\nknob = 'boot-parameters'\nvalue = '{parameters}'\n"))
                .unwrap();
            let done = std::process::Command::new(env!("CARGO_BIN_EXE_pinwise"))
                .args(["rehearse", "--like", "plain", "--format", "json"])
                .arg(&plan)
                .output()
                .unwrap();
            let reported: Value = serde_json::from_slice(&done.stdout)
                .unwrap_or_else(|why| panic!("{why}: {}", String::from_utf8_lossy(&done.stderr)));
            (done.status.code(), reported)
        };
        let (code, reported) = rehearse(&format!("{QUIET} irqaffinity=0-1"));
        assert_eq!((code, &reported["holds"]), (Some(0), &Value::Bool(true)), "{reported:#}");
        let effects: Vec<_> =
            reported["checks"].as_array().unwrap().iter().map(|check| &check["effect"]).collect();
        // Four parameters, the ticks of CPUs 2 and 3, the interrupts.
        assert_eq!(effects, ["took-effect"; 7], "{reported:#}");
        assert_eq!(reported["left_over"], Value::Array(Vec::new()));
        let changed: Vec<_> = reported["changed"]
            .as_array()
            .unwrap()
            .iter()
            .map(|fact| fact["fact"].as_str().unwrap())
            .collect();
        assert!(changed.contains(&"kernel.isolated") && changed.contains(&"kernel.nohz_full"), "{changed:?}");

        let (code, reported) = rehearse("isolcpus=2-3 rcu_nocps=2-3");
        assert_eq!((code, &reported["holds"]), (Some(1), &Value::Bool(false)), "{reported:#}");
        assert_eq!(reported["checks"][1]["effect"], "no-effect", "{reported:#}");
    }
}
