//! A guest that libvirt runs: a libvirtd of the test's own, which sees no other guests, networks and settings than its own.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use super::{can_place, is_installed, is_up, placed, plan};
use crate::pinwise::{Bench, wait_at_most};

/// Where libvirt keeps things is empty in its mount namespace, and gone with it; cgroups and the system's D-Bus are out of its
/// sight. It does not start without a user of that name.
const START: &str = r#"set -e
mount --make-rprivate /
umount -R -l /sys/fs/cgroup 2>/dev/null || true
for dir in /run /etc/libvirt /var/lib /var/cache /var/log; do mkdir -p $dir; mount -t tmpfs tmpfs $dir; done
cp /etc/passwd /etc/group /run
grep -q '^libvirt-qemu:' /run/passwd || echo 'libvirt-qemu:x:64055:64055::/nonexistent:/usr/sbin/nologin' >>/run/passwd
grep -q '^libvirt-qemu:' /run/group || echo 'libvirt-qemu:x:64055:' >>/run/group
grep -q '^libvirt:' /run/group || echo 'libvirt:x:64056:' >>/run/group
mount --bind /run/passwd /etc/passwd
mount --bind /run/group /etc/group
printf 'user = "root"\ngroup = "root"\nstdio_handler = "file"\nsecurity_driver = "none"\n' >/etc/libvirt/qemu.conf
printf 'auth_unix_rw = "none"\nunix_sock_group = "root"\n' >/etc/libvirt/libvirtd.conf
exec libvirtd
"#;

const UUID: &str = "f37c6602-cd1f-4a54-94c3-e9fbfe9aff94";

const NAME: &str = "pinwise test 1";

/// A libvirtd with its namespaces, ended with its test.
struct Libvirt {
    daemon: Child,
    dir: tempfile::TempDir,
}

impl Drop for Libvirt {
    fn drop(&mut self) {
        // Ends the guest, also when the test has failed.
        let _ = self.virsh(&["destroy", UUID]);
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

impl Libvirt {
    /// None where there is no libvirt, or one that does not start within namespaces: it says so.
    fn start() -> Option<Self> {
        for (program, package) in [("virsh", "libvirt-clients"), ("libvirtd", "libvirt-daemon")] {
            if !is_installed(program) {
                eprintln!("skipped: {program} is not installed (apt-get install {package})");
                return None;
            }
        }
        let dir = tempfile::tempdir().unwrap();
        let log = std::fs::File::create(dir.path().join("log")).unwrap();
        let mut command = Command::new("unshare");
        command.args(["--mount", "--net", "sh", "-c", START]).stdin(Stdio::null());
        let daemon = command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let mut libvirt = Self { daemon, dir };
        wait_at_most(Duration::from_secs(60), "libvirtd", || {
            libvirt.virsh(&["list"]).status.success() || libvirt.daemon.try_wait().unwrap().is_some()
        });
        if libvirt.daemon.try_wait().unwrap().is_some() {
            let log = std::fs::read_to_string(libvirt.dir.path().join("log")).unwrap();
            eprintln!("skipped: libvirtd does not start here: {log}");
            return None;
        }
        Some(libvirt)
    }

    /// A program as one that sees this libvirt.
    fn within(&self, command: &Command) -> Output {
        let mut within = Command::new("nsenter");
        within.args(["--target", &self.daemon.id().to_string(), "--mount", "--net"]);
        within.arg(command.get_program()).args(command.get_args());
        within.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        within.output().unwrap()
    }

    fn virsh(&self, arguments: &[&str]) -> Output {
        self.within(Command::new("virsh").args(["-c", "qemu:///system"]).args(arguments).env("LC_ALL", "C"))
    }

    /// What virsh prints, to success.
    fn checked_virsh(&self, arguments: &[&str]) -> String {
        let out = self.virsh(arguments);
        assert!(out.status.success(), "virsh {arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).into_owned()
    }

    fn define(&self, path: &Path) -> u32 {
        let xml = format!(
            "<domain type='qemu'><name>{NAME}</name><uuid>{UUID}</uuid><memory unit='MiB'>16</memory><vcpu>2</vcpu>\
             <iothreads>1</iothreads><os><type arch='x86_64' machine='q35'>hvm</type></os><devices>\
             <emulator>/usr/bin/qemu-system-x86_64</emulator><controller type='usb' model='none'/>\
             <memballoon model='none'/></devices></domain>"
        );
        std::fs::write(path, xml).unwrap();
        self.checked_virsh(&["define", &path.display().to_string()]);
        self.checked_virsh(&["start", UUID, "--paused"]);
        let pid = self.within(Command::new("cat").arg(format!("/run/libvirt/qemu/{NAME}.pid")));
        String::from_utf8_lossy(&pid.stdout).trim().parse().unwrap()
    }

    /// All that libvirt reports about where the guest's parts are.
    fn pins(&self, scope: &str) -> String {
        let verbs = ["vcpupin", "emulatorpin", "iothreadinfo"];
        verbs.iter().map(|verb| self.checked_virsh(&[verb, UUID, scope])).collect()
    }
}

#[test]
#[ignore = "ground truth: needs root, QEMU and libvirt; run by `make test`"]
fn libvirt_is_updated_and_reverted() {
    if !can_place() {
        return;
    }
    let Some(libvirt) = Libvirt::start() else { return };
    let bench = Bench::new();
    let pid = libvirt.define(&bench.case().with_file_name("guest.xml"));
    wait_at_most(Duration::from_secs(30), "the guest's threads", || is_up(pid, "IO iothread1"));
    let before = (placed(pid), libvirt.pins("--live"), libvirt.pins("--config"));
    let target = |rest: &str| format!("{NAME}/{rest}");
    let (vcpu, io, emulator) = (target("vcpu/1"), target("iothread/iothread1"), target("emulator"));
    let settings = [
        ("vcpu-affinity", vcpu.as_str(), "1"),
        ("iothread-affinity", &io, "0"),
        ("emulator-affinity", &emulator, "1"),
    ];
    let plan = plan(&bench, &settings).display().to_string();
    let run = |arguments: &[&str]| {
        let out = libvirt.within(&bench.command(arguments));
        let said = [out.stdout, out.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
        assert!(out.status.success(), "pinwise {arguments:?}: {said}");
        said
    };
    // Lines are as long as people read them.
    let foreseen = run(&["apply", &plan, "--dry-run"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(foreseen.contains(&format!("vcpupin --domain {UUID} --live --vcpu 1 --cpulist 1")), "{foreseen}");
    run(&["apply", &plan, "--persist"]);
    let now = placed(pid);
    for (thread, cpu) in [("CPU 1/TCG", "1"), ("IO iothread1", "0"), ("CPU 0/TCG", &before.0["CPU 0/TCG"])] {
        assert_eq!(now[thread], *cpu, "{now:?}");
    }
    assert!(now["qemu-system-x86"].split('|').any(|cpus| cpus == "1"), "{now:?}");
    let pins = (libvirt.pins("--live"), libvirt.pins("--config"));
    assert!(pins.0.contains(" 1      1\n") && pins.0 == pins.1 && pins.0 != before.1, "{pins:?}");
    run(&["undo"]);
    assert_eq!((placed(pid), libvirt.pins("--live"), libvirt.pins("--config")), before);
}
