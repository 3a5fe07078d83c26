//! The queries of docs/fleet.md, run by DuckDB on a table that `pinwise fleet map -o` has written.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on is to fail there")]

mod docs_page;
mod folder_copy;
mod place;

use std::fs;

use docs_page::{DuckDb, between, page, root};
use folder_copy::copy;
use place::Place;
use serde_json::Value;

/// Prints what a query answers as a list of JSON objects, as the option `-json` of the command line does.
const PYTHON: &str = "
import json, sys, duckdb
answer = duckdb.sql(sys.argv[1])
print(json.dumps([dict(zip(answer.columns, row)) for row in answer.fetchall()], default=str))
";

/// The rows of the answer to a query, as objects by the names of the columns.
fn rows(duckdb: &DuckDb, place: &Place, query: &str) -> Vec<Value> {
    let text = duckdb.answer(place, &["-json"], PYTHON, query);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{query}: {error}\n{text}"))
}

/// Four hosts of one shape: the third has other huge pages, and the fourth does not know its own.
fn table(place: &Place) {
    for host in ["vm1", "vm2", "vm3", "vm4"] {
        copy(&root().join("fixtures/machines/vm-2cpu"), &place.path("guests").join(host));
    }
    let huge_pages = "sys/kernel/mm/transparent_hugepage/enabled";
    fs::write(place.path("guests/vm3").join(huge_pages), "[always] madvise never\n").unwrap();
    fs::remove_file(place.path("guests/vm4").join(huge_pages)).unwrap();
    let output = place.pinwise(&["fleet", "map", "--from", "guests", "-o", "fleet.parquet"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn every_query_of_the_page_answers_what_it_says() {
    let queries = between(&page("fleet.md"), "duckdb -c \"", "\"");
    assert!(
        queries.len() >= 5 && queries.iter().all(|query| query.contains("'fleet.parquet'")),
        "{queries:#?}"
    );
    let Some(duckdb) = DuckDb::installed() else { return };
    let place = Place::new();
    table(&place);
    let answer = |marks: &[&str]| {
        let query = queries.iter().find(|query| marks.iter().all(|mark| query.contains(mark)));
        rows(&duckdb, &place, query.unwrap_or_else(|| panic!("no query has {marks:?}")))
    };
    for query in &queries {
        assert!(!rows(&duckdb, &place, query).is_empty(), "{query}");
    }
    let shapes = answer(&["count(DISTINCT host)"]);
    assert_eq!((shapes.len(), &shapes[0]["hosts"]), (1, &4.into()), "{shapes:?}");
    let differences = answer(&["feature, subject, value, usual"]);
    let of = |row: &Value, names: [&str; 4]| names.map(|name| row[name].as_str().unwrap().to_string());
    let expected = ["vm3", "transparent-huge-pages", "always", "madvise"];
    assert_eq!(differences.len(), 1, "{differences:?}");
    assert_eq!(of(&differences[0], ["host", "feature", "value", "usual"]), expected);
    let kernels = answer(&["feature = 'kernel'"]);
    assert_eq!((kernels.len(), &kernels[0]["hosts"]), (1, &4.into()), "{kernels:?}");
    assert!(kernels[0]["kernel"].as_str().is_some_and(|kernel| !kernel.is_empty()), "{kernels:?}");
    let unknown = answer(&["value IS NULL"]);
    let is_removed = |row: &&Value| row["feature"] == "transparent-huge-pages";
    assert_eq!(unknown.iter().find(is_removed).map(|row| &row["hosts"]), Some(&1.into()), "{unknown:?}");
}
