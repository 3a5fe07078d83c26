//! The JSON Schemas (draft 2020-12) of what `--format json` prints: the files below docs/schema, as they stand there.
//!
//! They are kept by hand. crates/pinwise/tests/schemas.rs holds them against what the program prints: each key of a document has to
//! be described.

use machine::{Class, Fault};
use serde::Deserialize;

/// A kind of document.
#[derive(Debug)]
pub(super) struct Printed {
    /// The name of its file below docs/schema, without the extension.
    pub(super) id: &'static str,
    /// What prints it with `--format json`, without the name of the program.
    pub(super) commands: &'static [&'static str],
    /// The schema.
    pub(super) text: &'static str,
}

/// What a schema says of the document as a whole.
#[derive(Debug, Deserialize)]
pub(super) struct Head {
    /// What it is, in a few words.
    pub(super) title: String,
    /// The command that prints it, and what the reader has to know.
    pub(super) description: String,
}

impl Printed {
    /// What it says of the document as a whole.
    ///
    /// # Errors
    /// It is no schema: a bug.
    pub(super) fn head(&self) -> Result<Head, Fault> {
        serde_json::from_str(self.text).map_err(|why| {
            let object = format!("docs/schema/{}.json", self.id);
            Fault::new(Class::Storage, object, why, machine::IS_A_BUG)
        })
    }
}

macro_rules! printed {
    ($($id:literal: [$($command:literal),+],)+) => {
        &[$(Printed {
            id: $id,
            commands: &[$($command),+],
            text: include_str!(concat!("../../../../../docs/schema/", $id, ".json")),
        }),+]
    };
}

/// All of them.
pub(super) static ALL: &[Printed] = printed! {
    "map": ["map"],
    "map/diff": ["map --diff"],
    "map/process": ["map --process"],
    "map/watch": ["map --watch"],
    "map/irqs": ["map --irqs"],
    "map/kernel": ["map --kernel"],
    "map/power": ["map --power"],
    "map/device": ["map --device"],
    "watch": ["watch"],
    "watch/counters": ["watch"],
    "diagnose": ["diagnose"],
    "noise": ["noise"],
    "noise/distances": ["noise --cores", "noise --memory"],
    "study": ["study", "resume", "report", "explain"],
    "study/waits": ["study", "resume"],
    "study/slurm": ["study --slurm"],
    "explain/arm": ["explain --arm"],
    "compare": ["compare"],
    "plan": ["plan"],
    "apply": ["apply"],
    "apply/dry-run": ["apply --dry-run"],
    "confirm": ["confirm"],
    "verify": ["verify"],
    "status": ["status"],
    "undo": ["undo"],
    "rehearse": ["rehearse --"],
    "rehearse/plan": ["rehearse"],
    "fleet/map": ["fleet map"],
    "fleet/study": ["fleet study"],
    "fleet/apply": ["fleet apply"],
    "fleet/apply-dry-run": ["fleet apply --dry-run"],
    "list": ["list"],
    "ticks": ["ticks"],
};

/// The one of this id, else the first that the command prints.
pub(super) fn find(name: &str) -> Option<&'static Printed> {
    let by_id = ALL.iter().find(|printed| printed.id == name);
    by_id.or_else(|| ALL.iter().find(|printed| printed.commands.contains(&name)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    /// The commands at and below one that have a form for programs, by their words.
    fn with_json(command: &clap::Command, above: &str, found: &mut BTreeSet<String>) {
        let words = format!("{above} {}", command.get_name());
        let has_json = command
            .get_arguments()
            .filter(|flag| flag.get_id() == "format")
            .any(|flag| flag.get_possible_values().iter().any(|form| form.get_name() == "json"));
        if has_json {
            found.insert(words.trim().to_string());
        }
        command.get_subcommands().for_each(|below| with_json(below, &words, found));
    }

    fn files(folder: &Path, above: &str, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{above}{}", path.file_stem().unwrap().to_string_lossy());
            match path.is_dir() {
                true => files(&path, &format!("{name}/"), found),
                false => assert!(found.insert(name)),
            }
        }
    }

    #[test]
    fn every_command_with_a_form_for_programs_has_a_schema_and_no_other_has() {
        let mut cli = Cli::command();
        cli.build();
        let mut commands = BTreeSet::new();
        cli.get_subcommands().for_each(|verb| with_json(verb, "", &mut commands));
        assert!(commands.contains("map") && commands.contains("fleet apply"), "{commands:?}");
        let described = ALL.iter().flat_map(|printed| printed.commands);
        let described = described.map(|command| command.split(" --").next().unwrap_or_default().to_string());
        assert_eq!(described.collect::<BTreeSet<_>>(), commands);
    }

    #[test]
    fn every_file_of_the_folder_is_listed_once_and_has_a_head() {
        let mut there = BTreeSet::new();
        files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema"), "", &mut there);
        let listed: BTreeSet<String> = ALL.iter().map(|printed| printed.id.to_string()).collect();
        assert_eq!((&listed, ALL.len()), (&there, there.len()));
        for printed in ALL {
            let head = printed.head().unwrap();
            assert!(!head.title.is_empty() && !head.description.is_empty(), "{}", printed.id);
        }
    }

    #[test]
    fn a_schema_is_found_by_its_id_and_by_the_command() {
        for (name, id) in
            [("map", "map"), ("report", "study"), ("fleet map", "fleet/map"), ("map --diff", "map/diff")]
        {
            assert_eq!(find(name).map(|printed| printed.id), Some(id), "{name}");
        }
        assert!(find("").is_none() && find("capture").is_none());
    }
}
