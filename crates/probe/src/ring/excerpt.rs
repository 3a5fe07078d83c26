//! A part of the ring, as a ring of its own.

use std::io;
use std::ops::Range;
use std::path::Path;

use machine::{Class, Fault};

use super::entry::{Entry, asleep_for, sleepers};
use super::frame::Head;
use super::reader::{Ring, Skimmed};
use super::recorder::Recorder;
use crate::account::{Account, ThreadAccount};

impl Ring {
    /// Writes the entries of the last recorder that lie in a time (ns of CLOCK_MONOTONIC), wholly or in part, into a new ring. Returns
    /// how many.
    ///
    /// # Errors
    /// There is none; they cannot be read; [`Recorder::open`] refuses the folder; they cannot be written.
    pub fn excerpt(&self, time: Range<u64>, folder: &Path) -> Result<u64, Fault> {
        let is_meant = |head: &Head| head.to_ns > time.start && head.from_ns < time.end;
        let session = self.segments.last().map(|segment| &segment.session);
        let of_session = self.segments.iter().filter(|segment| {
            session.is_some_and(|session| session.is_same(&segment.session))
                && segment.entries().any(is_meant)
        });
        let chosen: Vec<&Skimmed> = of_session.collect();
        let Some(session) = session.filter(|_| !chosen.is_empty()) else {
            let remedy = "record for longer, or give the ring a larger --size";
            return Err(Fault::new(
                Class::MachineLacks,
                folder.display(),
                "nothing of that time is in the ring",
                remedy,
            ));
        };
        let mut recorder = Recorder::open(folder, u64::MAX, session.clone())?;
        chosen.into_iter().try_for_each(|segment| copy(segment, &is_meant, &mut recorder))?;
        Ok(recorder.written())
    }
}

/// Adds the entries of a segment that are meant.
fn copy(segment: &Skimmed, is_meant: &impl Fn(&Head) -> bool, recorder: &mut Recorder) -> Result<(), Fault> {
    let (mut known, mut refused): (Vec<ThreadAccount>, Option<Fault>) = (Vec::new(), None);
    let read = segment.read(is_meant, |head, entry, _| {
        let account = whole(entry, head, &mut known);
        if !is_meant(head) {
            return Ok(());
        }
        recorder.add(&account, head.to_unix_ns).map_err(|fault| {
            refused = Some(fault);
            io::Error::other("it could not be copied")
        })
    });
    match (refused, read) {
        (Some(fault), _) => Err(fault),
        (None, Err(e)) => Err(Fault::io(
            segment.path().display(),
            &e,
            "replay the ring itself, which leaves out what is damaged",
        )),
        (None, Ok(())) => Ok(()),
    }
}

/// The account of an entry with the threads that slept all the time, of those that are `known` to its segment.
fn whole(entry: Entry, head: &Head, known: &mut Vec<ThreadAccount>) -> Account {
    let Entry { mut account, asleep, known: new } = entry;
    known.extend(new);
    for slept in sleepers(&asleep, known.len()) {
        account.threads.extend(known[slept].iter().map(|thread| asleep_for(thread, head.interval_ns())));
    }
    account
}
