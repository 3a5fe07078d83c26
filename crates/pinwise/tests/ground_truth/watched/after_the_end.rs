//! When counting has ended, nothing is counted any more.

use std::time::Duration;

use machine::{Machine, Root};
use probe::account::{Account, Counting, Names, Target, TracePoints};

use super::actor::Actor;
use super::watching::Stage;

fn stays(trace_points: &TracePoints) {
    let Some(stage) = Stage::new() else { return };
    let actor = Actor::start("sleeps", stage.cpu, |until| {
        while until.goes_on() {
            std::thread::sleep(Duration::from_micros(150));
        }
    });
    let machine = Machine::read(&Root::live());
    let target = Target::Processes(vec![std::process::id()]);
    let mut counting = match Counting::begin(&target, &machine, trace_points) {
        Ok(counting) => counting,
        Err(missing) => panic!("{}: {}", missing.fact, missing.why),
    };
    let names = Names::of(&machine);
    let read = |counting: &mut Counting| {
        std::thread::sleep(Duration::from_millis(100));
        let account = Account::of(&counting.read(), false, &names, &[]);
        let on_cpu: Vec<_> = account.threads.iter().map(|thread| (thread.tid, thread.on_cpu)).collect();
        (account.cpus, on_cpu)
    };
    let [first, second] = [read(&mut counting), read(&mut counting)];
    counting.stop();
    let [ended, later] = [read(&mut counting), read(&mut counting)];
    actor.stop();
    assert_ne!(first, second, "while it counts, it moves");
    assert_ne!(second, ended);
    assert_eq!(ended, later);
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn what_was_counted_stays_as_it_was() {
    stays(&TracePoints::Best);
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn it_stays_with_raw_trace_points_too() {
    stays(&TracePoints::Raw);
}
