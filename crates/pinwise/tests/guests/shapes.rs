//! `pinwise map` in a guest is the requested shape.

use rehearse::Shape;

use crate::guest;
use crate::same_shape::assert_same;

fn is_as_asked(name: &str) {
    let Some(guest) = guest::like(name) else { return };
    let outcome = guest::run(&guest, "pinwise map --format json > map.json");
    let machine = guest::machine(&outcome, "map.json");
    assert_same(name, &machine, guest.shape());
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn artemis_and_a_guest_of_its_capture() {
    let Some(guest) = guest::like("artemis") else { return };
    let script =
        "pinwise capture -o artemis.tar.zst; pinwise map --from artemis.tar.zst --format json > map.json";
    let outcome = guest::run(&guest, script);
    assert_same("artemis", &guest::machine(&outcome, "map.json"), guest.shape());

    let capture = outcome.files().join("artemis.tar.zst").display().to_string();
    let again = guest::like(&capture).unwrap();
    assert_eq!(again.shape().name, "artemis.tar.zst");
    assert_eq!(again.shape().differs, Vec::<String>::new());
    let outcome = guest::run(&again, "pinwise map --format json > map.json");
    let machine = guest::machine(&outcome, "map.json");
    assert_same("a guest of its capture", &machine, again.shape());
    // The memory of a guest of a capture is shared out anew; all else is that of the first.
    let nodes = again.shape().nodes.clone();
    assert_same("artemis, by way of its capture", &machine, &Shape { nodes, ..guest.shape().clone() });
    assert_eq!(again.shape().nodes.iter().map(|n| &n.distances).collect::<Vec<_>>(), {
        guest.shape().nodes.iter().map(|n| &n.distances).collect::<Vec<_>>()
    });
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn leviathan() {
    is_as_asked("leviathan");
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn corsair() {
    is_as_asked("corsair");
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn two_nodes_with_threads() {
    is_as_asked("two-node-smt");
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn a_node_that_is_memory_alone() {
    is_as_asked("memory-only-node");
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn a_node_without_memory() {
    is_as_asked("memoryless-node");
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn offline_and_absent_cpus() {
    is_as_asked("offline-cpus");
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn cpu_numbers_with_holes() {
    is_as_asked("sparse");
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn no_nodes() {
    is_as_asked("plain");
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn idle_states() {
    is_as_asked("deep-idle");
}

/// `make soak`: two minutes of booting 128 CPUs; trees of such machines are read as snapshots.
mod soak {
    use super::*;

    #[test]
    #[ignore = "boots a guest of 128 CPUs under QEMU, a minute; `make soak` runs it"]
    fn many_cpus() {
        is_as_asked("big");
    }
}
