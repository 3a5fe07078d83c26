//! Servers of Debian's packages under their own load tools, as in production: pinwise neither starts nor drives any of it, and knows none
//! of the tools. Their clients wait for their answers, and do so little by themselves that the server is busy all the time: what it loses,
//! they wait for.

use std::fs::Permissions;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use machine::{Root, knobs};
use probe::requests::{CountingRequests, Listening};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use rustix::thread::sched_getaffinity;
use tempfile::TempDir;

use crate::needs::{absent, free_port};
use crate::pinwise::wait_at_most;
use crate::processes::Killed;

/// Some 100 to 200 us of redis for each request.
const SCRIPT: &str = "for i=1,50000 do end return 1";
/// More requests than redis answers in an hour.
const MANY: &str = "1000000000";
/// How long the other tools go on at most, s: longer than any study here.
const LASTS_S: &str = "180";

/// How setpriv(1) becomes the user that PostgreSQL insists on.
const AS_POSTGRES: [&str; 3] = ["--reuid=postgres", "--regid=postgres", "--clear-groups"];

/// A server that is busy with requests of its clients, all of which end when this goes.
pub struct Production {
    // The clients go first: a server that is asked to end may wait for them.
    _clients: Killed,
    server: Server,
    pub port: u16,
    _folder: TempDir,
}

