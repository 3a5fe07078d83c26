//! A CPU goes offline in the middle of what pinwise does.

use rehearse::Outcome;
use serde_json::Value;

use crate::guest;

/// `cpu 0` sets CPU 3 offline, `cpu 1` online again; a study of short trials into /tmp/case.
const HELPERS: &str = "
    export PINWISE_STATE_DIR=/tmp/state
    window=0.5
    cpu() { echo $1 > /sys/devices/system/cpu/cpu3/online; }
    finished() { cat /tmp/case/trials.jsonl 2> /dev/null | wc -l; }
    study() { pinwise study --blocks 1 --window $window --warm-up 0.2 --attempts 1 --seed 1 -o /tmp/case \"$@\"; }
";

/// CPUs of a frame of the live map.
fn cpus(frame: &Value) -> Vec<u64> {
    let groups = frame["groups"].as_array().unwrap();
    let mut cpus: Vec<u64> = groups
        .iter()
        .flat_map(|group| group["cpus"].as_array().unwrap())
        .map(|cpu| cpu["cpu"].as_u64().unwrap())
        .collect();
    cpus.sort_unstable();
    cpus
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn a_live_map_goes_on_with_the_cpus_that_are_left() {
    let Some(guest) = guest::like("plain") else { return };
    // The CPU goes and comes when frames have been seen, not after a time.
    let outcome = guest::run(
        &guest,
        &format!(
            "{HELPERS}
            : > frames
            pinwise map --watch --format json --interval-ms 300 --for 280 >> frames 2> said &
            watch=$!
            frames() {{ n=$(($(wc -l < frames) + 3)); while [ $(wc -l < frames) -lt $n ]; do sleep 0.1; done; }}
            frames; cpu 0; frames; cpu 1; frames
            kill -INT $watch
            wait $watch || echo $? > code"
        ),
    );
    assert_eq!(guest::text(&outcome, "code").trim(), "130");
    let said = guest::text(&outcome, "said");
    assert!(!said.contains("panicked"), "{said}");
    let frames = guest::lines(&outcome, "frames");
    let [first, last] = [frames.first().unwrap(), frames.last().unwrap()].map(cpus);
    assert_eq!((first, last), (vec![0, 1, 2, 3], vec![0, 1, 2, 3]));
    let without = frames.iter().find(|frame| cpus(frame) == [0, 1, 2]).expect("no frame without CPU 3");
    let of_gone = |line: &Value| line["by_cpu"].get("3").is_some();
    assert!(!without["lines"].as_array().unwrap().iter().any(of_gone), "{without:#}");
}

/// Nothing is left changed, and the case was completed once the CPU was back.
fn is_whole(outcome: &Outcome, trials: usize) {
    assert_eq!(guest::text(outcome, "status").trim(), "Nothing is changed on this machine by pinwise.");
    let finished = guest::lines(outcome, "trials.jsonl");
    assert_eq!(finished.len(), trials);
    let cut_off = guest::text(outcome, "finished").trim().parse::<usize>().unwrap();
    assert!(cut_off < trials, "{cut_off} trials were finished when the CPU was gone");
    for trial in finished {
        assert!(trial["as_run"]["not_as_asked"].as_array().unwrap().is_empty(), "{trial:#}");
    }
}

/// Ends a script: what the study left, then the rest of it with the CPU back.
const RESUME: &str = "
    finished > finished
    pinwise status > status
    ! pinwise resume /tmp/case > resumed 2> resumed.said
    cpu 1
    pinwise resume /tmp/case > resumed 2>&1
    cp /tmp/case/trials.jsonl .
";

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn a_study_that_comes_to_a_cpu_that_is_gone_says_so_and_can_be_resumed() {
    let Some(guest) = guest::like("plain") else { return };
    let outcome = guest::run(
        &guest,
        &format!(
            "{HELPERS}
            study > studied 2> said &
            study=$!
            while [ $(finished) -lt 2 ]; do kill -0 $study; sleep 0.1; done
            cpu 0
            wait $study || echo $? > code
            {RESUME}"
        ),
    );
    // Eight trials: each of four CPUs, two unpinned, server and load on one CPU, and the dose.
    is_whole(&outcome, 8);
    for name in ["said", "resumed.said"] {
        let said = guest::text(&outcome, name);
        assert!(said.contains("pinwise: trial") && said.contains("online"), "{name}: {said}");
        assert!(said.contains("pinwise resume /tmp/case") && !said.contains("panicked"), "{name}: {said}");
    }
    assert!(["2", "4"].contains(&guest::text(&outcome, "code").trim()));
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn a_trial_whose_cpu_goes_does_not_count() {
    let Some(guest) = guest::like("plain") else { return };
    // Too short for a pilot. Only CPU 3 is tried, and it goes while the server is driven there: the kernel then moves the server elsewhere.
    let outcome = guest::run(
        &guest,
        &format!(
            "{HELPERS}
            window=3; study --cpus 3 > studied 2> said &
            study=$!
            pinned() {{ for p in $(pidof pinwise); do
                grep -qs string-server /proc/$p/cmdline && grep -qs 'Cpus_allowed_list:.3$' /proc/$p/status && return; done; false; }}
            driven() {{ for p in $(pidof pinwise); do grep -qs -- --driver /proc/$p/cmdline && return; done; false; }}
            while [ $(finished) -lt 1 ] || ! pinned || ! driven; do kill -0 $study; sleep 0.1; done
            cpu 0
            wait $study || echo $? > code
            {RESUME}"
        ),
    );
    is_whole(&outcome, 5);
    let said = guest::text(&outcome, "said");
    assert_eq!(guest::text(&outcome, "code").trim(), "4", "{said}");
    for words in ["CPUs 3", "went offline during the trial", "pinwise resume /tmp/case"] {
        assert!(said.contains(words), "{said}");
    }
}
