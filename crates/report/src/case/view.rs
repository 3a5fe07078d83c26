//! What a report is made from: the facts of a case, its findings, and the few things that only the caller can read.

use std::collections::BTreeMap;
use std::path::PathBuf;

use advise::{Explained, Finding};
use load::Operation;
use study::Facts;

/// The command lines of the workload, as a shell takes them; `{port}` and the like stand as in the recipe.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Commands {
    /// How the server is started; empty when it is not known.
    pub server: String,
    /// How the load is started; empty when it is not known.
    pub load: String,
}

/// One case as a report shows it.
#[derive(Debug, Clone)]
pub struct CaseView<'a> {
    /// The case in memory.
    pub facts: &'a Facts,
    /// What the rules say, most important first.
    pub findings: &'a [Finding],
    /// What makes the difference between its arms.
    pub explained: &'a Explained,
    /// Latency by arm over all its trials (merged histograms): (percentile from 0 to 100, latency in us), ascending.
    pub latency: BTreeMap<String, Vec<(f64, f64)>>,
    /// The operations of the trials that the page of sequences shows, by the trial's number; of loads that are sequences.
    pub operations: BTreeMap<usize, Vec<Operation>>,
    /// How server and load are started by hand.
    pub commands: Commands,
    /// The folder of the case, as the user named it.
    pub case_dir: PathBuf,
    /// The machine as text, as `pinwise map` prints it; empty when it could not be drawn.
    pub machine_text: String,
}
