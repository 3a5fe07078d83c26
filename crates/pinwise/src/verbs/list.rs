//! `pinwise list`: what pinwise knows, from the very lists that it works with.

use clap::ValueEnum;
use machine::Fault;
use machine::knobs::{About, MaySet};
use serde::Serialize;

use crate::format::Format;
use crate::output::{self, Answer};

// Flags of `pinwise list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  pinwise list knobs")]
pub struct Args {
    /// Which list
    what: What,
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The lists.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum What {
    /// Settings that can be described, read and changed
    Knobs,
    /// Counters that explain
    Probes,
    /// Ways to drive a server
    Workloads,
    /// Mechanisms that findings come from
    Rules,
    /// Parts of the report
    Pages,
    /// Machines whose shape a guest can take on
    Shapes,
}

/// One entry of any list.
#[derive(Debug, Serialize)]
struct Row {
    id: &'static str,
    title: String,
    docs: &'static str,
    #[serde(flatten)]
    knob: Option<KnobFields>,
}

/// What is reported of a knob beside that: what it takes to set one.
#[derive(Debug, Serialize)]
struct KnobFields {
    unit: &'static str,
    scope: &'static str,
    owner: &'static str,
    risk: &'static str,
    may_set: MaySet,
    source: &'static str,
}

impl From<&About> for KnobFields {
    fn from(about: &About) -> Self {
        let About { unit, scope, owner, risk, may_set, source, .. } = *about;
        Self { unit, scope, owner, risk, may_set, source }
    }
}

/// Prints the list.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    let rows = rows(args.what)?;
    match args.format {
        Format::Json => output::json(&rows)?,
        Format::Text => {
            let width = rows.iter().map(|r| r.id.len()).max().unwrap_or(0);
            let lines: String = rows.iter().map(|r| format!("{:width$}  {}\n", r.id, r.title)).collect();
            output::text(&lines)?;
        }
    }
    Ok(Answer::Done)
}

/// Each list has an `About` of its own crate; they share these three fields.
macro_rules! rows_of {
    ($abouts:expr) => {
        $abouts
            .map(|about| Row { id: about.id, title: about.title.to_string(), docs: about.docs, knob: None })
            .collect()
    };
}

fn rows(what: What) -> Result<Vec<Row>, Fault> {
    Ok(match what {
        What::Knobs => knobs(),
        What::Probes => rows_of!(probe::probes::ALL.iter().map(|probe| probe.about())),
        What::Workloads => rows_of!(load::workloads::ALL.iter()),
        What::Rules => {
            let of_slow_cpus: Vec<Row> = rows_of!(advise::rules::ALL.iter().map(|rule| rule.about()));
            let of_a_window: Vec<Row> = rows_of!(advise::diagnosis::abouts());
            of_slow_cpus.into_iter().chain(of_a_window).collect()
        }
        What::Pages => rows_of!(::report::case::pages::ALL.iter().map(|page| page.about())),
        What::Shapes => return shapes(),
    })
}

/// The knobs, with what it takes to set each.
fn knobs() -> Vec<Row> {
    let abouts = machine::knobs::ALL.iter().map(|knob| knob.about());
    let row = |about: &About| Row {
        id: about.id,
        title: about.title.to_string(),
        docs: about.docs,
        knob: Some(about.into()),
    };
    abouts.map(row).collect()
}

/// The named shapes; their files say what they are, and are their own documentation.
fn shapes() -> Result<Vec<Row>, Fault> {
    let all = rehearse::shape::catalogue::ALL.iter();
    all.map(|(name, text)| {
        Ok(Row { id: name, title: rehearse::Shape::find(name)?.about, docs: text, knob: None })
    })
    .collect()
}
