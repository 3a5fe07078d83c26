//! Guests in the shape of machines that this one is not.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on must fail")]
mod boot_parameters;
mod guest;
mod tick;
