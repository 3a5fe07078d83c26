//! Servers and loads as processes of their own, started through a hand where a placement says.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to fail there")]

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use change::{Hand, LiveKernel};
use machine::{Class, CpuSet, Fault, OwnFolder, Placement};
use pinwise_load::{
    Command, CommandLoad, Extract, LoadSpec, Outcome, Running, Server, ServerSpec, StringLoad, Workload,
};
use tempfile::TempDir;

const ROUNDS: u64 = 50;

/// A hand with a ledger of its own, and a folder for logs. One at a time: two hands of one process that begin in the same
/// second and keep different ledgers have the same session, and would end each other's processes.
struct Bench {
    hand: Hand,
    dir: TempDir,
    _alone: MutexGuard<'static, ()>,
}

static ALONE: Mutex<()> = Mutex::new(());

impl Bench {
    fn new() -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let dir = TempDir::new().unwrap();
        let ledger = dir.path().join("ledger");
        let hand = Hand::with(Arc::new(LiveKernel::new()), &ledger, "test of load").unwrap();
        Self { hand, dir, _alone: alone }
    }

    fn start(&mut self, spec: &ServerSpec) -> Result<Server, Fault> {
        Server::start(spec, &Placement::default(), &mut self.hand, self.dir.path(), &AtomicBool::new(false))
    }

    fn folder(&self) -> OwnFolder {
        OwnFolder::open(self.dir.path()).unwrap()
    }

    fn refused(&mut self, spec: &ServerSpec) -> Fault {
        self.start(spec).err().unwrap()
    }

    fn load(&mut self, load: &LoadSpec, server: &Server) -> Result<Running, Fault> {
        let folder = self.folder();
        load.workload().start(server, &Placement::default(), &mut self.hand, &folder)
    }

    fn outcome(&mut self, load: &LoadSpec, server: &Server) -> Result<Outcome, Fault> {
        wait(&mut self.load(load, server)?)
    }
}

