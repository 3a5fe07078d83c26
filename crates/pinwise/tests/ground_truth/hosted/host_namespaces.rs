//! Hosts of a study as namespaces of this machine, on a bridge with it: the study and its server run on the machine itself. Each host has
//! a network, and, where it is reached by ssh, processes, a name, a home, ledgers and an sshd of its own. They share one kernel and so
//! one clock.

use std::fs::{self, File, Permissions};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use machine::program_path;

use super::host_processes;
use crate::pinwise::wait_at_most;
use crate::processes::Killed;
use crate::testbed::ip;

static COUNT: AtomicU32 = AtomicU32::new(0);

/// Becomes host `$1` with folder `$2`, and runs the sshd `$3` as its first process. What must not lie below /tmp is bound before /tmp is.
const BEGIN: &str = r#"set -e
echo "$1" > /proc/sys/kernel/hostname
mount -t tmpfs -o mode=755 none /run
mkdir -m 755 /run/sshd /run/host
mount --bind "$2" /run/host
mkdir -p /var/lib/pinwise
mount --bind /run/host/state /var/lib/pinwise
mount --bind /run/host/root /root
mount --bind /run/host/shadow /etc/shadow
mount --bind /run/host/tmp /tmp
exec "$3" -D -e -f /run/host/sshd_config"#;

/// Without PAM: a container may have none that works.
const SSHD_CONFIG: &str = "\
HostKey /run/host/host_key
AuthorizedKeysFile /run/host/authorized_keys
PidFile none
PermitRootLogin prohibit-password
PasswordAuthentication no
UsePAM no
UseDNS no
LogLevel ERROR
";

/// Without PAM, sshd refuses an account whose password begins with `!`, as root's does on some systems.
const SHADOW: &str = "root:*:19000:0:99999:7:::\n";

/// The hosts; ended and deleted when dropped. Drop it on the thread that made it: each sshd ends with that thread.
pub struct HostNamespaces {
    /// Network namespace of the bridge, and this machine's end of the cable to it.
    bridge: String,
    address: String,
    hosts: Vec<Host>,
    dir: tempfile::TempDir,
}

struct Host {
    name: String,
    netns: String,
    address: String,
    /// None of a host that is reached as a namespace.
    sshd: Option<Killed>,
}

impl HostNamespaces {
    /// Hosts of these names (at most ten characters each) that are reached by ssh, or the reason for the skip on stderr.
    pub fn new(names: &[&str]) -> Option<Self> {
        let sshd = installed("sshd", "openssh-server")?;
        installed("ssh", "openssh-client")?;
        installed("ssh-keygen", "openssh-client")?;
        installed("nsenter", "util-linux")?;
        let mut bed = Self::local(names)?;
        bed.start(&sshd);
        Some(bed)
    }

