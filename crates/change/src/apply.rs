//! Putting a plan in force: all of it, or nothing.

mod obstacle;
mod ownership;

use std::path::Path;

use machine::knobs::{self, MaySet};
use machine::persistence::{self, Keeping, Manner, NotKept};
use machine::processes::{Owner, OwnerId};
use machine::{Act, Class, Fault, Plan, Planned, Root, Setting};
use serde::Serialize;

use crate::acts::{operation, outlives_boots};
use crate::executor::{Hand, Receipt, found};
use crate::kernel::Kernel;
use crate::ledger::owner::same_boot;
use crate::ledger::{self, Session};
use crate::record::Entry;
use crate::undo::rollback::Undone;
use obstacle::{Ground, obstacle};
use ownership::refusal_by_owner;

/// What one act of a setting would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ActForeseen {
    /// What it is about, in words.
    pub object: String,
    /// The file that would be written, or the call that would be made.
    pub call: String,
    /// What is there now.
    pub old: String,
    /// What is requested.
    pub new: String,
}

/// What one setting of a plan would do to the machine as it is now. Nothing is touched for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Foreseen {
    /// The setting with its reason.
    #[serde(flatten)]
    pub planned: Planned,
    /// What the knob is.
    pub title: &'static str,
    /// Who else may own it.
    pub owner: &'static str,
    /// Those of them that run here, and may set it anew.
    pub runs_here: Vec<String>,
    /// What can go wrong.
    pub risk: &'static str,
    /// Who may set it.
    pub may_set: Option<MaySet>,
    /// Its present value; `None` when it cannot be read.
    pub now: Option<String>,
    /// Whether it is so already, and nothing would be done.
    pub already: bool,
    /// What would be done, in order.
    pub acts: Vec<ActForeseen>,
    /// Why it cannot be done.
    pub fault: Option<Fault>,
}

/// How a plan is put in force.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ApplyOptions {
    /// Leave out a setting that fails, instead of taking everything back.
    pub keep_going: bool,
    /// Also place files by which the platform brings the settings back.
    pub persist: Option<Manner>,
}

/// One setting that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SettingDone {
    /// The setting.
    #[serde(flatten)]
    pub setting: Setting,
    /// Whether it was so already, and nothing was done.
    pub already: bool,
    /// Its acts, in order.
    pub acts: Vec<Receipt>,
    /// Why it is not in force.
    pub fault: Option<Fault>,
}

/// What came of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Applied {
    /// Id of the session, by which it can be undone.
    pub session: String,
    /// The settings that were tried, in order.
    pub settings: Vec<SettingDone>,
    /// The files by which the platform brings the settings back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub placed: Vec<Receipt>,
    /// Settings in force that end with this boot, or with their process.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_kept: Vec<NotKept>,
    /// Acts that are in force; after a fault those that could not be taken back.
    pub acts_in_force: usize,
    /// What was taken back because a setting failed, in the order in which it was.
    pub taken_back: Vec<Undone>,
    /// Why everything was taken back.
    pub fault: Option<Fault>,
}

impl Applied {
    /// The settings that are not in force although the others are.
    pub fn left_out(&self) -> impl Iterator<Item = &SettingDone> {
        self.settings.iter().filter(|done| done.fault.is_some())
    }

    /// What should have been taken back and could not be.
    pub fn stuck(&self) -> impl Iterator<Item = &Undone> {
        self.taken_back.iter().filter(|undone| !undone.how.is_final())
    }
}

/// What `plan` would do, setting by setting, each by itself: what an earlier one changes, a later one does not see yet.
/// `owners` are the programs of this machine that set where things run.
pub fn foresee(root: &Root, kernel: &dyn Kernel, plan: &Plan, owners: &[Owner]) -> Vec<Foreseen> {
    let (ground, settings) = (Ground::new(root), plan.settings.iter().enumerate());
    settings
        .map(|(at, planned)| foresee_one(&ground, kernel, planned, &plan.settings[..at], owners))
        .collect()
}

/// A setting that may not stay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotLeftAlone {
    /// The setting.
    #[serde(flatten)]
    pub setting: Setting,
    /// The programs that run here and may set it anew, each with its process.
    pub by: Vec<String>,
}

/// The settings of `plan` that one of the `owners` of this machine may set anew.
pub fn not_left_alone(root: &Root, plan: &Plan, owners: &[Owner]) -> Vec<NotLeftAlone> {
    let settings = plan.settings.iter().map(Planned::setting);
    let claimed = settings.filter_map(|setting| {
        let knob = knobs::find(&setting.knob)?;
        // What cannot be requested fails later, with its own message.
        let acts = knob.change(root, &setting.target, &setting.value).ok()?;
        let by = running(knob.about().owners, owners, &acts);
        (!by.is_empty()).then_some(NotLeftAlone { setting, by })
    });
    claimed.collect()
}

