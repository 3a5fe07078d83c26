//! A verb of pinwise in a process of its own, for what answers several callers at once: the live page and MCP.
//!
//! So a caller gets what a user at a shell would, with the same checks and the same words, and one that goes away or asks for too much
//! disturbs none of the others.

use std::fmt;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use machine::{Class, Fault, Outside};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// The most of standard output that is read, bytes: a map of 4,096 CPUs has 20 MiB.
const MOST_OF_STDOUT: u64 = 64 << 20;

/// The end of standard error that is kept, bytes.
const END_OF_STDERR: usize = 64 << 10;

/// The most of it that a fault quotes, bytes: a parser's words with its usage fit.
const MOST_QUOTED: usize = 4 << 10;

/// What is read at once of standard error, bytes.
const PIECE: usize = 4 << 10;

/// How long a verb whose time is over may take to take back what it changed, before it is killed.
const GRACE: Duration = Duration::from_secs(20);

/// What stands before the lines that pinwise itself writes to stderr.
const OURS: &str = "pinwise: ";

/// Runs a verb with `--format json` and returns the document that it prints. A verb whose answer is no prints one, too.
///
/// Where the future is dropped the process is killed: verbs that change the machine are to be awaited in a task of their own.
///
/// # Errors
/// It cannot be started, takes longer than `at_most`, prints too much, or fails: the fault has the class of its exit code and what it said on
/// stderr; where it has stated a `fault` in the document, it is that one.
pub(crate) async fn json(arguments: &[String], at_most: Duration) -> Result<Value, Fault> {
    let (object, ended) = run(arguments, &["--format", "json"], at_most).await?;
    match ended.document() {
        Some(document) if ended.has_answered() => Ok(document),
        document => {
            Err(document.as_ref().and_then(stated).unwrap_or_else(|| ended.fault(&object, Form::Json)))
        }
    }
}

/// As [`json`], of a verb that says in its document what it has done although it failed: that document is returned, with its `fault`.
///
/// # Errors
/// As [`json`], where it has printed no document that states a fault.
pub(crate) async fn json_with_fault(arguments: &[String], at_most: Duration) -> Result<Value, Fault> {
    let (object, ended) = run(arguments, &["--format", "json"], at_most).await?;
    match ended.document() {
        Some(document) if ended.has_answered() || stated(&document).is_some() => Ok(document),
        _ => Err(ended.fault(&object, Form::Json)),
    }
}

/// Runs a verb that prints text and returns that, whole. It has no answer but that: one that ends with another exit code than 0 has failed.
///
/// # Errors
/// As [`json`]; what it printed is not UTF-8.
pub(crate) async fn text(arguments: &[String], at_most: Duration) -> Result<String, Fault> {
    let (object, ended) = run(arguments, &[], at_most).await?;
    ended.text(&object)
}

/// The fault that a verb states in the document that it prints; `None` where it states none.
pub(crate) fn stated(document: &Value) -> Option<Fault> {
    let fault = document.get("fault").filter(|fault| fault.is_object())?;
    let part = |name: &str| fault[name].as_str().unwrap_or_default();
    let class = serde_json::from_value(fault["class"].clone()).unwrap_or(Class::No);
    Some(Fault::new(class, part("object"), part("cause"), part("remedy")))
}

/// Runs a verb to its end; its name comes first, as the object of a fault.
async fn run(arguments: &[String], more: &[&str], at_most: Duration) -> Result<(String, Ended), Fault> {
    let verb = arguments.first().map_or("", String::as_str);
    let object = format!("pinwise {verb}");
    let mut command = Command::new("/proc/self/exe");
    command.args(arguments).args(more);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Ctrl-C of a terminal is for the process that answers, which ends what it started.
    command.process_group(0).kill_on_drop(true);
    let started = command.spawn();
    let mut child = started
        .map_err(|error| Fault::io(&object, &error, "check whether another process can be started"))?;
    let ended = within(&mut child, at_most, &object).await?;
    Ok((object, ended))
}

/// All that it prints; where its time is over, it is asked to end, and killed where it does not.
async fn within(child: &mut Child, at_most: Duration, object: &str) -> Result<Ended, Fault> {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let ended = async {
        let (stdout, stderr) = tokio::join!(start_of(stdout, MOST_OF_STDOUT), end_of(stderr, END_OF_STDERR));
        child.wait().await.map(|status| Ended { status, stdout, stderr })
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
    Err(Fault::new(Class::MachineLacks, object, cause, "run it in a shell, where it has no time limit"))
}

/// What a verb is to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// One JSON document.
    Json,
    /// Text.
    Text,
}

