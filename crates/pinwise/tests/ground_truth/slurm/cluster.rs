//! A small Slurm on this host: a controller and three nodes, each in network, mount, process and host name namespaces of its own, with
//! folders of its own in the place of /tmp and of pinwise's ledger.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use machine::program_path::{of_system, system_path};
use serde_json::Value;

use crate::pinwise::wait_at_most;
use crate::processes::{Killed, file, of_folder};
use crate::testbed::ip;

/// The nodes.
pub const NODES: [&str; 3] = ["n1", "n2", "n3"];

/// The controller.
const CONTROLLER: &str = "ctl";

const BINARY: &str = env!("CARGO_BIN_EXE_pinwise");

static COUNT: AtomicU32 = AtomicU32::new(0);

/// The cluster; it goes with all of its processes when this is dropped.
pub struct Cluster {
    id: String,
    processes: Vec<Killed>,
    dir: tempfile::TempDir,
}

impl Cluster {
    /// Starts it, or says why the test is skipped.
    pub fn new() -> Option<Self> {
        if let Some(why) = cannot_be_had() {
            eprintln!("skipped: {why}");
            return None;
        }
        let dir = tempfile::Builder::new().prefix("slurm-").tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let id = format!("pwm{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let mut cluster = Self { id, processes: Vec::new(), dir };
        cluster.write_files();
        cluster.make_network();
        cluster.start();
        cluster.wait_until_idle();
        Some(cluster)
    }

    /// A path in its folder, which all nodes share.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The folder that a node has as /tmp.
    pub fn tmp_of(&self, node: &str) -> PathBuf {
        self.path(&format!("{node}.tmp"))
    }

    /// Runs a program where jobs are submitted.
    pub fn run(&self, program: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.netns(CONTROLLER), program]).args(arguments);
        self.within(&mut command).stdin(Stdio::null()).output().unwrap()
    }

    /// Runs pinwise there.
    pub fn pinwise(&self, arguments: &[&str]) -> Output {
        self.run(BINARY, arguments)
    }

    /// Runs pinwise on the first node of an allocation of these nodes.
    pub fn pinwise_on(&self, nodes: &[&str], arguments: &[&str]) -> Output {
        let (number, names) = (format!("--nodes={}", nodes.len()), format!("--nodelist={}", nodes.join(",")));
        let first = format!("--nodelist={}", nodes[0]);
        let allocation = ["--exclusive", "--quiet", &number, &names];
        let step = ["srun", "--overlap", "--nodes=1", "--ntasks=1", "--cpu-bind=none", &first, BINARY];
        self.run("salloc", &[&allocation[..], &step[..], arguments].concat())
    }

    /// Whether nothing of a job runs any more.
    pub fn has_ended(&self, job: u64) -> bool {
        let out = self.run("squeue", &["--noheader", "--jobs", &job.to_string(), "--format=%T"]);
        out.status.success() && out.stdout.iter().all(u8::is_ascii_whitespace)
    }

    /// Command lines of what pinwise runs on any node.
    pub fn running(&self) -> Vec<String> {
        let folder = self.dir.path().display().to_string();
        let lines = of_folder(&folder).into_iter().map(|process| file(&process, "cmdline"));
        let is_pinwise = |line: &String| {
            let program = line.split(' ').next().unwrap_or_default();
            Path::new(program).file_name().is_some_and(|name| name.to_string_lossy().starts_with("pinwise"))
        };
        lines.filter(is_pinwise).collect()
    }

    /// That nothing of pinwise's is in force on any node.
    pub fn nothing_is_changed(&self) {
        for node in NODES {
            let state = self.path(&format!("{node}.state"));
            let out = Command::new(BINARY)
                .args(["status", "--format", "json"])
                .env("PINWISE_STATE_DIR", state)
                .output();
            let status: Value = serde_json::from_slice(&out.unwrap().stdout).unwrap();
            assert!(status["sessions"].as_array().is_some_and(Vec::is_empty), "{node}: {status:#}");
        }
    }

    fn netns(&self, host: &str) -> String {
        format!("{}-{host}", self.id)
    }

    fn within<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .env("SLURM_CONF", self.path("slurm.conf"))
            .env("PINWISE_STATE_DIR", self.path("state"))
            .env("PATH", format!("{path}:{}", system_path()))
            .env_remove("SLURM_JOB_ID")
            .current_dir(self.dir.path())
    }

    fn write_files(&self) {
        for node in NODES {
            fs::create_dir(self.tmp_of(node)).unwrap();
            fs::create_dir(self.path(&format!("{node}.state"))).unwrap();
        }
        // Each node has one of its own in the place of the first.
        for folder in ["state", "saved"] {
            fs::create_dir(self.path(folder)).unwrap();
        }
        let addresses: String =
            NODES.iter().enumerate().map(|(at, node)| format!("{} {node}\n", address(at))).collect();
        fs::write(
            self.path("hosts"),
            format!("127.0.0.1 localhost\n{CONTROLLER_ADDRESS} {CONTROLLER}\n{addresses}"),
        )
        .unwrap();
        fs::write(self.path("slurm.conf"), self.configuration()).unwrap();
        fs::write(self.path("cgroup.conf"), "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n").unwrap();
        let mut key = [0; 128];
        File::open("/dev/urandom").unwrap().read_exact(&mut key).unwrap();
        let mut options = File::options();
        let mut file = options.write(true).create_new(true).mode(0o400).open(self.path("munge.key")).unwrap();
        file.write_all(&key).unwrap();
    }

    fn configuration(&self) -> String {
        let dir = self.dir.path().display();
        let cpus = std::thread::available_parallelism().unwrap();
        let nodes: String = NODES
            .iter()
            .enumerate()
            .map(|(at, node)| {
                format!("NodeName={node} NodeAddr={} CPUs={cpus} RealMemory=500\n", address(at))
            })
            .collect();
        format!(
            "ClusterName=pinwise\nSlurmctldHost={CONTROLLER}({CONTROLLER_ADDRESS})\nAuthType=auth/munge\n\
             AuthInfo=socket={dir}/munge.socket\nSlurmUser=root\nSlurmdUser=root\nStateSaveLocation={dir}/saved\n\
             SlurmdSpoolDir={dir}/%n.spool\nSlurmctldPidFile={dir}/slurmctld.pid\nSlurmdPidFile={dir}/%n.pid\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/affinity\nJobAcctGatherType=jobacct_gather/none\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nSlurmdParameters=config_overrides\n\
             ReturnToService=2\nKillWait=8\n{nodes}\
             PartitionName=all Nodes=ALL Default=YES OverSubscribe=EXCLUSIVE MaxTime=INFINITE State=UP\n"
        )
    }

    /// A bridge at the controller, and a cable to each node.
    fn make_network(&self) {
        let controller = self.netns(CONTROLLER);
        for host in NODES.iter().chain([&CONTROLLER]) {
            ip(&format!("netns add {}", self.netns(host)));
            ip(&format!("-n {} link set lo up", self.netns(host)));
        }
        ip(&format!("-n {controller} link add pwbr type bridge"));
        ip(&format!("-n {controller} addr add {CONTROLLER_ADDRESS}/24 dev pwbr"));
        ip(&format!("-n {controller} link set pwbr up"));
        for (at, node) in NODES.iter().enumerate() {
            let netns = self.netns(node);
            ip(&format!("-n {controller} link add pwv{at} type veth peer name pwe netns {netns}"));
            ip(&format!("-n {controller} link set pwv{at} master pwbr up"));
            ip(&format!("-n {netns} addr add {}/24 dev pwe", address(at)));
            ip(&format!("-n {netns} link set pwe up"));
        }
    }

    fn start(&mut self) {
        let path = |name: &str| self.path(name).display().to_string();
        let mut munged = Command::new("munged");
        munged.args(["--foreground", "--force"]);
        for (option, name) in [
            ("--key-file", "munge.key"),
            ("--socket", "munge.socket"),
            ("--pid-file", "munged.pid"),
            ("--log-file", "munge.log"),
            ("--seed-file", "munged.seed"),
        ] {
            munged.arg(format!("{option}={}", path(name)));
        }
        let mut processes = vec![self.started(&mut munged, "munged")];
        wait_at_most(Duration::from_secs(10), "munged", || self.path("munge.socket").exists());
        processes.push(self.host(CONTROLLER, &["slurmctld", "-D", "-c"]));
        for node in NODES {
            processes.push(self.host(node, &["slurmd", "-D", "-N", node]));
        }
        self.processes = processes;
    }

    /// Starts a daemon on a host of its own. A shell is its init, which reaps.
    fn host(&self, name: &str, daemon: &[&str]) -> Killed {
        const SCRIPT: &str = r#"name=$1 dir=$2; shift 2
            hostname "$name"
            mount --bind "$dir/hosts" /etc/hosts
            if [ -d "$dir/$name.tmp" ]; then
                mount --bind "$dir/$name.state" "$dir/state"
                mount --bind "$dir/$name.tmp" /tmp
            fi
            "$@"; exit"#;
        let dir = self.dir.path().display().to_string();
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", &self.netns(name), "unshare", "--uts", "--mount", "--pid", "--fork"])
            .args(["--kill-child", "--mount-proc", "--propagation", "private", "bash", "-c", SCRIPT, "bash"])
            .args([name, &dir])
            .args(daemon);
        self.started(&mut command, name)
    }

    fn started(&self, command: &mut Command, name: &str) -> Killed {
        let log = File::create(self.path(&format!("{name}.log"))).unwrap();
        let command = self.within(command).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        Killed(command.spawn().unwrap())
    }

    fn wait_until_idle(&self) {
        wait_at_most(Duration::from_secs(20), "three idle nodes (sinfo)", || {
            let out = self.run("sinfo", &["--noheader", "--format=%T %D"]);
            String::from_utf8_lossy(&out.stdout).trim() == "idle 3"
        });
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for host in NODES.iter().chain([&CONTROLLER]) {
                let log = fs::read_to_string(self.path(&format!("{host}.log"))).unwrap_or_default();
                let last: Vec<&str> = log.lines().rev().take(8).collect();
                eprintln!("{host}: {last:#?}");
            }
        }
        self.processes.clear();
        for host in NODES.iter().chain([&CONTROLLER]) {
            let _ = Command::new("ip").args(["netns", "del", &self.netns(host)]).status();
        }
    }
}

const CONTROLLER_ADDRESS: &str = "10.214.9.100";

fn address(at: usize) -> String {
    format!("10.214.9.{}", at + 1)
}

fn cannot_be_had() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("namespaces need root".into());
    }
    let programs = ["slurmctld", "slurmd", "sbatch", "salloc", "munged", "ip", "unshare", "bash"];
    if let Some(missing) = programs.into_iter().find(|name| of_system(name).is_none()) {
        return Some(format!("{missing} is not installed (apt-get install slurm-wlm munge iproute2)"));
    }
    // Each node has a /tmp of its own in its place.
    let hidden =
        [BINARY, env!("CARGO_TARGET_TMPDIR")].into_iter().find(|path| Path::new(path).starts_with("/tmp"));
    hidden.map(|path| format!("{path} is below /tmp"))
}
