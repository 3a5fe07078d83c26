//! Fuzz targets: see docs/fuzzing.md. A package of their own, because under libFuzzer every program that is built for a test
//! must be a target.

#[cfg(test)]
mod machine;
