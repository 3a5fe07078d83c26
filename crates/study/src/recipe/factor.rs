//! Factors: what a study varies. Each kind has a file of its own, with its options, its name and its levels on a machine. To add one: its
//! file here, its variant, and its line in `kind`.

use machine::{Class, CpuSet, Fault, Machine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::all_alike::AllAlike;
pub use self::boot::{Boot, BootLevel};
pub use self::cores::Cores;
pub use self::each_cpu::EachCpu;
pub use self::fill::Fill;
pub use self::key::Key;
use self::kind::FactorKind;
pub use self::knob::Knob;
pub use self::memory::Memory;
pub use self::nodes::Nodes;
pub use self::places::Places;
use crate::levels::Level;

mod all_alike;
mod boot;
mod cores;
mod each_cpu;
mod fill;
mod key;
mod kind;
mod knob;
mod memory;
mod nodes;
mod places;

/// What is varied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Factor {
    /// The server on each of these CPUs in turn; none named: every CPU that pinwise may use.
    EachCpu(EachCpu),
    /// All arms alike: shows what the study says when there is nothing to say.
    AllAlike(AllAlike),
    /// Places by name: CPUs of server and load as a pair, memory, knobs and keys together.
    Places(Places),
    /// The server on so many NUMA nodes: every choice of them.
    Nodes(Nodes),
    /// The server on so many CPUs, for a scaling curve.
    Cores(Cores),
    /// Where the server's memory comes from, in the form of numactl(8).
    Memory(Memory),
    /// A knob at these values (`pinwise list knobs`).
    Knob(Knob),
    /// Words on the kernel's command line: trials of a level run under kernels that were booted with its words, each boot of them a unit
    /// of its own (docs/boot.md).
    Boot(Boot),
    /// A key of the recipe at these values: arguments and environment of server and load, their number of connections, ...
    Key(Key),
}

impl Factor {
    fn kind(&self) -> &dyn FactorKind {
        match self {
            Factor::EachCpu(kind) => kind,
            Factor::AllAlike(kind) => kind,
            Factor::Places(kind) => kind,
            Factor::Nodes(kind) => kind,
            Factor::Cores(kind) => kind,
            Factor::Memory(kind) => kind,
            Factor::Knob(kind) => kind,
            Factor::Boot(kind) => kind,
            Factor::Key(kind) => kind,
        }
    }

    /// How many levels it names, or objects of them; 0 where the machine says them.
    pub(super) fn named_levels(&self) -> usize {
        self.kind().named_levels()
    }

    /// Name in tables.
    pub fn name(&self) -> String {
        self.kind().name()
    }

    /// Its levels on a machine. `load` is what the recipe's baseline gives the load, which a server that grows keeps off.
    ///
    /// # Errors
    /// A level that this machine cannot have, two that are one, or none at all.
    pub(crate) fn levels(&self, machine: &Machine, load: Option<&CpuSet>) -> Result<Vec<Level>, Fault> {
        let levels = self.kind().levels(machine, load)?;
        self.check_names(&levels)?;
        self.kind().check_levels(&levels)?;
        Ok(levels)
    }

    fn check_names(&self, levels: &[Level]) -> Result<(), Fault> {
        let object = || format!("factor {}", self.name());
        if levels.is_empty() {
            return Err(Fault::new(Class::Usage, object(), "it has no level", "name at least one"));
        }
        for (i, level) in levels.iter().enumerate() {
            if levels[..i].iter().any(|earlier| earlier.name == level.name) {
                let cause = format!("two levels are called '{}'", level.name);
                return Err(Fault::new(Class::Usage, object(), cause, "give each its own name"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// One of each kind: its options, its name in tables, and how many levels it names.
    const EACH: [(&str, &str, &str, usize); 9] = [
        ("each-cpu", "cpus = '0-1'", "cpu", 0),
        ("all-alike", "copies = 2", "copy", 2),
        ("places", "levels = [{ server = '0' }]", "place", 1),
        ("nodes", "sizes = [1, 2]", "nodes", 2),
        ("cores", "counts = [1, 2]\nfill = ['cores-first', 'spread']", "cores", 4),
        ("memory", "policies = ['local']", "memory", 1),
        ("knob", "knob = 'rps-cpus'\ntarget = 'eth0/rx-0'\nvalues = ['0', '3']", "rps-cpus of eth0/rx-0", 2),
        ("boot", "levels = [{ words = '' }, { words = 'nosmt' }]", "boot", 2),
        ("key", "key = 'load.connections'\nvalues = [1, 2, 4]", "load.connections", 3),
    ];

    fn kinds() -> BTreeSet<String> {
        EACH.iter().map(|(kind, ..)| kind.to_string()).collect()
    }

    #[test]
    fn every_kind_has_a_name_of_its_own_and_is_written_as_it_is_read() {
        let mut names = BTreeSet::new();
        for (kind, options, name, named_levels) in EACH {
            let factor: Factor = toml::from_str(&format!("kind = '{kind}'\n{options}")).unwrap();
            assert_eq!((factor.name().as_str(), factor.named_levels()), (name, named_levels), "{kind}");
            assert!(names.insert(name), "{kind}: {name}");
            let written = toml::to_string(&factor).unwrap();
            assert!(written.starts_with(&format!("kind = \"{kind}\"\n")), "{written}");
            assert_eq!(toml::from_str::<Factor>(&written).unwrap(), factor);
            let unknown = format!("kind = '{kind}'\n{options}\nx = 1");
            assert!(toml::from_str::<Factor>(&unknown).is_err(), "{kind}");
        }
    }

    #[test]
    fn the_folder_the_list_the_schema_and_the_page_have_the_same_kinds() {
        let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = std::fs::read_dir(crate_folder.join("src/recipe/factor")).unwrap();
        let stem = |path: &Path| path.file_stem().unwrap().to_str().unwrap().replace('_', "-");
        let mut files: BTreeSet<String> = folder.map(|entry| stem(&entry.unwrap().path())).collect();
        // The trait, and the order in which CPUs are taken.
        for file in ["kind", "fill"] {
            assert!(files.remove(file), "{file}");
        }
        assert_eq!(files, kinds());
        let schema = crate::recipe::schema();
        let listed = schema["definitions"]["Factor"]["oneOf"].as_array().unwrap();
        let kind = |of: &serde_json::Value| of["properties"]["kind"]["const"].as_str().unwrap().to_string();
        assert_eq!(listed.iter().map(kind).collect::<BTreeSet<_>>(), kinds());
        let page = std::fs::read_to_string(crate_folder.join("../../docs/study.md")).unwrap();
        for kind in kinds() {
            assert!(page.contains(&format!("\n| `{kind}` | ")), "docs/study.md has no line for {kind}");
        }
    }
}
