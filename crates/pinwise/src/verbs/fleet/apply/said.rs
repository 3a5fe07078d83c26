//! What verbs say on the hosts. It is text from outside: of what makes no sense nothing is taken.

use advise::fleet::rollout::Put;
use machine::Fault;
use serde::Deserialize;

/// Exit codes from here on are those of a verb that a signal ended.
const ENDED_BY_SIGNAL: i32 = 128;

/// What `pinwise apply --format json` prints, as far as it counts here.
#[derive(Debug, Deserialize)]
struct SaidOfApply {
    session: String,
    acts_in_force: usize,
}

/// What `pinwise status --format json` prints, likewise.
#[derive(Debug, Deserialize)]
struct SaidOfStatus {
    sessions: Vec<SessionThere>,
}

/// A session on a host's ledger.
#[derive(Debug, Deserialize)]
pub(super) struct SessionThere {
    session: String,
    purpose: String,
}

/// What `pinwise verify --format json` prints, likewise.
#[derive(Debug, Deserialize)]
struct SaidOfVerify {
    contrast: Option<SaidOfContrast>,
}

#[derive(Debug, Deserialize)]
struct SaidOfContrast {
    ratio: f64,
}

/// What an apply has come to by its exit code and what it printed; `failed` says that it failed.
pub(super) fn put(exit_code: i32, stdout: &str, failed: impl FnOnce() -> Fault) -> (Put, Option<String>) {
    let said: Option<SaidOfApply> = serde_json::from_str(stdout).ok();
    match (exit_code, said) {
        (0, Some(said)) if said.acts_in_force == 0 => (Put::Already, None),
        (0, said) => (Put::InForce, said.map(|said| said.session)),
        (_, Some(said)) if said.acts_in_force == 0 => (Put::Refused(failed()), None),
        (_, Some(said)) => (Put::Unknown(failed()), Some(said.session)),
        // It prints what it has done before it ends by itself.
        (1..ENDED_BY_SIGNAL, None) if stdout.is_empty() => (Put::Refused(failed()), None),
        (_, None) => (Put::Unknown(failed()), None),
    }
}

/// The sessions of a host; `None` of what is no status.
pub(super) fn sessions(stdout: &str) -> Option<Vec<SessionThere>> {
    serde_json::from_str(stdout).ok().map(|status: SaidOfStatus| status.sessions)
}

/// The session of this run among those on a host: by its id where that is known, and by the name of its plan.
pub(super) fn of_this_run(sessions: Vec<SessionThere>, id: Option<&str>, plan: &str) -> Option<String> {
    let is_it = |one: &SessionThere| id == Some(one.session.as_str()) || one.purpose.contains(plan);
    sessions.into_iter().find(is_it).map(|one| one.session)
}

/// That a verification does not hold, with what came out.
pub(super) fn not_better(failed: Fault, stdout: &str) -> Fault {
    let said: Option<SaidOfVerify> = serde_json::from_str(stdout).ok();
    let cause = match said.map(|said| said.contrast) {
        None => return failed,
        Some(None) => "the plan is not shown to be better: too few of its trials can be compared".to_string(),
        Some(Some(contrast)) => {
            format!(
                "the plan is not shown to be better: the figure is {:.3} times the one before",
                contrast.ratio
            )
        }
    };
    Fault { cause, remedy: "study it there ('pinwise fleet study')".into(), ..failed }
}

#[cfg(test)]
mod tests {
    use machine::Class;

    use super::*;

    fn failed() -> Fault {
        Fault::new(Class::WorkloadFailed, "host b: pinwise apply", "ended with exit code 5", "")
    }

    fn said(acts: usize) -> String {
        format!("{{\"session\": \"7-1\", \"acts_in_force\": {acts}, \"settings\": []}}")
    }

    #[test]
    fn what_an_apply_says_decides_whether_something_may_be_in_force() {
        let session = || Some("7-1".to_string());
        assert_eq!(put(0, &said(2), failed), (Put::InForce, session()));
        assert_eq!(put(0, &said(0), failed), (Put::Already, None));
        assert_eq!(put(5, &said(0), failed), (Put::Refused(failed()), None), "it has taken all back");
        assert_eq!(put(5, &said(1), failed), (Put::Unknown(failed()), session()), "some could not be");
        assert_eq!(put(1, "", failed), (Put::Refused(failed()), None), "refused before it began");
        assert_eq!(put(137, "", failed), (Put::Unknown(failed()), None), "killed");
        assert_eq!(put(0, "{\"session\"", failed), (Put::InForce, None), "cut off");
        assert_eq!(put(5, "{\"session\"", failed), (Put::Unknown(failed()), None));
    }

    #[test]
    fn a_session_is_found_by_its_id_or_by_the_plan_of_this_run() {
        let of = |id: Option<&str>, plan: &str| {
            let status = "{\"sessions\": [{\"session\": \"7-1\", \"purpose\": \"apply other.toml\"}, \
                          {\"session\": \"8-1\", \"purpose\": \"apply fleet-8-9.toml: a quiet CPU\"}]}";
            of_this_run(sessions(status).unwrap(), id, plan)
        };
        assert_eq!(of(Some("7-1"), "fleet-1-1.toml").as_deref(), Some("7-1"));
        assert_eq!(of(None, "fleet-8-9.toml").as_deref(), Some("8-1"));
        assert_eq!(of(None, "fleet-1-1.toml"), None);
        assert!(sessions("no JSON").is_none());
    }

    #[test]
    fn a_verification_that_does_not_hold_says_what_came_out() {
        let worse = not_better(failed(), "{\"holds\": false, \"contrast\": {\"ratio\": 0.97}}");
        assert!(worse.cause.contains("0.970 times"), "{worse}");
        assert!(not_better(failed(), "{\"contrast\": null}").cause.contains("too few"));
        assert_eq!(not_better(failed(), "no JSON"), failed());
    }
}
