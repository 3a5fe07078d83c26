//! What is wrong with a running server: where its time went in one window, which limit holds, and who causes it.
//!
//! [`diagnose`] is pure: it takes a [`Situation`] and gives a [`Diagnosis`]. Each rule ([`rules`]) looks at one mechanism and says
//! that it found a cause, that all is well, or that it could not look. The order of judgement is: did the server want a CPU (else it
//! slept: then the load, a lock or a timer is the limit), was it kept from one and by what, and did the CPU work slower than it can.

pub mod cause;
pub mod limit;
pub mod machine_settings;
pub mod machine_wide;
pub mod requests;
pub mod rules;
pub mod scene;
pub mod time;
pub(crate) mod wakers;

use std::collections::BTreeSet;

use machine::Missing;
use probe::Situation;
use probe::account::ChangedCpu;
use probe::futexes::FutexWaits;
use probe::pmu::Work;
use probe::stacks::Profile;
use serde::Serialize;

pub use cause::{Cause, CauseId, Certainty, Figure, Remedy, ShareOf, Subject};
pub use limit::Limit;
use machine_wide::MachineRule;
pub use machine_wide::MachineTime;
pub use requests::ServerRequests;
use rules::Costs;
pub use rules::{Looked, OwnWork, Rule};
pub use scene::Scene;
pub use time::ServerTime;

/// Time that was lost is noticeable from this share of the window on: 100 us a second. Below it a cause is none, though it may be a large share
/// of the little that a nearly idle server did.
const NOTICEABLE: f64 = 1e-4;

/// What was found.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Diagnosis {
    /// Where the server's time went; `None` where none of its threads was seen.
    pub time: Option<ServerTime>,
    /// The server's requests; `None` where they were not seen.
    pub requests: Option<ServerRequests>,
    /// Why a server's requests were not seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_missing: Option<Missing>,
    /// Its work by the counters of its CPUs; `None` where it was not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<Work>,
    /// What it did on CPUs, by function; `None` where that was not looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Where its threads waited for each other; `None` where that was not looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub futexes: Option<FutexWaits>,
    /// What the machine's CPUs did, where no server was named; `None` also where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineTime>,
    /// CPUs that went offline or came online in the window: the machine changed while it was measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed_cpus: Vec<ChangedCpu>,
    /// Which limit holds.
    pub limit: Limit,
    /// Causes, those that cost most first; those whose cost is not known last.
    pub causes: Vec<Cause>,
    /// Cost that is the server's own work.
    pub own_work: Vec<OwnWork>,
    /// What pinwise itself took from the server while it looked, share of the same time; `None` where it is not known.
    pub observer: Option<f64>,
    /// Rules that looked and found nothing, by id.
    pub ruled_out: Vec<&'static str>,
    /// What could not be seen, and why.
    pub missing: Vec<Missing>,
    /// Counters that were not read, and why; most bear on nothing that is judged here.
    pub missing_counters: Vec<Missing>,
}

/// What every rule is: those of servers by field, then those of a whole machine.
pub fn abouts() -> impl Iterator<Item = &'static rules::About> {
    rules::all().map(|rule| rule.about()).chain(of_machines().map(|rule| &rule.about))
}

/// Rules of a whole machine: those of its window, then those of its settings.
fn of_machines() -> impl Iterator<Item = &'static MachineRule> {
    machine_wide::ALL.iter().chain(machine_settings::ALL)
}

/// What the rule of this id is.
pub fn about(rule: &str) -> Option<&'static rules::About> {
    abouts().find(|about| about.id == rule)
}

/// Judges one window: of a server where there is one, else of the machine as a whole.
pub fn judge(situation: &Situation) -> Diagnosis {
    if situation.is_of_a_server() { diagnose(situation) } else { diagnose_machine(situation) }
}

/// Judges one window of a running server.
pub fn diagnose(situation: &Situation) -> Diagnosis {
    let Some(scene) = Scene::of(situation) else {
        let why = "none of its threads was seen in the window: it has ended, or belongs to another user (run as root)";
        let unseen = Looked::CannotTell(Missing::new("time of the server's threads", why));
        let mut diagnosis = gathered(situation, std::iter::once(("", unseen)));
        take_requests(situation, &mut diagnosis);
        return diagnosis;
    };
    let looked = rules::all().map(|rule| (rule.about().id, noticeable(&scene, rule)));
    let mut diagnosis = gathered(situation, looked);
    give_way(&mut diagnosis.causes);
    consequences(&scene, &mut diagnosis.causes);
    cause::rank(&mut diagnosis.causes);
    diagnosis.limit = limit::of(&scene, &diagnosis.causes);
    diagnosis.observer = observer(&scene);
    take_requests(situation, &mut diagnosis);
    diagnosis.work = situation.work;
    diagnosis.profile = situation.profile.clone();
    diagnosis.futexes = situation.futexes.clone();
    diagnosis.time = Some(scene.time);
    diagnosis
}

