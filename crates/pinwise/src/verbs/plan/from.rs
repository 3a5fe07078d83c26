//! Advice of others as a plan: a profile of tuned, options or a dry run of perftune.py, or a plan file.

use std::path::Path;

use advise::Planning;
use machine::tuned_profile::{self, Advice, Profile};
use machine::{Class, Fault, Plan, Root, untrusted};

use super::perftune;
use crate::notes::note;

/// tuned's own profiles have some 4 kB.
const LONGEST_BYTES: u64 = 64 << 10;

/// A dry run of perftune.py has a line for each interrupt and queue, of some 100 bytes and a mask of all CPUs.
const LONGEST_DRY_RUN_BYTES: u64 = 8 << 20;

/// Advice as a plan; what is not taken over is said on stderr.
///
/// # Errors
/// It cannot be read, is malformed, or says nothing that a knob of pinwise sets.
pub(super) fn of_advice(root: &Root, advice: &str) -> Result<Planning, Fault> {
    if Path::new(advice).extension().is_some_and(|extension| extension == "toml") {
        return Ok(Planning { plan: Plan::read(Path::new(advice))?, left_out: Vec::new() });
    }
    let text = |path: &str, longest_bytes: u64, remedy: &str| {
        let read = untrusted::file::read_text(Path::new(path), longest_bytes);
        read.map_err(|e| Fault::io(path, &e, remedy))
    };
    let of_profile = |profile: Profile| tuned_profile::advice(root, &profile);
    let Advice { plan, not_taken_over } = match advice.split_once(':') {
        Some(("tuned", name)) => tuned_profile::read(root, name).map(of_profile)?,
        Some(("perftune", path)) => {
            let remedy = "name a perftune.yaml that can be read, or what perftune.py --dry-run printed";
            perftune::advice(root, &text(path, LONGEST_DRY_RUN_BYTES, remedy)?)
        }
        _ => {
            let remedy = "name tuned:PROFILE, perftune:FILE, a plan file (FILE.toml), or a tuned.conf that can be read";
            let text = text(advice, LONGEST_BYTES, remedy)?;
            tuned_profile::of_text(root, advice, &text).map(of_profile)?
        }
    };
    not_taken_over.iter().for_each(|what| note!("pinwise: not taken over: {what}"));
    match plan.settings.is_empty() {
        true => Err(Fault::new(
            Class::No,
            advice,
            "it has no setting that pinwise has a knob for",
            "'pinwise list knobs' shows the knobs",
        )),
        false => Ok(Planning { plan, left_out: not_taken_over }),
    }
}

#[cfg(test)]
mod tests {
    use machine::Tree;

    use super::*;

    #[test]
    fn profiles_and_files_become_plans() {
        let folder = tempfile::tempdir().unwrap();
        let [plan, profile] =
            ["plan.toml", "tuned.conf"].map(|name| folder.path().join(name).display().to_string());
        std::fs::write(&plan, "[[setting]]\nknob = \"swappiness\"\nvalue = \"1\"\n").unwrap();
        std::fs::write(&profile, "[main]\ninclude=base\n[sysctl]\nvm.dirty_ratio=10\n").unwrap();
        let base = "[sysctl]\nvm.swappiness=10\nkernel.hostname=x\n";
        let root = Root::from_tree(Tree::new().file("/usr/lib/tuned/base/tuned.conf", base));
        let values = |advice: &str| -> Vec<String> {
            let settings = of_advice(&root, advice).unwrap().plan.settings;
            settings.into_iter().map(|planned| format!("{}={}", planned.knob, planned.value)).collect()
        };
        assert_eq!(values(&plan), ["swappiness=1"]);
        assert_eq!(values("tuned:base"), ["swappiness=10"]);
        assert_eq!(values(&profile), ["swappiness=10", "dirty-ratio=10"]);
        assert_eq!(of_advice(&root, "tuned:base").unwrap().left_out.len(), 1);
    }

    #[test]
    fn what_cannot_be_a_plan_is_refused_with_a_remedy() {
        let root =
            Root::from_tree(Tree::new().file("/usr/lib/tuned/odd/tuned.conf", "[disk]\nreadahead=1\n"));
        for advice in
            ["tuned:none", "tuned:odd", "tuned:../x", "perftune:x.yaml", "/nowhere/tuned.conf", "", "x.toml"]
        {
            let fault = of_advice(&root, advice).unwrap_err();
            assert!(!fault.remedy.is_empty(), "{advice}: {fault}");
        }
    }
}
