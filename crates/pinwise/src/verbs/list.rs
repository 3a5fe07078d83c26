//! `pinwise list`: what pinwise knows, from the very lists that it works with.

mod schemas;

use std::borrow::Cow;

use clap::ValueEnum;
use machine::knobs::{About, MaySet};
use machine::{Class, Fault};
use serde::Serialize;

use crate::format::Format;
use crate::output::{self, Answer};

// Flags of `pinwise list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise list knobs
  pinwise list schemas                  the documents that --format json prints
  pinwise list schemas map              one of them as a JSON Schema; also by command: 'fleet map', report")]
pub struct Args {
    /// Which list to print
    what: What,
    /// With schemas: print this one, named by its id or by a command that prints such a document
    schema: Option<String>,
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The lists.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum What {
    /// Settings that pinwise can describe, read and change
    Knobs,
    /// Counters that explain differences
    Probes,
    /// Ways to drive a server
    Workloads,
    /// Mechanisms behind findings
    Rules,
    /// Parts of the report
    Pages,
    /// Machines whose shape a guest can have
    Shapes,
    /// JSON Schemas of what --format json prints
    Schemas,
}

/// One entry of any list.
#[derive(Debug, Serialize)]
struct Row {
    id: &'static str,
    title: String,
    docs: Cow<'static, str>,
    #[serde(flatten)]
    knob: Option<KnobFields>,
    /// Of a schema: what prints such a document.
    #[serde(skip_serializing_if = "Option::is_none")]
    commands: Option<&'static [&'static str]>,
}

impl Row {
    fn new(id: &'static str, title: impl Into<String>, docs: impl Into<Cow<'static, str>>) -> Self {
        Self { id, title: title.into(), docs: docs.into(), knob: None, commands: None }
    }
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

/// Prints the list, or one schema.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    if let Some(name) = &args.schema {
        output::text(one_schema(args.what, name)?)?;
        return Ok(Answer::Done);
    }
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
        $abouts.map(|about| Row::new(about.id, about.title, about.docs)).collect()
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
        What::Schemas => return schemas(),
    })
}

/// The knobs, with what it takes to set each.
fn knobs() -> Vec<Row> {
    let abouts = machine::knobs::ALL.iter().map(|knob| knob.about());
    let row = |about: &About| Row { knob: Some(about.into()), ..Row::new(about.id, about.title, about.docs) };
    abouts.map(row).collect()
}

/// The named shapes; their files say what they are, and are their own documentation.
fn shapes() -> Result<Vec<Row>, Fault> {
    let all = rehearse::shape::catalogue::ALL.iter();
    all.map(|(name, text)| Ok(Row::new(name, rehearse::Shape::find(name)?.about, *text))).collect()
}

/// The schemas; each says itself what it describes.
fn schemas() -> Result<Vec<Row>, Fault> {
    let row = |printed: &'static schemas::Printed| {
        let head = printed.head()?;
        let row = Row::new(printed.id, head.title, head.description);
        Ok::<_, Fault>(Row { commands: Some(printed.commands), ..row })
    };
    schemas::ALL.iter().map(row).collect()
}

/// The text of the schema of this name.
///
/// # Errors
/// Another list has no schemas; there is none of this name.
fn one_schema(what: What, name: &str) -> Result<&'static str, Fault> {
    if !matches!(what, What::Schemas) {
        let remedy = "leave it out, or ask for a schema: pinwise list schemas NAME";
        return Err(Fault::new(Class::Usage, name, "only 'pinwise list schemas' takes a name", remedy));
    }
    schemas::find(name).map(|printed| printed.text).ok_or_else(|| {
        let remedy = "'pinwise list schemas' shows them";
        Fault::new(Class::Usage, name, "there is no schema with this name", remedy)
    })
}
