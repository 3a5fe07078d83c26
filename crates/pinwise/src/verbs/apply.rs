//! `pinwise apply`: puts a plan in force, so that it can always be taken back.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use change::apply::{self, ActForeseen, Applied, ApplyOptions, Foreseen, NotLeftAlone, SettingDone};
use change::record::Reverter;
use change::{Hand, LiveKernel, confirm, ledger};
use machine::persistence::{Manner, NotKept};
use machine::processes::owners;
use machine::{Class, Fault, Plan, Planned, ProcessRef, Root};
use serde::Serialize;

use crate::format::Format;
use crate::notes::note;
use crate::output::{self, Answer};
use crate::window::length;
use crate::{interrupt, notes, progress_bar};

pub mod expected_process;
pub mod target;

/// Settings of which a bar shows how far they are.
const MANY: usize = 30;

// Flags of `pinwise apply`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise apply plan.toml --dry-run                  show each file and call, old -> new; change nothing
  pinwise apply plan.toml --confirm-within 60s       undone automatically unless 'pinwise confirm' follows in time
  pinwise apply plan.toml --persist                  also write configuration files, so that it survives a reboot
  pinwise apply plan.toml --server nginx             'server' in the plan is this unit, process or cgroup
  pinwise apply --set process-affinity:4711=2-3      one setting, or several, without a file
  pinwise undo                                       undo it")]
pub struct Args {
    /// The plan: a file of settings, written by hand or by 'pinwise plan'
    #[arg(required_unless_present = "set")]
    plan: Option<PathBuf>,
    /// A setting to apply, instead of a plan; without TARGET, for the whole machine. May be given several times; settings are applied in
    /// this order
    #[arg(long, value_name = "KNOB[:TARGET]=VALUE", value_parser = one_setting, conflicts_with = "plan")]
    set: Vec<Planned>,
    /// Show what would be done, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Undo everything after this time (60s, 5m) unless 'pinwise confirm' comes first
    #[arg(long, value_name = "TIME", value_parser = length, conflicts_with = "dry_run")]
    confirm_within: Option<Duration>,
    /// Also write files by which the system restores the settings at boot: sysctl.d, tmpfiles.d, udev rules, drop-ins of units
    #[arg(long, conflicts_with = "confirm_within")]
    persist: bool,
    /// Form of the files that --persist writes
    #[arg(long = "as", value_enum, value_name = "FORM", requires = "persist", default_value_t)]
    form: PersistForm,
    /// Leave out a setting that fails, instead of undoing everything (exit code 1)
    #[arg(long)]
    keep_going: bool,
    /// Also change what an earlier session has set and can still undo
    #[arg(long)]
    over: bool,
    /// What 'server' in the plan refers to: a process number, a systemd unit, a cgroup, or any other name that 'pinwise map --process'
    /// accepts
    #[arg(long, value_name = "WHAT")]
    server: Option<String>,
    /// Change nothing unless this process is still the same: its number, and its start in clock ticks after boot. For 'pinwise serve'
    #[arg(long, hide = true, value_name = "PID:START", value_parser = expected_process::parse)]
    expect_process: Vec<ProcessRef>,
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The files that bring settings back.
#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
enum PersistForm {
    /// Files of the operating system: sysctl.d, tmpfiles.d, udev, systemd
    #[default]
    Platform,
    /// A tuned profile, to select with tuned-adm in addition to another
    TunedProfile,
}

impl Args {
    fn manner(&self) -> Option<Manner> {
        self.persist.then_some(match self.form {
            PersistForm::Platform => Manner::Platform,
            PersistForm::TunedProfile => Manner::TunedProfile,
        })
    }
}

/// What a dry run prints as JSON.
#[derive(Debug, Serialize)]
struct DryRun {
    /// What each setting would do.
    settings: Vec<Foreseen>,
    /// The files that would be placed for them.
    placed: Vec<ActForeseen>,
    /// Settings that would end with this boot, or with their process.
    not_kept: Vec<NotKept>,
}

/// Applies, or shows what that would be; the answer is no when something is not in force.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    let root = Root::live();
    let plan = match &args.plan {
        Some(file) => Plan::read(file)?,
        None => Plan { settings: args.set.clone(), ..Plan::default() },
    };
    let plan = target::named(&root, plan, args.server.as_deref())?;
    // After the names were looked up: what is the same now was the same then.
    expected_process::check(&root, &args.expect_process)?;
    match args.dry_run {
        true => show(args, &root, &plan),
        false => apply(args, &root, &plan),
    }
}

