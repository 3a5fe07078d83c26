//! The server under study: started where a placement says, awaited until it answers, watched for its end.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use change::exit_words::exit_words;
use change::launch::Ended;
use change::{Hand, Launch, Launched, MemoryLimit, Stdout};
use machine::{Class, CpuSet, Fault, Placement, ProcessRef, Root, Scheduling};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::attached::Attached;
use crate::netns::within;
use crate::string::server::ServerOptions;
use crate::template::Command;
use crate::{allowed_cpus, log_tail, out_of_memory, port, template};

/// What a server's command and environment may ask to have filled in.
pub const PLACEHOLDERS: [&str; 6] = ["address", "cpu", "cpus", "dir", "exe", "port"];

/// The folder that [`ServerSpec::prepare`] fills, as commands name it.
pub const DATA: &str = "data";

/// 16 TiB: more than there is, and far from where bytes no longer fit.
const MOST_MB: u64 = 1 << 24;

/// How long a server has to end after SIGTERM before it is killed.
const GRACE: Duration = Duration::from_secs(5);

/// How a server is started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServerSpec {
    /// Command with the placeholders of [`PLACEHOLDERS`]; empty until somebody says which server it is.
    #[serde(skip_serializing_if = "Command::is_empty")]
    pub command: Command,
    /// A server that runs already, in the place of a command: a process number (with its descendants), a systemd unit, or a cgroup.
    /// It is neither started nor ended; in each trial its threads are placed, and put back after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<String>,
    /// A command that makes what all trials share, as a database that they only read: run once, before the first trial, in a folder of
    /// its own, which `{data}` names in this command, in `command` and in `env`. The folder goes when the study is over.
    #[serde(skip_serializing_if = "Command::is_empty")]
    pub prepare: Command,
    /// How long that may take, s.
    pub prepare_timeout_s: f64,
    /// Variables beside (or in place of) those of our own environment, with the placeholders of [`PLACEHOLDERS`].
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Folder to start in; none for ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// Network namespace (/run/netns/NAME) that it runs in; none for ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub netns: Option<String>,
    /// Whether server and load run in two network namespaces of the trial's own, which a pair of virtual Ethernet devices joins (veth):
    /// `pinwise-server` and `pinwise-load`, the device `veth0` in each. `address`, `netns` and the load's are then the pair's. Needs root
    /// and iproute2.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pair: bool,
    /// Whether a cpuset cgroup holds it to its CPUs too: for servers that set their own affinity.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub confine: bool,
    /// Most memory that it and all that it starts may have, MiB, by a cgroup of its own; none for no limit but ours. Needs root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit_mb: Option<u64>,
    /// Swap that it may use beyond that, MiB: an area of this size is made for the study, in a file, and switched on in each trial. 0: it may
    /// not swap, and is killed at its limit. None: the swap of the machine, as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap_mb: Option<u64>,
    /// Folder of that file; none for the case's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap_dir: Option<PathBuf>,
    /// Scheduling policy; none for ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<Scheduling>,
    /// Address that it listens on, as the load reaches it.
    pub address: IpAddr,
    /// TCP port that it listens on; none to choose a free one for each trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// How long it may take until it accepts a connection, s.
    pub ready_timeout_s: f64,
}

impl Default for ServerSpec {
    fn default() -> Self {
        Self {
            command: Command::default(),
            running: None,
            prepare: Command::default(),
            prepare_timeout_s: 600.0,
            env: BTreeMap::new(),
            cwd: None,
            netns: None,
            pair: false,
            confine: false,
            memory_limit_mb: None,
            swap_mb: None,
            swap_dir: None,
            scheduling: None,
            address: IpAddr::from([127, 0, 0, 1]),
            port: None,
            ready_timeout_s: 10.0,
        }
    }
}

impl ServerSpec {
    /// The built-in string server with this much work a request (see [`crate::string::work::rounds_for`]), as the
    /// binary `exe` (none: the one that runs) serves it.
    pub fn built_in(exe: Option<&Path>, rounds: u64) -> Self {
        let default = Self::default();
        // The options' own flags, so that both sides agree; address and port are for the trial to fill in.
        let options = ServerOptions { address: default.address, port: 0, rounds };
        let mut words = vec![crate::exe(exe), "string-server".into()];
        words.extend(options.to_args());
        for (flag, placeholder) in [("--address", "{address}"), ("--port", "{port}")] {
            if let Some(at) = words.iter().position(|w| w == flag) {
                words[at + 1] = placeholder.into();
            }
        }
        Self { command: Command::new(words), ..default }
    }

    /// Whether it names no server: then the built-in one is meant.
    pub fn is_unnamed(&self) -> bool {
        self.command.is_empty() && self.running.is_none()
    }

