//! Fuzz targets, in `tests/`: see docs/fuzzing.md. A package of their own, because under libFuzzer every program that is built
//! for a test must be a target.
