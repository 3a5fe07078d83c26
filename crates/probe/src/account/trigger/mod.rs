//! Conditions on the account of an interval, and which part of a recording is kept when one holds.
//!
//! A [`Trigger`] compares a [`Figure`] with a [`Value`]; [`Trigger::met`] looks at an interval. An [`Engine`] decides what is kept: it
//! knows only when intervals ended and whether a condition held in them.

mod condition;
mod engine;
mod figure;
mod seen;
mod value;

pub use condition::{Comparison, Trigger, When};
pub use engine::{Action, Engine, Pace, Stretch};
pub use figure::{Figure, Wait};
pub use seen::Seen;
pub use value::{Unit, Value};
