//! A tool that watches while something is measured: pinwise or one that it replaces.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// How long a tracer may take to be ready.
const READY: Duration = Duration::from_millis(1_200);

/// How often, and how many times, to check whether a tracer that was signalled has ended.
const LOOK_EVERY: Duration = Duration::from_millis(10);
const LOOKS: u32 = 300;

/// A tool that watches until it is signalled.
pub struct Tracer(Child);

impl Tracer {
    /// Starts one, and waits until it should be ready. What it prints is nowhere to be seen.
    pub fn start(mut command: Command) -> io::Result<Self> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        std::thread::sleep(READY);
        Ok(Self(child))
    }

    /// Ends it, when what it watched is over.
    ///
    /// # Errors
    /// When it has ended by itself before: then it did not watch.
    pub fn end(mut self) -> io::Result<()> {
        match self.0.try_wait()? {
            None => end(&mut self.0),
            Some(status) => Err(io::Error::other(format!("a tracer ended before its load: {status}"))),
        }
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        let _ = end(&mut self.0);
    }
}

/// A process that has nothing to do with the load.
pub struct Bystander(Child);

impl Bystander {
    /// Starts one, that sleeps.
    pub fn start() -> io::Result<Self> {
        Command::new("sleep").arg("3600").spawn().map(Self)
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Debian has some of these tools in sbin, which is not in everybody's PATH.
pub fn found(program: &str) -> PathBuf {
    let in_sbin = Path::new("/usr/sbin").join(program);
    if in_sbin.exists() { in_sbin } else { program.into() }
}

/// Whether a tracer still runs when it should be ready; what it said, if not.
pub fn works(mut tracer: Command) -> Result<(), String> {
    let started = tracer.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut started = started.map_err(|e| e.to_string())?;
    std::thread::sleep(READY);
    let ended = started.try_wait().map_err(|e| e.to_string())?;
    end(&mut started).map_err(|e| e.to_string())?;
    match ended {
        None => Ok(()),
        Some(status) => {
            let mut said = String::new();
            let _ = started.stderr.take().map(|mut text| text.read_to_string(&mut said));
            let first = said.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            Err(format!("{status} {first}").trim().to_string())
        }
    }
}

/// Sends a signal to a process.
pub fn signal(pid: u32, signal: Signal) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::other("no such process number"))?;
    kill_process(pid, signal).map_err(io::Error::from)
}

/// Ends a tracer as Ctrl-C does; where that does not help, by force.
fn end(tracer: &mut Child) -> io::Result<()> {
    if tracer.try_wait()?.is_some() {
        return Ok(());
    }
    signal(tracer.id(), Signal::INT)?;
    for _ in 0..LOOKS {
        if tracer.try_wait()?.is_some() {
            return Ok(());
        }
        std::thread::sleep(LOOK_EVERY);
    }
    tracer.kill()?;
    tracer.wait().map(|_| ())
}
