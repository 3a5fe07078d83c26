//! `pinwise diagnose` on a machine with two nodes and hyper-threads: causes that this machine does not have, each beside what looks like it. Guests
//! show facts and silence; what a cause costs on hardware they do not.

use rehearse::Outcome;
use serde_json::Value;

use crate::guest;

/// `first N`: the first CPU of node N. `sibling N`: the other hardware thread of CPU N's core. `on CPU SCRIPT` runs a shell there, in the background.
/// `server NODE CPU`: a program in `$pid` whose 16 MiB come from a node, and which computes on a CPU.
const FUNCTIONS: &str = r#"
    export PINWISE_STATE_DIR=/tmp/state
    echo never > /sys/kernel/mm/transparent_hugepage/enabled
    # Else the kernel brings far memory near within seconds.
    echo 0 > /proc/sys/kernel/numa_balancing
    first() { sed 's/[-,].*//' /sys/devices/system/node/node$1/cpulist; }
    sibling() { tr ',-' '\n\n' < /sys/devices/system/cpu/cpu$1/topology/thread_siblings_list | grep -vx $1; }
    on() { taskset -c $1 sh -c "$2" & }
    spin='while :; do :; done'
    cat > server.awk << 'END'
BEGIN {
    a = "0123456789abcdef"
    for (i = 0; i < 20; i++) a = a a
    system("touch filled; until [ -e go ]; do sleep 1; done")
    while (1) sum += length(a)
}
END
    server() {
        rm -f filled go
        taskset -c $(first $1) awk -f server.awk & pid=$!
        until [ -e filled ]; do sleep 1; done
        taskset -pc $2 $pid > /dev/null
        touch go
        sleep 1
    }
    diagnose() { pinwise diagnose --process $pid --for 2s --format json > $1; }
"#;

/// Rules of the causes in a diagnosis, the first one first.
fn rules(outcome: &Outcome, name: &str) -> Vec<String> {
    let diagnosis: Value = serde_json::from_str(&guest::text(outcome, name)).unwrap();
    let causes = diagnosis["causes"].as_array().unwrap_or_else(|| panic!("{name}: {diagnosis:#}"));
    causes.iter().map(|cause| cause["id"]["rule"].as_str().unwrap().to_string()).collect()
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn far_memory_and_a_busy_sibling_are_named_and_their_look_alikes_are_not() {
    let Some(guest) = guest::like("two-node-smt") else { return };
    let outcome = guest::run(
        &guest,
        &format!(
            "{FUNCTIONS}
            cpu=$(first 0)
            server 0 $cpu
            diagnose near
            on $(sibling $cpu) \"$spin\"; hog=$!
            diagnose sibling
            kill $hog
            on $(first 1) \"$spin\"; hog=$!
            diagnose elsewhere
            kill $hog
            on $cpu \"$spin\"; hog=$!
            diagnose beside
            kill $hog $pid
            server 0 $(first 1)
            diagnose far
            kill $pid"
        ),
    );
    let names = |name: &str, rule: &str| rules(&outcome, name).iter().any(|named| named == rule);
    for (name, far, sibling, hog) in [
        ("near", false, false, false),
        ("sibling", false, true, false),
        ("elsewhere", false, false, false),
        ("beside", false, false, true),
        ("far", true, false, false),
    ] {
        let found = ["memory-node", "smt-sibling", "busy-task"].map(|rule| names(name, rule));
        assert_eq!(found, [far, sibling, hog], "{name}: {:?}", rules(&outcome, name));
    }
}
