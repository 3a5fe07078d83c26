//! How processes that were started here come to their end.

use std::io;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// How often it is looked whether one has ended.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// How it has ended; none where it still runs after `at_most`.
///
/// # Errors
/// Something else has waited for it.
pub(crate) fn ended_within(child: &mut Child, at_most: Duration) -> io::Result<Option<ExitStatus>> {
    let until = Instant::now() + at_most;
    loop {
        let status = child.try_wait()?;
        if status.is_some() || Instant::now() >= until {
            return Ok(status);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Lets it end by itself within `grace`, and kills it where it does not.
pub(crate) fn end_within(child: &mut Child, grace: Duration) {
    if matches!(ended_within(child, grace), Ok(None)) {
        let _ = child.kill();
        let _ = child.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::Command;

    use super::*;

    fn started(program: &str, argument: &str) -> Child {
        Command::new(program).arg(argument).spawn().unwrap()
    }

    #[test]
    fn what_ends_by_itself_is_not_killed_and_what_does_not_is() {
        let mut short = started("sleep", "0");
        let status = ended_within(&mut short, Duration::from_secs(60)).unwrap();
        assert!(status.is_some_and(|status| status.success()), "{status:?}");
        let mut long = started("sleep", "600");
        assert_eq!(ended_within(&mut long, Duration::ZERO).unwrap(), None);
        end_within(&mut long, Duration::ZERO);
        assert_eq!(long.wait().unwrap().signal(), Some(9));
    }
}
