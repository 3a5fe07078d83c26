//! How large a case may be that is read for others: for the live page, beside other cases, and for an assistant.

use std::path::Path;

use machine::{Class, Fault};

/// Files that are read whole, by verbs and for a list of cases; each is in the folder of the case itself. What is below it is read one by one,
/// and anything else in it, as a report, is not read.
pub(crate) const FILES: [&str; 11] = [
    "study.toml",
    "trials.jsonl",
    "search.jsonl",
    "added.jsonl",
    "observed.jsonl",
    "boots.jsonl",
    "machine.json",
    "as_found.json",
    "calibration.json",
    "screening.json",
    "proofs.json",
];

/// The most that these files may have together, bytes. A trial takes some 10 KiB.
const MOST_BYTES: u64 = 256 << 20;

/// Whether a case can be read into the memory of a process beside others, by the lengths of its files.
///
/// # Errors
/// It has too much.
pub(crate) fn fits(case: &Path) -> Result<(), Fault> {
    // As they are read: a link is followed, and what is no file has no length.
    let found = FILES.iter().filter_map(|name| case.join(name).metadata().ok());
    let files = found.filter(|about| about.is_file());
    if files.fold(0_u64, |all, about| all.saturating_add(about.len())) <= MOST_BYTES {
        return Ok(());
    }
    let cause = format!("its files have more than {} MiB together", MOST_BYTES >> 20);
    Err(Fault::new(Class::Storage, case.display(), cause, "read it in a shell: pinwise report"))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn files_that_are_read_count_together_and_others_do_not() {
        let case = tempfile::tempdir().unwrap();
        let make = |name: &str, bytes: u64| {
            File::create(case.path().join(name)).and_then(|file| file.set_len(bytes)).unwrap();
        };
        fits(case.path()).unwrap();
        make("report.html", 1 << 40);
        make("evidence.json", 1 << 40);
        std::fs::create_dir(case.path().join("proofs.json")).unwrap();
        make("trials.jsonl", MOST_BYTES - 10);
        make("as_found.json", 10);
        fits(case.path()).unwrap();
        make("screening.json", 1);
        let fault = fits(case.path()).unwrap_err();
        assert!(fault.class == Class::Storage && fault.cause.contains("256 MiB"), "{fault}");
    }
}
