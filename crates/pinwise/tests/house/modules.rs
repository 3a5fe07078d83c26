//! The modules of a crate, and which of them depend on which.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path as File;

use proc_macro2::TokenTree;

use super::paths::{Path, Paths};
use super::source::tokens;

/// A module by its words: empty for the root.
pub type Module = Vec<String>;

/// A module that has a file of its own.
pub struct ModuleFile<'a> {
    pub module: Module,
    pub file: &'a File,
    pub tokens: &'a [TokenTree],
    pub paths: Paths,
}

/// Calls `each` with the modules of a crate but for those of tests.
pub fn walk(folder: &File, each: &mut impl FnMut(ModuleFile<'_>)) {
    let root = ["lib.rs", "main.rs"].into_iter().map(|name| folder.join(name)).find(|file| file.is_file());
    walk_from(&root.unwrap(), folder, Vec::new(), each);
}

fn walk_from(file: &File, children_in: &File, module: Module, each: &mut impl FnMut(ModuleFile<'_>)) {
    let tokens = tokens(file);
    let paths = Paths::of(&tokens);
    for name in &paths.declared {
        let child: Module = module.iter().cloned().chain([name.clone()]).collect();
        let folder = children_in.join(name);
        let files = [children_in.join(format!("{name}.rs")), folder.join("mod.rs")];
        let file = files.into_iter().find(|file| file.is_file());
        walk_from(&file.unwrap_or_else(|| panic!("no file of {child:?}")), &folder, child, each);
    }
    each(ModuleFile { module, file, tokens: &tokens, paths });
}

/// The modules of one crate that have files of their own.
pub struct Modules(BTreeMap<Module, Paths>);

impl Modules {
    /// Of the crate with its sources in this folder.
    pub fn of(folder: &File) -> Self {
        let mut modules = BTreeMap::new();
        walk(folder, &mut |of| drop(modules.insert(of.module, of.paths)));
        Self(modules)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// What each depends on: where what it names is defined, through what is named on.
    pub fn dependencies(&self) -> BTreeMap<Module, BTreeSet<Module>> {
        self.0.iter().map(|(module, paths)| (module.clone(), self.of_module(module, paths))).collect()
    }

    fn of_module(&self, module: &Module, paths: &Paths) -> BTreeSet<Module> {
        let imported = paths.imports.iter().map(|(path, _)| path);
        let named = imported.chain(&paths.elsewhere).filter_map(|path| self.absolute(module, path));
        named.map(|path| self.defined_in(&path, 0)).filter(|other| other != module).collect()
    }

    /// The path from the root; `None` of what another crate, or the file itself, defines.
    fn absolute(&self, module: &Module, path: &Path) -> Option<Path> {
        let ups = path.iter().take_while(|word| *word == "super").count();
        let base: &[String] = match path.first()?.as_str() {
            "crate" => return Some(path[1..].to_vec()),
            "self" => return Some([&module[..], &path[1..]].concat()),
            "super" => &module[..module.len().checked_sub(ups)?],
            first => {
                let child: Module = module.iter().cloned().chain([first.to_string()]).collect();
                return self.0.contains_key(&child).then(|| [&module[..], path].concat());
            }
        };
        Some([base, &path[ups..]].concat())
    }

    /// The module that defines it: the last one of the path, or the one from which that imports the name.
    fn defined_in(&self, path: &[String], depth: usize) -> Module {
        let is_module = |end: &usize| self.0.contains_key(&path[..*end]);
        let end = (0..=path.len()).rev().find(is_module).unwrap_or(0);
        let (module, rest) = (path[..end].to_vec(), &path[end..]);
        let Some(name) = rest.first().filter(|_| depth < 8) else { return module };
        let named_on = |(from, as_name): &(Path, String)| {
            let from = (as_name == name).then(|| self.absolute(&module, from))??;
            (from != path).then(|| self.defined_in(&[&from[..], &rest[1..]].concat(), depth + 1))
        };
        let found = self.0[&module].imports.iter().find_map(named_on);
        found.unwrap_or(module)
    }
}
