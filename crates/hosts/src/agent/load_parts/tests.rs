//! Commands as parts of a load: when they begin, what comes of them, and what ends them.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use change::LiveKernel;
use load::{Command, CommandLoad, Extract};

use super::*;

/// Parts that write neither into the ledger of this machine nor into its temporary folder.
fn parts(dir: &Path) -> LoadParts {
    let hand = Hand::with(Arc::new(LiveKernel::new()), &dir.join("ledger"), "test of agents").unwrap();
    let folder = OwnFolder::make(&dir.join("folder"), Reach::Owner).unwrap();
    LoadParts { hand: Some(hand), folder: Some(folder), ..LoadParts::default() }
}

/// A script of sh(1) of which `figure` is read.
fn script(script: &str, figure: &str, expression: &str) -> LoadSpec {
    let mut command = CommandLoad::new(Command::new(["sh", "-c", script]));
    command.seconds = 1.5;
    command.figures.insert(figure.into(), Extract::Regex(expression.into()));
    LoadSpec::Command(command)
}

fn asked(loads: Vec<LoadSpec>) -> Prepare {
    Prepare { loads, server: "10.0.0.1:4242".parse().unwrap(), cpus: None }
}

/// What came of them, waited for as the agent waits.
fn ended(parts: &mut LoadParts) -> Vec<PartEnded> {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(ended) = parts.poll() {
            assert!(!parts.is_running());
            return ended;
        }
        assert!(Instant::now() < until, "they did not end");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn failure(load: LoadSpec) -> Failure {
    let dir = tempfile::tempdir().unwrap();
    let mut parts = parts(dir.path());
    parts.prepare(asked(vec![load])).unwrap();
    parts.start(0).unwrap();
    match ended(&mut parts).remove(0) {
        PartEnded::Failed(failure) => failure,
        PartEnded::Document(document) => panic!("{document:?}"),
    }
}

#[test]
fn commands_begin_at_their_moment_and_not_before_with_all_filled_in() {
    let dir = tempfile::tempdir().unwrap();
    let mut parts = parts(dir.path());
    let text = "test \"$LC_ALL\" = C && touch {dir}/begun && test {address} = 10.0.0.1 && test -n {cpus} \
                && echo port {port} && echo asked {seconds}";
    let loads = vec![script(text, "port", r"port (\d+)"), script(text, "asked", r"asked (\d+)")];
    parts.prepare(asked(loads)).unwrap();
    let folder = dir.path().join("folder");
    parts.start(monotonic_ns() + 3_600_000_000_000).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    assert!(parts.is_running() && parts.poll().is_none() && parts.due_in() > Some(Duration::from_secs(60)));
    assert!(!folder.join("load-0/begun").exists() && !folder.join("load-1/begun").exists());
    let at_ns = monotonic_ns() + 1_000_000;
    parts.start(at_ns).unwrap();
    let ended = ended(&mut parts);
    let outcomes: Vec<&Outcome> = ended
        .iter()
        .map(|one| match one {
            PartEnded::Document(document) => &document.outcome,
            PartEnded::Failed(failure) => panic!("{failure:?}"),
        })
        .collect();
    assert!(outcomes.iter().all(|outcome| outcome.from_ns >= at_ns && outcome.to_ns >= outcome.from_ns));
    assert_eq!(outcomes[0].figures["port"], 4242.0);
    assert_eq!(outcomes[1].figures["asked"], 2.0, "rounded up");
    for outcome in outcomes {
        assert!(outcome.figures[CPU_TIME] > 0.0 && outcome.units[CPU_TIME] == "s", "{outcome:?}");
    }
    assert_eq!(parts.take_back(), Vec::<String>::new());
    assert!(!folder.exists());
}

#[test]
fn what_this_host_does_not_have_is_refused_before_anything_starts() {
    let dir = tempfile::tempdir().unwrap();
    let mut parts = parts(dir.path());
    let mut command = CommandLoad::new("pinwise-no-such-tool {port}".parse().unwrap());
    command.figures.insert("x".into(), Extract::Regex("(x)".into()));
    let refused = parts.prepare(asked(vec![LoadSpec::Command(command.clone())])).unwrap_err();
    assert_eq!(refused.class, Class::MachineLacks);
    assert!(refused.object.contains("pinwise-no-such-tool") && refused.remedy.contains("there"), "{refused}");
    (command.command, command.cwd) = (Command::new(["sh"]), Some("/nonexistent/folder".into()));
    let refused = parts.prepare(asked(vec![LoadSpec::Command(command)])).unwrap_err();
    assert!(refused.object.contains("/nonexistent/folder"), "{refused}");
    assert!(parts.start(0).is_err() && !parts.is_running());
}

#[test]
fn a_command_that_fails_says_how_and_what_it_printed_last() {
    let failed = failure(script("echo no such page >&2; exit 3", "x", "(x)"));
    assert!(failed.cause.contains('3') && failed.cause.contains("no such page"), "{failed:?}");
    let silent = failure(script("echo nothing", "rate", r"rate (\d+)"));
    assert!(silent.cause.contains("figure rate") && silent.cause.contains("matches nothing"), "{silent:?}");
}

#[test]
fn what_a_command_prints_is_read_up_to_a_bound_and_no_figure_is_taken_of_a_part() {
    let long = script("echo rate 1; head -c 70000000 /dev/zero; echo rate 2", "rate", r"rate (\d+)");
    let failed = failure(long);
    assert!(failed.cause.contains("more than 64 MiB"), "{failed:?}");
    assert!(failed.cause.len() < 1_000, "{} bytes", failed.cause.len());
}

#[test]
fn a_command_and_its_children_end_when_it_is_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let mut parts = parts(dir.path());
    let pids = dir.path().join("pids");
    let text = format!("sleep 300 & echo $$ $! > {0}.new; mv {0}.new {0}; wait", pids.display());
    parts.prepare(asked(vec![script(&text, "x", "(x)")])).unwrap();
    parts.start(0).unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    while !pids.exists() {
        assert!(parts.poll().is_none() && Instant::now() < until, "it has not begun");
        std::thread::sleep(Duration::from_millis(2));
    }
    let pids = std::fs::read_to_string(&pids).unwrap();
    let runs = |pid: &str| {
        // One that nobody waits for any more stays as a zombie until init does.
        let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !status.is_empty() && !status.contains(") Z ")
    };
    assert!(pids.split_whitespace().count() == 2 && pids.split_whitespace().all(runs), "{pids}");
    parts.stop();
    assert!(!parts.is_running() && !pids.split_whitespace().any(runs), "{pids}");
}