    /// The same with these words in braces filled in, in commands and environment; every other placeholder stays as it is.
    pub fn with_variables(&self, variables: &BTreeMap<String, String>) -> Self {
        let env =
            self.env.iter().map(|(name, value)| (name.clone(), template::substituted(value, variables)));
        Self {
            command: self.command.with_variables(variables),
            prepare: self.prepare.with_variables(variables),
            env: env.collect(),
            ..self.clone()
        }
    }

    /// Fails when the spec makes no sense: no command, unknown placeholder, number out of range; what only a start can give, of a
    /// server that runs already.
    pub fn check(&self) -> Result<(), Fault> {
        match &self.running {
            Some(_) => self.check_running()?,
            None => self.check_started()?,
        }
        let wrong = |key: &str, cause: String, remedy: &str| {
            Err(Fault::new(Class::Usage, format!("server: {key}"), cause, remedy))
        };
        if self.pair && self.netns.is_some() {
            return wrong("netns", "with `pair` it is one of the pair".into(), "leave one of them out");
        }
        if self.port == Some(0) {
            return wrong("port", "0 is no port".into(), "leave it out to have one chosen");
        }
        self.check_memory()?;
        for (key, most, value) in [
            ("ready_timeout_s", 3_600.0, self.ready_timeout_s),
            ("prepare_timeout_s", 86_400.0, self.prepare_timeout_s),
        ] {
            if !(value > 0.0 && value <= most) {
                return wrong(key, format!("{value} is out of range"), &format!("choose above 0, to {most}"));
            }
        }
        Ok(())
    }

    fn check_memory(&self) -> Result<(), Fault> {
        let wrong = |key: &str, cause: String, remedy: &str| {
            Err(Fault::new(Class::Usage, format!("server: {key}"), cause, remedy))
        };
        for (key, value, least) in
            [("memory_limit_mb", self.memory_limit_mb, 1), ("swap_mb", self.swap_mb, 0)]
        {
            if let Some(value) = value.filter(|value| !(least..=MOST_MB).contains(value)) {
                return wrong(
                    key,
                    format!("{value} is out of range"),
                    &format!("choose {least} to {MOST_MB} (MiB)"),
                );
            }
        }
        match (self.memory_limit_mb, self.swap_mb, &self.swap_dir) {
            (None, Some(_), _) => {
                let cause = "without a limit of its memory the server swaps only when the whole machine does";
                wrong("swap_mb", cause.into(), "set memory_limit_mb, or leave it out")
            }
            (_, None, Some(_)) => {
                wrong("swap_dir", "no swap area is asked for".into(), "set swap_mb, or leave it out")
            }
            _ => Ok(()),
        }
    }

    /// The limit of its memory, in bytes.
    fn memory_limit(&self) -> Option<MemoryLimit> {
        let memory_bytes = self.memory_limit_mb? << 20;
        Some(MemoryLimit { memory_bytes, swap_bytes: self.swap_mb.map(|mb| mb << 20) })
    }

    fn check_started(&self) -> Result<(), Fault> {
        let mut known = PLACEHOLDERS.to_vec();
        if !self.prepare.is_empty() {
            known.push(DATA);
            self.prepare.check("server: prepare", &[DATA])?;
        }
        self.command.check("server: command", &known)?;
        let nothing = known.iter().map(|name| (*name, String::new())).collect();
        self.env.iter().try_for_each(|variable| filled(variable, &nothing).map(drop))
    }

    fn check_running(&self) -> Result<(), Fault> {
        let wrong = |key: &str, cause: &str, remedy: &str| {
            Err(Fault::new(Class::Usage, format!("server: {key}"), cause, remedy))
        };
        let at_start = [
            ("pair", self.pair),
            ("command", !self.command.is_empty()),
            ("prepare", !self.prepare.is_empty()),
            ("env", !self.env.is_empty()),
            ("cwd", self.cwd.is_some()),
            ("confine", self.confine),
            ("memory_limit_mb", self.memory_limit_mb.is_some()),
            ("scheduling", self.scheduling.is_some()),
        ];
        if let Some((key, _)) = at_start.iter().find(|(_, given)| *given) {
            return wrong(
                key,
                "a server that runs already is not started",
                "leave it out, or leave running out",
            );
        }
        match self.port {
            None => wrong("port", "it is not known where the running server listens", "name it (ss -ltnp)"),
            Some(_) => Ok(()),
        }
    }
}

