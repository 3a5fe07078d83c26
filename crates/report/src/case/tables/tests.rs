use std::collections::BTreeSet;
use std::path::Path;

use study::{Case, schedule};

use super::*;

const ALL: [Table; 5] = [Table::Trials, Table::Series, Table::Latencies, Table::Accounts, Table::Counters];

/// A recorded case, without observed blocks.
fn facts() -> (Case, Facts) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/cases/receive-work-on-cpu-1");
    let case = Case::open(Path::new(folder)).unwrap();
    let facts = Facts::read(&case).unwrap();
    (case, facts)
}

fn written(table: Table, form: Form) -> Vec<u8> {
    let (case, facts) = facts();
    let mut writer = Writer::begin(table, form, &facts, Vec::new()).unwrap();
    for of in of_case(&facts) {
        let outcome: Option<Outcome> = case.read_fact(&format!("{}/outcome.json", of.folder())).ok();
        writer.add(&of, outcome.as_ref()).unwrap();
    }
    writer.end().unwrap()
}

/// Head and rows.
fn read(table: Table) -> (Vec<String>, Vec<Vec<String>>) {
    let bytes = written(table, Form::Csv);
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    let words = |record: &csv::StringRecord| record.iter().map(String::from).collect::<Vec<_>>();
    let head = words(&reader.headers().unwrap().clone());
    let rows = reader.records().map(|record| words(&record.unwrap())).collect();
    (head, rows)
}

fn column(head: &[String], name: &str) -> usize {
    head.iter().position(|column| column == name).unwrap()
}

#[test]
fn each_table_has_a_head_with_names_of_their_own_before_all_the_trial() {
    for table in ALL {
        let head = table.head(&[]);
        let names: BTreeSet<&str> = head.iter().map(|cell| &*cell.name).collect();
        assert_eq!(names.len(), head.len(), "{table:?}");
        let first: Vec<&str> = head.iter().take(6).map(|cell| &*cell.name).collect();
        assert_eq!(first, ["trial", "observed", "block", "arm", "role", "counted"]);
    }
}

#[test]
fn every_row_has_the_cells_of_the_head_in_both_forms() {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    for table in ALL {
        let (head, rows) = read(table);
        let file = SerializedFileReader::new(bytes::Bytes::from(written(table, Form::Parquet))).unwrap();
        let about = file.metadata().file_metadata();
        let names: Vec<&str> = about.schema_descr().columns().iter().map(|column| column.name()).collect();
        assert_eq!(names, head, "{table:?}");
        assert_eq!(about.num_rows(), rows.len() as i64, "{table:?}");
        assert_eq!(rows.is_empty(), table == Table::Accounts, "{table:?}");
    }
}

#[test]
fn a_trial_has_its_figures_and_those_that_are_repeated_do_not_count() {
    let (_, facts) = facts();
    let (head, rows) = read(Table::Trials);
    assert_eq!(rows.len(), facts.trials.len());
    for (row, seen) in rows.iter().zip(&facts.trials) {
        assert_eq!(row[column(&head, "arm")], seen.trial.arm);
        let figure: f64 = row[column(&head, "requests_per_s")].parse().unwrap();
        assert_eq!(Some(&figure), seen.trial.figures.get("requests_per_s"));
    }
    let counted = rows.iter().filter(|row| row[column(&head, "counted")] == "true").count();
    assert_eq!(counted, schedule::counted(facts.trials.iter().map(|seen| &seen.trial)).len());
}

#[test]
fn the_latencies_of_a_trial_are_as_many_as_its_requests_in_the_window() {
    let (series_head, series) = read(Table::Series);
    let (head, latencies) = read(Table::Latencies);
    let completed = series
        .iter()
        .filter(|row| row[column(&series_head, "in_window")] == "true")
        .map(|row| row[column(&series_head, "completed_count")].parse::<u64>().unwrap())
        .sum::<u64>();
    let counted: u64 =
        latencies.iter().map(|row| row[column(&head, "latency_count")].parse::<u64>().unwrap()).sum();
    assert!(completed > 0);
    assert_eq!(counted, completed);
}

#[test]
fn an_interval_without_requests_has_no_latency_and_one_without_length_no_rate() {
    let trial = Trial::default();
    let of = OfTrial::alone(&trial);
    let interval = Interval { from_ns: 5, to_ns: 5, completed: 0, failed: 1, latency: String::new() };
    let cells = series::row(&of, &Outcome::default(), &interval);
    for name in ["completed_per_s", "latency_p99_us", "role"] {
        let cell = cells.iter().find(|cell| cell.name == name).unwrap();
        assert!(format!("{:?}", cell.value).contains("None"), "{cell:?}");
    }
}

#[test]
fn a_part_of_an_account_has_its_kind_and_its_name() {
    use advise::explanation::term::{Part, Term, Terms};
    let trial = Trial { arm: "cpu 1".into(), ..Trial::default() };
    let of = OfTrial::alone(&trial);
    let program = Part::Program { name: "backup".into() };
    let ns = [((Term::Waiting, program), 5.0), ((Term::Own, Part::Rest), -1.0)].into();
    let lines = accounts::lines("server", &Terms { ns, threads: 2 });
    let mut rows = Rows::begin(&Table::Accounts.head(&[]), Form::Csv, Vec::new()).unwrap();
    rows.add(lines.iter().map(|line| accounts::row(&of, line)).collect()).unwrap();
    let text = String::from_utf8(rows.end().unwrap()).unwrap();
    assert!(text.contains(",server,2,,waiting,program,backup,5\r\n"), "{text}");
    assert!(text.contains(",server,2,,own,rest,,-1\r\n"), "{text}");
    assert_eq!(of.folder(), "trials/0000");
}
