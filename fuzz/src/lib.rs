//! Fuzz targets: see docs/fuzzing.md. A package of their own, because under libFuzzer every program that is built for a test
//! must be a target.

#[cfg(test)]
mod case;
#[cfg(test)]
mod edits;
#[cfg(test)]
mod ledger;
#[cfg(test)]
mod machine;
#[cfg(test)]
mod ring;
#[cfg(test)]
mod user_files;
