//! Intervals of the ring, added together again.

use std::collections::BTreeSet;
use std::io;

use machine::Missing;

use super::entry::{asleep_for, sleepers};
use super::frame::{Head, Kind};
use super::reader::{Ring, Skimmed};
use super::session::Session;
use super::wall_clock::utc;
use crate::account::{Account, IntervalSum, ThreadAccount};

/// So many gaps are reported one by one.
const MOST_GAPS: u64 = 1_000;

/// How large the tables may become.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tables {
    /// All of them, written as JSON, bytes.
    pub(super) most_bytes: u64,
    /// After so many bytes of entries it is looked at how large they are.
    pub(super) each_bytes: u64,
}

/// 600,000 rows of threads that did something, some GiB of memory.
const TABLES: Tables = Tables { most_bytes: 512 << 20, each_bytes: 256 << 20 };

/// From when to when by the wall clock, ns since 1970. Entries that lie in it with a part are taken whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// The beginning.
    pub from_unix_ns: u64,
    /// The end.
    pub to_unix_ns: u64,
}

impl Range {
    /// Everything.
    pub const ALL: Self = Self { from_unix_ns: 0, to_unix_ns: u64::MAX };

    fn has(&self, head: &Head) -> bool {
        head.began_unix_ns() < self.to_unix_ns && head.to_unix_ns > self.from_unix_ns
    }
}

/// One interval.
#[derive(Debug, Clone)]
pub struct Interval {
    /// Its beginning by the wall clock, ns since 1970.
    pub from_unix_ns: u64,
    /// Its end, likewise.
    pub to_unix_ns: u64,
    /// What was counted, without threads that slept all the time.
    pub account: Account,
}

impl Interval {
    /// What was counted, with the sum of the threads that did anything, and who took.
    pub fn account_filled_up(&self) -> Account {
        self.account.clone().filled_up()
    }
}

/// What a range of the ring says.
#[derive(Debug, Clone)]
pub struct Replayed {
    /// The last session in it: who was watched, and how.
    pub session: Session,
    /// The beginning of the first entry and the end of the last by the wall clock, ns since 1970.
    pub from_unix_ns: u64,
    /// The end.
    pub to_unix_ns: u64,
    /// Entries that were added together.
    pub intervals: u64,
    /// Recorders that wrote them.
    pub sessions: u64,
    /// All of them together. What was not recorded is in `missing`.
    pub account: Account,
}

/// What was added up so far, and where it ended.
#[derive(Default)]
struct Together {
    whole: IntervalSum,
    missing: Vec<Missing>,
    first_unix_ns: Option<u64>,
    last: Option<Head>,
    intervals: u64,
    gaps: u64,
    tables: Tables,
    /// Bytes of entries since it was looked at how large the tables are.
    unseen_bytes: u64,
    /// Whether they may not become larger.
    full: bool,
}

impl Ring {
    /// Adds the intervals of a range together; `each` sees them one by one. Recordings of another target than the last one's are
    /// left out, and reported. `None` when nothing was recorded in the range.
    pub fn replay(&self, range: Range, each: impl FnMut(&Interval)) -> Option<Replayed> {
        self.replay_within(TABLES, range, each)
    }

    /// The same with bounds for the tables.
    pub(super) fn replay_within(
        &self,
        tables: Tables,
        range: Range,
        mut each: impl FnMut(&Interval),
    ) -> Option<Replayed> {
        let chosen: Vec<&Skimmed> =
            self.segments.iter().filter(|segment| segment.entries().any(|head| range.has(head))).collect();
        let session = chosen.last()?.session.clone();
        let mut together = Together { tables, missing: self.missing.clone(), ..Together::default() };
        let (mut sessions, mut before): (u64, Option<&Session>) = (0, None);
        let mut of_session = Vec::new();
        for segment in chosen {
            if segment.session.target != session.target {
                together.missing.push(of_another(segment));
                continue;
            }
            if before.is_none_or(|before| !before.is_same(&segment.session)) {
                sessions += 1;
                // What was missing in a session is in its last entry.
                together.missing.append(&mut of_session);
            }
            together.add(segment, before, range, &mut of_session, &mut each);
            before = Some(&segment.session);
        }
        together.missing.append(&mut of_session);
        together.tell_gaps();
        let last = together.last?;
        let mut account = together.whole.account();
        account.missing = without_repetition(together.missing);
        account.note_detail();
        Some(Replayed {
            session,
            from_unix_ns: together.first_unix_ns.unwrap_or(0),
            to_unix_ns: last.to_unix_ns,
            intervals: together.intervals,
            sessions,
            account,
        })
    }
}

