//! The command of `--check`, which says by its exit code whether a host is well. It runs here, once for each host.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{self, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hosts::HostSpec;
use load::Command;
use machine::{Class, Fault, program_path};

/// How often it is looked whether a check has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The check.
#[derive(Debug)]
pub(super) struct Check {
    command: Command,
    within: Duration,
}

impl Check {
    /// Reads a command line; `within` is how long it may take on a host.
    ///
    /// # Errors
    /// A quote is open, there is no program, or a placeholder is unknown.
    pub(super) fn parse(line: &str, within: Duration) -> Result<Self, Fault> {
        let command: Command = line.parse()?;
        command.check("--check", &["host", "destination"])?;
        Ok(Self { command, within })
    }

    /// The command line for a host, as a shell takes it.
    ///
    /// # Errors
    /// None that is known: placeholders were checked before.
    pub(super) fn line_for(&self, host: &HostSpec) -> Result<String, Fault> {
        self.words(host).map(shell_words::join)
    }

    fn words(&self, host: &HostSpec) -> Result<Vec<String>, Fault> {
        let values =
            BTreeMap::from([("host", host.name.clone()), ("destination", host.destination().to_string())]);
        self.command.fill(&values)
    }

    /// Runs it for a host. What it prints is not shown.
    ///
    /// # Errors
    /// It cannot be run, ends with another code than 0, or takes longer than it may; `interrupted` was raised.
    pub(super) fn run(&self, host: &HostSpec, interrupted: &AtomicBool) -> Result<(), Fault> {
        let words = self.words(host)?;
        let failed = |cause: String| {
            let remedy = format!("see what it prints: {}", shell_words::join(&words));
            Fault::new(Class::WorkloadFailed, format!("host {}: check", host.name), cause, remedy)
        };
        let (name, arguments) = words.split_first().ok_or_else(|| failed("has no program".into()))?;
        let program = found(name).ok_or_else(|| failed(format!("'{name}' is not installed here")))?;
        let mut command = process::Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
        let until = Instant::now() + self.within;
        let cause = loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(failed(format!("ended with {status}"))),
                Err(error) => break error.to_string(),
                Ok(None) if interrupted.load(Ordering::Relaxed) => break "stopped by a signal".into(),
                Ok(None) if Instant::now() >= until => {
                    break format!("has not ended within {} s", self.within.as_secs_f64());
                }
                Ok(None) => std::thread::sleep(LOOK_EVERY),
            }
        };
        let _ = child.kill();
        let _ = child.wait();
        Err(failed(cause))
    }
}

/// A program that the user names: a path, or a name that is looked for in PATH.
fn found(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name));
    }
    program_path::in_path(name.as_ref(), std::env::var_os("PATH").as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn run(line: &str, within: Duration) -> Result<(), Fault> {
        let host = HostSpec { ssh: Some("ann@10.0.0.2".into()), ..HostSpec::named("web1") };
        Check::parse(line, within)?.run(&host, &AtomicBool::new(false))
    }

    #[test]
    fn the_exit_code_says_whether_a_host_is_well() {
        run("test {host} = web1", LONG).unwrap();
        run("test {destination} = ann@10.0.0.2", LONG).unwrap();
        let fault = run("test {host} = 'web 2'", LONG).unwrap_err();
        assert!(fault.object == "host web1: check" && fault.cause.contains("exit status: 1"), "{fault}");
        assert!(fault.remedy.contains("test web1") && fault.remedy.ends_with("'web 2'"), "{fault}");
    }

    #[test]
    fn what_does_not_end_is_ended() {
        let began = Instant::now();
        let fault = run("sleep 600", Duration::from_millis(1)).unwrap_err();
        assert!(fault.cause.contains("has not ended within 0.001 s"), "{fault}");
        let check = Check::parse("sleep 600", LONG).unwrap();
        let fault = check.run(&HostSpec::named("b"), &AtomicBool::new(true)).unwrap_err();
        assert!(fault.cause.contains("signal"), "{fault}");
        assert!(began.elapsed() < LONG);
    }

    #[test]
    fn a_line_that_cannot_be_run_is_refused_before_anything_is() {
        for bad in ["", "curl {port}", "echo 'x"] {
            assert_eq!(Check::parse(bad, LONG).unwrap_err().class, Class::Usage, "{bad}");
        }
        assert!(run("no-such-program-at-all", LONG).unwrap_err().cause.contains("not installed"));
        assert!(run("/nonexistent/check", LONG).is_err());
    }
}
