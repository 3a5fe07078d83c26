//! The processes that whoever starts 'pinwise apply' has seen: each by its number and its start time. The number is given to another process once
//! its own has ended, so they are looked at again where the change is made, right before each act.

use machine::{Class, Fault, ProcessRef, Root};

/// The flag by which one is handed over.
const FLAG: &str = "--expect-process";

/// One as an argument, `--expect-process=4711:300`.
pub fn argument(process: &ProcessRef) -> String {
    format!("{FLAG}={}:{}", process.pid, process.start_time_ticks)
}

/// One out of its argument, `4711:300`.
///
/// # Errors
/// It is of another form.
pub fn parse(text: &str) -> Result<ProcessRef, String> {
    let form = "give it as PID:START, with its start in clock ticks after boot (field 22 of /proc/PID/stat)";
    let (pid, start) = text.split_once(':').ok_or(form)?;
    match (pid.parse(), start.parse()) {
        (Ok(pid), Ok(start_time_ticks)) => Ok(ProcessRef { pid, start_time_ticks }),
        _ => Err(form.into()),
    }
}

/// Checks that each is still the same process.
///
/// # Errors
/// One has ended; its number may be that of another by now.
pub fn check<'a>(root: &Root, expected: impl IntoIterator<Item = &'a ProcessRef>) -> Result<(), Fault> {
    let changed = expected.into_iter().find_map(|process| {
        let now = probe::identify(root, process.pid);
        (now != Some(*process)).then(|| ended(process.pid, now.is_some()))
    });
    changed.map_or(Ok(()), Err)
}

fn ended(pid: u32, is_another: bool) -> Fault {
    let cause = match is_another {
        true => "it has ended since the plan was shown, and another process has its number now",
        false => "it has ended since the plan was shown",
    };
    let remedy = "make the plan again for the intended process, or name a systemd unit";
    Fault::new(Class::MachineLacks, format!("process {pid}"), cause, remedy)
}

#[cfg(test)]
pub(crate) mod tests {
    use machine::Tree;

    use super::*;

    /// A machine with one process.
    pub(crate) fn with(pid: u32, state: char, start_time_ticks: u64) -> Root {
        let zeros = "0 ".repeat(17);
        let stat = format!("{pid} (server) {state} 1 {zeros}{start_time_ticks} 0 0\n");
        Root::from_tree(Tree::new().file(&format!("/proc/{pid}/stat"), stat))
    }

    #[test]
    fn an_argument_is_read_back_as_the_process_that_it_is_of() {
        let process = ProcessRef { pid: 4711, start_time_ticks: u64::MAX };
        assert_eq!(parse(argument(&process).strip_prefix("--expect-process=").unwrap()), Ok(process));
        for wrong in ["", "4711", "4711:", ":300", "4711:-1", "4711:300:1", "-1:300", "4294967296:300"] {
            assert!(parse(wrong).unwrap_err().contains("PID:START"), "{wrong}");
        }
    }

    #[test]
    fn a_number_that_has_become_another_process_is_refused() {
        let expected = [ProcessRef { pid: 4711, start_time_ticks: 300 }];
        assert!(check(&with(4711, 'R', 300), &expected).is_ok());
        assert!(check(&with(4711, 'R', 301), []).is_ok(), "nobody asks for it");
        let reused = check(&with(4711, 'S', 301), &expected).unwrap_err();
        assert_eq!((reused.class, reused.object.as_str()), (Class::MachineLacks, "process 4711"));
        assert!(reused.cause.contains("another process"), "{reused}");
        for gone in [with(4712, 'S', 300), with(4711, 'Z', 300)] {
            let fault = check(&gone, &expected).unwrap_err();
            assert!(fault.cause.contains("ended") && !fault.cause.contains("another"), "{fault}");
        }
    }

    #[test]
    fn one_of_several_that_has_ended_is_enough() {
        let both = [4711, 4712].map(|pid| ProcessRef { pid, start_time_ticks: 300 });
        assert_eq!(check(&with(4711, 'S', 300), &both).unwrap_err().object, "process 4712");
    }
}