fn show(args: &Args, root: &Root, plan: &Plan) -> Result<Answer, Fault> {
    let owners = owners::that_run(root);
    let settings = apply::foresee(root, &LiveKernel::new(), plan, &owners);
    let kept = args.manner().map(|manner| apply::foresee_kept(root, &LiveKernel::new(), plan, manner));
    let (placed, not_kept) = kept.transpose()?.unwrap_or_default();
    let dry_run = DryRun { settings, placed, not_kept };
    match args.format {
        Format::Json => output::json(&dry_run)?,
        Format::Text => {
            let is_root = rustix::process::geteuid().is_root();
            let DryRun { settings, placed, not_kept } = &dry_run;
            output::text(&report::plan_text::foreseen(settings, is_root, output::style()))?;
            output::text(&report::plan_text::foreseen_kept(placed, not_kept, output::style()))?;
        }
    }
    let cannot = dry_run.settings.iter().any(|setting| setting.fault.is_some());
    Ok(if cannot || !dry_run.not_kept.is_empty() { Answer::No } else { Answer::Done })
}

/// What `--format json` prints.
#[derive(Debug, Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    applied: &'a Applied,
    /// Settings that a program which runs here may set anew.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    not_left_alone: &'a [NotLeftAlone],
    /// Until when it waits to be confirmed, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    confirm_within_s: Option<f64>,
}

fn apply(args: &Args, root: &Root, plan: &Plan) -> Result<Answer, Fault> {
    if args.confirm_within.is_some() {
        can_be_confirmed(root, plan)?;
    }
    let interrupted = interrupt::flag_of_changes()?;
    let owners = owners::that_run(root);
    let mut hand = Hand::live(&purpose(args, plan))?;
    if !args.over {
        apply::no_other_holds(&ledger::ledger_dir()?, root, &LiveKernel::new(), plan)?;
    }
    let deadline = args.confirm_within.map(|within| arm(&mut hand, within)).transpose()?;
    let bar = progress_bar::bar(
        "{bar:30} {pos}/{len} settings, {eta} left",
        plan.settings.len() as u64,
        notes::is_terminal() && plan.settings.len() > MANY,
    );
    let mut on_done = |done: &SettingDone| {
        bar.inc(1);
        if args.format == Format::Text {
            bar.suspend(|| note!("{}", report::plan_text::done(done)));
        }
    };
    // Asked before each act, when its threads have been identified.
    let stop = || stopped(&interrupted, deadline, root, &args.expect_process);
    let not_left_alone = apply::not_left_alone(root, plan, &owners);
    if args.format == Format::Text {
        not_left_alone.iter().for_each(|kept| note!("pinwise: {}", report::plan_text::not_left_alone(kept)));
    }
    let options = ApplyOptions { keep_going: args.keep_going, persist: args.manner() };
    let applied = apply::apply(&mut hand, root, plan, options, &stop, &mut on_done);
    bar.finish_and_clear();
    hand.finish()?;
    conclude(args, &applied, &not_left_alone, deadline)
}

/// Errors: a setting would be in force after a restart, with which the revert is gone.
fn can_be_confirmed(root: &Root, plan: &Plan) -> Result<(), Fault> {
    match apply::first_placed(root, plan) {
        None => Ok(()),
        Some(setting) => {
            let object = format!("{} of {}", setting.knob, setting.target);
            let cause = "it takes effect at the next boot, when nothing waits for the confirmation any more";
            let remedy = "apply it by itself without --confirm-within; 'pinwise undo' undoes it at any time";
            Err(Fault::new(Class::Usage, object, cause, remedy))
        }
    }
}

fn purpose(args: &Args, plan: &Plan) -> String {
    let of = plan.purpose.as_ref().map(|purpose| format!(": {purpose}")).unwrap_or_default();
    match &args.plan {
        Some(file) => format!("apply {}{of}", file.display()),
        None => {
            let settings = args.set.iter().map(|planned| format!("{}:{}", planned.knob, planned.target));
            format!("apply --set {}", settings.collect::<Vec<_>>().join(", "))
        }
    }
}

/// `process-affinity:4711=2-3`, `swappiness=1`.
fn one_setting(text: &str) -> Result<Planned, String> {
    let form = "give it as KNOB:TARGET=VALUE, or KNOB=VALUE for the whole machine";
    let (what, value) = text.split_once('=').ok_or(form)?;
    let (knob, target) = what.split_once(':').unwrap_or((what, machine::plan::MACHINE));
    match knob.is_empty() || target.is_empty() || value.is_empty() {
        true => Err(form.into()),
        false => Ok(Planned {
            knob: knob.into(),
            target: target.into(),
            value: value.into(),
            ..Planned::default()
        }),
    }
}

