//! The examples of docs/tables.md, run on tables that `pinwise watch --replay` and `pinwise report` have written by the commands of the page, and
//! its lists of columns.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on is to fail there")]

mod docs_page;
mod folder_copy;
mod place;
mod recorded_ring;

use std::collections::BTreeSet;

use docs_page::{DuckDb, between, page, printed, root, works};
use folder_copy::copy;
use place::Place;
use recorded_ring::recorded;

/// Prints what DuckDB answers.
const ASK: &str = "import sys, duckdb\nprint(duckdb.sql(sys.argv[1]))";

/// The examples of a language.
fn examples(page: &str, language: &str) -> Vec<String> {
    between(page, &format!("```{language}\n"), "```")
}

/// A place with a ring and a case.
fn with_both() -> Place {
    let place = recorded();
    copy(&root().join("fixtures/cases/receive-work-on-cpu-1"), &place.path("CASE"));
    place
}

/// Runs the commands of the page that read a ring or a case, as they stand there.
fn written(place: &Place, page: &str) {
    for (begins, number) in [("pinwise watch --replay RING", 4), ("pinwise report CASE", 5)] {
        let commands = page.lines().map(str::trim).filter(|line| line.starts_with(begins));
        let commands: Vec<&str> = commands.map(|line| line.split('#').next().unwrap()).collect();
        assert_eq!(commands.len(), number, "{commands:?}");
        for command in commands {
            let arguments: Vec<&str> = command.split_whitespace().skip(1).collect();
            let output = place.pinwise(&arguments);
            assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

/// The lists of columns below a heading: the table, and the columns.
fn columns(page: &str, heading: &str) -> Vec<(String, BTreeSet<String>)> {
    let section = page.split(&format!("\n## {heading}\n")).nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let lists = section.split("\n- **").skip(1).map(|list| list.split_once("**").unwrap());
    lists
        .map(|(table, rest)| {
            (table.to_string(), rest.split('`').skip(1).step_by(2).map(String::from).collect())
        })
        .collect()
}

/// The columns of a table in CSV.
fn head(place: &Place, arguments: &[&str]) -> BTreeSet<String> {
    let output = place.pinwise(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().next().unwrap().split(',').map(String::from).collect()
}

#[test]
fn every_table_has_the_columns_of_the_page_and_no_others() {
    let (place, page) = (recorded(), page("tables.md"));
    let lists = columns(&page, "Columns");
    assert_eq!(lists.len(), 9, "{lists:#?}");
    for (table, named) in lists {
        let arguments = ["watch", "--replay", "RING", "--format", "csv", "--table", table.as_str()];
        assert_eq!(named, head(&place, &arguments), "{table}");
    }
}

#[test]
fn every_table_of_a_case_has_the_columns_of_the_page_and_its_figures() {
    let (place, page) = (with_both(), page("tables.md"));
    let lists = columns(&page, "Columns of a case");
    assert_eq!(lists.len(), 5, "{lists:#?}");
    let trials = std::fs::read_to_string(place.path("CASE/trials.jsonl")).unwrap();
    let figures = trials.lines().flat_map(|line| {
        let trial: serde_json::Value = serde_json::from_str(line).unwrap();
        trial["figures"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    });
    let figures: BTreeSet<String> = figures.collect();
    for (table, mut named) in lists {
        if table == "trials" {
            // `failed` is a column already: why a trial failed.
            let column = |figure: &String| {
                if named.contains(figure) { format!("figure_{figure}") } else { figure.clone() }
            };
            let of_figures: Vec<String> = figures.iter().map(column).collect();
            named.extend(of_figures);
        }
        let arguments = ["report", "CASE", "--format", "csv", "--table", table.as_str()];
        assert_eq!(named, head(&place, &arguments), "{table}");
    }
    assert!(!place.path("CASE/report.html").exists(), "nothing is written into the case");
}

#[test]
fn a_table_of_a_case_without_its_form_is_refused() {
    let place = with_both();
    let output = place.pinwise(&["report", "CASE", "--table", "series"]);
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn every_file_that_an_example_reads_is_written_by_a_command_of_the_page() {
    let (place, page) = (with_both(), page("tables.md"));
    written(&place, &page);
    let examples = [examples(&page, "sql"), examples(&page, "python")].concat();
    assert!(examples.len() >= 13, "{examples:#?}");
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
    let (place, page) = (with_both(), page("tables.md"));
    written(&place, &page);
    for query in examples(&page, "sql") {
        let text = duckdb.answer(&place, &[], ASK, &query);
        assert!(!query.contains("'tasks.parquet'") || text.contains("hog"), "{text}");
        assert!(!query.contains("GROUP BY name") || text.contains("worker"), "{text}");
        assert!(!query.contains("FROM 'trials.parquet'") || text.contains("cpu 1"), "{text}");
    }
}

#[test]
fn the_python_of_the_page_runs() {
    let (place, page) = (with_both(), page("tables.md"));
    written(&place, &page);
    for (module, needs) in [("pandas", "import pandas, pyarrow"), ("polars", "import polars")] {
        let begins = format!("import {module}\n");
        let programs = examples(&page, "python").into_iter().filter(|program| program.starts_with(&begins));
        let programs: Vec<String> = programs.collect();
        assert_eq!(programs.len(), 3, "{module}");
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
