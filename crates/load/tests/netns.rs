//! Server and load in network namespaces of their own, joined by a veth pair.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to fail there")]

use std::path::PathBuf;
use std::process::Command as Program;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use change::{Hand, LiveKernel};
use machine::{Fault, Placement};
use pinwise_load::{Server, ServerSpec, StringLoad, Workload};

const ROUNDS: u64 = 50;

/// Two namespaces with a veth pair between them; gone when dropped.
struct Pair {
    server: String,
    client: String,
}

impl Pair {
    fn new() -> Result<Self, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("network namespaces need root".into());
        }
        let name = |side: &str| format!("pw-load-{}-{side}", std::process::id());
        let pair = Self { server: name("s"), client: name("c") };
        let (s, c) = (&pair.server, &pair.client);
        ip(&format!("netns add {s}"))?;
        ip(&format!("netns add {c}"))?;
        ip(&format!("link add v0 netns {s} type veth peer name v1 netns {c}"))?;
        for (netns, device, address) in [(s, "v0", "10.87.0.1/24"), (c, "v1", "10.87.0.2/24")] {
            ip(&format!("-n {netns} addr add {address} dev {device}"))?;
            ip(&format!("-n {netns} link set {device} up"))?;
            ip(&format!("-n {netns} link set lo up"))?;
        }
        Ok(pair)
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for netns in [&self.server, &self.client] {
            // It may not have come to be.
            let _ = ip(&format!("netns del {netns}"));
        }
    }
}

fn ip(args: &str) -> Result<(), String> {
    let done = Program::new("ip").args(args.split(' ')).output().map_err(|why| format!("ip: {why}"))?;
    match done.status.success() {
        true => Ok(()),
        false => Err(format!("ip {args}: {}", String::from_utf8_lossy(&done.stderr).trim())),
    }
}

fn exe() -> PathBuf {
    let deps = std::env::current_exe().unwrap();
    deps.parent().unwrap().parent().unwrap().join("examples/string_pair")
}

#[test]
fn server_and_load_each_live_in_their_namespace() {
    let pair = match Pair::new() {
        Ok(pair) => pair,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let dir = tempfile::TempDir::new().unwrap();
    let mut hand =
        Hand::with(Arc::new(LiveKernel::new()), &dir.path().join("ledger"), "test of load").unwrap();
    let spec = ServerSpec {
        netns: Some(pair.server.clone()),
        address: "10.87.0.1".parse().unwrap(),
        ..ServerSpec::built_in(Some(&exe()), ROUNDS)
    };
    let placement = Placement::default();
    let server = Server::start(&spec, &placement, &mut hand, dir.path(), &AtomicBool::new(false)).unwrap();

    // Taken in there, and free out here.
    let taken = ServerSpec { port: Some(server.address().port()), ..spec.clone() };
    let fault: Fault =
        Server::start(&taken, &placement, &mut hand, dir.path(), &AtomicBool::new(false)).err().unwrap();
    assert!(fault.to_string().contains("string_pair"), "{fault}");

    for keep_alive in [false, true] {
        let load = StringLoad {
            netns: Some(pair.client.clone()),
            exe: Some(exe()),
            seconds: 0.5,
            rounds: Some(ROUNDS),
            keep_alive,
            ..StringLoad::default()
        };
        assert!(load.needs().is_empty());
        let folder = machine::OwnFolder::open(dir.path()).unwrap();
        let mut running = load.start(&server, &placement, &mut hand, &folder).unwrap();
        let outcome = loop {
            if let Some(outcome) = running.poll() {
                break outcome.unwrap();
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        };
        assert!(outcome.figures["completed"] > 0.0 && outcome.figures["failed"] == 0.0, "{outcome:?}");
    }
    server.stop().unwrap();

    let nowhere = ServerSpec { netns: Some("pinwise-no-such".into()), ..spec };
    let fault =
        Server::start(&nowhere, &placement, &mut hand, dir.path(), &AtomicBool::new(false)).err().unwrap();
    assert!(fault.to_string().contains("pinwise-no-such"), "{fault}");
}