impl Production {
    /// redis-server with a script for each request, by redis-benchmark on so many connections.
    pub fn redis(connections: &str) -> Option<Self> {
        if !may_be_tried(&["redis-server", "redis-benchmark"]) {
            return None;
        }
        let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
        let number = port.to_string();
        let server =
            ["redis-server", "--port", &number, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
        let tool = ["redis-benchmark", "-h", "127.0.0.1", "-p", &number, "-c", connections, "-n", MANY];
        let clients = [&tool[..], &["-q", "EVAL", SCRIPT, "0"]].concat();
        Some(Self::begin(folder, port, &server, || (), &clients))
    }

    /// nginx with one worker that passes requests on to two upstreams, which it serves itself, by wrk: what all of them cost is lost on the
    /// CPU that the worker is on.
    pub fn nginx() -> Option<Self> {
        if !may_be_tried(&["nginx", "wrk"]) {
            return None;
        }
        let (folder, [port, one, two]) = (tempfile::tempdir().unwrap(), [(); 3].map(|()| free_port()));
        let dir = folder.path().display();
        let config = format!(
            "daemon off; pid {dir}/nginx.pid; worker_processes 1; user root; error_log stderr crit;\n\
             events {{ worker_connections 256; }}\n\
             http {{\n\
             access_log off; keepalive_requests 1000000000;\n\
             client_body_temp_path {dir}; proxy_temp_path {dir}; fastcgi_temp_path {dir};\n\
             uwsgi_temp_path {dir}; scgi_temp_path {dir};\n\
             upstream both {{\n\
             server 127.0.0.1:{one}; server 127.0.0.1:{two}; keepalive 16; keepalive_requests 1000000000;\n\
             }}\n\
             server {{ listen 127.0.0.1:{port}; location / {{\n\
             proxy_pass http://both; proxy_http_version 1.1; proxy_set_header Connection \"\";\n\
             }} }}\n\
             server {{ listen 127.0.0.1:{one}; return 200 one; }}\n\
             server {{ listen 127.0.0.1:{two}; return 200 two; }}\n\
             }}\n"
        );
        let path = folder.path().join("nginx.conf");
        std::fs::write(&path, config).unwrap();
        let (path, url) = (path.display().to_string(), format!("http://127.0.0.1:{port}/"));
        let (server, duration) = (["nginx", "-e", "stderr", "-c", &path], format!("-d{LASTS_S}s"));
        Some(Self::begin(folder, port, &server, || (), &["wrk", "-t1", "-c4", &duration, &url]))
    }

    /// PostgreSQL with selects by key from memory, by pgbench.
    pub fn postgres() -> Option<Self> {
        if !may_be_tried(&["pgbench"]) {
            return None;
        }
        let Some(programs) = postgres_programs() else {
            eprintln!("skipped: PostgreSQL is not where Debian has it, in /usr/lib/postgresql");
            return None;
        };
        let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
        // Another user is to reach its data.
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let data = folder.path().join("data");
        std::fs::create_dir(&data).unwrap();
        let mut owner = Command::new("chown");
        succeeds(owner.arg("postgres").arg(&data));
        let (data, number) = (data.display().to_string(), port.to_string());
        let mut initdb = Command::new("setpriv");
        initdb.args(AS_POSTGRES).arg(programs.join("initdb")).args(["--pgdata", &data]);
        initdb.args(["--auth=trust", "--username=bench", "--locale=C.UTF-8", "--no-sync"]);
        succeeds(initdb.current_dir(folder.path()));
        let program = programs.join("postgres").display().to_string();
        let at = [program.as_str(), "-D", &data, "-h", "127.0.0.1", "-p", &number];
        let server = [&AS_POSTGRES[..], &at, &["-c", "unix_socket_directories=", "-c", "fsync=off"]].concat();
        let tool = ["pgbench", "-h", "127.0.0.1", "-p", &number, "-U", "bench"];
        let filled = || {
            let filled = [&tool[1..], &["-i", "-s", "1", "-q", "postgres"]].concat();
            wait_at_most(Duration::from_secs(20), "a database that pgbench has filled", || {
                Command::new(tool[0]).args(&filled).output().unwrap().status.success()
            });
        };
        let clients = [&tool[..], &["-S", "-n", "-c", "4", "-j", "1", "-T", LASTS_S, "postgres"]].concat();
        Some(Self::begin(folder, port, &server, filled, &clients))
    }

    fn begin(folder: TempDir, port: u16, server: &[&str], fill: impl FnOnce(), clients: &[&str]) -> Self {
        let server = Server(begun("INT", server, folder.path()));
        wait_at_most(Duration::from_secs(10), "a server that listens", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        fill();
        let mut clients = Killed(begun("KILL", clients, folder.path()));
        // Until they have their connections.
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(clients.try_wait().unwrap(), None, "the load tool has ended by itself");
        Self { _clients: clients, server, port, _folder: folder }
    }

    /// The number of the server's first process.
    pub fn pid(&self) -> String {
        self.server.0.id().to_string()
    }

    /// Where the threads of that process may run, and how they are scheduled.
    pub fn state(&self) -> String {
        let (root, pid) = (Root::live(), self.pid());
        let read = |knob: &str| knobs::find(knob).unwrap().read(&root, &pid).unwrap();
        format!("{} {}", read("process-affinity"), read("scheduling-policy"))
    }
}

/// Ends with its children, when this goes.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // All of these servers end at once by it, and end their workers.
        let _ = kill_process(Pid::from_child(&self.0), Signal::INT);
        let until = Instant::now() + Duration::from_secs(5);
        while matches!(self.0.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a program that gets this signal when the test ends, in whatever way.
pub fn begun(signal: &str, words: &[&str], folder: &Path) -> Child {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", signal]).args(words).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Whether it can be tried here with these programs; says why where it cannot.
fn may_be_tried(programs: &[&str]) -> bool {
    let why = why_not(programs);
    if let Some(why) = &why {
        eprintln!("skipped: {why}");
    }
    why.is_none()
}

fn why_not(programs: &[&str]) -> Option<String> {
    if !geteuid().is_root() {
        return Some("the kernel shows requests to root only".into());
    }
    let may = sched_getaffinity(None).unwrap();
    if !(may.is_set(0) && may.is_set(1)) {
        return Some("CPUs 0 and 1 are not both ours to use".into());
    }
    if let Some(absent) = absent(&[programs, &["setpriv", "taskset"]].concat()) {
        return Some(absent);
    }
    let any = Listening::on_ports(&[1]);
    CountingRequests::prepare(&Root::live(), std::process::id(), &any).err().map(|missing| missing.why)
}

/// Where Debian's package has its programs.
fn postgres_programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    versions.map(|version| version.path().join("bin")).filter(|bin| bin.join("postgres").is_file()).max()
}

fn succeeds(command: &mut Command) {
    let out = command.output().unwrap();
    assert!(out.status.success(), "{command:?}: {}", String::from_utf8_lossy(&out.stderr));
}
