//! Pages of the docs, whose examples are run by the programs that they are for.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::place::Place;

/// The folder of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of a page.
pub fn page(name: &str) -> String {
    std::fs::read_to_string(root().join("docs").join(name)).unwrap()
}

/// What stands between two marks, in order.
pub fn between(page: &str, begins: &str, ends: &str) -> Vec<String> {
    page.split(begins).skip(1).map(|rest| rest.split(ends).next().unwrap().to_string()).collect()
}

/// Whether a program is installed, and can do this.
pub fn works(program: &str, arguments: [&str; 2]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

/// What a program prints in a place.
pub fn printed(place: &Place, program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(place.dir.path()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:#?}\n{stderr}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.trim().is_empty(), "{program} {arguments:#?} prints nothing");
    text
}

/// What runs a query here: the command line of DuckDB, or its module for Python.
pub enum DuckDb {
    CommandLine,
    Python,
}

impl DuckDb {
    /// What is installed; where that is neither, it is said that the test is skipped.
    pub fn installed() -> Option<Self> {
        if works("duckdb", ["-c", "SELECT 1"]) {
            return Some(Self::CommandLine);
        }
        let found = works("python3", ["-c", "import duckdb"]).then_some(Self::Python);
        if found.is_none() {
            eprintln!("skipped: neither duckdb nor python3 with the module duckdb is installed");
        }
        found
    }

    /// The answer to a query: as the command line prints it with these options, or a program in Python that has the query as its argument.
    pub fn answer(&self, place: &Place, options: &[&str], python: &str, query: &str) -> String {
        match self {
            Self::CommandLine => printed(place, "duckdb", &[options, &["-c", query]].concat()),
            Self::Python => printed(place, "python3", &["-c", python, query]),
        }
    }
}