/// The start of what a verb prints.
#[derive(Debug)]
struct Start {
    bytes: Vec<u8>,
    /// Why that is not all of it; `None` where it is.
    cut: Option<Cut>,
}

/// Why the rest of what a verb printed is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Cut {
    /// It printed more than is kept.
    TooLong,
    /// Reading it failed, with this error.
    Unreadable(String),
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "it printed more than {} MiB", MOST_OF_STDOUT >> 20),
            Self::Unreadable(error) => write!(f, "what it printed could not be read: {error}"),
        }
    }
}

impl Cut {
    fn remedy(&self) -> &'static str {
        match self {
            Self::TooLong => "run it in a shell, where its output has no limit",
            Self::Unreadable(_) => "try again",
        }
    }
}

/// What it prints, up to so many bytes. What is longer is read on and forgotten, so that the writer is not stopped by it.
async fn start_of(pipe: Option<impl AsyncRead + Unpin>, at_most: u64) -> Start {
    let mut bytes = Vec::new();
    let Some(mut pipe) = pipe else { return Start { bytes, cut: None } };
    let read = (&mut pipe).take(at_most).read_to_end(&mut bytes).await;
    let left = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await;
    let cut = match (read, left) {
        (Err(error), _) | (Ok(_), Err(error)) => Some(Cut::Unreadable(error.to_string())),
        (Ok(_), Ok(0)) => None,
        (Ok(_), Ok(_)) => Some(Cut::TooLong),
    };
    Start { bytes, cut }
}

/// The end of what it prints, so many bytes at most: there a failure stands.
async fn end_of(pipe: Option<impl AsyncRead + Unpin>, at_most: usize) -> Vec<u8> {
    let mut end = Vec::new();
    let Some(mut pipe) = pipe else { return end };
    let mut piece = vec![0; PIECE];
    // Where reading fails, what has come before is kept.
    while let Ok(read @ 1..) = pipe.read(&mut piece).await {
        end.extend_from_slice(&piece[..read]);
        end.drain(..end.len().saturating_sub(at_most));
    }
    end
}

/// How a verb ended, and what it printed.
#[derive(Debug)]
struct Ended {
    status: ExitStatus,
    stdout: Start,
    /// The end of it.
    stderr: Vec<u8>,
}

impl Ended {
    /// Whether a verb that ends so has printed its answer.
    fn has_answered(&self) -> bool {
        let codes = [0, Class::No.exit_code(), crate::output::REBOOT, crate::output::CANNOT_TELL];
        codes.into_iter().any(|answer| self.status.code() == Some(i32::from(answer)))
    }

    /// The JSON document that it printed.
    fn document(&self) -> Option<Value> {
        serde_json::from_slice(&self.stdout.bytes).ok()
    }

    /// The text that it printed.
    fn text(self, object: &str) -> Result<String, Fault> {
        if self.status.code() != Some(0) || self.stdout.cut.is_some() {
            return Err(self.fault(object, Form::Text));
        }
        let remedy = machine::IS_A_BUG;
        String::from_utf8(self.stdout.bytes)
            .map_err(|error| Fault::new(Class::Storage, object, error, remedy))
    }

    /// Its failure to print what it is to: the class that its exit code stands for, and what it said.
    fn fault(&self, object: &str, form: Form) -> Fault {
        let cause = match (&self.stdout.cut, quoted(&self.stderr), self.status.code()) {
            (Some(cut), ..) => cut.to_string(),
            // Notes of a verb that succeeded are no cause, and what came before a signal need not be one.
            (None, Some(said), None) => format!("{}; it said:\n{said}", self.silence(form)),
            (None, Some(said), Some(1..)) => said,
            (None, ..) => self.silence(form),
        };
        let class = self.status.code().and_then(Class::of_exit_code).unwrap_or(Class::MachineLacks);
        Fault::new(class, object, cause, self.stdout.cut.as_ref().map_or("", Cut::remedy))
    }

