//! Memory of a running process is moved to another node and comes back in its shares, by the kernel's own word.

use std::collections::BTreeMap;

use crate::guest;

/// A process with 64 MiB from CPU 0's node and 32 MiB from the node of the CPU that it was moved to, in `$pid`; `on` prints its pages by
/// node.
const SCENE: &str = r#"
    # A huge page moves as a whole, wherever its parts were to go: of so small a process it is two per cent.
    echo never > /sys/kernel/mm/transparent_hugepage/enabled
    on() {
        awk '{ for (i = 1; i <= NF; i++) if (split($i, part, "=") == 2 && part[1] ~ /^N[0-9]+$/) pages[part[1]] += part[2] }
             END { for (node in pages) print node, pages[node] }' /proc/$pid/numa_maps | sort
    }
    first() { sed 's/[-,].*//' /sys/devices/system/node/node$1/cpulist; }
    cat > fill.awk << 'END'
BEGIN {
    a = "0123456789abcdef"
    for (i = 0; i < 22; i++) a = a a
    system("touch half; until [ -e go ]; do sleep 1; done")
    b = "0123456789abcdef"
    for (i = 0; i < 21; i++) b = b b
    system("touch whole; sleep 1000")
    print length(a) length(b)
}
END
    taskset -c $(first 0) awk -f fill.awk & pid=$!
    until [ -e half ]; do sleep 1; done
    taskset -pc $(first 1) $pid > /dev/null
    touch go
    until [ -e whole ]; do sleep 1; done
"#;

fn pages(text: &str) -> BTreeMap<String, f64> {
    let row = |line: &str| {
        let (node, pages) = line.split_once(' ').unwrap();
        (node.to_string(), pages.parse().unwrap())
    };
    text.lines().map(row).collect()
}

/// Percent of the pages that lie on a node.
fn share(pages: &BTreeMap<String, f64>, node: &str) -> f64 {
    100.0 * pages.get(node).unwrap_or(&0.0) / pages.values().sum::<f64>()
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn memory_of_two_nodes_is_moved_to_a_third_and_comes_back() {
    let Some(guest) = guest::like("artemis") else { return };
    let script = format!(
        "export PINWISE_STATE_DIR=/tmp/state
        {SCENE}
        on > before
        printf '[[setting]]\nknob = \"process-memory-nodes\"\ntarget = \"%s\"\nvalue = \"2\"\n' $pid > plan.toml
        pinwise apply plan.toml --dry-run > foreseen
        pinwise apply plan.toml > applied.said 2>&1 || echo \"code $?\" >> applied.said
        on > applied
        pinwise apply plan.toml --over > again.said 2>&1 || echo \"code $?\" >> again.said
        pinwise status > status
        pinwise undo > undone.said 2>&1 || echo \"code $?\" >> undone.said
        on > undone
        kill $pid"
    );
    let outcome = guest::run(&guest, &script);
    let text = |name: &str| guest::text(&outcome, name);
    let [before, applied, undone] = ["before", "applied", "undone"].map(|name| pages(&text(name)));
    assert!(share(&before, "N0") > 50.0 && share(&before, "N1") > 20.0, "{before:?}");
    assert!(text("foreseen").contains("migrate_pages("), "{}", text("foreseen"));
    // Pages of programs that others run at that instant stay where they are; of so small a process they are a per cent and more.
    assert!(share(&applied, "N2") >= 97.0, "{applied:?}\n{}", text("applied.said"));
    assert!(text("status").contains("memory by node"), "{}", text("status"));
    for node in ["N0", "N1", "N2", "N3"] {
        let apart = (share(&undone, node) - share(&before, node)).abs();
        assert!(apart <= 3.0, "{node}: {before:?} {undone:?}\n{}", text("undone.said"));
    }
    eprintln!("pages before {before:?}, applied {applied:?}, undone {undone:?}");
}

/// A study on two nodes: pinned to one CPU the server's memory lies on that CPU's node, but for what programs share. The text of the program
/// lies where it was first read or unpacked, by chance on either node: the study runs a copy that was written on the pinned CPU's.
#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn a_study_reports_how_much_memory_was_local() {
    let Some(guest) = guest::like("two-node-smt") else { return };
    let outcome = guest::run(
        &guest,
        "export PINWISE_STATE_DIR=/tmp/state
        taskset -c 0 cp $(command -v pinwise) /tmp/pinwise
        /tmp/pinwise study --cpus 0 --blocks 1 --window 0.3 --warm-up 0 --attempts 1 --key dose.share=0 --anyway --format json -o /tmp/case > study",
    );
    let study: serde_json::Value = serde_json::from_str(&guest::text(&outcome, "study")).unwrap();
    let arms = study["arms"].as_array().unwrap();
    let share = |name: &str| {
        let arm = arms.iter().find(|arm| arm["arm"] == name).unwrap_or_else(|| panic!("{name}: {arms:#?}"));
        arm["others"]["memory_local_share"].as_f64().unwrap_or_else(|| panic!("{arm:#}"))
    };
    assert!(share("cpu 0") > 0.5 && share("cpu 0") <= 1.0, "{}", share("cpu 0"));
    eprintln!("local on CPU 0: {}, unpinned: {}", share("cpu 0"), share("unpinned A"));
}