    /// Hosts that are network namespaces and nothing more: an agent there is a child of the study (`via = "local"`).
    pub fn local(names: &[&str]) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: network namespaces need root");
            return None;
        }
        installed("ip", "iproute2")?;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let bridge = format!("pwh{}-{count}", std::process::id());
        // Another network than that of a test that was killed and left its own.
        let network = format!("10.214.{}", (std::process::id() + count) % 250 + 1);
        let (address, dir) = (format!("{network}.1"), tempfile::tempdir().unwrap());
        let mut bed = Self { bridge, address, hosts: Vec::new(), dir };
        bed.make_bridge();
        for (at, name) in names.iter().enumerate() {
            bed.add(name, format!("{network}.{}", at + 2));
        }
        Some(bed)
    }

    fn make_bridge(&self) {
        let Self { bridge, address, .. } = self;
        ip(&format!("netns add {bridge}"));
        ip(&format!("-n {bridge} link add br0 type bridge"));
        ip(&format!("-n {bridge} link set br0 up"));
        ip(&format!("link add {bridge} type veth peer name here netns {bridge}"));
        ip(&format!("addr add {address}/24 dev {bridge}"));
        ip(&format!("link set {bridge} up"));
        ip(&format!("-n {bridge} link set here master br0"));
        ip(&format!("-n {bridge} link set here up"));
    }

    fn add(&mut self, name: &str, address: String) {
        let (bridge, netns) = (self.bridge.clone(), format!("{}-{name}", self.bridge));
        let host = Host { name: name.into(), netns: netns.clone(), address: address.clone(), sshd: None };
        self.hosts.push(host);
        ip(&format!("netns add {netns}"));
        ip(&format!("-n {bridge} link add p-{name} type veth peer name eth0 netns {netns}"));
        ip(&format!("-n {bridge} link set p-{name} master br0"));
        ip(&format!("-n {bridge} link set p-{name} up"));
        ip(&format!("-n {netns} addr add {address}/24 dev eth0"));
        ip(&format!("-n {netns} link set lo up"));
        ip(&format!("-n {netns} link set eth0 up"));
    }

    /// Starts an sshd on each host, and waits until all of them listen.
    fn start(&mut self, sshd: &Path) {
        let folder = self.dir.path().to_path_buf();
        for key in ["key", "host_key"] {
            let mut keygen = Command::new("ssh-keygen");
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(folder.join(key));
            assert!(keygen.status().unwrap().success(), "ssh-keygen made no key");
        }
        for host in &mut self.hosts {
            host.sshd = Some(host.start(&folder, sshd));
        }
        for host in &self.hosts {
            let there: SocketAddr = format!("{}:22", host.address).parse().unwrap();
            let listens = || TcpStream::connect_timeout(&there, Duration::from_millis(200)).is_ok();
            wait_at_most(Duration::from_secs(10), &format!("the start of sshd on {}", host.name), listens);
        }
    }

    /// This machine's address, as the hosts reach it.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Writes a file of all hosts for `--hosts`, with so many processes of the load on each; its path.
    pub fn hosts_file(&self, processes: u32) -> String {
        let table = |host: &Host| host.table(self.dir.path(), processes);
        let tables: String = self.hosts.iter().map(table).collect();
        let path = self.dir.path().join("hosts.toml");
        fs::write(&path, tables).unwrap();
        path.display().to_string()
    }

    /// The same for a study whose server is on the first of them: the others are reached from there, with a key that lies there.
    pub fn hosts_file_of_server(&self) -> String {
        let (server, load) = self.hosts.split_first().unwrap();
        let folder = self.dir.path();
        fs::copy(folder.join("key"), folder.join(&server.name).join("root/key")).unwrap();
        let of_server = format!("{}role = \"server\"\n\n", server.table(folder, 1));
        let of_load: String = load.iter().map(|host| host.table(Path::new("/root"), 1)).collect();
        let path = folder.join("hosts-of-server.toml");
        fs::write(&path, of_server + &of_load).unwrap();
        path.display().to_string()
    }

    /// The network namespace of a host.
    pub fn netns(&self, name: &str) -> &str {
        &self.named(name).netns
    }

    /// Takes a host off the network: what it sends and is sent is lost, and no end is noticed.
    pub fn cut(&self, name: &str) {
        ip(&format!("-n {} link set p-{name} down", self.bridge));
    }

    /// Puts a host back on the network.
    pub fn restore(&self, name: &str) {
        ip(&format!("-n {} link set p-{name} up", self.bridge));
    }

    /// Process numbers, here, of the agents that run on a host.
    pub fn agents(&self, name: &str) -> Vec<i32> {
        host_processes::of_pinwise(self.netns(name), "agent")
    }

    /// The same of the processes of a load.
    pub fn loads(&self, name: &str) -> Vec<i32> {
        host_processes::of_pinwise(self.netns(name), "drive")
    }

    /// The same of the studies.
    pub fn studies(&self, name: &str) -> Vec<i32> {
        host_processes::of_pinwise(self.netns(name), "study")
    }

    /// Process numbers of the ssh clients that are connected to a host.
    pub fn ssh(&self, name: &str) -> Vec<i32> {
        host_processes::ssh_to(&self.named(name).destination())
    }

    /// What a script of sh(1) prints within a host, also one that is off the network.
    pub fn within(&self, name: &str, script: &str) -> Output {
        let first = self.named(name).sshd.as_ref().unwrap().id();
        let mut within = Command::new("nsenter");
        within.args([format!("--target={first}"), format!("--pid=/proc/{first}/ns/pid_for_children")]);
        within.args(["--mount", "--uts", "--net", "--", "sh", "-c", script]);
        within.env("HOME", "/root").env_remove("PINWISE_STATE_DIR").output().unwrap()
    }

    fn named(&self, name: &str) -> &Host {
        self.hosts.iter().find(|host| host.name == name).unwrap()
    }
}