/// A variable with every placeholder filled in. A fault does not quote its value, which may be a secret.
fn filled(
    (name, value): (&String, &String),
    values: &BTreeMap<&str, String>,
) -> Result<(String, String), Fault> {
    let unknown = |_| {
        let known: Vec<String> = values.keys().map(|known| format!("{{{known}}}")).collect();
        let remedy =
            format!("choose from {}, or write {{{{word}}}} for the text {{word}} itself", known.join(" "));
        let cause = "a word in braces in its value is no placeholder";
        Fault::new(Class::Usage, format!("server: env.{name}"), cause, remedy)
    };
    Ok((name.clone(), template::fill(value, values).map_err(unknown)?))
}

/// A server that runs. Dropping it ends it, if it was started here.
#[derive(Debug)]
pub struct Server {
    life: Life,
    argv: Vec<String>,
    at: SocketAddr,
    log: PathBuf,
    memory_limit_mb: Option<u64>,
    started: Instant,
    ready_after: Duration,
}

/// Whose it is.
#[derive(Debug)]
enum Life {
    Ours(Launched),
    Theirs(Attached),
}

impl Server {
    /// The server of `spec` that runs already, once it accepts connections. Where it runs is for others to say.
    ///
    /// Fails when there is no such process, unit or cgroup, or when it does not answer in time.
    fn attach(spec: &ServerSpec, running: &str, stop: &AtomicBool) -> Result<Self, Fault> {
        let attached = Attached::find(running)?;
        let at = SocketAddr::new(spec.address, spec.port.unwrap_or_default());
        let (argv, log) = (vec![running.to_string()], PathBuf::new());
        let life = Life::Theirs(attached);
        let (started, ready_after) = (Instant::now(), Duration::ZERO);
        let server = Self { life, argv, at, log, memory_limit_mb: None, started, ready_after };
        server.ready(spec, stop)
    }

    /// Itself, when it accepts connections.
    fn ready(mut self, spec: &ServerSpec, stop: &AtomicBool) -> Result<Self, Fault> {
        let timeout = Duration::from_secs_f64(spec.ready_timeout_s);
        let netns = spec.netns.as_deref();
        if let Err(fault) = within(netns, || self.wait_until_ready(timeout, stop)).and_then(|ready| ready) {
            // Before it is stopped: its cgroup goes then.
            let killed = self.killed_for_memory().filter(|_| fault.class != Class::Interrupted);
            // The fault of the start says more than one of the end could.
            let _ = self.stop();
            return Err(killed.unwrap_or(fault));
        }
        self.ready_after = self.started.elapsed();
        Ok(self)
    }

    /// Starts the server on `placement.server_cpus` and waits until it accepts connections; its output goes to
    /// `server.log` in `dir`.
    ///
    /// Fails when the spec makes no sense, its port is taken (naming by whom), the program cannot be started, ends
    /// before it listens, does not listen in time, or `stop` is raised meanwhile; what was started is ended then.
    pub fn start(
        spec: &ServerSpec,
        placement: &Placement,
        hand: &mut Hand,
        dir: &Path,
        stop: &AtomicBool,
    ) -> Result<Self, Fault> {
        spec.check()?;
        if let Some(running) = &spec.running {
            return Self::attach(spec, running, stop);
        }
        let netns = spec.netns.as_deref();
        let port = match spec.port {
            Some(port) => {
                port::must_be_free(SocketAddr::new(spec.address, port), netns)?;
                port
            }
            None => port::free(spec.address, netns)?,
        };
        let at = SocketAddr::new(spec.address, port);
        let values = values(at, placement.server_cpus.as_ref(), dir)?;
        let argv = spec.command.fill(&values)?;
        let log = dir.join("server.log");
        let launch = Launch {
            argv: argv.clone(),
            env: spec.env.iter().map(|variable| filled(variable, &values)).collect::<Result<_, Fault>>()?,
            input: Vec::new(),
            cwd: spec.cwd.clone(),
            netns: spec.netns.clone(),
            cpus: placement.server_cpus.clone(),
            scheduling: spec.scheduling,
            memory: placement.memory.clone(),
            cpuset_cgroup: spec.confine,
            memory_limit: spec.memory_limit(),
            log: log.clone(),
            stdout: Stdout::Log,
        };
        let life = Life::Ours(hand.launch(&launch)?);
        let (started, ready_after) = (Instant::now(), Duration::ZERO);
        let memory_limit_mb = spec.memory_limit_mb;
        Self { life, argv, at, log, memory_limit_mb, started, ready_after }.ready(spec, stop)
    }