/// Those of the `owners` that set a knob of theirs and run, without those that one of the `acts` keeps from it.
fn running(ids: &[OwnerId], owners: &[Owner], acts: &[Act]) -> Vec<String> {
    let restrained: Vec<u32> = acts.iter().filter_map(|act| operation(act).restrains()).collect();
    let run = owners.iter().filter_map(|owner| Some((owner, owner.id?, owner.pid?)));
    let free = run.filter(|(_, id, pid)| ids.contains(id) && !restrained.contains(pid));
    free.map(|(owner, _, pid)| format!("{} (process {pid})", owner.name)).collect()
}

fn foresee_one(
    ground: &Ground<'_>,
    kernel: &dyn Kernel,
    planned: &Planned,
    earlier: &[Planned],
    owners: &[Owner],
) -> Foreseen {
    let (root, about) = (ground.root, knobs::find(&planned.knob).map(|knob| knob.about()));
    let mut foreseen = Foreseen {
        planned: planned.clone(),
        title: about.map_or("", |about| about.title),
        owner: about.map_or("", |about| about.owner),
        runs_here: Vec::new(),
        risk: about.map_or("", |about| about.risk),
        may_set: about.map(|about| about.may_set),
        now: None,
        already: false,
        acts: Vec::new(),
        fault: None,
    };
    let asked = knobs::named(&planned.knob).and_then(|knob| {
        foreseen.now = Some(knob.read(root, &planned.target)?);
        knob.change(root, &planned.target, &planned.value)
    });
    let ids = about.map_or(&[][..], |about| about.owners);
    foreseen.runs_here = running(ids, owners, asked.as_deref().unwrap_or_default());
    match asked {
        Ok(acts) => {
            let to_do = acts.iter().filter(|act| !is_so(kernel, act));
            let foreseen_act = |act: &Act| {
                let refused = refusal_by_owner(kernel, act);
                match refused.or_else(|| obstacle(ground, kernel, act, earlier)) {
                    Some(fault) => Err(fault),
                    None => foresee_act(kernel, act),
                }
            };
            match to_do.map(foreseen_act).collect::<Result<Vec<_>, _>>() {
                Ok(acts) => (foreseen.already, foreseen.acts) = (acts.is_empty(), acts),
                Err(fault) => foreseen.fault = Some(fault),
            }
        }
        Err(fault) => foreseen.fault = Some(fault),
    }
    foreseen
}

/// Whether an act would change nothing.
fn is_so(kernel: &dyn Kernel, act: &Act) -> bool {
    // A limit that somebody else holds goes when he goes.
    !matches!(act, Act::HoldLatency { .. })
        && operation(act).read_there(kernel).is_ok_and(|now| operation(act).took_effect(&now))
}

fn foresee_act(kernel: &dyn Kernel, act: &Act) -> Result<ActForeseen, Fault> {
    let operation = operation(act);
    let old = found(kernel, act)?.to_string();
    Ok(ActForeseen { object: operation.object(), call: operation.call(), old, new: operation.asked() })
}

/// The files that would be placed to keep the settings of `plan`, and what cannot be kept. The session's name, which is in theirs, is
/// not known yet: they have 0 in its place.
///
/// Errors: where one would lie cannot be read, or there is one already.
pub fn foresee_kept(
    root: &Root,
    kernel: &dyn Kernel,
    plan: &Plan,
    manner: Manner,
) -> Result<(Vec<ActForeseen>, Vec<NotKept>), Fault> {
    let keeping = keeping("0", root, plan, plan.settings.iter().map(Planned::setting), manner);
    let acts = keeping.acts.iter().map(|act| foresee_act(kernel, act)).collect::<Result<_, _>>()?;
    Ok((acts, keeping.not_kept))
}

/// The first setting of `plan` that is a file of the platform's own, in force from a next start on: when nothing would take it back
/// that waits for a confirmation now.
pub fn first_placed(root: &Root, plan: &Plan) -> Option<Setting> {
    let settings = plan.settings.iter().map(Planned::setting);
    let places = |act: &Act| matches!(act, Act::PlaceFile { .. } | Act::AddBootWords { .. });
    settings.into_iter().find(|setting| knobs::acts(root, setting).is_ok_and(|acts| acts.iter().any(places)))
}

