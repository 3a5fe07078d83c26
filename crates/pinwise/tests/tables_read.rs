//! The examples of docs/tables.md, run on tables that `pinwise watch --replay` has written by the commands of the page, and its lists of columns.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on is to fail there")]

mod docs_page;
mod place;

use std::collections::BTreeSet;

use docs_page::{DuckDb, between, page, printed, works};
use place::Place;
use probe::account::{Account, CpuAccount, Interruptions, Source, Stretches, TaskAccount, ThreadAccount};
use probe::ring::{Recorder, Session};

const SECOND_NS: u64 = 1_000_000_000;
const UNIX_NS: u64 = 1_795_255_205 * SECOND_NS;

/// Seconds that were recorded, and the one in which a hog had the CPU.
const SECONDS: u64 = 8;
const WORST: u64 = 5;

/// Prints what DuckDB answers.
const ASK: &str = "import sys, duckdb\nprint(duckdb.sql(sys.argv[1]))";

/// The examples of a language.
fn examples(page: &str, language: &str) -> Vec<String> {
    between(page, &format!("```{language}\n"), "```")
}

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
fn recorded() -> Place {
    let place = Place::new();
    let target = serde_json::json!({ "asked": "1", "pids": [1] });
    let session = Session::now("process 1".into(), target, "tp_btf", SECOND_NS).unwrap();
    let mut recorder = Recorder::open(&place.path("RING"), 1 << 20, session).unwrap();
    for number in 0..SECONDS {
        recorder.add(&second(number), UNIX_NS + (number + 1) * SECOND_NS).unwrap();
    }
    place
}

/// Runs the commands of the page that read a ring, as they stand there.
fn written(place: &Place, page: &str) {
    let commands = page.lines().filter_map(|line| line.trim().strip_prefix("pinwise watch --replay RING"));
    let commands: Vec<&str> = commands.map(|rest| rest.split('#').next().unwrap()).collect();
    assert_eq!(commands.len(), 4, "{commands:?}");
    for rest in commands {
        let arguments: Vec<&str> =
            ["watch", "--replay", "RING"].into_iter().chain(rest.split_whitespace()).collect();
        let output = place.pinwise(&arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn every_table_has_the_columns_of_the_page_and_no_others() {
    let (place, page) = (recorded(), page("tables.md"));
    let columns = page.split("## Columns").nth(1).unwrap();
    let lists: Vec<&str> = columns.split("\n- **").skip(1).collect();
    assert_eq!(lists.len(), 9, "{lists:#?}");
    for list in lists {
        let (table, rest) = list.split_once("**").unwrap();
        let named: BTreeSet<String> = rest.split('`').skip(1).step_by(2).map(String::from).collect();
        let output = place.pinwise(&["watch", "--replay", "RING", "--format", "csv", "--table", table]);
        assert!(output.status.success(), "{table}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let head: BTreeSet<String> = text.lines().next().unwrap().split(',').map(String::from).collect();
        assert_eq!(named, head, "{table}");
    }
}

#[test]
fn every_file_that_an_example_reads_is_written_by_a_command_of_the_page() {
    let (place, page) = (recorded(), page("tables.md"));
    written(&place, &page);
    let examples = [examples(&page, "sql"), examples(&page, "python")].concat();
    assert!(examples.len() >= 8, "{examples:#?}");
    for example in examples {
        let quoted = example.split(['"', '\'']).skip(1).step_by(2);
        let files: Vec<&str> =
            quoted.filter(|text| text.ends_with(".parquet") || text.ends_with(".csv")).collect();
        assert!(!files.is_empty(), "{example}");
        assert!(files.iter().all(|file| place.path(file).exists()), "{example}");
    }
}

#[test]
fn the_queries_of_the_page_are_answered_by_duckdb() {
    let Some(duckdb) = DuckDb::installed() else { return };
    let (place, page) = (recorded(), page("tables.md"));
    written(&place, &page);
    for query in examples(&page, "sql") {
        let text = duckdb.answer(&place, &[], ASK, &query);
        assert!(!query.contains("'tasks.parquet'") || text.contains("hog"), "{text}");
        assert!(!query.contains("GROUP BY name") || text.contains("worker"), "{text}");
    }
}

#[test]
fn the_python_of_the_page_runs() {
    let (place, page) = (recorded(), page("tables.md"));
    written(&place, &page);
    for (module, needs) in [("pandas", "import pandas, pyarrow"), ("polars", "import polars")] {
        let begins = format!("import {module}\n");
        let programs = examples(&page, "python").into_iter().filter(|program| program.starts_with(&begins));
        let programs: Vec<String> = programs.collect();
        assert_eq!(programs.len(), 2, "{module}");
        if !works("python3", ["-c", needs]) {
            eprintln!("skipped: python3 cannot '{needs}'");
            continue;
        }
        for program in programs {
            let text = printed(&place, "python3", &["-c", &program]);
            assert!(!program.contains("tasks.parquet") || text.contains("hog"), "{text}");
        }
    }
}
