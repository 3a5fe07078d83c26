//! The map of the live machine against what lscpu, numactl and lstopo say of it. Needs these three, which
//! `scripts/setup test` installs; says so and skips what is not there.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

fn map() -> Value {
    let output =
        Command::new(env!("CARGO_BIN_EXE_pinwise")).args(["map", "--format", "json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What a tool prints; `None` where it is not installed.
fn tool(name: &str, args: &[&str]) -> Option<String> {
    match Command::new(name).args(args).env("LC_ALL", "C").output() {
        Err(error) => {
            eprintln!("skipped: {name}: {error}");
            None
        }
        Ok(output) => {
            assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
            Some(String::from_utf8(output.stdout).unwrap())
        }
    }
}

fn numbers(value: &Value) -> BTreeSet<u64> {
    value.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect()
}

fn online_cpus(map: &Value) -> Vec<&Value> {
    map["cpus"].as_array().unwrap().iter().filter(|cpu| cpu["online"] == true).collect()
}

#[test]
fn cores_packages_and_nodes_are_those_of_lscpu() {
    let Some(text) = tool("lscpu", &["--online", "--parse=CPU,CORE,SOCKET,NODE"]) else { return };
    let map = map();
    let rows: Vec<Vec<&str>> =
        text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), online_cpus(&map).len());
    // lscpu counts cores and sockets itself; which CPUs are together is what both must agree on.
    let together = |column: usize| {
        let mut groups: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
        for row in &rows {
            groups.entry(row[column]).or_default().insert(row[0].parse().unwrap());
        }
        groups.into_values().collect::<BTreeSet<_>>()
    };
    let cores: BTreeSet<_> = online_cpus(&map).iter().map(|cpu| numbers(&cpu["siblings"])).collect();
    assert_eq!(cores, together(1));
    let packages: BTreeSet<_> = map["packages"].as_array().unwrap().iter().map(numbers).collect();
    assert_eq!(packages, together(2));
    for (row, cpu) in rows.iter().zip(online_cpus(&map)) {
        assert_eq!(cpu["id"].to_string(), row[0]);
        if !row[3].is_empty() {
            assert_eq!(cpu["node"].to_string(), row[3]);
        }
    }
}

#[test]
fn nodes_memory_and_distances_are_those_of_numactl() {
    let Some(text) = tool("numactl", &["--hardware"]) else { return };
    let map = map();
    let words = |start: String| -> Option<Vec<String>> {
        let line = text.lines().find_map(|line| line.strip_prefix(&start))?;
        Some(line.split_whitespace().map(String::from).collect())
    };
    let nodes = map["nodes"].as_array().unwrap();
    let available: usize = words("available: ".into()).unwrap()[0].parse().unwrap();
    assert_eq!(nodes.len(), available);
    for node in nodes {
        let id = &node["id"];
        let cpus: BTreeSet<u64> =
            words(format!("node {id} cpus:")).unwrap().iter().map(|cpu| cpu.parse().unwrap()).collect();
        assert_eq!(numbers(&node["cpus"]), cpus);
        let mib: u64 = words(format!("node {id} size:")).unwrap()[0].parse().unwrap();
        // Where memory is ballooned (guests), MemTotal moves between two readings.
        let ours = node["memory_bytes"].as_u64().unwrap() >> 20;
        assert!(ours.abs_diff(mib) <= mib / 50, "node {id}: {ours} and {mib} MiB");
        let distances: Vec<u64> = words(format!("{:>3}: ", id.to_string()))
            .unwrap()
            .iter()
            .map(|distance| distance.parse().unwrap())
            .collect();
        let ours: Vec<u64> =
            nodes.iter().map(|other| node["distances"][other["id"].to_string()].as_u64().unwrap()).collect();
        assert_eq!(ours, distances, "distances of node {id}");
    }
}

/// The values of one attribute of the objects of a kind in lstopo's XML.
fn attributes(xml: &str, kind: &str, name: &str) -> Vec<String> {
    let objects = xml.split("<object ").filter(|object| object.starts_with(&format!("type=\"{kind}\"")));
    let value = |object: &str| {
        let tag = object.split('>').next()?;
        let rest = tag.split(&format!(" {name}=\"")).nth(1)?;
        Some(rest.split('"').next()?.to_string())
    };
    objects.filter_map(value).collect()
}

#[test]
fn cpus_caches_and_devices_are_those_of_lstopo() {
    let args = ["--of", "xml", "--whole-io", "--no-collapse", "-"];
    let Some(xml) = tool("lstopo-no-graphics", &args) else { return };
    let map = map();
    let cpus: BTreeSet<String> = online_cpus(&map).iter().map(|cpu| cpu["id"].to_string()).collect();
    assert_eq!(attributes(&xml, "PU", "os_index").into_iter().collect::<BTreeSet<_>>(), cpus);
    let caches = map["caches"].as_array().unwrap();
    for (kind, level) in [("L1Cache", 1), ("L2Cache", 2), ("L3Cache", 3)] {
        let mut theirs: Vec<u64> =
            attributes(&xml, kind, "cache_size").iter().map(|bytes| bytes.parse().unwrap()).collect();
        let mut ours: Vec<u64> = caches
            .iter()
            .filter(|cache| cache["level"] == level && cache["type"] != "instruction")
            .map(|cache| cache["bytes"].as_u64().unwrap_or(0))
            .collect();
        theirs.sort_unstable();
        ours.sort_unstable();
        assert_eq!(ours, theirs, "{kind}");
    }
    let ours: BTreeSet<&str> =
        map["devices"].as_array().unwrap().iter().map(|device| device["name"].as_str().unwrap()).collect();
    for device in attributes(&xml, "OSDev", "name") {
        let known = ["dma", "controlD", "mem"].iter().any(|start| device.starts_with(start));
        assert!(known || ours.contains(device.as_str()), "lstopo has {device}, we have {ours:?}");
    }
}