/// Puts `plan` in force. When a setting fails - the kernel refuses it, or sets something else - or `stop` says so,
/// everything is taken back, unless it is to keep going; then the failed setting alone is.
///
/// `report` is called with each setting when it is done. The acts stay in force when the hand is finished. An interruption after which
/// something could not be taken back is a fault of another class ([`Class::with_something_left`]).
pub fn apply(
    hand: &mut Hand,
    root: &Root,
    plan: &Plan,
    options: ApplyOptions,
    stop: &dyn Fn() -> Option<Fault>,
    report: &mut dyn FnMut(&SettingDone),
) -> Applied {
    let start = hand.mark();
    let mut applied = Applied {
        session: hand.session().to_string(),
        settings: Vec::new(),
        placed: Vec::new(),
        not_kept: Vec::new(),
        acts_in_force: 0,
        taken_back: Vec::new(),
        fault: first_not_kept(hand, root, plan, options),
    };
    if applied.fault.is_none() {
        set_each(hand, root, plan, options, stop, report, &mut applied);
    }
    if let Some(manner) = options.persist.filter(|_| applied.fault.is_none()) {
        let in_force = applied.settings.iter().filter(|done| done.fault.is_none());
        let in_force = in_force.map(|done| done.setting.clone());
        let keeping = keeping(hand.session(), root, plan, in_force, manner);
        applied.not_kept = keeping.not_kept;
        applied.fault = place(hand, &keeping.acts, stop, &mut applied.placed).err();
    }
    // Once more: the last act may have ended after the time was over.
    applied.fault = applied.fault.or_else(stop);
    if applied.fault.is_some() {
        applied.taken_back.extend(hand.undo_to(start));
    }
    applied.acts_in_force = hand.outstanding().count();
    if let Some(fault) = applied.fault.as_mut().filter(|_| applied.acts_in_force > 0) {
        fault.class = fault.class.with_something_left();
    }
    applied
}

fn set_each(
    hand: &mut Hand,
    root: &Root,
    plan: &Plan,
    options: ApplyOptions,
    stop: &dyn Fn() -> Option<Fault>,
    report: &mut dyn FnMut(&SettingDone),
    applied: &mut Applied,
) {
    for planned in &plan.settings {
        let (done, undone) = set(hand, root, &planned.setting(), stop);
        report(&done);
        let fault = done.fault.clone();
        applied.settings.push(done);
        applied.taken_back.extend(undone);
        applied.fault = fault.filter(|fault| !options.keep_going || fault.class == Class::Interrupted);
        if applied.fault.is_some() {
            break;
        }
    }
}

/// The first setting that cannot be kept although all are to be: that is known before anything is touched.
fn first_not_kept(hand: &Hand, root: &Root, plan: &Plan, options: ApplyOptions) -> Option<Fault> {
    let manner = options.persist.filter(|_| !options.keep_going)?;
    let all = plan.settings.iter().map(Planned::setting);
    keeping(hand.session(), root, plan, all, manner).not_kept.into_iter().next().map(cannot_be_kept)
}

/// How these settings of a plan are kept for a session.
fn keeping(
    session: &str,
    root: &Root,
    plan: &Plan,
    settings: impl Iterator<Item = Setting>,
    manner: Manner,
) -> Keeping {
    let purpose = plan.purpose.as_deref().unwrap_or("a plan");
    persistence::kept(root, session, purpose, &settings.collect::<Vec<_>>(), manner)
}

fn cannot_be_kept(not_kept: NotKept) -> Fault {
    let remedy = "remove it from the plan, apply without --persist, or keep the others with --keep-going";
    Fault { remedy: remedy.into(), ..Fault::from(not_kept) }
}

/// Places the files by which settings are kept.
fn place(
    hand: &mut Hand,
    acts: &[Act],
    stop: &dyn Fn() -> Option<Fault>,
    placed: &mut Vec<Receipt>,
) -> Result<(), Fault> {
    for act in acts {
        if let Some(fault) = stop() {
            return Err(fault);
        }
        let receipt = hand.perform(act)?;
        let fault = (!receipt.took_effect).then(|| made_otherwise(&receipt));
        placed.push(receipt);
        fault.map_or(Ok(()), Err)?;
    }
    Ok(())
}

/// Puts one setting in force; what was done of one that fails is taken back.
fn set(
    hand: &mut Hand,
    root: &Root,
    setting: &Setting,
    stop: &dyn Fn() -> Option<Fault>,
) -> (SettingDone, Vec<Undone>) {
    let start = hand.mark();
    let mut done = SettingDone { setting: setting.clone(), already: false, acts: Vec::new(), fault: None };
    let mut undone = Vec::new();
    match perform(hand, root, setting, stop, &mut done.acts) {
        Ok(()) => done.already = done.acts.is_empty(),
        Err(fault) => {
            undone = hand.undo_to(start);
            done.fault = Some(fault);
        }
    }
    (done, undone)
}

/// How often threads are looked for that were born while the others were set.
const PASSES: usize = 5;

