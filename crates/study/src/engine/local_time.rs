//! The time of day by the clock of the machine, as date(1) has it: which zone that is, and when its clocks are changed, is the C library's
//! to know.

use std::process::{Command, Stdio};

use machine::{Class, Fault, program_path};

/// Seconds since midnight.
///
/// # Errors
/// date(1) is not there, or prints something else than the time of day.
pub(super) fn since_midnight_s() -> Result<u32, Fault> {
    let fault = |cause: String| {
        let remedy = "leave --hours (key hours) out, or install coreutils";
        Fault::new(Class::MachineLacks, "the time of day", cause, remedy)
    };
    let date = program_path::of_system("date").ok_or_else(|| fault("there is no date(1)".into()))?;
    let printed = Command::new(date).arg("+%H:%M:%S").stdin(Stdio::null()).stderr(Stdio::null()).output();
    let printed = printed.map_err(|e| fault(format!("date(1): {e}")))?;
    let text = String::from_utf8_lossy(&printed.stdout);
    seconds(text.trim()).ok_or_else(|| fault("date(1) does not print the time of day".into()))
}

/// Seconds of `HH:MM:SS`; a leap second belongs to the one before it.
fn seconds(text: &str) -> Option<u32> {
    let mut parts = text.split(':').map(|part| part.parse::<u32>().ok());
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    let is_time = parts.next().is_none() && hours < 24 && minutes < 60 && seconds < 61;
    is_time.then(|| hours * 3600 + minutes * 60 + seconds.min(59))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_day_is_read_and_nothing_else_is() {
        assert_eq!(seconds("02:00:01"), Some(7201));
        assert_eq!(seconds("23:59:60"), Some(86_399));
        for text in ["", "02:00", "24:00:00", "02:60:00", "a:b:c", "1:2:3:4", "-1:00:00"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(?s).{0,12}") {
            let _ = seconds(&text);
        }
    }
}
