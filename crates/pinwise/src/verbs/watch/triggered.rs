//! A recorder that keeps what came around a condition: the time before it and some after it, in a ring beside its own, with a diagnosis.

mod flags;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use advise::diagnosis;
use machine::{Class, Fault, Outside};
use probe::account::Account;
use probe::account::trigger::{Action, Engine, Stretch, Trigger, When};
use probe::ring::{Ring, unix_ns_at, utc};
use report::account::diagnosis_text::{self, Wanted};

use super::replay::{self, Part};
use super::target::Watched;
use crate::notes::note;
use crate::{interrupt, output};
pub use flags::Flags;

/// So many lines of a diagnosis are printed.
const FIRST_LINES: usize = 12;

/// Parts that are kept in the same second have a number; there are no more of them than that.
const MOST_IN_A_SECOND: u32 = 1_000;

/// Looks at the intervals of a recording, and keeps the parts that were asked for.
pub struct Triggered<'a> {
    flags: &'a Flags,
    /// Where the recorder writes.
    ring: &'a Path,
    conditions: Vec<&'a Trigger>,
    /// Raised by SIGUSR1, where that is asked for.
    request: Option<Arc<AtomicBool>>,
    engine: Engine<String>,
    /// End of the last interval, ns of CLOCK_MONOTONIC.
    last_ns: u64,
}

impl<'a> Triggered<'a> {
    /// What the flags ask for; `None` where that is nothing.
    ///
    /// # Errors
    /// A condition is of a target's threads, and nobody is watched; the signal cannot be received.
    pub fn begin(flags: &'a Flags, ring: &'a Path, watched: &Watched) -> Result<Option<Self>, Fault> {
        if flags.when.is_empty() {
            return Ok(None);
        }
        let conditions: Vec<&Trigger> = flags.when.iter().filter_map(condition).collect();
        let of_threads = conditions.iter().find(|condition| condition.figure.is_of_threads());
        if let Some(condition) = of_threads.filter(|_| watched.is_everything()) {
            let cause = "this is a figure of a target's threads, and there is no target";
            let remedy = "add --process or --thread, or compare a taker, interrupts or steal";
            return Err(Fault::new(Class::Usage, format_args!("--when '{condition}'"), cause, remedy));
        }
        let request = flags.when.contains(&When::Signal).then(interrupt::request).transpose()?;
        let engine = Engine::new(flags.pace());
        Ok(Some(Self { flags, ring, conditions, request, engine, last_ns: 0 }))
    }

    /// Whether SIGUSR1 has come since the last interval.
    pub fn is_asked(&self) -> bool {
        self.request.as_ref().is_some_and(|request| request.load(Ordering::Acquire))
    }

    /// Looks at an interval that is in the ring.
    pub fn look(&mut self, interval: &Account) {
        self.last_ns = interval.to_ns;
        let met = self.met(interval);
        match self.engine.step(interval.to_ns, met) {
            Action::Save(stretch) => self.keep(&stretch),
            Action::Nothing | Action::Rest | Action::Full => {}
        }
    }

    /// The recording has ended: a part whose end was awaited is kept as it is.
    pub fn end(&mut self) {
        if let Some(stretch) = self.engine.end(self.last_ns) {
            self.keep(&stretch);
        }
    }

    /// What held in an interval, and what was seen.
    fn met(&self, interval: &Account) -> Option<String> {
        let is_asked = self.request.as_ref().is_some_and(|request| request.swap(false, Ordering::AcqRel));
        if is_asked {
            return Some(When::Signal.to_string());
        }
        self.conditions
            .iter()
            .find_map(|condition| Some(format!("{condition}: {}", condition.met(interval)?)))
    }

    /// Keeps a part and prints the beginning of its diagnosis. What fails is noted: the recording goes on.
    fn keep(&self, stretch: &Stretch<String>) {
        let said = self.kept(stretch).and_then(|text| output::text(&text));
        if let Err(fault) = said {
            note!("pinwise: {}: nothing is kept: {fault}", stretch.met);
        }
        if self.engine.is_full() {
            note!(
                "pinwise: --most {}: no more parts are kept next to the ring; recording goes on",
                self.flags.most
            );
        }
    }

