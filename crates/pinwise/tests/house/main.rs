//! What holds of the source as a whole: modules do not depend on each other in large circles, and what users read is plain English.

#![expect(clippy::unwrap_used, reason = "a source that cannot be read fails the test")]

mod circles;
mod english;
mod modules;
mod paths;
mod source;
