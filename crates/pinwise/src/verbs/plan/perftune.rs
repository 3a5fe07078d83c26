//! Advice of perftune.py, which tunes a machine for servers of seastar such as ScyllaDB: what it prints with --dry-run, line by line; its
//! options (perftune.yaml), as far as what they ask for can be worked out without it; or the mask that --get-cpu-mask prints.

mod dry_run;
mod options;
mod translation;
mod yaml;

use machine::plan::{PIN, SERVER};
use machine::tuned_profile::Advice;
use machine::{CpuSet, Root};

use translation::{Translation, mask};

/// What the text advises for the machine that `root` shows.
pub(super) fn advice(root: &Root, text: &str) -> Advice {
    let mut translation = Translation::new(root);
    match compute_cpus(text) {
        Some(cpus) => {
            translation.take(PIN, SERVER, &cpus.to_list(), "--get-cpu-mask: the CPUs of the application")
        }
        None if dry_run::is_one(text) => dry_run::translate(text, &mut translation),
        None => options::translate(&yaml::parse(text), &mut translation),
    }
    translation.end()
}

/// The CPUs, where the text is one mask and no more.
fn compute_cpus(text: &str) -> Option<CpuSet> {
    let text = text.trim();
    let cpus = mask(text).ok().filter(|_| text.starts_with("0x") && !text.contains('\n'))?;
    (!cpus.is_empty()).then_some(cpus)
}

#[cfg(test)]
mod tests;
