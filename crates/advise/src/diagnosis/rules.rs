//! Rules of the diagnosis, one a file: each looks at one mechanism.

pub mod cpu;
mod interrupt_lines;
pub mod interrupts;
mod last_level_caches;
pub mod machine;
pub mod memory;
mod rule;
mod sleep_share;
pub mod waits;

pub use rule::{About, Costs, Looked, OwnWork, Rule};

/// Every rule, by field.
pub static ALL: &[&[&dyn Rule]] = &[cpu::ALL, interrupts::ALL, memory::ALL, waits::ALL, machine::ALL];

/// Every rule.
pub fn all() -> impl Iterator<Item = &'static dyn Rule> {
    ALL.iter().flat_map(|field| field.iter().copied())
}

/// The rule of an id.
pub fn find(id: &str) -> Option<&'static dyn Rule> {
    all().find(|rule| rule.about().id == id)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_are_unique_and_every_rule_says_what_it_is() {
        let ids: BTreeSet<&str> = all().map(|rule| rule.about().id).collect();
        assert_eq!(ids.len(), all().count());
        for rule in all() {
            let about = rule.about();
            assert!(!about.title.is_empty() && about.docs.len() > 120, "{about:?}");
            assert!(about.id.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{}", about.id);
        }
    }

    #[test]
    fn rules_give_way_to_rules_that_there_are_and_that_do_not_give_way_to_them() {
        for rule in all() {
            for other in rule.gives_way_to() {
                let other = find(other).unwrap_or_else(|| panic!("{} gives way to nobody", rule.about().id));
                assert!(!other.gives_way_to().contains(&rule.about().id), "{}", rule.about().id);
            }
        }
    }

    #[test]
    fn the_folders_equal_the_lists() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/diagnosis/rules");
        let mut files: BTreeSet<String> = BTreeSet::new();
        for field in std::fs::read_dir(folder).unwrap() {
            for file in std::fs::read_dir(field.unwrap().path()).into_iter().flatten() {
                let name = file.unwrap().file_name().into_string().unwrap();
                files.extend(name.strip_suffix(".rs").filter(|name| *name != "mod").map(str::to_string));
            }
        }
        let listed: BTreeSet<String> = all().map(|rule| rule.about().id.replace('-', "_")).collect();
        assert_eq!(files, listed);
    }
}
