//! Rings (`pinwise watch --replay`), which may come from anybody.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use std::io::Write as _;
use std::sync::OnceLock;

use advise::diagnosis;
use bolero::check;
use probe::Situation;
use probe::account::{
    Account, BySource, CountedInterrupts, CpuAccount, Detail, FunctionAccount, FunctionKind, Interruptions,
    LineAccount, Nearness, Paging, Route, Source, Stretches, TaskAccount, ThreadAccount,
};
use probe::ring::{Range, Ring};
use report::account::account_tables::{Form, Table, When, Writer};
use report::account::account_text::{self, Wanted};
use report::account::diagnosis_text;
use serde_json::{Value, json};

use crate::edits;

const SECOND_NS: u64 = 1_000_000_000;

/// Kinds of frames: a session, an entry, one that makes threads known.
const KINDS: [u32; 3] = [1, 2, 3];

/// Times of a frame, ns: its beginning and end, and its end by the wall clock.
type Times = [u64; 3];

/// A frame as a recorder writes it: length, checksum, kind, four bytes that are 0, the times; then the piece of the stream.
fn frame(kind: u32, times: Times, piece: &[u8]) -> Vec<u8> {
    let head = |check: u32| {
        let words = [piece.len() as u32, check, kind, 0].map(u32::to_le_bytes);
        [words.as_flattened(), times.map(u64::to_le_bytes).as_flattened()].concat()
    };
    let mut check = crc32fast::Hasher::new();
    check.update(&head(0));
    check.update(piece);
    [head(check.finalize()), piece.to_vec()].concat()
}

/// A segment of these lines, each with a sound sum.
fn segment(lines: impl Iterator<Item = (u32, Times, Vec<u8>)>) -> Vec<u8> {
    let mut stream = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    stream.window_log(20).unwrap();
    let mut segment = b"pinwise\x01".to_vec();
    for (kind, times, line) in lines {
        stream.write_all(&[&line[..], b"\n"].concat()).unwrap();
        stream.flush().unwrap();
        segment.extend(frame(kind, times, &std::mem::take(stream.get_mut())));
    }
    segment
}

/// The session of a segment, and three entries that have a row in each table.
fn lines() -> &'static Value {
    static LINES: OnceLock<Value> = OnceLock::new();
    LINES.get_or_init(|| {
        let session = json!({
            "format": 1, "pinwise": "0.1.0", "boot_id": "a", "began_ns": 0, "title": "process 7", "target": {"asked": "7"},
            "everything": false, "how": "tp_btf", "every_ns": SECOND_NS
        });
        let entry = |second: u64| {
            let thread = json!(ThreadAccount { tid: 2, comm: "sleeper".into(), ..ThreadAccount::default() });
            json!({ "account": account(second), "asleep": [[0, 1]], "known": [thread] })
        };
        std::iter::once(session).chain((0..3).map(entry)).collect()
    })
}

fn account(second: u64) -> Account {
    let ran = Stretches {
        count: 2,
        total_ns: 30,
        mean_ns: Some(15.0),
        shortest_ns: Some(10),
        longest_ns: Some(20),
        p50_ns: Some(11),
        p99_ns: Some(20),
        ..Stretches::default()
    };
    let seen = Interruptions { all: ran, ..Interruptions::default() };
    let mut sources = BySource::default();
    sources.insert(Source::Tick, seen.clone());
    Account {
        window_s: 1.0,
        from_ns: second * SECOND_NS,
        to_ns: (second + 1) * SECOND_NS,
        threads: vec![ThreadAccount {
            tid: 1,
            comm: "worker".into(),
            wall_ns: SECOND_NS,
            on_cpu: ran,
            preempted: ran,
            page_faults: Some(3),
            ..ThreadAccount::default()
        }],
        cpus: vec![CpuAccount { cpu: 3, wall_ns: SECOND_NS, switches: 5, sources, ..CpuAccount::default() }],
        tasks: vec![TaskAccount { tid: 9, slices: 3, took: ran, ..TaskAccount::default() }],
        lines: vec![LineAccount { irq: 38, name: Some("nic".into()), cpu: 3, seen }],
        functions: vec![FunctionAccount { kind: FunctionKind::Work, name: "work".into(), cpu: 3, ran }],
        routes: vec![Route { from: 0, to: 3, times: 4 }],
        nearness: Some(Nearness::default()),
        paging: Some(Paging::default()),
        counted_only: vec![CountedInterrupts::default()],
        detail_of: Some(Detail { from_ns: 0, to_ns: 1 }),
        ..Account::default()
    }
}

