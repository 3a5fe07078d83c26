//! Modules that depend on each other in a circle have to be understood, and changed, together.

use std::collections::{BTreeMap, BTreeSet};

use super::modules::{Module, Modules};
use super::source::crates;

/// The most modules that may depend on each other in a circle.
const MOST: usize = 4;

#[test]
fn no_circle_of_modules_has_more_than_four() {
    let mut large = Vec::new();
    for (name, folder) in crates() {
        let modules = Modules::of(&folder);
        assert!(modules.len() > 5, "{name} has hardly any modules: {}", modules.len());
        for circle in circles(&modules.dependencies()) {
            if circle.len() > MOST {
                let names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
                large.push(format!("{name}: {} modules: {}", circle.len(), names.join(", ")));
            }
        }
    }
    assert!(large.is_empty(), "move what ties them back into a module below both:\n{}", large.join("\n"));
}

/// The circles: each module that can be reached from itself, with those that it shares that with.
fn circles(dependencies: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<BTreeSet<Module>> {
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        dependencies.keys().map(|module| (module, reached(module, dependencies))).collect();
    let mut circles = BTreeSet::new();
    for (module, all) in &reached {
        let circle: BTreeSet<Module> = all
            .iter()
            .filter(|other| reached[**other].contains(*module))
            .map(|other| (*other).clone())
            .collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

fn reached<'a>(
    from: &'a Module,
    dependencies: &'a BTreeMap<Module, BTreeSet<Module>>,
) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&Module> = vec![from];
    while let Some(module) = next.pop() {
        for other in &dependencies[module] {
            if reached.insert(other) {
                next.push(other);
            }
        }
    }
    reached
}

#[test]
fn a_circle_is_found_through_others_and_a_chain_is_none() {
    let module = |name: &str| vec![name.to_string()];
    let of = |edges: &[(&str, &str)]| {
        let mut dependencies: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
        for (from, to) in edges {
            dependencies.entry(module(from)).or_default().insert(module(to));
            dependencies.entry(module(to)).or_default();
        }
        circles(&dependencies)
    };
    assert_eq!(of(&[("a", "b"), ("b", "c"), ("a", "c")]), []);
    let circle = |names: &[&str]| names.iter().map(|name| module(name)).collect::<BTreeSet<_>>();
    assert_eq!(of(&[("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")]), [circle(&["a", "b", "c"])]);
}