fn wait(running: &mut Running) -> Result<Outcome, Fault> {
    loop {
        if let Some(outcome) = running.poll() {
            return outcome;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The example of this crate that has the hidden verbs; cargo builds it beside its tests.
fn exe() -> PathBuf {
    let deps = std::env::current_exe().unwrap();
    let exe = deps.parent().unwrap().parent().unwrap().join("examples/string_pair");
    assert!(exe.exists(), "{} is built by 'cargo test -p pinwise-load'", exe.display());
    exe
}

fn shell(script: &str) -> ServerSpec {
    ServerSpec { command: Command::new(["sh", "-c", script]), ..ServerSpec::default() }
}

fn string_load() -> StringLoad {
    StringLoad { exe: Some(exe()), seconds: 0.5, rounds: Some(ROUNDS), ..StringLoad::default() }
}

fn command(script: &str, extract: Extract) -> LoadSpec {
    let figures = [("requests_per_s".to_string(), extract)].into();
    LoadSpec::Command(CommandLoad {
        command: Command::new(["sh", "-c", script]),
        netns: None,
        cwd: None,
        seconds: 1.0,
        timeout_s: 20.0,
        env: Default::default(),
        figures,
    })
}

fn rate() -> Extract {
    Extract::Regex(r"Requests/sec:\s+(\S+)".into())
}

fn allowed_on(pid: u32) -> CpuSet {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let list = status.lines().find_map(|l| l.strip_prefix("Cpus_allowed_list:")).unwrap();
    CpuSet::from_list(list).unwrap()
}

#[test]
fn the_built_in_pair_runs_where_it_is_placed() {
    let mut bench = Bench::new();
    let ours = allowed_on(std::process::id());
    let (server_cpu, load_cpu) = (ours.first().unwrap(), ours.last().unwrap());
    let placement = Placement {
        server_cpus: Some(CpuSet::single(server_cpu)),
        load_cpus: Some(CpuSet::single(load_cpu)),
        ..Placement::default()
    };
    let spec = ServerSpec::built_in(Some(&exe()), ROUNDS);
    let mut server =
        Server::start(&spec, &placement, &mut bench.hand, bench.dir.path(), &AtomicBool::new(false)).unwrap();
    assert_eq!(allowed_on(server.process().pid), CpuSet::single(server_cpu));
    let load = string_load();
    let folder = bench.folder();
    let mut running = load.start(&server, &placement, &mut bench.hand, &folder).unwrap();
    assert_eq!(allowed_on(running.process().pid), CpuSet::single(load_cpu));
    let outcome = wait(&mut running).unwrap();
    assert!(outcome.figures["completed"] > 0.0 && outcome.figures["failed"] == 0.0);
    assert_eq!(outcome.units["requests_per_s"], "requests/s");
    assert!(running.poll().is_none(), "an outcome is given once");
    server.still_runs().unwrap();
    let ended = server.stop().unwrap().unwrap();
    assert!(ended.status.unwrap().success() && !ended.killed, "it ends on SIGTERM: {ended}");
}

#[test]
fn a_server_that_never_listens_is_ended_and_named() {
    let spec =
        ServerSpec { ready_timeout_s: 0.3, ..shell("echo waiting for nothing; exec sleep 100 # {port}") };
    let fault = Bench::new().refused(&spec);
    assert_eq!(fault.class, Class::WorkloadFailed);
    let text = fault.to_string();
    for part in
        ["never listened on port", "within 0.3 s", "waiting for nothing", "ready_timeout_s", "sleep 100"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_server_that_ends_at_once_shows_its_last_words() {
    let fault = Bench::new().refused(&shell("echo cannot open the data base >&2; exit 3"));
    let text = fault.to_string();
    assert!(text.contains("exited with code 3") && text.contains("cannot open the data base"), "{text}");
}

#[test]
fn senseless_servers_are_named_before_anything_runs() {
    let mut bench = Bench::new();
    assert!(bench.refused(&ServerSpec::default()).to_string().contains("no command"));
    assert!(bench.refused(&shell("srv {prot}")).to_string().contains("{prot}"));
    let none = ServerSpec { command: Command::new(["/nowhere/pinwise-server"]), ..ServerSpec::default() };
    assert!(bench.refused(&none).to_string().contains("/nowhere/pinwise-server"));
    assert!(bench.refused(&ServerSpec { port: Some(0), ..shell("x") }).to_string().contains("port"));
    let error = toml::from_str::<ServerSpec>("comand = 'x'").unwrap_err().to_string();
    assert!(error.contains("comand"), "{error}");
    assert!(
        bench.refused(&ServerSpec { ready_timeout_s: f64::NAN, ..shell("x") }).to_string().contains("ready")
    );
}

#[test]
fn a_taken_port_names_who_has_it() {
    let mut bench = Bench::new();
    let first = bench.start(&ServerSpec::built_in(Some(&exe()), ROUNDS)).unwrap();
    let taken = ServerSpec { port: Some(first.address().port()), ..shell("exec sleep 100") };
    let text = bench.refused(&taken).to_string();
    assert!(text.contains(&format!("process {}", first.process().pid)), "{text}");
    assert!(text.contains("string_pair"), "{text}");
    first.stop().unwrap();
    // The next trial has the port at once, whatever connections the last one left.
    let spec = ServerSpec { port: taken.port, ..ServerSpec::built_in(Some(&exe()), ROUNDS) };
    bench.start(&spec).unwrap().stop().unwrap();
}

#[test]
fn a_server_that_dies_in_the_middle_fails_the_load_with_the_reason() {
    let mut bench = Bench::new();
    let mut server = bench.start(&ServerSpec::built_in(Some(&exe()), ROUNDS)).unwrap();
    let load = LoadSpec::String(StringLoad { seconds: 60.0, ..string_load() });
    let mut running = bench.load(&load, &server).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let pid = rustix::process::Pid::from_raw(server.process().pid as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let fault = wait(&mut running).unwrap_err();
    assert_eq!(fault.class, Class::WorkloadFailed);
    assert!(fault.to_string().contains(&server.address().to_string()), "{fault}");
    let fault = server.still_runs().unwrap_err();
    assert!(fault.to_string().contains("SIGKILL"), "{fault}");
}

#[test]
fn figures_come_from_what_a_command_prints() {
    let mut bench = Bench::new();
    let server = bench.start(&ServerSpec::built_in(Some(&exe()), ROUNDS)).unwrap();
    let port = server.address().port();
    let script =
        "echo \"Requests/sec: 1k\"; echo \"Requests/sec: {port}.5\"; echo for {seconds} s on {cpus} >&2";
    let outcome = bench.outcome(&command(script, rate()), &server).unwrap();
    assert_eq!(outcome.figures["requests_per_s"], f64::from(port) + 0.5);
    assert!(outcome.intervals.is_empty() && outcome.to_ns > outcome.from_ns);
    let json = command(r#"echo '{"a": {"b": [1, 42]}}'"#, Extract::JsonPointer("/a/b/1".into()));
    assert_eq!(bench.outcome(&json, &server).unwrap().figures["requests_per_s"], 42.0);
    // More than a pipe holds.
    let much = "head -c 300000 /dev/zero | tr '\\0' '\\n'; echo Requests/sec: 7";
    assert_eq!(bench.outcome(&command(much, rate()), &server).unwrap().figures["requests_per_s"], 7.0);
}

#[test]
fn loads_run_in_the_c_locale_unless_the_recipe_sets_one() {
    let mut bench = Bench::new();
    let server = bench.start(&ServerSpec::built_in(Some(&exe()), ROUNDS)).unwrap();
    // A figure for the locale that the command sees.
    let script = "case \"$LC_ALL-$LC_NUMERIC\" in C-*) echo Requests/sec: 1;; -x) echo Requests/sec: 2;; *) echo Requests/sec: 3;; esac";
    let mut seen = |env: &[(&str, &str)]| {
        let LoadSpec::Command(load) = command(script, rate()) else { unreachable!() };
        let env = env.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        bench.outcome(&LoadSpec::Command(CommandLoad { env, ..load }), &server).unwrap().figures["requests_per_s"]
    };
    assert_eq!(seen(&[]), 1.0);
    assert_eq!(seen(&[("LC_NUMERIC", "x")]), 2.0);
    assert_eq!(seen(&[("LC_ALL", "POSIX")]), 3.0);
}

#[test]
fn error_answers_that_a_tool_counts_are_noted() {
    let mut bench = Bench::new();
    let server = bench.start(&ServerSpec::built_in(Some(&exe()), ROUNDS)).unwrap();
    let script = "echo '  Non-2xx or 3xx responses: 58934'; echo Requests/sec: 29441.08";
    let outcome = bench.outcome(&command(script, rate()), &server).unwrap();
    assert!(outcome.missing.iter().any(|missing| missing.why.contains("58934")), "{:?}", outcome.missing);
}

#[test]
fn a_command_without_its_figure_shows_expression_and_output() {
    let mut bench = Bench::new();
    let server = bench.start(&ServerSpec::built_in(Some(&exe()), ROUNDS)).unwrap();
    let mut why = |script: &str| bench.outcome(&command(script, rate()), &server).unwrap_err().to_string();
    let text = why("echo unable to connect");
    assert!(text.contains("matches nothing") && text.contains("unable to connect"), "{text}");
    assert!(text.contains(r"Requests/sec:\s+(\S+)"), "{text}");
    assert!(why("echo Requests/sec: -nan").contains("'-nan', which is not a number"));
    let text = why("echo no route >&2; exit 7");
    assert!(text.contains("exited with code 7") && text.contains("no route"), "{text}");
}

#[test]
fn a_command_that_never_ends_is_ended() {
    let mut bench = Bench::new();
    let server = bench.start(&ServerSpec::built_in(Some(&exe()), ROUNDS)).unwrap();
    let LoadSpec::Command(load) = command("echo still busy; exec sleep 100", rate()) else { unreachable!() };
    // The limit is never below the run's length and five seconds.
    let load = LoadSpec::Command(CommandLoad { timeout_s: 0.1, seconds: 0.1, ..load });
    let mut running = bench.load(&load, &server).unwrap();
    let pid = running.process().pid;
    let text = wait(&mut running).unwrap_err().to_string();
    assert!(text.contains("still ran after") && text.contains("still busy"), "{text}");
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
}

#[test]
fn a_load_can_be_stopped() {
    let mut bench = Bench::new();
    let server = bench.start(&ServerSpec::built_in(Some(&exe()), ROUNDS)).unwrap();
    let running =
        bench.load(&LoadSpec::String(StringLoad { seconds: 60.0, ..string_load() }), &server).unwrap();
    let pid = running.process().pid;
    running.stop().unwrap();
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
}
