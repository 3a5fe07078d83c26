//! The part of the live page that changes the machine: a plan is made of a case and shown, applied with a deadline, confirmed, undone.
//!
//! Each step is the verb of its name in a process of its own, so that it does what it does at a shell, and its ledger and its revert do not
//! need this server. That changes are allowed, and that the request is one of our own page, has been checked before it gets here.

mod kept_plans;
mod named_processes;
mod note_queue;
mod outcome;
mod plan_file;
mod sent;
mod steps;

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use machine::wording::counted;
use serde_json::Value;
use tokio::sync::Semaphore;

use super::answers::{Answered, Refusal};
use super::state::Served;
use crate::notes;
use kept_plans::KeptPlans;
use note_queue::NoteQueue;
use sent::{CaseToPlan, Nothing, PlanToApply, Sent, ToConfirm};

/// What a second request finds.
const UNDER_WAY: &str = "a plan is being made, or a change is in progress";

/// How long the end of the server waits for notes to be written.
const LAST_NOTES: Duration = Duration::from_secs(1);

/// The plans that have been shown, and the change that is under way.
pub(super) struct Changes {
    plans: KeptPlans,
    /// One step at a time: what a plan was shown to do would not hold beside another.
    one: Arc<Semaphore>,
    /// What is reported of changes on stderr.
    notes: NoteQueue,
}

impl Default for Changes {
    fn default() -> Self {
        let (plans, one) = (KeptPlans::default(), Arc::new(Semaphore::new(1)));
        Self { plans, one, notes: NoteQueue::new(notes::say) }
    }
}

impl Changes {
    /// Takes one step in a task of its own: a reader that goes away does not cut it short.
    ///
    /// # Errors
    /// Those of the step; another one is under way.
    async fn alone(&self, step: impl Future<Output = Result<Value, Refusal>> + Send + 'static) -> Answered {
        let permit = Arc::clone(&self.one).try_acquire_owned().map_err(|_| Refusal::Busy(UNDER_WAY))?;
        let task = tokio::spawn(async move {
            let answer = step.await;
            drop(permit);
            answer
        });
        match task.await {
            Ok(answer) => answer.map(Json),
            Err(_) => Err(steps::cut_short().into()),
        }
    }

    /// Removes what servers that were killed have left behind, and says so.
    pub(super) fn sweep(&self) {
        let count = plan_file::sweep();
        if count > 0 {
            let files = counted(count, "file");
            self.notes.say(format!("pinwise: removed {files} of plans, left by servers that were killed"));
        }
    }

    /// Waits for the step that is under way; from here on none is begun. For whoever ends the server.
    pub(super) async fn settle(&self) {
        if let Ok(permit) = self.one.acquire().await {
            permit.forget();
        }
        self.notes.settle(LAST_NOTES).await;
    }
}

/// The routes below `/api/changes`, all of them POST.
pub(super) fn routes() -> Router<Served> {
    Router::new()
        .route("/plan", post(plan))
        .route("/apply", post(apply))
        .route("/confirm", post(confirm))
        .route("/undo", post(undo))
}

async fn plan(State(served): State<Served>, Sent(asked): Sent<CaseToPlan>) -> Answered {
    let by = served.clone();
    let step = async move {
        let (plan, answer) = steps::plan(&by.dir, asked).await?;
        by.changes.plans.keep(plan, Instant::now());
        Ok::<Value, Refusal>(answer)
    };
    served.changes.alone(step).await
}

async fn apply(State(served): State<Served>, Sent(asked): Sent<PlanToApply>) -> Answered {
    let changes = &served.changes;
    let plan = changes.plans.find(&asked.plan_id, Instant::now())?;
    changes.alone(steps::apply(plan, asked.confirm_within_s, changes.notes.clone())).await
}

async fn confirm(State(served): State<Served>, Sent(asked): Sent<ToConfirm>) -> Answered {
    let changes = &served.changes;
    changes.alone(steps::confirm(asked.session, changes.notes.clone())).await
}

async fn undo(State(served): State<Served>, Sent(Nothing {}): Sent<Nothing>) -> Answered {
    let changes = &served.changes;
    changes.alone(steps::undo(changes.notes.clone())).await
}

#[cfg(test)]
mod tests {
    use machine::Class;
    use serde_json::json;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn a_second_step_is_refused_while_the_first_is_under_way() {
        let changes = Changes::default();
        let (end, ended) = oneshot::channel();
        let first = changes.alone(async move { Ok(json!(ended.await.unwrap())) });
        let second = async {
            let refused = changes.alone(async { Ok(Value::Null) }).await;
            end.send("first").unwrap();
            refused
        };
        let (first, second) = tokio::join!(first, second);
        assert_eq!(first.unwrap().0, "first");
        assert!(matches!(second, Err(Refusal::Busy(UNDER_WAY))));
        assert!(changes.alone(async { Ok(Value::Null) }).await.is_ok(), "the first has made room");
    }

    #[tokio::test]
    async fn a_step_whose_reader_went_away_comes_to_its_end_and_is_waited_for() {
        let changes = Changes::default();
        let (end, ended) = oneshot::channel::<()>();
        let (done, is_done) = oneshot::channel();
        let step = changes.alone(async move {
            let _ = ended.await;
            done.send(()).unwrap();
            Ok(Value::Null)
        });
        tokio::select! {
            biased;
            _ = step => unreachable!("nobody has ended it"),
            () = tokio::task::yield_now() => {}
        }
        end.send(()).unwrap();
        changes.settle().await;
        is_done.await.unwrap();
        assert!(matches!(changes.alone(async { Ok(Value::Null) }).await, Err(Refusal::Busy(_))));
    }

    #[tokio::test]
    async fn a_step_that_fails_leaves_room_for_the_next() {
        let changes = Changes::default();
        let failed = changes.alone(async { Err(steps::cut_short().into()) }).await;
        assert!(matches!(failed, Err(Refusal::Fault(fault)) if fault.class == Class::Interrupted));
        assert!(changes.alone(async { Ok(Value::Null) }).await.is_ok());
    }
}