    fn wait_until_ready(&mut self, timeout: Duration, stop: &AtomicBool) -> Result<(), Fault> {
        let mut pause = Duration::from_millis(1);
        loop {
            self.still_runs()?;
            let connected = TcpStream::connect_timeout(&self.at, Duration::from_millis(250));
            // On one host a connect to an unused port of the outgoing range can meet itself.
            let by_itself =
                |s: &TcpStream| matches!((s.local_addr(), s.peer_addr()), (Ok(a), Ok(b)) if a == b);
            if connected.is_ok_and(|stream| !by_itself(&stream)) {
                // Somebody answers; that it is not another process is known while ours lives.
                return self.still_runs();
            }
            if stop.load(Ordering::Relaxed) {
                return Err(Fault::new(Class::Interrupted, self.name(), "stopped before it listened", ""));
            }
            if self.started.elapsed() > timeout {
                let (last, remedy) = match &self.life {
                    Life::Ours(_) => (
                        format!("; {}", log_tail::of_file(&self.log)),
                        "check that its command uses {port} (and {address}), or raise ready_timeout_s",
                    ),
                    Life::Theirs(_) => {
                        (String::new(), "name the address and port that it listens on (ss -ltnp)")
                    }
                };
                let (port, after_s) = (self.at.port(), timeout.as_secs_f64());
                let cause = format!("never listened on port {port} within {after_s} s{last}");
                return Err(Fault::new(Class::WorkloadFailed, self.name(), cause, remedy));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }

    /// Fails, with the exit status and the last lines of the log, once the server's first process has ended.
    pub fn still_runs(&mut self) -> Result<(), Fault> {
        match &mut self.life {
            Life::Theirs(attached) => attached.still_runs(),
            Life::Ours(launched) => match launched.try_wait()? {
                None => Ok(()),
                Some(status) => Err(self.ended(status)),
            },
        }
    }

    fn ended(&self, status: ExitStatus) -> Fault {
        let cause = format!(
            "{} after {:.1} s; {}",
            exit_words(status),
            self.started.elapsed().as_secs_f64(),
            log_tail::of_file(&self.log)
        );
        let remedy = "a server must stay in the foreground until it is stopped; run its command by hand to see why it ends";
        Fault::new(Class::WorkloadFailed, self.name(), cause, remedy)
    }

    fn name(&self) -> String {
        format!("server '{}'", shell_words::join(&self.argv))
    }

    /// Ends it: SIGTERM, and SIGKILL after five seconds. `None` of one that ran before: it goes on.
    pub fn stop(self) -> Result<Option<Ended>, Fault> {
        match self.life {
            Life::Ours(mut launched) => launched.stop(GRACE).map(Some),
            Life::Theirs(_) => Ok(None),
        }
    }

    /// Its first process.
    pub fn process(&self) -> ProcessRef {
        match &self.life {
            Life::Ours(launched) => launched.process(),
            Life::Theirs(attached) => attached.first(),
        }
    }

    /// Its processes, where it ran before: those have to be placed one by one.
    pub fn ran_before(&self) -> Option<&[ProcessRef]> {
        match &self.life {
            Life::Ours(_) => None,
            Life::Theirs(attached) => Some(attached.processes()),
        }
    }

    /// Directory of the cgroup that limits its memory, where one does that was made for it.
    pub fn memory_cgroup(&self) -> Option<&Path> {
        match &self.life {
            Life::Ours(launched) => launched.memory_cgroup(),
            Life::Theirs(_) => None,
        }
    }

    /// The fault of a server of which the kernel ended a process for memory; none where it did not, or where the server has no
    /// cgroup of its own. To be asked before it is stopped.
    pub fn killed_for_memory(&self) -> Option<Fault> {
        out_of_memory::killed(&Root::live(), self.memory_cgroup(), self.memory_limit_mb)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.at
    }

    /// Its command with every placeholder filled in.
    pub fn argv(&self) -> &[String] {
        &self.argv
    }

    /// How long it took until it accepted a connection.
    pub fn ready_after(&self) -> Duration {
        self.ready_after
    }
}

/// What the placeholders stand for; without CPUs of its own a process has those that we may use.
pub(crate) fn values(
    at: SocketAddr,
    cpus: Option<&CpuSet>,
    dir: &Path,
) -> Result<BTreeMap<&'static str, String>, Fault> {
    let dir = std::path::absolute(dir)
        .map_err(|e| Fault::io(dir.display(), &e, "name the case by its full path"))?;
    let cpus = match cpus {
        Some(cpus) => cpus.clone(),
        None => allowed_cpus::read()?,
    };
    Ok(BTreeMap::from([
        ("address", at.ip().to_string()),
        ("port", at.port().to_string()),
        ("cpu", cpus.first().map(|cpu| cpu.to_string()).unwrap_or_default()),
        ("cpus", cpus.to_list()),
        ("dir", dir.display().to_string()),
        ("exe", crate::exe(None)),
    ]))
}
