use super::*;
use crate::guard::Guard;
use crate::server_metrics::MetricSpec;

#[test]
fn a_server_has_to_be_named_and_to_be_there() {
    let nobody = "127.0.0.1:0".parse().unwrap();
    let refused = |load: OwnTrafficLoad| Watching::begin(&load, nobody).err().unwrap();
    assert!(refused(OwnTrafficLoad::default()).object.contains("server"));
    let load = OwnTrafficLoad { server: Some("4194304".into()), ..OwnTrafficLoad::default() };
    assert!(refused(load).to_string().contains("4194304"));
}

#[test]
fn without_requests_figures_of_the_server_itself_have_to_do_and_a_guard_of_requests_cannot() {
    let missing = Missing::new("requests in the kernel", "Linux 5.15 has no such trace points");
    let load = OwnTrafficLoad::default;
    let alone = require_metrics(&load(), &missing).unwrap_err();
    assert!(alone.cause.contains("5.15") && alone.remedy.contains("--metric"), "{alone}");
    let metrics: Vec<MetricSpec> = vec!["queue_len=command:x | gauge | regex (.*)".parse().unwrap()];
    require_metrics(&OwnTrafficLoad { metrics: metrics.clone(), ..load() }, &missing).unwrap();
    let guards: Vec<Guard> = vec!["latency_p99_us <= 20000".parse().unwrap()];
    let guarded = require_metrics(&OwnTrafficLoad { metrics, guards, ..load() }, &missing).unwrap_err();
    assert!(guarded.object.contains("latency_p99_us"), "{guarded}");
}

#[test]
fn what_is_missing_is_said_once() {
    let mut all = Vec::new();
    let missing = [Missing::new("a", "b"), Missing::new("a", "b"), Missing::new("a", "c")];
    Missing::add_new(&mut all, &missing);
    assert_eq!(all.len(), 2);
}
