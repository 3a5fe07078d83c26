//! What a study of a running server under its own traffic knows beside its figures: what guards ended, what they are compared with, and
//! what the traffic did meanwhile. Pure, from the trials on disk, so that a study that was killed goes on as it would have gone on.

pub mod harm;
pub mod jumps;
pub mod reference;
