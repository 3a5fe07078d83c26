//! The server under study: started where a placement says, awaited until it answers, watched for its end.

mod attached;
mod out_of_memory;
mod port;
mod spec;

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use change::exit_words;
use change::launch::Ended;
use change::{Hand, Launch, Launched, Stdout};
use machine::{Class, CpuSet, Fault, Placement, ProcessRef, Root};

use self::attached::Attached;
use self::spec::filled;
pub use self::spec::{DATA, PLACEHOLDERS, ServerSpec};
use crate::process::netns::within;
use crate::process::{allowed_cpus, log_tail, own_binary};

/// How long a server has to end after SIGTERM before it is killed.
const GRACE: Duration = Duration::from_secs(5);

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
    /// Fails when the spec makes no sense, its port is taken (naming the process), the program cannot be started, ends
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
        let remedy = "a server must stay in the foreground until it is stopped; run its command manually to see why it ends";
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
    /// cgroup of its own. Call it before the server is stopped.
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
        ("exe", own_binary::exe(None)),
    ]))
}
