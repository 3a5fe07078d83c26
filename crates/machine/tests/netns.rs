//! Another network namespace: its devices are seen, ours are not, and nothing is left behind.

use std::process::Command;

use pinwise_machine::{Class, Root};

/// A network namespace of our own, deleted when dropped.
struct Namespace(String);

impl Namespace {
    /// Makes one, or says why not.
    fn new() -> Option<Self> {
        let name = format!("pinwise-test-{}", std::process::id());
        let made = Command::new("ip").args(["netns", "add", &name]).output();
        match made {
            Ok(output) if output.status.success() => Some(Self(name)),
            Ok(output) => {
                eprintln!("skipped: ip netns add: {}", String::from_utf8_lossy(&output.stderr).trim());
                None
            }
            Err(e) => {
                eprintln!("skipped: ip (iproute2): {e}");
                None
            }
        }
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).status();
    }
}

#[test]
fn it_shows_the_devices_of_the_namespace_and_leaves_ours_alone() {
    let Some(namespace) = Namespace::new() else { return };
    let ip = |args: &[&str]| Command::new("ip").args(["-n", &namespace.0]).args(args).status().unwrap();
    let veth = "pwtest0";
    if !ip(&["link", "add", veth, "type", "veth", "peer", "name", "pwtest1"]).success() {
        eprintln!("skipped: no veth devices here");
        return;
    }
    let ours = Root::live().list("/sys/class/net").unwrap();
    let mounts = Root::live().read("/proc/self/mounts").unwrap();

    let root = Root::live_in_netns(&namespace.0).unwrap();
    assert!(root.is_live());
    assert_eq!(root.list("/sys/class/net").unwrap(), ["lo", "pwtest0", "pwtest1"]);
    assert_eq!(root.cpu_mask(format!("/sys/class/net/{veth}/queues/rx-0/rps_cpus")).unwrap().to_list(), "");
    assert!(root.read("/sys/class/net/none/mtu").unwrap_err().is_absent());
    assert!(root.resolve(format!("/sys/class/net/{veth}")).unwrap().starts_with("/sys/devices/virtual"));
    assert_eq!(
        root.read("/proc/sys/kernel/osrelease").unwrap(),
        Root::live().read("/proc/sys/kernel/osrelease").unwrap()
    );
    assert_eq!(root.exists("/sys/fs/cgroup/unified"), Root::live().exists("/sys/fs/cgroup/unified"));
    // From several threads at once, and through a recording root.
    let recorded = Root::recording(root);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(recorded.list("/sys/class/net").unwrap().len(), 3));
        }
    });

    assert_eq!(Root::live().list("/sys/class/net").unwrap(), ours);
    drop(recorded);
    assert_eq!(Root::live().read("/proc/self/mounts").unwrap(), mounts);
}

#[test]
fn a_namespace_that_is_not_there_is_said_to_be_absent() {
    let fault = Root::live_in_netns("pinwise-there-is-none").unwrap_err();
    assert_eq!(fault.class, Class::MachineLacks, "{fault}");
}
