//! `pinwise fleet apply`: a plan in waves of hosts, taken back where one of them does harm.

mod check;
mod remote;
mod said;
mod sheet;
mod targets;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use advise::fleet::Waves;
use advise::fleet::rollout::{Rollout, State, Stopped};
use hosts::RemoteFile;
use machine::plan::BOOT_PARAMETERS;
use machine::untrusted::file::read_named;
use machine::{Class, Fault, Plan};
use study::Case;

use self::check::Check;
use self::remote::{Orders, RemoteHosts};
use self::sheet::{ForeseenRow, ForeseenSheet, HostRow, Sheet};
use self::targets::Targets;
use super::surveyed::HostFlags;
use crate::format::Format;
use crate::interrupt;
use crate::output::{self, Answer};
use crate::window::length;

/// Of a case, what a verification goes by.
const STUDY: &str = "study.toml";
const SECRETS: &str = "secrets.toml";

/// An order of 100,000 trials takes some MiB.
const MOST_BYTES: u64 = 64 << 20;

// Flags of `pinwise fleet apply`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise fleet apply plan.toml --hosts hosts.toml --check 'curl -sf http://{host}/health' --dry-run
                                                    the waves, and what would be done on each host
  pinwise fleet apply plan.toml --hosts hosts.toml --waves 1,10%,100% --check 'curl -sf http://{host}/health'
                                                    one host, a tenth, all; undone on all if a check fails
  pinwise fleet apply plan.toml --hosts hosts.toml --waves 2,100% --verify cases/web-1 --settle 5m
                                                    trials on each host must show the gain before it is applied there")]
pub struct Args {
    /// The plan: a file of settings, written by hand or by 'pinwise plan'
    plan: PathBuf,
    #[command(flatten)]
    hosts: HostFlags,
    /// How many hosts have the plan after each wave: increasing numbers and percentages. The last need not be 100%
    #[arg(long, value_name = "WAVES", default_value = "1,10%,100%")]
    waves: Waves,
    /// Command to run here for each host of a wave, with {host} and {destination} filled in; an exit code other than 0 means harm. It is
    /// run without a shell. This or --verify is required
    #[arg(long, value_name = "CMD")]
    check: Option<String>,
    /// Case whose trials are run on each host before the plan is applied there; if they do not show the plan to be better, that counts as
    /// harm. May be given several times
    #[arg(long, value_name = "CASE")]
    verify: Vec<PathBuf>,
    /// How long to wait after the plan was applied to a wave, before its hosts are checked
    #[arg(long, value_name = "TIME", value_parser = length, default_value = "30s")]
    settle: Duration,
    /// Time after which a host undoes the plan by itself, unless its wave was confirmed before; longer than --settle
    #[arg(long, value_name = "TIME", value_parser = length, default_value = "10m")]
    confirm_within: Duration,
    /// On harm, leave the plan in force on the hosts of earlier waves
    #[arg(long)]
    keep_earlier_waves: bool,
    /// Leave out hosts that cannot be read or are not built like the machine of the plan, instead of refusing all
    #[arg(long)]
    skip_unlike: bool,
    /// Case or capture of the machine that the plan is for. Without it: the case that the plan names, or else the most common host
    #[arg(long, value_name = "CASE|CAPTURE")]
    like: Option<PathBuf>,
    /// What 'server' in the plan refers to on each host, as for 'pinwise apply': a systemd unit, a cgroup, a name
    #[arg(long, value_name = "WHAT")]
    server: Option<String>,
    /// Number of hosts of a wave to change at the same time
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024))]
    parallel: u16,
    /// Show the waves and what would be done on each host, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Applies a plan wave by wave; the answer is no unless every wave was confirmed.