fn perform(
    hand: &mut Hand,
    root: &Root,
    setting: &Setting,
    stop: &dyn Fn() -> Option<Fault>,
    done: &mut Vec<Receipt>,
) -> Result<(), Fault> {
    for _ in 0..PASSES {
        let kernel = hand.kernel.clone();
        let mut acts = knobs::acts(root, setting)?;
        acts.retain(|act| !is_so(&*kernel, act));
        if acts.is_empty() {
            break;
        }
        for act in &acts {
            if let Some(fault) = stop() {
                return Err(fault);
            }
            match hand.perform_for(act, Some(setting)) {
                Ok(receipt) if receipt.took_effect => done.push(receipt),
                Ok(receipt) => {
                    let fault = made_otherwise(&receipt);
                    done.push(receipt);
                    return Err(fault);
                }
                // A server's threads come and go.
                Err(_) if is_a_thread_that_ended(&*kernel, act) => {}
                Err(fault) => return Err(fault),
            }
        }
        // New threads there are of processes alone.
        if acts.iter().all(|act| operation(act).thread().is_none()) {
            break;
        }
    }
    Ok(())
}

/// Whether an act is about a thread that is gone, of a process that is not.
fn is_a_thread_that_ended(kernel: &dyn Kernel, act: &Act) -> bool {
    let Some(thread) = operation(act).thread() else { return false };
    thread.tid != thread.pid
        && operation(act).is_there(kernel).is_err()
        && kernel.start_time(thread.pid, thread.pid).is_ok()
}

fn made_otherwise(receipt: &Receipt) -> Fault {
    let cause = format!("requested {}, reads back {}", receipt.asked, receipt.read_back);
    let remedy = "request a value that the kernel supports: CPUs that it allows, its step, its range";
    Fault::new(Class::MachineLacks, &receipt.object, cause, remedy)
}

/// Settings of `plan` whose objects an earlier session still holds: taking that one back later would find the values of this
/// plan and leave them.
///
/// Errors: the first such object, with the session that holds it; the ledgers in `dir` cannot be read.
pub fn no_other_holds(dir: &Path, root: &Root, kernel: &dyn Kernel, plan: &Plan) -> Result<(), Fault> {
    let sessions = ledger::sessions(dir)?;
    let in_force = |session: &Session, entry: &Entry| {
        same_boot(session, kernel) || outlives_boots(entry, session.outstanding())
    };
    let of = |session| {
        let outstanding = Session::outstanding(session).filter(move |entry| in_force(session, entry));
        outstanding.map(|entry| (session.id(), entry))
    };
    let held: Vec<_> = sessions.iter().flat_map(of).collect();
    if held.is_empty() {
        return Ok(());
    }
    for setting in plan.settings.iter().map(Planned::setting) {
        // What cannot be requested fails later, with its own message.
        for act in knobs::acts(root, &setting).unwrap_or_default() {
            let holds = |entry: &Entry| {
                operation(&entry.act).is_about_same(&act)
                    && !entry.subject.as_ref().is_some_and(|then| then.is_another_than(&kernel.subject(&act)))
            };
            if let Some((session, _)) = held.iter().find(|(_, entry)| holds(entry)) {
                let cause = format!("session {session} has set it already, and can be undone");
                // A file is placed once, and so are words of a line.
                let is_once = matches!(act, Act::PlaceFile { .. } | Act::AddBootWords { .. });
                let over = if is_once { "" } else { ", or apply over it with --over" };
                let remedy = format!("run 'pinwise undo --session {session}' first{over}");
                return Err(Fault::new(Class::No, operation(&act).object(), cause, remedy));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use machine::ProcessRef;

    use super::*;

    #[test]
    fn owners_that_run_are_those_of_the_knob_that_nobody_restrains() {
        let owner = |id, pid| Owner { id: Some(id), name: format!("{id:?}"), pid, ..Owner::default() };
        let owners = [
            owner(OwnerId::Irqbalance, Some(812)),
            owner(OwnerId::Tuna, Some(9)),
            owner(OwnerId::Tuned, None),
        ];
        let process = |pid| ProcessRef { pid, start_time_ticks: 1 };
        let ban = |pid| [Act::SetIrqBan { process: process(pid), irq: 38, banned: true }];
        let knob = [OwnerId::Irqbalance, OwnerId::Tuned];
        assert_eq!(running(&knob, &owners, &ban(813)), ["Irqbalance (process 812)"]);
        assert_eq!(running(&knob, &owners, &ban(812)), [""; 0], "the act keeps it from the interrupt");
        assert_eq!(running(&[], &owners, &[]), [""; 0]);
        let without_id = Owner { id: None, name: "irqbalance".into(), pid: Some(1), ..Owner::default() };
        assert_eq!(running(&knob, &[without_id], &[]), [""; 0]);
    }
}
