//! The window in which a verb looks: how long it is, and waiting for its end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::{notes, progress_bar};

/// How long a signal may wait to be seen.
const ATTENTION: Duration = Duration::from_millis(100);

/// The shortest window for which a bar is drawn.
pub const WORTH_A_BAR: Duration = Duration::from_secs(2);

/// The longest window, s: a day.
const LONGEST_S: f64 = 86_400.0;

/// Why a window ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Its time was up.
    InTime,
    /// A signal came.
    BySignal,
    /// What was looked at has ended.
    Gone,
}

/// `10s`, `10`, `0.5`, `200ms`, `5m`: a length of time.
pub fn length(text: &str) -> Result<Duration, String> {
    let units = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3_600.0)];
    let found = units.iter().find_map(|(unit, s)| text.strip_suffix(unit).map(|number| (number, *s)));
    let (number, unit_s) = found.unwrap_or((text, 1.0));
    let number: f64 = number.parse().map_err(|e| format!("{e}: give a time such as 10s, 200ms or 5m"))?;
    let seconds = number * unit_s;
    match seconds > 0.0 && seconds <= LONGEST_S {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err(format!("choose more than 0, and at most {LONGEST_S} s")),
    }
}

/// Waits for the end of a window, with a bar on a terminal; `each` is called some ten times a second and ends it with
/// false.
pub fn pass(length: Duration, stop: &AtomicBool, mut each: impl FnMut() -> bool) -> Ended {
    let began = Instant::now();
    let shown = notes::is_terminal() && length > WORTH_A_BAR;
    let bar = progress_bar::bar("{bar:30} {eta} left", length.as_millis() as u64, shown);
    let ended = loop {
        let passed = began.elapsed();
        bar.set_position(passed.as_millis() as u64);
        if stop.load(Ordering::Acquire) {
            break Ended::BySignal;
        }
        if passed >= length {
            break Ended::InTime;
        }
        if !each() {
            break Ended::Gone;
        }
        std::thread::sleep((length - passed).min(ATTENTION));
    };
    bar.finish_and_clear();
    ended
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_with_and_without_their_unit() {
        let ms = |text| length(text).unwrap().as_millis();
        assert_eq!(
            ["10s", "10", "0.5", "200ms", "5m", "1h"].map(ms),
            [10_000, 10_000, 500, 200, 300_000, 3_600_000]
        );
        for bad in ["", "s", "0", "-1", "nan", "inf", "25h", "10x"] {
            assert!(length(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_window_ends_in_time_by_a_signal_or_when_nothing_is_left() {
        let long = Duration::from_secs(60);
        assert_eq!(pass(Duration::from_millis(1), &AtomicBool::new(false), || true), Ended::InTime);
        assert_eq!(pass(long, &AtomicBool::new(true), || true), Ended::BySignal);
        assert_eq!(pass(long, &AtomicBool::new(false), || false), Ended::Gone);
    }
}