/// Arms the revert, before anything is written; until when it can be confirmed.
fn arm(hand: &mut Hand, within: Duration) -> Result<Instant, Fault> {
    let exe = std::env::current_exe()
        .map_err(|e| Fault::io("/proc/self/exe", &e, "mount /proc: the revert is started from this file"))?;
    // Taken first, so that this process stops before the revert begins.
    let deadline = Instant::now() + within;
    let ticks_per_s = rustix::param::clock_ticks_per_second();
    let within_ticks = (within.as_secs_f64() * ticks_per_s as f64).ceil() as u64;
    hand.arm(within_ticks, Reverter::Starting)?;
    let by = confirm::arm(&exe, &ledger::state_dir()?, hand.session())?;
    hand.arm(within_ticks, by)?;
    Ok(deadline)
}

/// Why to stop in the middle.
fn stopped(
    interrupted: &AtomicBool,
    deadline: Option<Instant>,
    root: &Root,
    expected: &[ProcessRef],
) -> Option<Fault> {
    if interrupted.load(Ordering::Relaxed) {
        return Some(Fault::new(Class::Interrupted, "apply", "stopped by a signal", ""));
    }
    if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
        let cause = "the time to confirm it ran out before the plan was fully applied";
        return Some(Fault::new(Class::No, "apply", cause, "give a longer --confirm-within"));
    }
    expected_process::check(root, expected).err()
}

fn conclude(
    args: &Args,
    applied: &Applied,
    not_left_alone: &[NotLeftAlone],
    deadline: Option<Instant>,
) -> Result<Answer, Fault> {
    let in_force = applied.fault.is_none() && applied.acts_in_force > 0;
    let left_s = deadline.filter(|_| in_force).map(|at| (at - Instant::now()).as_secs_f64());
    let printed = match args.format {
        Format::Json => output::json(&Document { applied, not_left_alone, confirm_within_s: left_s }),
        Format::Text => output::text(&report::plan_text::applied(applied, left_s)),
    };
    match &applied.fault {
        Some(fault) => {
            let left = "see what is left with 'pinwise status', and run 'pinwise undo' to try again";
            let remedy = if applied.acts_in_force > 0 { left } else { "" };
            Err(Fault { remedy: remedy.into(), ..fault.clone() })
        }
        // Whoever sees only that it failed is not to think that nothing is in force.
        None if printed.is_err() => printed.map(|()| Answer::No).map_err(|fault| Fault {
            cause: format!("{}; what was applied is in force nevertheless", fault.cause),
            remedy: "show it with 'pinwise status', undo it with 'pinwise undo'".into(),
            ..fault
        }),
        None if applied.left_out().next().is_some() || !applied.not_kept.is_empty() => Ok(Answer::No),
        None => Ok(Answer::Done),
    }
}

#[cfg(test)]
mod tests {
    use machine::Tree;

    use super::*;

    #[test]
    fn an_apply_stops_where_a_process_has_ended_that_it_is_to_expect() {
        let empty = Root::from_tree(Tree::new());
        let why = |interrupted: bool, expected: &[ProcessRef]| {
            stopped(&AtomicBool::new(interrupted), None, &empty, expected).map(|fault| fault.object)
        };
        let process = ProcessRef { pid: 4711, start_time_ticks: 300 };
        assert_eq!(why(false, &[process]).as_deref(), Some("process 4711"));
        assert_eq!((why(false, &[]), why(true, &[process]).as_deref()), (None, Some("apply")));
        let late = stopped(&AtomicBool::new(false), Some(Instant::now()), &empty, &[]).unwrap();
        assert!(late.remedy.contains("--confirm-within"), "{late}");
    }

    #[test]
    fn a_setting_is_knob_target_and_value() {
        let parts = |text: &str| one_setting(text).map(|p| [p.knob, p.target, p.value]);
        assert_eq!(parts("process-affinity:4711=2-3").unwrap(), ["process-affinity", "4711", "2-3"]);
        assert_eq!(parts("rps-cpus:lab:veth0/rx-0=none").unwrap(), ["rps-cpus", "lab:veth0/rx-0", "none"]);
        assert_eq!(
            parts("boot-parameters=nohz_full=2-3").unwrap(),
            ["boot-parameters", "machine", "nohz_full=2-3"]
        );
        for bad in ["swappiness", "=1", "swappiness:=1", "swappiness="] {
            assert!(one_setting(bad).unwrap_err().contains("KNOB:TARGET=VALUE"), "{bad}");
        }
    }
}
