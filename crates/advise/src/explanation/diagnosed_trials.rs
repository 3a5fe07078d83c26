//! Observed trials, each judged once: where its time went, and what the rules find.

use std::collections::BTreeMap;

use probe::Situation;
use study::{Facts, Observed};

use super::load_waits::{load_waits, share_of_server};
use super::term::Terms;
use crate::diagnosis::rules;
use crate::diagnosis::scene::Scene;
use crate::diagnosis::{Cause, CauseId, Diagnosis, Limit, ServerTime, Subject, diagnose};

/// One observed trial.
pub(super) struct DiagnosedTrial<'a> {
    pub(super) observed: &'a Observed,
    /// Time of the server; `None` where nothing was seen of its threads.
    pub(super) server: Option<Terms>,
    /// Time of the load, likewise.
    pub(super) load: Option<Terms>,
    /// What the rules find.
    pub(super) found: Found,
    /// The time in which the server tried to go on, ns: what most shares are of.
    pub(super) active_ns: f64,
    /// All time of the threads that worked, ns: what shares of sleep are of.
    pub(super) wall_ns: f64,
    pub(super) limit: Limit,
}

impl<'a> DiagnosedTrial<'a> {
    fn of(observed: &'a Observed) -> Self {
        let situation = &observed.situation;
        let diagnosis = diagnose(situation);
        let active_ns = diagnosis.time.as_ref().map_or(0.0, ServerTime::active_ns);
        let wall_ns = diagnosis.time.as_ref().map_or(0.0, |time| time.wall_ns);
        let limit = diagnosis.limit;
        let load = Terms::of_load(situation);
        let waits = load_waits(situation, load.as_ref()).and_then(|(cause, waited_ns)| {
            Some((cause, share_of_server(waited_ns, diagnosis.time.as_ref()?)?))
        });
        let mut found = Found::of(situation, diagnosis);
        if let Some((cause, share)) = waits {
            found.charge_elsewhere(&CauseId { rule: cause.id.rule.clone(), subject: Subject::Load }, share);
            found.add(situation, Cause { share: Some(share), ..cause });
        }
        Self { observed, server: Terms::of(situation), load, active_ns, wall_ns, limit, found }
    }
}

/// The trials of an arm by block.
pub(super) type OfArm<'a> = BTreeMap<usize, DiagnosedTrial<'a>>;

/// Judges the observed trials of the arms that are wanted, by name.
pub(super) fn diagnosed_trials(facts: &Facts, is_wanted: impl Fn(&str) -> bool) -> BTreeMap<&str, OfArm<'_>> {
    let mut arms: BTreeMap<&str, OfArm<'_>> = BTreeMap::new();
    for seen in facts.observed.iter().filter(|seen| is_wanted(&seen.trial.arm)) {
        if let Some(observed) = &seen.observed {
            arms.entry(&seen.trial.arm).or_default().insert(seen.trial.block, DiagnosedTrial::of(observed));
        }
    }
    arms
}

/// What the rules find in one trial.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    /// By id: its share, where that is known ([`Cause::share`]).
    shares: BTreeMap<CauseId, Option<f64>>,
    causes: BTreeMap<CauseId, Cause>,
    own: BTreeMap<CauseId, String>,
    /// By rule: what the same takes where its mechanism was not found.
    without: BTreeMap<&'static str, f64>,
}

impl Found {
    fn of(situation: &Situation, diagnosis: Diagnosis) -> Self {
        let mut found = Self::default();
        diagnosis.causes.into_iter().for_each(|cause| found.add(situation, cause));
        for own in diagnosis.own_work {
            let id = CauseId { rule: own.rule.into(), subject: Subject::Server };
            found.shares.insert(id.clone(), Some(own.share));
            found.own.insert(id, own.what);
        }
        if let Some(time) = diagnosis.time {
            let scene = Scene { situation, time };
            let without = rules::all().map(|rule| (rule.about().id, rule.share_without(&scene)));
            found.without = without.filter(|(_, share)| *share > 0.0).collect();
        }
        found
    }

    /// Adds a cause; several processes of one name are one program.
    pub(super) fn add(&mut self, situation: &Situation, cause: Cause) {
        let id = CauseId { rule: cause.id.rule.clone(), subject: subject(situation, &cause.id.subject) };
        let sum = self.shares.entry(id.clone()).or_insert(Some(0.0));
        *sum = sum.zip(cause.share).map(|(sum, share)| sum + share);
        let known = self.causes.entry(id).or_insert_with(|| cause.clone());
        if known.share < cause.share {
            *known = cause;
        }
    }