///
/// # Errors
/// The plan cannot be applied so; hosts are unlike or cannot be read; a signal came, and nothing is in force.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    let plan = Plan::read(&args.plan)?;
    let orders = orders(args, &plan)?;
    let interrupted = interrupt::flag_of_changes()?;
    let targets = targets::find(&args.hosts, &plan, args.like.as_deref(), args.skip_unlike, &interrupted)?;
    let Targets { hosts, unlike, not_read } = targets;
    let waves = args.waves.of(hosts.len()).map_err(|why| {
        Fault::new(Class::Usage, "--waves", why, "give waves that increase with this number of hosts")
    })?;
    let mut hosts = RemoteHosts::new(hosts, orders, interrupted)?;
    if args.dry_run {
        let wave_of = |host: usize| waves.iter().position(|wave| wave.contains(&host)).map(|at| at + 1);
        let rows = foreseen(&hosts, wave_of)?;
        return show_foreseen(args.format, ForeseenSheet { hosts: rows, unlike, not_read });
    }
    let count = hosts.specs().len();
    let Rollout { hosts: states, stopped } = Rollout::run(count, &waves, args.keep_earlier_waves, &mut hosts);
    let rows = states.into_iter().enumerate().zip(hosts.specs());
    let rows = rows.map(|((at, state), spec)| HostRow {
        host: spec.name.clone(),
        session: hosts.session(at).map(String::from),
        state,
    });
    let sheet =
        Sheet { hosts: rows.collect(), stopped, unlike, not_read, confirm_within: args.confirm_within };
    match args.format {
        Format::Json => output::json(&sheet)?,
        Format::Text => output::text(&sheet.text())?,
    }
    answer(&sheet)
}

/// What is to be done on each host.
///
/// # Errors
/// Nothing says whether a host is well, or what does makes no sense; the plan cannot be taken back in time; a case cannot be read.
fn orders(args: &Args, plan: &Plan) -> Result<Orders, Fault> {
    if args.check.is_none() && args.verify.is_empty() {
        let cause = "no check shows whether a wave does harm";
        let remedy = "give --check 'COMMAND {host}', whose exit code decides, or --verify CASE";
        return Err(Fault::new(Class::Usage, "fleet apply", cause, remedy));
    }
    if plan.settings.iter().any(|planned| planned.knob == BOOT_PARAMETERS) {
        let cause = "they take effect at the next boot, when nothing waits for the confirmation any more";
        let remedy = "remove them from this plan, and apply them on each host with 'pinwise apply'";
        return Err(Fault::new(Class::Usage, "plan: boot-parameters", cause, remedy));
    }
    let left = args.confirm_within.saturating_sub(args.settle);
    if left.is_zero() {
        let cause = "is not longer than --settle: each host would undo the plan before it could be confirmed";
        return Err(Fault::new(
            Class::Usage,
            "--confirm-within",
            cause,
            "allow more time, such as --confirm-within 10m",
        ));
    }
    // The rest is for the apply before it and the confirmation after it.
    let check = args.check.as_deref().map(|line| Check::parse(line, left / 2)).transpose()?;
    let cases: Vec<Vec<RemoteFile>> =
        args.verify.iter().map(|case| files_of(case)).collect::<Result<_, Fault>>()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let name = format!("fleet-{}-{}.toml", now.as_secs(), std::process::id());
    let plan = RemoteFile { name, content: plan.to_toml()?.into_bytes() };
    Ok(Orders {
        plan,
        server: args.server.clone(),
        check,
        cases,
        settle: args.settle,
        confirm_within: args.confirm_within,
        at_most: args.parallel.into(),
    })
}

/// The files of a case by which a plan is verified elsewhere: its study, and the secrets of that.
fn files_of(case: &Path) -> Result<Vec<RemoteFile>, Fault> {
    let opened = Case::open(case)?;
    if !opened.study.recipe.hosts.is_empty() {
        let cause = "its load comes from other hosts; here server and load run on the host that is verified";
        return Err(Fault::new(
            Class::Usage,
            case.display(),
            cause,
            "name a case whose load runs beside its server",
        ));
    }
    let read = |name: &str| -> Result<RemoteFile, Fault> {
        let path = case.join(name);
        let content = read_named(&path, MOST_BYTES)
            .map_err(|error| Fault::io(path.display(), &error, "name a case that can be read"))?;
        Ok(RemoteFile { name: name.into(), content })
    };
    let mut files = vec![read(STUDY)?];
    if case.join(SECRETS).exists() {
        files.push(read(SECRETS)?);
    }
    Ok(files)
}