impl Together {
    fn note_gap(&mut self, gap: Option<Missing>) {
        let Some(gap) = gap else { return };
        self.gaps += 1;
        if self.gaps <= MOST_GAPS {
            self.missing.push(gap);
        }
    }

    /// Reports how many gaps are not in the list.
    fn tell_gaps(&mut self) {
        let more = self.gaps.saturating_sub(MOST_GAPS);
        if more > 0 {
            self.missing
                .push(Missing::new(format_args!("{more} more stretches of time"), "entries are missing"));
        }
    }

    /// Counts an entry, and looks now and then at how large the tables are.
    ///
    /// Errors: they are as large as they may be.
    fn look_at_tables(&mut self, bytes: usize) -> io::Result<()> {
        self.unseen_bytes += bytes as u64;
        if self.unseen_bytes >= self.tables.each_bytes {
            self.unseen_bytes = 0;
            self.full = self.full || self.whole.bytes() > self.tables.most_bytes;
        }
        match self.full {
            true => Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!(
                    "there are more threads and tasks than {} MiB hold; choose a shorter time with --since and --until",
                    self.tables.most_bytes >> 20
                ),
            )),
            false => Ok(()),
        }
    }

    /// Adds the entries of a segment that lie in the range.
    fn add(
        &mut self,
        segment: &Skimmed,
        before: Option<&Session>,
        range: Range,
        of_session: &mut Vec<Missing>,
        each: &mut impl FnMut(&Interval),
    ) {
        let mut goes_on = before.is_some_and(|before| before.is_same(&segment.session));
        // Threads of this segment, each with how long it slept through whole intervals.
        let mut known: Vec<(ThreadAccount, u64)> = Vec::new();
        let read = segment.read(
            |head| range.has(head),
            |head, entry, bytes| {
                self.look_at_tables(bytes)?;
                known.extend(entry.known.into_iter().map(|thread| (thread, 0)));
                if head.kind == Kind::Session || !range.has(head) {
                    return Ok(());
                }
                self.note_gap(self.last.as_ref().and_then(|last| gap(last, head, goes_on)));
                goes_on = true;
                for slept in sleepers(&entry.asleep, known.len()) {
                    for (_, ns) in &mut known[slept] {
                        *ns = ns.saturating_add(head.interval_ns());
                    }
                }
                let interval = Interval {
                    from_unix_ns: head.began_unix_ns(),
                    to_unix_ns: head.to_unix_ns,
                    account: entry.account,
                };
                each(&interval);
                of_session.clone_from(&interval.account.missing);
                self.whole.add(interval.account);
                self.first_unix_ns = self.first_unix_ns.or(Some(interval.from_unix_ns));
                self.last = Some(*head);
                self.intervals += 1;
                Ok(())
            },
        );
        for (thread, ns) in known.iter().filter(|(_, ns)| *ns > 0 && !self.full) {
            self.whole.add_before(asleep_for(thread, *ns));
        }
        let damaged =
            read.err().map(|e| Missing::new(format_args!("entries of {}", segment.path().display()), e));
        self.missing.extend(damaged);
    }
}

/// What lies between two entries that should follow each other.
fn gap(last: &Head, next: &Head, same_session: bool) -> Option<Missing> {
    let between = |why: &str| {
        let fact = format!("{} to {}", utc(last.to_unix_ns), utc(next.began_unix_ns()));
        Some(Missing::new(fact, why))
    };
    match same_session {
        true if last.to_ns == next.from_ns => None,
        true => between("entries are missing"),
        false => between("nobody recorded: one recorder had ended, the next began"),
    }
}

fn of_another(segment: &Skimmed) -> Missing {
    let (first, last) = (segment.entries().next(), segment.entries().next_back());
    let from = first.map_or(String::new(), |head| utc(head.began_unix_ns()));
    let to = last.map_or(String::new(), |head| utc(head.to_unix_ns));
    let why = "another target than the last one's; to see it, choose its time with --since and --until";
    Missing::new(format_args!("{from} to {to}: {}", segment.session.title), why)
}

fn without_repetition(missing: Vec<Missing>) -> Vec<Missing> {
    let mut known = BTreeSet::new();
    missing.into_iter().filter(|fact| known.insert(fact.clone())).collect()
}