    /// Takes from what was found the part that another cause is charged with, so that no time is charged twice.
    fn charge_elsewhere(&mut self, id: &CauseId, part: f64) {
        if let Some(Some(share)) = self.shares.get_mut(id) {
            *share = (*share - part).max(0.0);
        }
    }

    /// All that was found.
    pub(super) fn ids(&self) -> impl Iterator<Item = &CauseId> {
        self.shares.keys()
    }

    /// Whether it was found.
    pub(super) fn has(&self, id: &CauseId) -> bool {
        self.shares.contains_key(id)
    }

    /// The share of what was found; of what was not, what the same takes without it, mostly 0. `None` where it was found, and its cost is
    /// not known.
    pub(super) fn share(&self, id: &CauseId) -> Option<f64> {
        let without = || self.without.get(id.rule.as_str()).copied().unwrap_or(0.0);
        self.shares.get(id).copied().unwrap_or_else(|| Some(without()))
    }

    /// The most that its share can be, 0 of what was not found; `None` where that is not known.
    pub(super) fn share_at_most(&self, id: &CauseId) -> Option<f64> {
        match self.has(id) {
            true => self.cause(id)?.share_at_most,
            false => Some(0.0),
        }
    }

    /// The cause as it was found; `None` of the server's own work.
    pub(super) fn cause(&self, id: &CauseId) -> Option<&Cause> {
        self.causes.get(id)
    }

    /// The server's own work in words.
    pub(super) fn own_work(&self, id: &CauseId) -> Option<&String> {
        self.own.get(id)
    }
}

/// The same subject in every trial: numbers of processes are given anew, and so are the names of the cgroups that pinwise makes for one.
fn subject(situation: &Situation, subject: &Subject) -> Subject {
    if let Subject::Cgroup { path } = subject {
        return Subject::Cgroup { path: of_any_trial(path) };
    }
    let Subject::Process { pid } = subject else { return subject.clone() };
    if situation.is_client(*pid) {
        return Subject::Load;
    }
    let mut tasks = situation.account.iter().flat_map(|account| &account.tasks);
    let task = tasks.find(|task| task.pid == *pid).map(|task| &task.comm);
    let busy = situation.busy.iter().find(|busy| busy.pid == *pid).map(|busy| &busy.comm);
    match task.or(busy) {
        Some(name) => Subject::Program { name: name.clone() },
        None => subject.clone(),
    }
}

/// The path of a cgroup with `pinwise-TRIAL` in the place of the name that one of pinwise's own has in this trial (`pinwise-1795845715-7-2`).
fn of_any_trial(path: &str) -> String {
    let is_numbers =
        |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let is_own = |name: &str| name.strip_prefix("pinwise-").is_some_and(is_numbers);
    let names = path.split('/').map(|name| if is_own(name) { "pinwise-TRIAL" } else { name });
    names.collect::<Vec<_>>().join("/")
}

/// The largest of these causes, with only those settings whose object is the same in every trial: a process of one trial is gone in the next.
pub(super) fn largest(found: &[&Cause]) -> Option<Cause> {
    let share = |cause: &Cause| cause.share.unwrap_or(0.0);
    let mut largest = (*found.iter().max_by(|a, b| share(a).total_cmp(&share(b)))?).clone();
    for remedy in &mut largest.remedies {
        let is_in = |setting: &machine::Setting, other: &&Cause| {
            let mut settings = other.remedies.iter().filter_map(|remedy| remedy.setting.as_ref());
            settings.any(|known| known.same_object(setting))
        };
        remedy.setting =
            remedy.setting.take().filter(|setting| found.iter().all(|other| is_in(setting, other)));
    }
    Some(largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_another_cause_is_charged_with_is_not_charged_twice() {
        let id = CauseId { rule: "slow-client".into(), subject: Subject::Load };
        let mut found = Found::default();
        found.charge_elsewhere(&id, 0.1);
        assert!(!found.has(&id));
        found.shares.insert(id.clone(), Some(0.25));
        found.charge_elsewhere(&id, 0.125);
        assert_eq!(found.share(&id), Some(0.125));
        found.charge_elsewhere(&id, 0.5);
        assert_eq!(found.share(&id), Some(0.0));
    }

    #[test]
    fn a_cgroup_of_pinwises_own_is_the_same_in_every_trial_and_any_other_stays() {
        let [first, second] = ["/box/pinwise-1795845715-13127-2-79", "/box/pinwise-1795845715-13127-2-86"];
        assert_eq!(of_any_trial(first), "/box/pinwise-TRIAL");
        assert_eq!(of_any_trial(first), of_any_trial(second));
        for other in ["/", "", "/system.slice/pinwise-agent.service", "/pinwise-/x", "/db"] {
            assert_eq!(of_any_trial(other), other);
        }
    }
}
