use std::collections::BTreeSet;

use probe::account::{Part, SleepReason, Stretches, ThreadAccount};

use super::*;

const ALL: [Table; 9] = [
    Table::Threads,
    Table::Takers,
    Table::Cpus,
    Table::Sources,
    Table::Tasks,
    Table::Lines,
    Table::Functions,
    Table::Migrations,
    Table::Counted,
];

fn account() -> Account {
    let thread = ThreadAccount {
        tid: 7,
        comm: "a \"b\",\nc".into(),
        wall_ns: u64::MAX,
        on_cpu: Stretches { count: 2, longest_at_most_ns: Some(9), ..Stretches::default() },
        unaccounted_ns: -3,
        ..ThreadAccount::default()
    };
    Account { threads: vec![thread], ..Account::default() }
}

fn written(table: Table, form: Form, series: bool) -> Vec<u8> {
    let mut writer = Writer::begin(table, form, series, Vec::new()).unwrap();
    writer.add(&account(), When { from_unix_ns: 5, to_unix_ns: 8 }).unwrap();
    writer.end().unwrap()
}

#[test]
fn each_table_has_a_head_with_names_of_their_own() {
    for table in ALL {
        let head = table.head();
        let names: BTreeSet<&str> = head.iter().map(|cell| &*cell.name).collect();
        assert!(!head.is_empty() && names.len() == head.len(), "{table:?}");
        assert!(
            names
                .iter()
                .all(|name| name.bytes().all(|c| c.is_ascii_lowercase() || c == b'_' || c.is_ascii_digit()))
        );
    }
}

#[test]
fn a_table_without_rows_has_its_head() {
    for table in ALL.into_iter().filter(|table| *table != Table::Threads) {
        let text = String::from_utf8(written(table, Form::Csv, false)).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}

#[test]
fn csv_quotes_what_has_to_be_quoted_and_leaves_empty_what_is_not_known() {
    let bytes = written(Table::Threads, Form::Csv, false);
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    let head = reader.headers().unwrap().clone();
    let row = reader.records().next().unwrap().unwrap();
    let cell = |name: &str| row.get(head.iter().position(|column| column == name).unwrap()).unwrap();
    assert_eq!(cell("name"), "a \"b\",\\nc");
    assert_eq!((cell("wall_ns"), cell("unaccounted_ns")), ("18446744073709551615", "-3"));
    assert_eq!((cell("on_cpu_longest_ns"), cell("on_cpu_longest_at_most_ns")), ("", "9"));
    assert!(bytes.ends_with(b"\r\n"));
}

#[test]
fn what_a_thread_slept_for_is_0_where_it_was_not_that_and_empty_where_nobody_says() {
    let asleep = Stretches { count: 2, total_ns: 9, ..Stretches::default() };
    let old = ThreadAccount { asleep, ..ThreadAccount::default() };
    let asleep_for = [(SleepReason::Input, Part { count: 2, total_ns: 9 })].into();
    let reported = ThreadAccount { asleep_for, ..old.clone() };
    let cells = |thread: &ThreadAccount| {
        let values: Vec<_> = rows::thread(thread)
            .into_iter()
            .filter(|cell| {
                ["asleep_input_ns", "asleep_input_count", "asleep_futex_ns"].contains(&&*cell.name)
            })
            .map(|cell| cell.value)
            .collect();
        values
    };
    // In the order of the reasons.
    assert_eq!(cells(&reported), [Some(0), Some(2), Some(9)].map(cell::Value::Whole));
    assert_eq!(cells(&old), [None; 3].map(cell::Value::Whole));
}

#[test]
fn a_series_says_when() {
    let text = String::from_utf8(written(Table::Threads, Form::Csv, true)).unwrap();
    assert!(text.starts_with("from_unix_ns,to_unix_ns,interval_ns,tid,"), "{text}");
    assert!(text.contains("\r\n5,8,3,7,"), "{text}");
}

#[test]
fn parquet_is_read_as_it_was_written() {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::RowAccessor as _;
    for table in ALL {
        SerializedFileReader::new(bytes::Bytes::from(written(table, Form::Parquet, true))).unwrap();
    }
    let file = SerializedFileReader::new(bytes::Bytes::from(written(Table::Threads, Form::Parquet, false)));
    let file = file.unwrap();
    let names = Table::Threads.head();
    let at = |name: &str| names.iter().position(|cell| cell.name == name).unwrap();
    let row = file.get_row_iter(None).unwrap().next().unwrap().unwrap();
    assert_eq!(row.get_ulong(at("wall_ns")).unwrap(), u64::MAX);
    assert_eq!(row.get_string(at("name")).unwrap(), "a \"b\",\nc");
    assert_eq!(row.get_long(at("unaccounted_ns")).unwrap(), -3);
    assert!(row.get_ulong(at("on_cpu_longest_ns")).is_err(), "null");
}

#[test]
fn the_table_of_cpus_has_each_reason_that_kept_the_tick() {
    use probe::account::{CpuAccount, TickKept};
    use probe::ticks::TickDependency;
    let kept = [(TickDependency::Sched, 7), (TickDependency::Rcu, 2), (TickDependency::Other(0x40), 1)];
    let tick_kept = kept.map(|(dependency, times)| TickKept { dependency, times }).to_vec();
    let cpus = vec![CpuAccount { tick_kept, ..CpuAccount::default() }];
    let mut writer = Writer::begin(Table::Cpus, Form::Csv, false, Vec::new()).unwrap();
    writer.add(&Account { cpus, ..Account::default() }, When::default()).unwrap();
    let bytes = writer.end().unwrap();
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    let head = reader.headers().unwrap().clone();
    let row = reader.records().next().unwrap().unwrap();
    let cell = |name: &str| row.get(head.iter().position(|column| column == name).unwrap()).unwrap();
    let reasons = ["", "sched_", "rcu_", "rcu_exp_", "posix_timer_", "other_"];
    let counts = reasons.map(|reason| cell(&format!("tick_kept_{reason}count")).to_string());
    assert_eq!(counts, ["10", "7", "2", "0", "0", "1"]);
}