    /// What is known of a verb that failed and said nothing.
    fn silence(&self, form: Form) -> String {
        match (self.status.signal(), self.status.code()) {
            // One that prints text has no answer but that, and no other exit code than 0 where it has printed it.
            _ if form == Form::Json && self.has_answered() => "it printed no JSON document".into(),
            (Some(signal), _) => format!("signal {signal} ended it"),
            (None, Some(code)) => format!("it ended with exit code {code} and said nothing"),
            (None, None) => "it did not end by itself".into(),
        }
    }
}

/// What a verb said on stderr, the end of it where that is long, safe to show; `None` where it said nothing. It may be a note, an error of the
/// parser with its usage, or a failure with the last lines of a log: which line is the cause, only a reader sees.
fn quoted(stderr: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(stderr);
    let text = text.trim();
    let end = end_in_lines(text, MOST_QUOTED);
    let lines = end.lines().filter(|line| !line.trim().is_empty());
    let mut lines: Vec<&str> = lines.map(|line| line.strip_prefix(OURS).unwrap_or(line)).collect();
    if lines.is_empty() {
        return None;
    }
    if end.len() < text.len() {
        lines.insert(0, "the end of what it said:");
    }
    Some(Outside(&lines.join("\n")).lines().into_owned())
}

/// The end of a text, at most so many bytes: in whole lines, where one fits.
fn end_in_lines(text: &str, at_most: usize) -> &str {
    let Some(cut) = text.len().checked_sub(at_most).filter(|cut| *cut > 0) else { return text };
    let at = (cut..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let end = &text[at..];
    end.split_once('\n').map_or(end, |(_, whole)| whole)
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use serde_json::json;
    use tokio::io::ReadBuf;

    use super::*;

    fn ended(code: i32, stdout: &str, stderr: &str) -> Ended {
        let stdout = Start { bytes: stdout.into(), cut: None };
        Ended { status: ExitStatus::from_raw(code << 8), stdout, stderr: stderr.into() }
    }

    #[test]
    fn a_failure_has_the_class_of_its_exit_code_and_all_that_was_said() {
        let said = "pinwise: /proc/kallsyms: permission denied - run as root\n\n";
        let fault = ended(3, "", said).fault("pinwise map", Form::Json);
        assert_eq!(fault.class, Class::NotPermitted);
        assert_eq!(fault.cause, "/proc/kallsyms: permission denied - run as root");
        let parser = "error: invalid value 'x' for '--for <TIME>'\n\nFor more information, try '--help'.\n";
        let cause = ended(2, "", parser).fault("pinwise watch", Form::Json).cause;
        assert_eq!(cause, "error: invalid value 'x' for '--for <TIME>'\nFor more information, try '--help'.");
        let log = "pinwise: the server: it ended; its last lines:\n  | one\n  | two\n";
        let cause = ended(5, "", log).fault("pinwise apply", Form::Json).cause;
        assert_eq!(cause, "the server: it ended; its last lines:\n  | one\n  | two");
    }

    #[test]
    fn what_was_said_is_bounded_and_drives_no_terminal() {
        let long = "x".repeat(99) + "\n";
        let cause = quoted((long.repeat(1000) + "\u{1b}[2Jthe cause\n").as_bytes()).unwrap();
        assert!(cause.len() <= MOST_QUOTED + 100, "{}", cause.len());
        let lines: Vec<&str> = cause.lines().collect();
        assert_eq!((lines[0], lines[1]), ("the end of what it said:", long.trim_end()));
        assert_eq!(lines.last(), Some(&"\\u{1b}[2Jthe cause"));
        let one_line = quoted("\u{fc}".repeat(MOST_QUOTED).as_bytes()).unwrap();
        assert!(one_line.ends_with('\u{fc}') && one_line.len() <= MOST_QUOTED + 100);
        assert_eq!(quoted(b" \n\n"), None);
    }

    #[test]
    fn a_fault_that_a_verb_states_is_taken_as_it_is() {
        let fault = json!({ "class": "machine-lacks", "object": "irq 38", "cause": "no", "remedy": "wait" });
        let document = json!({ "acts_in_force": 0, "fault": fault });
        let expected = Fault::new(Class::MachineLacks, "irq 38", "no", "wait");
        assert_eq!(stated(&document), Some(expected));
        for none in [json!({ "fault": null }), json!({ "fault": "text" }), json!({}), json!(7)] {
            assert_eq!(stated(&none), None, "{none}");
        }
        assert_eq!(stated(&json!({ "fault": {} })).unwrap().class, Class::No);
    }

    #[test]
    fn what_ends_by_a_signal_or_says_nothing_is_a_failure_with_words() {
        let cause = |ended: &Ended| ended.fault("pinwise map", Form::Json).cause;
        let mut killed = ended(0, "", "");
        killed.status = ExitStatus::from_raw(9);
        assert_eq!(cause(&killed), "signal 9 ended it");
        assert!(!killed.has_answered());
        killed.stderr = b"memory allocation of 65536 bytes failed\n".to_vec();
        assert_eq!(cause(&killed), "signal 9 ended it; it said:\nmemory allocation of 65536 bytes failed");
        assert_eq!(cause(&ended(4, "", "")), "it ended with exit code 4 and said nothing");
        assert_eq!(cause(&ended(0, "no JSON", "pinwise: a note\n")), "it printed no JSON document");
        let mut cut = ended(0, "{", "pinwise: a note\n");
        cut.stdout.cut = Some(Cut::TooLong);
        assert_eq!(cause(&cut), "it printed more than 64 MiB");
        cut.stdout.cut = Some(Cut::Unreadable("out of memory".into()));
        let fault = cut.fault("pinwise map", Form::Json);
        assert_eq!(fault.cause, "what it printed could not be read: out of memory");
        assert_eq!(fault.remedy, "try again");
    }

    #[test]
    fn a_verb_that_prints_text_has_failed_where_its_exit_code_is_not_0() {
        assert_eq!(ended(0, "<html>", "pinwise: a note\n").text("pinwise report-page").unwrap(), "<html>");
        let fault = ended(1, "", "pinwise: case: no\n").text("pinwise report-page").unwrap_err();
        assert_eq!((fault.class, fault.cause.as_str()), (Class::No, "case: no"));
        let mut cut = ended(0, "<ht", "");
        cut.stdout.cut = Some(Cut::TooLong);
        assert!(cut.text("pinwise report-page").unwrap_err().cause.contains("more than 64 MiB"));
        // Its exit code would be an answer of a verb that prints JSON.
        let silent = ended(1, "", "").text("pinwise report-page").unwrap_err();
        assert_eq!(silent.cause, "it ended with exit code 1 and said nothing");
        assert_eq!(ended(1, "", "").fault("pinwise status", Form::Json).cause, "it printed no JSON document");
    }

    #[test]
    fn a_verb_whose_answer_is_no_has_answered() {
        let has_answered = |code| ended(code, "", "").has_answered();
        assert!(has_answered(0) && has_answered(1) && has_answered(8));
        assert!(!has_answered(2) && !has_answered(130));
    }

    #[tokio::test]
    async fn what_is_longer_than_the_bound_is_read_to_its_end_and_cut() {
        let long: Vec<u8> = (0..=255).cycle().take(20_000).collect();
        let start = start_of(Some(long.as_slice()), 10).await;
        assert_eq!((start.bytes.as_slice(), start.cut), (&long[..10], Some(Cut::TooLong)));
        let all = start_of(Some(long.as_slice()), 20_000).await;
        assert_eq!((all.bytes.len(), all.cut), (20_000, None));
        assert_eq!(start_of(None::<&[u8]>, 10).await.cut, None);
        assert_eq!(end_of(Some(long.as_slice()), 10).await, long[19_990..]);
        assert_eq!(end_of(Some(long.as_slice()), 30_000).await, long);
        assert!(end_of(None::<&[u8]>, 10).await.is_empty());
    }

    /// Gives some bytes, and an error then.
    struct Failing(&'static [u8]);

    impl AsyncRead for Failing {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            to: &mut ReadBuf<'_>,
        ) -> Poll<std::io::Result<()>> {
            let bytes = self.0;
            if bytes.is_empty() {
                return Poll::Ready(Err(std::io::Error::other("gone")));
            }
            let (now, later) = bytes.split_at(bytes.len().min(to.remaining()));
            to.put_slice(now);
            self.0 = later;
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_not_taken_for_too_long() {
        for at_most in [2, 100] {
            let start = start_of(Some(Failing(b"{\"a\"")), at_most).await;
            assert_eq!(start.cut, Some(Cut::Unreadable("gone".into())), "{at_most}");
        }
    }
}