/// What a rule finds, without what took next to nothing: a server that hardly wants a CPU has large shares of little time.
fn noticeable(scene: &Scene<'_>, rule: &dyn Rule) -> Looked {
    let share_of = rule.about().costs.share_of();
    match rule.examine(scene) {
        Looked::Found(mut causes) if share_of == ShareOf::ActiveTime => {
            let took_ns = |share: f64| share * scene.time.active_ns();
            let least_ns = NOTICEABLE * scene.time.window_ns;
            causes.retain(|cause| cause.share.is_none_or(|share| took_ns(share) >= least_ns));
            Looked::of(causes)
        }
        looked => looked,
    }
}

/// The server's requests, or why they were not seen.
fn take_requests(situation: &Situation, diagnosis: &mut Diagnosis) {
    match ServerRequests::of(situation) {
        Ok(requests) => diagnosis.requests = Some(requests),
        Err(missing) => diagnosis.requests_missing = Some(missing),
    }
}

/// Judges one window of a machine, whoever runs on it.
pub fn diagnose_machine(situation: &Situation) -> Diagnosis {
    let looked = of_machines().map(|rule| (rule.about.id, rule.examine(situation)));
    let mut diagnosis = gathered(situation, looked);
    cause::rank(&mut diagnosis.causes);
    diagnosis.machine = MachineTime::of(situation);
    diagnosis
}

/// What rules, each by its id, found, ruled out and could not see; and what could not be seen at all.
fn gathered(situation: &Situation, looked: impl Iterator<Item = (&'static str, Looked)>) -> Diagnosis {
    let mut diagnosis = Diagnosis {
        changed_cpus: situation.changed_cpus().to_vec(),
        missing_counters: situation.observation.missing.clone(),
        ..Diagnosis::default()
    };
    for (id, looked) in looked {
        match looked {
            Looked::Found(found) => {
                let share_of = about(id).map(|about| about.costs.share_of()).unwrap_or_default();
                diagnosis.causes.extend(found.into_iter().map(|cause| Cause { share_of, ..cause }));
            }
            Looked::Fine => diagnosis.ruled_out.push(id),
            Looked::OwnWork(own) => diagnosis.own_work.push(own),
            Looked::DoesNotApply => {}
            Looked::CannotTell(why) => diagnosis.missing.push(why),
        }
    }
    diagnosis.missing.extend(situation.missing());
    diagnosis
}

/// A lock that is long because who has it is kept from a CPU follows from what keeps it.
fn of_a_cpu(causes: &mut [Cause]) {
    let keeps = |cause: &&Cause| {
        cause.certainty == Certainty::Seen
            && rules::find(&cause.id.rule)
                .is_some_and(|rule| matches!(rule.about().costs, Costs::CpuAccess | Costs::Quota))
    };
    let cost = |cause: &&Cause| cause.share.unwrap_or(0.0);
    let most = causes.iter().filter(keeps).max_by(|a, b| cost(a).total_cmp(&cost(b)));
    let Some(root) = most.map(|cause| cause.id.clone()) else { return };
    for lock in causes.iter_mut().filter(|cause| rules::waits::lock::is_kept_from_a_cpu(cause)) {
        lock.follows_from = Some(root.clone());
    }
}

/// Leaves out what another rule names by its reason.
fn give_way(causes: &mut Vec<Cause>) {
    let found: BTreeSet<String> = causes.iter().map(|cause| cause.id.rule.clone()).collect();
    let is_named = |cause: &Cause| {
        rules::find(&cause.id.rule)
            .is_some_and(|rule| rule.gives_way_to().iter().any(|other| found.contains(*other)))
    };
    causes.retain(|cause| !is_named(cause));
}

/// What pinwise itself took from the server.
fn observer(scene: &Scene<'_>) -> Option<f64> {
    let (own, account) = (scene.situation.observer?, scene.situation.account.as_ref()?);
    let took = account.tasks.iter().filter(|task| task.pid == own && !task.of_target);
    Some(scene.time.share(took.map(|task| task.took.total_ns as f64).sum()))
}

/// Marks causes that go when another one goes: what the disk does because memory is short, or because the server waits for it. Pages that come back
/// without a wait, which are only possible, come from no disk.
fn consequences(scene: &Scene<'_>, causes: &mut [Cause]) {
    of_a_cpu(causes);
    let of_disk = causes.iter().find(|cause| {
        cause.certainty == Certainty::Seen
            && ["swap", "page-cache", "blocked"].contains(&cause.id.rule.as_str())
    });
    let Some(root) = of_disk.map(|cause| cause.id.clone()) else { return };
    for cause in causes {
        let is_disk = match (&*cause.id.rule, &cause.id.subject) {
            ("device-interrupts", Subject::Irq { irq }) => {
                rules::interrupts::device_interrupts::is_disk(scene, *irq)
            }
            ("device-interrupts", Subject::Disk { .. }) => true,
            ("softirqs", Subject::Interrupt { source }) => source == "softirq_block",
            _ => false,
        };
        if is_disk {
            cause.follows_from = Some(root.clone());
        }
    }
}

#[cfg(test)]
pub(crate) mod situation_builder;
#[cfg(test)]
mod tests;
