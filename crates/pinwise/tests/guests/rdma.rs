//! Messages over RDMA, on a soft-RoCE device.

use std::path::{Path, PathBuf};

use rehearse::Guest;

use crate::guest;

/// Where the libraries lie that speak to RDMA devices from a program.
const PROVIDERS: &str = "usr/lib/x86_64-linux-gnu/libibverbs";

/// What makes the device, on the guest's card.
const DEVICE: &str = "rdma link add rxe0 type rxe netdev eth0";

/// How many packets the device has sent.
const SENT: &str = "cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts";

/// How many segments TCP has sent: the 12th word of the second row.
const TCP_SENT: &str = "awk '/^Tcp:/ {n = $12} END {print n}' /proc/net/snmp";

/// The library for soft-RoCE: its name holds the version of its interface.
fn provider() -> Option<PathBuf> {
    let paths = Path::new("/").join(PROVIDERS).read_dir().ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    paths
        .into_iter()
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("librxe-")))
}

/// A guest that can have such a device; `None`, with a word on stderr, where none can be had.
fn with_rdma() -> Option<Guest> {
    let guest = guest::like("plain")?;
    let programs = ["/usr/bin/rstream", "/usr/bin/rdma"];
    let (Some(provider), true) = (provider(), programs.iter().all(|program| Path::new(program).exists()))
    else {
        eprintln!("skipped: rstream, rdma or librxe is not installed (scripts/setup guests installs them)");
        return None;
    };
    let modules = ["crc32_generic", "ib_uverbs", "rdma_ucm", "rdma_rxe"];
    let guest = modules.iter().fold(guest, |guest, module| guest.module(module));
    let guest = programs.iter().fold(guest, |guest, program| guest.program(program));
    let inside = format!("{PROVIDERS}/{}", provider.file_name()?.to_string_lossy());
    let recipe = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes/latency-rdma.toml");
    let guest = guest.lay(&inside, std::fs::read(provider).unwrap()).file(recipe);
    Some(guest.lay("etc/libibverbs.d/rxe.driver", "driver rxe\n"))
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn messages_go_over_rdma_and_not_over_tcp() {
    let Some(guest) = with_rdma() else { return };
    let outcome = guest::run(
        &guest,
        &format!(
            "export PINWISE_STATE_DIR=/tmp/state
            {DEVICE}
            {TCP_SENT} > tcp.before
            options='-T b -T v -p 7000 -S 1024 -C 1 -I 200'
            rstream $options -b 10.77.0.2 > server.said & sleep 1
            rstream $options -s 10.77.0.2 > client.said
            wait
            {SENT} > alone
            {TCP_SENT} > tcp.after
            pinwise study latency-rdma.toml --blocks 1 --key variables.round_trips=200 -o /tmp/case --format json > study.json
            {SENT} > studied
            pinwise status > status"
        ),
    );
    let number = |name: &str| guest::text(&outcome, name).trim().parse::<u64>().unwrap();
    // A message each way, and what answers it: more cannot be said of every kernel.
    assert!(number("alone") >= 400, "{}", number("alone"));
    assert_eq!(number("tcp.before"), number("tcp.after"), "{}", guest::text(&outcome, "client.said"));
    assert!(number("studied") >= number("alone") + 400, "{} {}", number("alone"), number("studied"));
    let study: serde_json::Value = serde_json::from_str(&guest::text(&outcome, "study.json")).unwrap();
    for arm in study["arms"].as_array().unwrap() {
        assert!(arm["figure"]["mean"].as_f64().is_some_and(|mean| mean > 0.0), "{arm:#}");
    }
    assert_eq!(guest::text(&outcome, "status").trim(), "Nothing is changed on this machine by pinwise.");
}
