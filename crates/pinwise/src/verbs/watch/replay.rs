//! What a ring holds, as if it had been watched then.

use std::path::Path;
use std::time::Duration;

use machine::{Class, Fault};
use probe::Situation;
use probe::account::Account;
use probe::ring::{Interval, Range, Replayed, Ring, Session, moment, utc};
use report::account::account_tables::When;
use serde::Deserialize as _;

use super::args::Args;
use super::sheet::{self, Recorded, Sheet, Table};
use super::verdict::judged;
use crate::output::Answer;

/// Adds up the requested part of the ring, or writes it interval by interval.
pub fn run(args: &Args, folder: &Path) -> Result<Answer, Fault> {
    let ring = Ring::open(folder)?;
    let range = asked(args).range(ring.last_unix_ns())?;
    let place = sheet::place(args)?;
    if args.series {
        let mut table = Table::begin(args, ring.is_of_everything(), place)?;
        let replayed =
            ring.replay(range, |interval| table.add(&interval.account_filled_up(), when(interval)));
        table.end()?;
        return replayed.map(|_| Answer::Done).ok_or_else(|| nothing(folder, &ring, range));
    }
    let replayed = ring.replay(range, |_| ()).ok_or_else(|| nothing(folder, &ring, range))?;
    let title = title(&replayed);
    let Replayed { session, from_unix_ns, to_unix_ns, intervals, sessions, account } = replayed;
    let (account, diagnosis) = judged(&mut situation(&title, &session, account));
    let recorded = Some(Recorded { from_unix_ns, to_unix_ns, intervals, sessions });
    sheet::write(
        args,
        &title,
        Sheet {
            target: &session.target,
            everything: session.everything,
            how: &session.how,
            recorded,
            diagnosis,
            account,
        },
        place,
    )?;
    Ok(Answer::Done)
}

/// What a ring holds of a server, or of the machine as a whole.
fn situation(title: &str, session: &Session, account: Account) -> Situation {
    let pids = session.target.get("pids").and_then(|pids| Vec::deserialize(pids).ok()).unwrap_or_default();
    Situation::of_account(title, if session.everything { Vec::new() } else { pids }, account)
}

fn when(interval: &Interval) -> When {
    When { from_unix_ns: interval.from_unix_ns, to_unix_ns: interval.to_unix_ns }
}

/// The requested part of a ring, as the flags give it.
pub struct Part<'a> {
    /// Only the last part.
    pub last: Option<Duration>,
    /// From this time on: the flag and its text.
    pub from: (&'a str, Option<&'a str>),
    /// Up to this time.
    pub to: (&'a str, Option<&'a str>),
}

fn asked(args: &Args) -> Part<'_> {
    Part { last: args.last, from: ("--since", args.since.as_deref()), to: ("--until", args.until.as_deref()) }
}

impl Part<'_> {
    /// The same as times; days that are not named are of the ring's last one.
    ///
    /// # Errors
    /// A text is no time, or the end is not after the beginning.
    fn range(&self, last_unix_ns: u64) -> Result<Range, Fault> {
        if let Some(length) = self.last {
            let from_unix_ns = last_unix_ns.saturating_sub(length.as_nanos() as u64);
            return Ok(Range { from_unix_ns, ..Range::ALL });
        }
        let read = |(flag, text): (&str, Option<&str>), without: u64| match text {
            Some(text) => moment(text, last_unix_ns).map_err(|e| Fault::new(Class::Usage, flag, text, e)),
            None => Ok(without),
        };
        let range = Range {
            from_unix_ns: read(self.from, Range::ALL.from_unix_ns)?,
            to_unix_ns: read(self.to, Range::ALL.to_unix_ns)?,
        };
        let cause = format!("it is not after {}", self.from.0);
        match range.from_unix_ns < range.to_unix_ns {
            true => Ok(range),
            false => Err(Fault::new(Class::Usage, self.to.0, cause, "choose a later time")),
        }
    }
}

/// A part of a ring, added up, as something to judge.
///
/// # Errors
/// It is no ring, or nothing was recorded in that time.
pub fn read(folder: &Path, part: &Part<'_>) -> Result<Situation, Fault> {
    let ring = Ring::open(folder)?;
    let range = part.range(ring.last_unix_ns())?;
    let replayed = ring.replay(range, |_| ()).ok_or_else(|| nothing(folder, &ring, range))?;
    let title = title(&replayed);
    Ok(situation(&title, &replayed.session, replayed.account))
}

fn nothing(folder: &Path, ring: &Ring, range: Range) -> Fault {
    let (first, last) = (utc(ring.first_unix_ns()), utc(ring.last_unix_ns()));
    let cause = match range {
        Range::ALL => "nothing is recorded there yet".to_string(),
        _ => "nothing was recorded in that time".to_string(),
    };
    Fault::new(
        Class::MachineLacks,
        folder.display(),
        cause,
        format!("it has {first} to {last}: choose a part of that"),
    )
}

/// `process 4711, recorded 2026-11-21 10:00:00 UTC to 2026-11-21 10:05:00 UTC (300 intervals)`.
fn title(replayed: &Replayed) -> String {
    let recorders = match replayed.sessions {
        1 => String::new(),
        n => format!(" of {n} recorders"),
    };
    format!(
        "{}, recorded {} to {} ({} intervals{recorders})",
        replayed.session.title,
        utc(replayed.from_unix_ns),
        utc(replayed.to_unix_ns),
        replayed.intervals
    )
}
