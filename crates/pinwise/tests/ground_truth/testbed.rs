//! Two network namespaces joined by a veth pair: server in one, client in the other.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

static COUNT: AtomicU32 = AtomicU32::new(0);

/// The pair of namespaces; deleted when dropped.
pub struct Testbed {
    /// Namespace of the server.
    pub server: String,
    /// Namespace of the load.
    pub load: String,
    /// Address of the server.
    pub address: &'static str,
}

impl Testbed {
    /// Makes the pair, or says why the test is skipped.
    pub fn new() -> Option<Self> {
        if !rustix_is_root() {
            eprintln!("skipped: network namespaces need root");
            return None;
        }
        if Command::new("ip").arg("-V").output().is_err() {
            eprintln!("skipped: iproute2 is not installed (apt-get install iproute2)");
            return None;
        }
        let id = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let bed = Self { server: format!("pws{id}"), load: format!("pwl{id}"), address: "10.213.7.1" };
        ip(&format!("netns add {}", bed.server));
        ip(&format!("netns add {}", bed.load));
        ip(&format!("-n {} link add vs type veth peer name vl netns {}", bed.server, bed.load));
        for (netns, device, address) in
            [(&bed.server, "vs", "10.213.7.1/24"), (&bed.load, "vl", "10.213.7.2/24")]
        {
            ip(&format!("-n {netns} addr add {address} dev {device}"));
            ip(&format!("-n {netns} link set lo up"));
            ip(&format!("-n {netns} link set {device} up"));
        }
        Some(bed)
    }

    /// Steers the receive work of both ends onto one CPU.
    pub fn steer_onto(&self, cpu: u32) {
        for (netns, device) in self.ends() {
            self.shell(
                netns,
                &format!("echo {:x} > /sys/class/net/{device}/queues/rx-0/rps_cpus", 1u64 << cpu),
            );
        }
    }

    /// The rps_cpus masks of both ends.
    pub fn steering(&self) -> Vec<String> {
        self.ends()
            .map(|(netns, device)| {
                self.shell(netns, &format!("cat /sys/class/net/{device}/queues/rx-0/rps_cpus"))
            })
            .to_vec()
    }

    fn ends(&self) -> [(&str, &str); 2] {
        [(&self.server, "vs"), (&self.load, "vl")]
    }

    fn shell(&self, netns: &str, script: &str) -> String {
        let out = Command::new("ip").args(["netns", "exec", netns, "sh", "-c", script]).output().unwrap();
        assert!(out.status.success(), "{script}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).trim().to_string()
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        for netns in [&self.server, &self.load] {
            let _ = Command::new("ip").args(["netns", "del", netns]).status();
        }
    }
}

/// Runs ip(8), which must succeed, with these words.
pub fn ip(arguments: &str) {
    let out = Command::new("ip").args(arguments.split(' ')).output().unwrap();
    assert!(out.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&out.stderr));
}

fn rustix_is_root() -> bool {
    std::fs::read_to_string("/proc/self/status")
        .is_ok_and(|s| s.lines().any(|l| l.starts_with("Uid:") && l.split_whitespace().nth(2) == Some("0")))
}