/// Times of a frame in place of those that it should have.
fn times(second: u64, how: u8) -> Times {
    let (from, to) = (second * SECOND_NS, (second + 1) * SECOND_NS);
    match how % 8 {
        0 => [0, u64::MAX, to],
        1 => [from, to, u64::MAX],
        2 => [u64::MAX, u64::MAX, 0],
        3 => [from, from, from],
        _ => [from, to, 1_795_255_200 * SECOND_NS + to],
    }
}

/// The segment that the bytes stand for.
fn of_bytes(kind: u8, bytes: &[u8]) -> Vec<u8> {
    match (kind % 3, bytes) {
        (1, bytes) => {
            let lines = bytes.split(|byte| *byte == b'\n').enumerate();
            segment(lines.map(|(at, line)| (KINDS[at.min(2)], times(at as u64, 4), line.to_vec())))
        }
        (2, [first, second, third, edits @ ..]) => {
            let mut all = lines().clone();
            edits::edit(&mut all, edits);
            let lines = all.as_array().cloned().unwrap_or_default();
            let hows = [*first, *second, *third];
            segment(lines.iter().enumerate().map(|(at, line)| {
                let kind = if at == 0 { 1 } else { 3 - u32::from(hows[at % 3] >> 7) };
                (kind, times(at as u64, hows[at % 3]), serde_json::to_vec(line).unwrap())
            }))
        }
        (_, bytes) => bytes.to_vec(),
    }
}

/// The first byte chooses whether the rest is a segment, the lines of one, or edits of a recorded one.
#[test]
fn a_ring() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("00000001.segment");
    check!().for_each(|bytes: &[u8]| {
        let [kind, bytes @ ..] = bytes else { return };
        std::fs::write(&path, of_bytes(*kind, bytes)).unwrap();
        let Ok(ring) = Ring::open(dir.path()) else { return };
        let _ = (ring.first_unix_ns(), ring.last_unix_ns());
        let mut cpus = Writer::begin(Table::Cpus, Form::Csv, true, Vec::new()).unwrap();
        let replayed = ring.replay(Range::ALL, |interval| {
            let when = When { from_unix_ns: interval.from_unix_ns, to_unix_ns: interval.to_unix_ns };
            cpus.add(&interval.account_filled_up(), when).unwrap();
        });
        let Some(replayed) = replayed else { return };
        let situation = Situation::of_account(&*replayed.session.title, Vec::new(), replayed.account.clone());
        let diagnosis = diagnosis::judge(&situation);
        let all = Wanted { all: true, past: true };
        account_text::render(&replayed.account, &diagnosis, &replayed.session.title, all);
        diagnosis_text::render(&diagnosis, &replayed.session.title, all);
        account_text::render(&replayed.account, &diagnosis, "", Wanted::default());
        serde_json::to_string(&replayed.account.clone().without_lengths()).unwrap();
        let tables =
            [Table::Threads, Table::Takers, Table::Sources, Table::Tasks, Table::Lines, Table::Counted];
        for table in tables {
            let mut written = Writer::begin(table, Form::Parquet, false, Vec::new()).unwrap();
            written.add(&replayed.account, When::default()).unwrap();
            written.end().unwrap();
        }
    });
}
