//! Plays a scenario: server, load and cause in process groups of their own, pinwise beside them, and everything stopped at the end.
//!
//! Scripts find in their environment: PORT, DIR (a folder of their own), PINWISE, ACTOR (this program with the word `actor`), CPU_A (the
//! server's CPU) and CPU_B (the other one), and, once they run, SERVER_PID and LOAD_PID.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use probe::Situation;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::scenario::Scenario;

/// What scripts begin with.
const PRELUDE: &str = include_str!("../../scenarios/prelude.sh");
/// A server has so long to listen.
const STARTS_WITHIN: Duration = Duration::from_secs(10);
/// Between the cause and the look at it.
const SETTLES: Duration = Duration::from_millis(1_500);
/// Between the request to end and the kill.
const ENDS_WITHIN: Duration = Duration::from_millis(800);

/// A script's process group, which ends with this.
struct Played(Child);

impl Drop for Played {
    fn drop(&mut self) {
        let Some(group) = Pid::from_raw(self.0.id() as i32) else { return };
        // A script that was stopped must go on to be ended.
        let _ = kill_process_group(group, Signal::CONT);
        let _ = kill_process_group(group, Signal::TERM);
        let until = Instant::now() + ENDS_WITHIN;
        while Instant::now() < until && matches!(self.0.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.0.wait();
    }
}

/// Runs `undo` whatever happened.
pub struct Undo {
    scene: Scene,
    script: Option<String>,
}

impl Undo {
    /// As the scenario says.
    pub fn of(scene: &Scene, scenario: &Scenario) -> Self {
        Self { scene: scene.clone(), script: scenario.undo.clone() }
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        if let Some(script) = &self.script {
            let _ = self.scene.command(script).status();
        }
    }
}

/// What all scripts of one play share.
#[derive(Debug, Clone)]
pub struct Scene {
    variables: Vec<(String, String)>,
}

impl Scene {
    /// One whose scripts find `port`, and a folder of their own.
    ///
    /// # Errors
    /// In words: the path of this program, or the CPUs, cannot be read.
    pub fn new(pinwise: &Path, folder: &Path, port: u16) -> Result<Self, String> {
        Ok(Self { variables: variables(pinwise, folder, port)? })
    }

    /// Runs what a scenario needs before its server is started.
    ///
    /// # Errors
    /// What the script said.
    pub fn prepare(&self, scenario: &Scenario) -> Result<(), String> {
        let Some(script) = &scenario.prepare else { return Ok(()) };
        let output =
            self.command(script).stderr(Stdio::piped()).output().map_err(|e| format!("prepare: {e}"))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("prepare: {}", String::from_utf8_lossy(&output.stderr).trim())),
        }
    }

    /// The beginning of a script that finds the same by itself.
    pub fn as_script(&self) -> String {
        let set = self.variables.iter().map(|(name, value)| format!("{name}='{value}'\nexport {name}\n"));
        format!("{PRELUDE}\n{}", set.collect::<String>())
    }

    fn command(&self, script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", &format!("{PRELUDE}\n{script}")])
            .envs(self.variables.iter().cloned())
            .stdin(Stdio::null())
            .process_group(0);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn start(&mut self, what: &str, script: &str) -> Result<Played, String> {
        let child = self.command(script).spawn().map_err(|e| format!("{what}: {e}"))?;
        self.variables.push((format!("{what}_PID"), child.id().to_string()));
        Ok(Played(child))
    }
}

/// Plays it and returns what pinwise saw.
pub fn play(scenario: &Scenario, pinwise: &Path, window_s: f64) -> Result<Situation, String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let port = free_port()?;
    let mut scene = Scene::new(pinwise, folder.path(), port)?;
    let _undo = Undo::of(&scene, scenario);
    scene.prepare(scenario)?;
    let mut server = scene.start("SERVER", &scenario.server)?;
    listens(port, &mut server)?;
    let _load = scene.start("LOAD", &scenario.load)?;
    std::thread::sleep(Duration::from_millis(300));
    let mut cause = scenario.cause.as_deref().map(|script| scene.start("CAUSE", script)).transpose()?;
    std::thread::sleep(SETTLES);
    let kept = folder.path().join("situation.json");
    let output = Command::new(pinwise)
        .args([
            "diagnose",
            "--process",
            &server.0.id().to_string(),
            "--for",
            &format!("{window_s}s"),
            "--format",
            "json",
            "--keep",
        ])
        .arg(&kept)
        .output()
        .map_err(|e| format!("{}: {e}", pinwise.display()))?;
    if let Some(Played(child)) = &mut cause
        && let Ok(Some(status)) = child.try_wait()
    {
        return Err(format!("the cause ended: {status}"));
    }
    if !output.status.success() {
        return Err(format!("pinwise: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let json = std::fs::read(&kept).map_err(|e| format!("{}: {e}", kept.display()))?;
    serde_json::from_slice(&json).map_err(|e| e.to_string())
}

/// All CPUs of this machine, as a list.
///
/// # Errors
/// Their number cannot be read.
pub fn all_cpus() -> Result<String, String> {
    let cpus = std::thread::available_parallelism().map_err(|e| e.to_string())?.get();
    Ok(format!("0-{}", cpus - 1))
}

fn variables(pinwise: &Path, folder: &Path, port: u16) -> Result<Vec<(String, String)>, String> {
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    let cpus = std::thread::available_parallelism().map_err(|e| e.to_string())?.get();
    Ok([
        ("PORT", port.to_string()),
        ("DIR", folder.display().to_string()),
        ("PINWISE", pinwise.display().to_string()),
        ("ACTOR", format!("{} actor", own.display())),
        ("CPU_A", (cpus - 1).to_string()),
        ("CPU_B", "0".to_string()),
    ]
    .map(|(name, value)| (name.to_string(), value))
    .to_vec())
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(|e| e.to_string())?;
    listener.local_addr().map(|at| at.port()).map_err(|e| e.to_string())
}

fn listens(port: u16, server: &mut Played) -> Result<(), String> {
    let until = Instant::now() + STARTS_WITHIN;
    while Instant::now() < until {
        if let Ok(Some(status)) = server.0.try_wait() {
            return Err(format!("the server ended: {status}"));
        }
        if TcpStream::connect_timeout(&SocketAddr::from(([127, 0, 0, 1], port)), Duration::from_millis(200))
            .is_ok()
        {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(30));
    }
    Err(format!("the server does not listen at port {port}"))
}