    /// Writes a part into a ring of its own, and judges it.
    fn kept(&self, stretch: &Stretch<String>) -> Result<String, Fault> {
        let met_unix_ns = unix_ns_at(stretch.met_ns);
        let place = free(self.ring, self.flags.into.as_deref(), met_unix_ns)?;
        Ring::open(self.ring)?.excerpt(stretch.from_ns..stretch.to_ns, &place)?;
        let whole = Part { last: None, from: ("--since", None), to: ("--until", None) };
        let situation = replay::read(&place, &whole)?;
        let diagnosis = diagnosis::judge(&situation);
        let text = diagnosis_text::render(&diagnosis, &situation.target, Wanted { all: false, past: true });
        let (met, at) = (Outside(&stretch.met), utc(met_unix_ns));
        let name = place.display().to_string();
        Ok(format!("{}, {at}: kept in {}\n{}", met.one_line(), Outside(&name).one_line(), beginning(&text)))
    }
}

fn condition(when: &When) -> Option<&Trigger> {
    match when {
        When::Signal => None,
        When::Holds(trigger) => Some(trigger),
    }
}

/// The first lines of a diagnosis, and that there are more.
fn beginning(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let (first, rest) = lines.split_at(lines.len().min(FIRST_LINES));
    let more = match rest.len() {
        0 => String::new(),
        n => format!("({n} more lines: pinwise diagnose --replay)\n"),
    };
    format!("{}\n{more}", first.join("\n"))
}

/// A name for a part that met its condition then: that of the ring and the time in UTC, beside the ring or in another folder.
fn free(ring: &Path, into: Option<&Path>, met_unix_ns: u64) -> Result<PathBuf, Fault> {
    let folder = into.or(ring.parent()).unwrap_or(Path::new(""));
    let stamp = utc(met_unix_ns).trim_end_matches(" UTC").replace(['-', ':'], "").replace(' ', "T");
    let place = |number: u32| {
        let mut name = ring.file_name().map_or_else(|| OsString::from("ring"), OsString::from);
        name.push(match number {
            1 => format!(".{stamp}Z"),
            number => format!(".{stamp}Z-{number}"),
        });
        folder.join(name)
    };
    let is_free = |path: &PathBuf| path.symlink_metadata().is_err();
    (1..=MOST_IN_A_SECOND).map(place).find(is_free).ok_or_else(|| {
        let cause = format!("there are already {MOST_IN_A_SECOND} parts of {}", utc(met_unix_ns));
        Fault::new(Class::Storage, folder.display(), cause, "name another folder with --into")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIX_NS: u64 = 1_795_255_205_000_000_000;

    #[test]
    fn a_part_lies_beside_its_ring_under_the_time_of_its_condition() {
        let folder = tempfile::tempdir().unwrap();
        let ring = folder.path().join("ring");
        let first = free(&ring, None, UNIX_NS).unwrap();
        assert_eq!(first, folder.path().join("ring.20261121T100005Z"));
        std::fs::create_dir(&first).unwrap();
        let second = free(&ring, None, UNIX_NS).unwrap();
        assert_eq!(second, folder.path().join("ring.20261121T100005Z-2"));
        // A link that leads nowhere is in the way as well: nothing is written through it.
        std::os::unix::fs::symlink("/nosuch/place", &second).unwrap();
        assert_eq!(free(&ring, None, UNIX_NS).unwrap(), folder.path().join("ring.20261121T100005Z-3"));
        let elsewhere = free(&ring, Some(Path::new("/kept")), UNIX_NS).unwrap();
        assert_eq!(elsewhere, Path::new("/kept/ring.20261121T100005Z"));
    }

    #[test]
    fn a_ring_of_the_working_folder_has_its_parts_there() {
        let part = free(Path::new("nosuch-ring"), None, UNIX_NS).unwrap();
        assert_eq!(part, Path::new("nosuch-ring.20261121T100005Z"));
        assert_eq!(free(Path::new("/"), None, UNIX_NS).unwrap(), Path::new("ring.20261121T100005Z"));
    }

    #[test]
    fn of_a_long_diagnosis_the_first_lines_are_printed() {
        assert_eq!(beginning("one\ntwo\n"), "one\ntwo\n");
        let long: String = (0..FIRST_LINES + 3).map(|number| format!("{number}\n")).collect();
        let printed = beginning(&long);
        assert_eq!(printed.lines().count(), FIRST_LINES + 1);
        assert!(printed.ends_with("(3 more lines: pinwise diagnose --replay)\n"), "{printed}");
    }
}