/// What would be done on each host.
fn foreseen(
    hosts: &RemoteHosts,
    wave_of: impl Fn(usize) -> Option<usize>,
) -> Result<Vec<ForeseenRow>, Fault> {
    let check = hosts.orders().check.as_ref();
    let mut rows = Vec::new();
    for (at, (spec, foreseen)) in hosts.specs().iter().zip(hosts.foresee()).enumerate() {
        let check = check.map(|check| check.line_for(spec)).transpose()?;
        let (would, can, fault) = match foreseen {
            Ok((would, can)) => (Some(would), can, None),
            Err(fault) => (None, false, Some(fault)),
        };
        rows.push(ForeseenRow { host: spec.name.clone(), wave: wave_of(at), would, can, check, fault });
    }
    Ok(rows)
}

fn show_foreseen(format: Format, sheet: ForeseenSheet) -> Result<Answer, Fault> {
    match format {
        Format::Json => output::json(&sheet)?,
        Format::Text => output::text(&sheet.text())?,
    }
    Ok(if sheet.hosts.iter().all(|row| row.can) { Answer::Done } else { Answer::No })
}

/// Whether every wave was confirmed. A signal is a fault only where nothing is in force any more.
fn answer(sheet: &Sheet) -> Result<Answer, Fault> {
    let is_as_before =
        |row: &HostRow| matches!(row.state.state, State::Untouched | State::Undone | State::Already);
    match sheet.stopped {
        None => Ok(Answer::Done),
        Some(Stopped::Interrupted { .. }) if sheet.hosts.iter().all(is_as_before) => Err(Fault::new(
            Class::Interrupted,
            "fleet apply",
            "stopped by a signal; nothing of the plan is in force",
            "",
        )),
        Some(_) => Ok(Answer::No),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use machine::Planned;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn refused(words: &[&str], knob: &str) -> String {
        let words = [&["fleet", "plan.toml", "--host", "load=b"][..], words].concat();
        let args = Line::try_parse_from(words).unwrap().args;
        let planned = Planned { knob: knob.into(), value: "1".into(), ..Planned::default() };
        let plan = Plan { settings: vec![planned], ..Plan::default() };
        orders(&args, &plan).err().map(|fault| fault.to_string()).unwrap_or_default()
    }

    #[test]
    fn what_could_not_be_stopped_in_time_is_refused_with_the_remedy() {
        assert!(refused(&[], "swappiness").contains("--check 'COMMAND {host}'"));
        let check = ["--check", "true {host}"];
        assert_eq!(refused(&check, "swappiness"), "");
        assert!(refused(&check, BOOT_PARAMETERS).contains("boot-parameters"));
        let late = ["--check", "true", "--settle", "60s", "--confirm-within", "1m"];
        assert!(refused(&late, "swappiness").contains("not longer than --settle"));
        assert!(refused(&["--check", "true {port}"], "swappiness").contains("{port}"));
        assert!(refused(&["--verify", "/nonexistent/case"], "swappiness").contains("/nonexistent/case"));
    }

    #[test]
    fn waves_are_read_with_the_other_flags() {
        let with =
            |waves: &str| Line::try_parse_from(["fleet", "plan.toml", "--host", "load=b", "--waves", waves]);
        assert_eq!(with("1,50%").unwrap().args.waves.of(4).unwrap(), [0..1, 1..2]);
        assert!(with("2,1").unwrap_err().to_string().contains("1,10%,100%"));
    }
}
