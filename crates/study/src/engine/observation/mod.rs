//! What was observed of a trial: its measured window, and where and on what its threads spent that time.

pub(super) mod accounting;
pub(super) mod as_run;
pub(super) mod demand;
pub(super) mod misplacement;
pub(super) mod starvation;
pub(super) mod window;