impl Drop for HostNamespaces {
    fn drop(&mut self) {
        // With the first process of a host the kernel ends all others.
        self.hosts.iter_mut().for_each(|host| drop(host.sshd.take()));
        let delete = |words: [&str; 3]| {
            let _ = Command::new("ip").args(words).stderr(Stdio::null()).status();
        };
        delete(["link", "del", &self.bridge]);
        self.hosts.iter().for_each(|host| delete(["netns", "del", &host.netns]));
        delete(["netns", "del", &self.bridge]);
    }
}

impl Host {
    /// What ssh is given as its destination.
    fn destination(&self) -> String {
        format!("root@{}", self.address)
    }

    /// Its table in a file of hosts; `folder` has the keys.
    fn table(&self, folder: &Path, processes: u32) -> String {
        let Self { name, netns, .. } = self;
        let reached = match &self.sshd {
            None => format!("via = \"local\"\nnetns = {netns:?}\n"),
            Some(_) => {
                format!("ssh = {:?}\nssh_options = {:?}\n", self.destination(), ssh_options(folder))
            }
        };
        format!("[[hosts]]\nname = {name:?}\nprocesses = {processes}\n{reached}\n")
    }

    /// Starts its first process. `folder` has the keys, and takes what belongs to the host.
    fn start(&self, folder: &Path, sshd: &Path) -> Killed {
        let own = folder.join(&self.name);
        for (name, mode) in [("", 0o700), ("root", 0o700), ("state", 0o755), ("tmp", 0o1777)] {
            let path = own.join(name);
            fs::create_dir_all(&path).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        }
        fs::copy(folder.join("host_key"), own.join("host_key")).unwrap();
        fs::copy(folder.join("key.pub"), own.join("authorized_keys")).unwrap();
        fs::write(own.join("sshd_config"), SSHD_CONFIG).unwrap();
        fs::write(own.join("shadow"), SHADOW).unwrap();
        let log = File::create(own.join("sshd.log")).unwrap();
        // Each of these programs becomes the next but for unshare, which stays as the parent of the first process and ends it.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "ip", "netns", "exec", &self.netns]);
        command.args(["unshare", "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
        command.args(["--propagation", "private", "sh", "-c", BEGIN, "sh", &self.name]).arg(own).arg(sshd);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        Killed(command.spawn().unwrap())
    }
}

/// Arguments that let ssh go by this folder's keys and by nothing of the user's.
fn ssh_options(folder: &Path) -> Vec<String> {
    let within = |name: &str| folder.join(name).display().to_string();
    let known_hosts = format!("UserKnownHostsFile={}", within("known_hosts"));
    let mut options = vec!["-F".to_string(), "/dev/null".to_string(), "-i".to_string(), within("key")];
    for option in ["IdentitiesOnly=yes", "StrictHostKeyChecking=accept-new", "LogLevel=ERROR", &known_hosts] {
        options.extend(["-o".to_string(), option.to_string()]);
    }
    options
}

/// Where a program is, or a word on stderr about what to install.
fn installed(program: &str, package: &str) -> Option<PathBuf> {
    let path = program_path::of_system(program);
    if path.is_none() {
        eprintln!("skipped: {program} is not installed (apt-get install {package})");
    }
    path
}
