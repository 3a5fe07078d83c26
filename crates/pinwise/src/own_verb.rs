//! A verb of pinwise in a process of its own, for what answers several callers at once: the live page and MCP.
//!
//! So a caller gets what a user at a shell would, with the same checks and the same words, and one that goes away or asks for too much
//! disturbs none of the others.

use std::process::{Output, Stdio};
use std::time::Duration;

use machine::{Class, Fault};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// The most of standard output that is read, bytes: a map of 4,096 CPUs has 20 MiB.
const MOST_OF_STDOUT: u64 = 64 << 20;

/// The most of standard error that is read, bytes.
const MOST_OF_STDERR: u64 = 1 << 20;

/// How long a verb whose time is over may take to take back what it changed, before it is killed.
const GRACE: Duration = Duration::from_secs(20);

/// Runs a verb with `--format json` and returns the document that it prints. A verb whose answer is no prints one, too.
///
/// Where the future is dropped the process is killed: verbs that change the machine are to be awaited in a task of their own.
///
/// # Errors
/// It cannot be started, fails (the fault has its class and its last words), or takes longer than `at_most`.
pub(crate) async fn json(arguments: &[String], at_most: Duration) -> Result<Value, Fault> {
    let verb = arguments.first().map_or("", String::as_str);
    let object = format!("pinwise {verb}");
    let mut command = Command::new("/proc/self/exe");
    command.args(arguments).args(["--format", "json"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Ctrl-C of a terminal is for the process that answers, which ends what it started.
    command.process_group(0).kill_on_drop(true);
    let started = command.spawn();
    let mut child =
        started.map_err(|error| Fault::io(&object, &error, "see whether another process can be started"))?;
    let output = within(&mut child, at_most, &object).await?;
    match serde_json::from_slice(&output.stdout) {
        Ok(document) if answers(output.status.code()) => Ok(document),
        _ => Err(fault_of(&object, &output)),
    }
}

/// Whether a verb that ends so has printed its answer.
fn answers(code: Option<i32>) -> bool {
    let codes = [0, Class::No.exit_code(), crate::output::REBOOT, crate::output::CANNOT_TELL];
    codes.into_iter().any(|answer| code == Some(i32::from(answer)))
}

/// All that it prints; where its time is over, it is asked to end, and killed where it does not.
async fn within(child: &mut Child, at_most: Duration, object: &str) -> Result<Output, Fault> {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let ended = async {
        let (stdout, stderr) =
            tokio::join!(start_of(stdout, MOST_OF_STDOUT), start_of(stderr, MOST_OF_STDERR));
        child.wait().await.map(|status| Output { status, stdout, stderr })
    };
    if let Ok(ended) = timeout(at_most, ended).await {
        return ended.map_err(|error| Fault::io(object, &error, "try again"));
    }
    if let Some(pid) = child.id().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::TERM);
    }
    if timeout(GRACE, child.wait()).await.is_err() {
        let _ = child.kill().await;
    }
    let cause = format!("it did not end within {} s", at_most.as_secs());
    Err(Fault::new(Class::MachineLacks, object, cause, "run it at a shell, where it may take its time"))
}

/// What it prints, up to so many bytes. What is longer is read on and forgotten, so that the writer is not stopped by it.
async fn start_of(pipe: Option<impl AsyncRead + Unpin>, at_most: u64) -> Vec<u8> {
    let mut start = Vec::new();
    if let Some(mut pipe) = pipe {
        let _ = (&mut pipe).take(at_most).read_to_end(&mut start).await;
        let _ = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await;
    }
    start
}

/// The failure of a verb: the class that its exit code stands for, and its last line, which says object, cause and remedy.
fn fault_of(object: &str, output: &Output) -> Fault {
    let code = output.status.code().and_then(|code| u8::try_from(code).ok());
    let classes = [
        Class::No,
        Class::Usage,
        Class::NotPermitted,
        Class::MachineLacks,
        Class::WorkloadFailed,
        Class::Storage,
        Class::Interrupted,
    ];
    let class =
        classes.into_iter().find(|class| Some(class.exit_code()) == code).unwrap_or(Class::MachineLacks);
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    let words = last.map_or("it printed no JSON document", |line| line.trim_start_matches("pinwise: "));
    Fault::new(class, object, words, "")
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::ExitStatus;

    use super::*;

    fn ended(code: i32, stderr: &str) -> Output {
        Output { status: ExitStatus::from_raw(code << 8), stdout: Vec::new(), stderr: stderr.into() }
    }

    #[test]
    fn a_failure_has_the_class_of_its_exit_code_and_its_last_line() {
        let fault = fault_of(
            "pinwise map",
            &ended(3, "a note\npinwise: /proc/kallsyms: permission denied - run as root\n\n"),
        );
        assert_eq!(fault.class, Class::NotPermitted);
        assert_eq!(fault.cause, "/proc/kallsyms: permission denied - run as root");
    }

    #[test]
    fn what_ends_by_a_signal_or_says_nothing_is_a_failure_with_words() {
        let killed = Output { status: ExitStatus::from_raw(9), stdout: Vec::new(), stderr: Vec::new() };
        assert_eq!(fault_of("pinwise map", &killed).cause, "it printed no JSON document");
        assert!(!answers(killed.status.code()));
    }

    #[test]
    fn a_verb_whose_answer_is_no_has_answered() {
        assert!(answers(Some(0)) && answers(Some(1)) && answers(Some(8)));
        assert!(!answers(Some(2)) && !answers(Some(130)) && !answers(None));
    }

    #[tokio::test]
    async fn what_is_longer_than_the_bound_is_read_to_its_end_and_cut() {
        let long = vec![b'x'; 1000];
        assert_eq!(start_of(Some(long.as_slice()), 10).await.len(), 10);
        assert!(start_of(None::<&[u8]>, 10).await.is_empty());
    }
}
