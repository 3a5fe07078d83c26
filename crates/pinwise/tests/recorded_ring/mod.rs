//! A ring of a flight recorder, made up: no kernel is needed.

use probe::account::{Account, CpuAccount, Interruptions, Source, Stretches, TaskAccount, ThreadAccount};
use probe::ring::{Recorder, Session};

use crate::place::Place;

const SECOND_NS: u64 = 1_000_000_000;
const UNIX_NS: u64 = 1_795_255_205 * SECOND_NS;

/// Seconds that were recorded, and the one in which a hog had the CPU.
const SECONDS: u64 = 8;
const WORST: u64 = 5;

fn stretches(count: u64, total_ns: u64) -> Stretches {
    Stretches { count, total_ns, longest_ns: Some(total_ns / 2), ..Stretches::default() }
}

/// A second of a worker: it was displaced a little by a backup, and in one second much by a hog.
fn second(number: u64) -> Account {
    let (hog_ns, backup_ns) = (if number == WORST { SECOND_NS / 2 } else { 0 }, SECOND_NS / 100);
    let worker = ThreadAccount {
        tid: 1,
        pid: 1,
        comm: "worker".into(),
        wall_ns: SECOND_NS,
        on_cpu: stretches(20, SECOND_NS - hog_ns - backup_ns),
        preempted: stretches(10, hog_ns + backup_ns),
        ..ThreadAccount::default()
    };
    let task = |tid: u32, comm: &str, took_ns: u64| TaskAccount {
        tid,
        pid: tid,
        comm: comm.into(),
        slices: 5,
        took: stretches(5, took_ns),
        ..TaskAccount::default()
    };
    let tick = Interruptions { all: stretches(250, 500_000), ..Interruptions::default() };
    let cpu = |cpu: u32| CpuAccount {
        cpu,
        wall_ns: SECOND_NS,
        target_ns: SECOND_NS / 2,
        idle_ns: SECOND_NS / 2,
        sources: [(Source::Tick, tick.clone())].into_iter().collect(),
        ..CpuAccount::default()
    };
    Account {
        window_s: 1.0,
        from_ns: number * SECOND_NS,
        to_ns: (number + 1) * SECOND_NS,
        threads: vec![worker],
        tasks: vec![task(8, "backup", backup_ns), task(9, "hog", hog_ns)],
        cpus: vec![cpu(0), cpu(1)],
        ..Account::default()
    }
    .filled_up()
}

/// A place with a ring.
pub fn recorded() -> Place {
    let place = Place::new();
    let target = serde_json::json!({ "asked": "1", "pids": [1] });
    let session = Session::now("process 1".into(), target, "tp_btf", SECOND_NS).unwrap();
    let mut recorder = Recorder::open(&place.path("RING"), 1 << 20, session).unwrap();
    for number in 0..SECONDS {
        recorder.add(&second(number), UNIX_NS + (number + 1) * SECOND_NS).unwrap();
    }
    place
}
