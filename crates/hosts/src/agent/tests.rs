//! What an agent answers, and what ends it.

use std::path::Path;

use super::*;
use crate::protocol::{Hello, Verb};

fn lines(asks: Vec<Ask>) -> (Vec<Line>, Result<(), Fault>) {
    let mut input = Vec::new();
    for (id, ask) in asks.into_iter().enumerate() {
        wire::send(&mut input, &Request { id: id as u64, ask }).unwrap();
    }
    let mut output = Vec::new();
    let ended = run(std::io::Cursor::new(input), &mut output, &AtomicBool::new(false));
    let mut read = &output[..];
    let lines = std::iter::from_fn(|| wire::receive(&mut read, "agent").unwrap()).collect();
    (lines, ended)
}

fn hello() -> Ask {
    Ask::Hello { protocol: PROTOCOL, silence_s: 5.0 }
}

#[test]
fn it_says_who_it_is_and_what_its_clock_reads_and_ends_with_its_input() {
    let before_ns = monotonic_ns();
    let (lines, ended) = lines(vec![hello(), Ask::Clock]);
    ended.unwrap();
    let [Line::Reply { id: 0, result: Reply::Done(Answer::Hello(Hello { boot_id, .. })) }, clock] =
        &lines[..]
    else {
        panic!("{lines:?}")
    };
    assert!(!boot_id.is_empty());
    let Line::Reply { result: Reply::Done(Answer::Clock { received_ns, sent_ns }), .. } = clock else {
        panic!("{clock:?}")
    };
    assert!(before_ns <= *received_ns && received_ns <= sent_ns && *sent_ns <= monotonic_ns());
}

#[test]
fn another_protocol_and_a_senseless_silence_are_refused() {
    let (answers, _) = lines(vec![
        Ask::Hello { protocol: PROTOCOL + 1, silence_s: 5.0 },
        Ask::Hello { protocol: PROTOCOL, silence_s: 0.5 },
        Ask::Start { at_ns: 0 },
    ]);
    assert!(answers.iter().all(|line| matches!(line, Line::Reply { result: Reply::Failed(_), .. })));
    assert_eq!(answers.len(), 3, "{answers:?}");
}

#[test]
fn bye_is_answered_and_what_comes_after_it_is_not() {
    let (answers, ended) = lines(vec![hello(), Ask::Bye, Ask::Clock]);
    ended.unwrap();
    let last = &answers.last().unwrap();
    assert!(answers.len() == 2, "{answers:?}");
    assert!(
        matches!(last, Line::Reply { result: Reply::Done(Answer::Undone { left }), .. } if left.is_empty())
    );
}

#[test]
fn silence_ends_it() {
    /// An input that never ends and never says anything.
    struct Silent;
    impl std::io::Read for Silent {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            std::thread::park();
            Ok(0)
        }
    }
    let heard = listen(std::io::BufReader::new(Silent));
    let mut agent = Agent::new(Duration::from_millis(1));
    agent.serve(&heard, &mut Vec::new(), &AtomicBool::new(false)).unwrap();
}

#[test]
fn what_is_no_controller_is_an_error() {
    let fault =
        run(std::io::Cursor::new(b"hello\n".to_vec()), &mut Vec::new(), &AtomicBool::new(false)).unwrap_err();
    assert!(fault.to_string().contains("the controller"), "{fault}");
}

#[test]
fn a_second_verb_is_refused_until_the_first_has_ended() {
    let dir = tempfile::tempdir().unwrap();
    let run = RunVerb { verb: Verb::Undo, arguments: Vec::new(), folder: dir.path().display().to_string() };
    let mut agent = Agent::new(Duration::from_secs(5));
    // A shell that finds no script of that name.
    agent.verb = Some(VerbRun::start(Path::new("/bin/sh"), &run).unwrap());
    let refused = agent.run_verb(&run).unwrap_err();
    assert!(refused.class == Class::No && refused.cause.contains("another verb"), "{refused}");
    let mut lines = Vec::new();
    while agent.verb.is_some() {
        lines.extend(agent.of_verb());
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(matches!(lines.last(), Some(Line::VerbEnded(end)) if end.exit_code != 0), "{lines:?}");
    // Now it is the folder, which is none of a run.
    assert_eq!(agent.run_verb(&run).unwrap_err().class, Class::Usage);
}

#[test]
fn the_first_signal_is_for_the_verb_that_runs() {
    let dir = tempfile::tempdir().unwrap();
    let run = RunVerb { verb: Verb::Undo, arguments: Vec::new(), folder: dir.path().display().to_string() };
    let mut agent = Agent::new(Duration::from_secs(5));
    let signal = AtomicBool::new(true);
    assert!(agent.is_interrupted(&signal));
    agent.verb = Some(VerbRun::start(Path::new("/bin/sh"), &run).unwrap());
    assert!(!agent.is_interrupted(&signal) && !signal.load(Ordering::Relaxed));
    assert!(!agent.is_interrupted(&signal));
    signal.store(true, Ordering::Relaxed);
    assert!(agent.is_interrupted(&signal), "the second ends the agent");
}
