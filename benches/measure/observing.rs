//! What being observed costs two threads that do nothing but wake each other: each round trip is two sleeps, two wake-ups and two switches.

use std::io;
use std::sync::{Condvar, Mutex};
use std::thread;

use benches::blocks::{Arm, run};
use benches::cpu_time::{self, Cost};
use benches::nothing::{Met, Nothing};
use machine::{Machine, Missing, Root};
use probe::account::{Counting, Target, TracePoints};
use probe::futexes::CountingFutexes;
use probe::stacks::Profiling;

use crate::pinned::Pinned;
use crate::section::Section;
use crate::tools;

/// Round trips of a run: 0.1 to 1 s.
const ROUND_TRIPS: u32 = 10_000;
const BLOCKS: usize = 20;

/// Measures on one CPU, and on two.
pub fn measure() -> io::Result<Section> {
    let mut section = Section::new("Being observed, two threads that wake each other by a futex");
    if !tools::is_root() {
        section.say("Not measured: needs root.");
        return Ok(section);
    }
    let machine = Machine::read(&Root::live());
    let online: Vec<u32> = machine.online().iter().collect();
    let places =
        [("on one CPU", online.first(), online.first()), ("on two CPUs", online.first(), online.get(1))];
    for (name, one, other) in places {
        let (Some(one), Some(other)) = (one.copied(), other.copied()) else { continue };
        let work = || round_trips(one, other);
        section.compare(&format!("{ROUND_TRIPS} round trips {name}"), &run(arms(&machine, &work), BLOCKS)?);
    }
    section.say(
        "The first is not observed; clock: programs at the same trace points that only look at the clock. Goal of an observed block: at most 0.05 more than \
         those. Waits at futexes are counted by diagnose alone.",
    );
    Ok(section)
}

/// The same work beside each observer.
fn arms<'a>(machine: &'a Machine, work: &'a dyn Fn() -> io::Result<Cost>) -> Vec<Arm<'a>> {
    let own = || vec![std::process::id()];
    vec![
        Arm::new("nobody", work),
        Arm::new("clock", move || {
            let _nothing = Nothing::attach(Met::Tasks, true)?;
            work()
        }),
        Arm::new("account (watch)", move || {
            let _counting =
                Counting::begin(&Target::Processes(own()), machine, &TracePoints::Best).map_err(failed)?;
            work()
        }),
        Arm::new("functions (profile)", move || {
            let mut profiling = Profiling::prepare(&own()).map_err(failed)?;
            profiling.start();
            work()
        }),
        Arm::new("account and functions (an observed block)", move || {
            let _counting =
                Counting::begin(&Target::Processes(own()), machine, &TracePoints::Best).map_err(failed)?;
            let mut profiling = Profiling::prepare(&own()).map_err(failed)?;
            profiling.start();
            work()
        }),
        Arm::new("waits at futexes", move || {
            let mut futexes = CountingFutexes::prepare(&own()).map_err(failed)?;
            futexes.start();
            work()
        }),
    ]
}

fn failed(missing: Missing) -> io::Error {
    io::Error::other(format!("{}: {}", missing.fact, missing.why))
}

/// Two threads take turns at one word; the cost is that of the first, and the time of both.
fn round_trips(one: u32, other: u32) -> io::Result<Cost> {
    let (turn, changed) = (Mutex::new(false), Condvar::new());
    let take_turns = |mine: bool| -> io::Result<()> {
        for _ in 0..ROUND_TRIPS {
            let turn = turn.lock().map_err(|_| io::Error::other("the other thread panicked"))?;
            let waited = changed.wait_while(turn, |turn| *turn != mine);
            *waited.map_err(|_| io::Error::other("the other thread panicked"))? = !mine;
            changed.notify_one();
        }
        Ok(())
    };
    thread::scope(|scope| {
        let answering = scope.spawn(|| {
            let _pinned = Pinned::to(Some(other))?;
            take_turns(true)
        });
        let _pinned = Pinned::to(Some(one))?;
        let (cost, ()) = cpu_time::of_work(|| take_turns(false))?;
        answering.join().map_err(|_| io::Error::other("the answering thread panicked"))??;
        Ok(cost)
    })
}
