//! `pinwise plan`: what of a case is worth keeping, or what others advise, as a file that can be applied, or in the form of whoever owns
//! the machine.

mod from;
mod owners_form;
mod perftune;

use std::path::{Path, PathBuf};

use advise::Planning;
use machine::{Class, Fault, Plan, Root};
use report::plan_formats::Hours;
use serde::Serialize;
use study::case::quoted;

use crate::case_facts;
use crate::escape;
use crate::format::Format;
use crate::notes::note;
use crate::output::{self, Answer};
use owners_form::OwnersForm;

// Flags of `pinwise plan`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise plan cases/string-server-1 -o plan.toml    what was measured to be better, and proved causes
  pinwise apply plan.toml --dry-run                  what it would do here
  pinwise plan cases/nginx-1 --as systemd --server nginx -o root     as drop-ins and files below the folder 'root'
  pinwise plan --from plan.toml --as tuned-profile   a plan file as a profile of tuned
  pinwise plan --from plan.toml --as systemd --between 08:00-18:00 -o root     in force during these hours of each day
  pinwise plan --from tuned:latency-performance -o tuned.toml        what a profile advises, as a plan
  pinwise plan --from perftune:dry-run.txt           what Scylla's perftune.py would set (its --dry-run)")]
pub struct Args {
    /// The case folder
    #[arg(required_unless_present = "from")]
    case: Option<PathBuf>,
    /// Source of the plan instead of a case: tuned:PROFILE, a plan file (FILE.toml), the path of a tuned.conf, or perftune:FILE (options of
    /// Scylla's perftune.py in perftune.yaml, or the output of its --dry-run)
    #[arg(long, value_name = "ADVICE", conflicts_with_all = ["case", "supported"])]
    from: Option<String>,
    /// Write the plan in the form of another tool; settings that the form cannot express are listed
    #[arg(long = "as", value_enum, value_name = "FORMAT", conflicts_with = "format")]
    form: Option<OwnersForm>,
    /// With --as: the systemd unit that 'server' in the plan refers to
    #[arg(long, value_name = "UNIT", requires = "form")]
    server: Option<String>,
    /// With --as systemd: keep the plan in force only during these hours of each day, by timers. May span midnight: 22:00-06:00
    #[arg(long, value_name = "HH:MM-HH:MM", requires = "form")]
    between: Option<Hours>,
    /// Also include causes that the evidence supports but that were not proved
    #[arg(long)]
    supported: bool,
    /// Where to write the plan; with --as, the folder for its files. Without it: standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Form of the output: text is the plan file itself (TOML)
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    plan: &'a Plan,
    left_out: &'a [String],
}

/// The plan of a case; what is left out is said on stderr.
///
/// # Errors
/// The case cannot be read; nothing of it is worth keeping.
pub fn of_case(dir: &Path, supported: bool) -> Result<Planning, Fault> {
    let facts = case_facts::read(dir)?;
    let findings = advise::examine(&facts);
    let mut planning = advise::plan(&facts, &findings, supported);
    planning.left_out.iter().for_each(|why| note!("pinwise: left out: {why}"));
    if planning.plan.settings.is_empty() {
        let can_be_proved = findings.iter().any(advise::Finding::can_be_proved);
        let remedy = match can_be_proved {
            true => format!("prove its findings: pinwise explain {} --prove", quoted(dir)),
            false => "study other placements".into(),
        };
        return Err(Fault::new(Class::No, dir.display(), "nothing in it is worth keeping", remedy));
    }
    planning.plan.case = Some(dir.display().to_string());
    Ok(planning)
}

/// Plans; the answer is no when nothing is worth keeping, or the form that is asked for says nothing of it.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    let planning = match (&args.from, &args.case) {
        (Some(advice), _) => from::of_advice(&Root::live(), advice)?,
        (None, Some(case)) => of_case(case, args.supported)?,
        (None, None) => {
            return Err(Fault::new(
                Class::Usage,
                "pinwise plan",
                "no case is named",
                "name a case, or --from ADVICE",
            ));
        }
    };
    if let Some(form) = args.form {
        let (server, output) = (args.server.as_deref(), args.output.as_deref());
        return owners_form::write(form, args.between, &planning.plan, server, output);
    }
    let text = match args.format {
        Format::Text => escape::toml(planning.plan.to_toml()?),
        Format::Json => output::pretty(&Document { plan: &planning.plan, left_out: &planning.left_out })?,
    };
    output::to(args.output.as_deref(), &text)?;
    Ok(Answer::Done)
}
