//! What a ring holds, as if it had been watched then.

use std::path::Path;

use machine::{Class, Fault};
use probe::ring::{Interval, Range, Replayed, Ring, moment, utc};
use report::account_tables::When;

use super::args::Args;
use super::tell::{self, Recorded, Sheet, Table};
use crate::output::Answer;

/// Adds up what was asked for, or tells it interval by interval.
pub fn run(args: &Args, folder: &Path) -> Result<Answer, Fault> {
    let ring = Ring::open(folder)?;
    let range = range(args, ring.last_unix_ns())?;
    let place = tell::place(args)?;
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
    let recorded = Some(Recorded { from_unix_ns, to_unix_ns, intervals, sessions });
    tell::sheet(
        args,
        &title,
        Sheet {
            target: &session.target,
            everything: session.everything,
            how: &session.how,
            recorded,
            account,
        },
        place,
    )?;
    Ok(Answer::Done)
}

fn when(interval: &Interval) -> When {
    When { from_unix_ns: interval.from_unix_ns, to_unix_ns: interval.to_unix_ns }
}

/// What was asked for, as times.
fn range(args: &Args, last_unix_ns: u64) -> Result<Range, Fault> {
    if let Some(length) = args.last {
        let from_unix_ns = last_unix_ns.saturating_sub(length.as_nanos() as u64);
        return Ok(Range { from_unix_ns, ..Range::ALL });
    }
    let read = |flag: &str, text: &Option<String>, without: u64| match text {
        Some(text) => moment(text, last_unix_ns).map_err(|e| Fault::new(Class::Usage, flag, text, e)),
        None => Ok(without),
    };
    let range = Range {
        from_unix_ns: read("--from", &args.from, Range::ALL.from_unix_ns)?,
        to_unix_ns: read("--to", &args.to, Range::ALL.to_unix_ns)?,
    };
    match range.from_unix_ns < range.to_unix_ns {
        true => Ok(range),
        false => Err(Fault::new(Class::Usage, "--to", "it is not after --from", "choose a later time")),
    }
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
        format!("it holds {first} to {last}: choose of that"),
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
