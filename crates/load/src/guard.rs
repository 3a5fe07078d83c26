//! Guards: bounds on figures of a server in production, past which a trial ends at once.
//!
//! [`Guarding`] is shown what each slice of a trial saw, and answers with a [`Breach`] as soon as there is one. A trial that is looked at
//! ten times a second has many chances of a false alarm, so that a plain comparison of each slice would end every one of them sooner or
//! later. What is uncertain is therefore judged by a sequential test that holds however often and however long it is looked at
//! (`guard/evidence.rs`); what is certain - an error, where none is allowed - ends the trial in the slice in which it occurs.
//!
//! A guard never compares a rate of requests, which falls whenever the clients have nothing to ask: a lull is no harm.

mod ages;
mod beyond;
mod bound;
mod breach;
mod check;
mod evidence;
mod guarding;
mod judge;
mod seen;
mod sequential;
mod share;
mod student;
mod text;
mod unanswered;

pub use self::ages::Ages;
pub use self::bound::{Guard, Limit, Relation};
pub use self::breach::{Breach, Certainty, SERVER_ENDS};
pub use self::guarding::Guarding;
pub use self::seen::{Reference, Slice};

/// Chance with which a trial ends by a guard although its figures are within all of them, at most.
pub const FALSE_BREACH: f64 = 0.001;
