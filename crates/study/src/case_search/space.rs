//! Which placements a recipe lets a search choose from, on a machine.

use std::collections::BTreeMap;

use machine::{Class, CpuSet, Fault, Machine, Setting, knobs};

use crate::arm::Common;
use crate::levels::{self, Level};
use crate::recipe::{Recipe, Search};
use crate::search::{Factor, Sizes, Space, Symmetry};

/// Arms that are listed at most; where there are more classes, the search steps beside those that it lists.
const MOST_LISTED: usize = 6000;
/// Up to so many placements, every CPU counts as different: symmetry saves little there, and an unevenness that no map
/// shows (a busy neighbour, a slow core) would be missed by it.
const FEW_PLACEMENTS: usize = 64;
/// Up to so many CPUs, every number of them is tried.
const EVERY_SIZE: usize = 24;
/// On larger machines, how many numbers.
const SIZES: usize = 16;

/// The levels of several factors, by the factors' names.
pub(super) type Levels = Vec<(String, Vec<Level>)>;

/// The space of a recipe's search, and the levels of its other factors.
///
/// # Errors
/// Numbers of CPUs that the machine does not have, or levels that it cannot have.
pub(super) fn of(recipe: &Recipe, machine: &Machine) -> Result<(Space, Levels), Fault> {
    let search = recipe.search.clone().unwrap_or_default();
    let common = Common::of(recipe, machine)?;
    let levels = self::levels(recipe, machine, &common)?;
    let factor = |(name, levels): &(String, Vec<Level>)| Factor {
        name: name.clone(),
        levels: levels.iter().map(|level| level.name.clone()).collect(),
    };
    let factors = levels.iter().map(factor).collect();
    if !search.cpus {
        return Ok((Space::of_levels(factors, MOST_LISTED), levels));
    }
    // A load that has CPUs of its own keeps them, unless they are searched.
    let choosable = match common.load().filter(|_| search.load.is_empty()) {
        Some(load) => machine.usable().difference(load),
        None => machine.usable(),
    };
    let sizes = sizes(&search, choosable.len())?;
    let apart = distinguished(recipe, &levels, machine, &choosable, &sizes)?;
    let symmetry = Symmetry::distinguished(machine, None, choosable, &apart)?;
    let space = Space::new(symmetry, &sizes, factors, MOST_LISTED);
    if space.is_empty() {
        return Err(Fault::new(
            Class::MachineLacks,
            "[search]",
            format!("no placement could be listed: {}", space.listed.left_out.clone().unwrap_or_default()),
            "choose fewer numbers of CPUs (search.server, search.load)",
        ));
    }
    Ok((space, levels))
}

/// The levels of a search's factors other than its placements; none where it has none.
///
/// # Errors
/// Levels that the machine cannot have.
pub(super) fn levels(recipe: &Recipe, machine: &Machine, common: &Common) -> Result<Levels, Fault> {
    match recipe.factors.is_empty() {
        true => Ok(Vec::new()),
        false => levels::of_factors(&recipe.factors, machine, common.load()),
    }
}

/// The numbers of CPUs that server and load may have, as pairs that fit.
fn sizes(search: &Search, cpus: usize) -> Result<Vec<Sizes>, Fault> {
    let servers = match search.server.is_empty() {
        true => usual_sizes(cpus),
        false => search.server.clone(),
    };
    let loads = if search.load.is_empty() { vec![0] } else { search.load.clone() };
    let pairs =
        servers.iter().flat_map(|server| loads.iter().map(|load| Sizes { server: *server, load: *load }));
    let fitting: Vec<Sizes> = pairs.filter(|sizes| sizes.server + sizes.load <= cpus).collect();
    let unused = |key: &str, given: &[usize], used: &dyn Fn(&Sizes) -> usize| {
        let unused = given.iter().find(|size| !fitting.iter().any(|sizes| used(sizes) == **size));
        unused.map(|size| {
            Fault::new(
                Class::Usage,
                key,
                format!("{size} CPUs: {cpus} may be chosen here for server and load together"),
                "choose smaller numbers",
            )
        })
    };
    let too_large = unused("search.server", &search.server, &|sizes| sizes.server)
        .or_else(|| unused("search.load", &search.load, &|sizes| sizes.load));
    too_large.map_or(Ok(fitting), Err)
}

fn usual_sizes(cpus: usize) -> Vec<usize> {
    match cpus {
        0..=EVERY_SIZE => (1..=cpus).collect(),
        _ => {
            let mut sizes: Vec<usize> = (1..=SIZES).map(|part| (cpus * part / SIZES).max(1)).collect();
            sizes.dedup();
            sizes
        }
    }
}

/// What distinguishes CPUs beside the map: that the recipe names them, or that there are few placements.
fn distinguished(
    recipe: &Recipe,
    levels: &Levels,
    machine: &Machine,
    choosable: &CpuSet,
    sizes: &[Sizes],
) -> Result<BTreeMap<u32, String>, Fault> {
    let combinations = levels.iter().fold(1, |all: usize, (_, levels)| all.saturating_mul(levels.len()));
    let placements = Symmetry::of(machine, None).map(|symmetry| symmetry.sets(sizes));
    if placements.is_ok_and(|sets| sets.within(FEW_PLACEMENTS / combinations.max(1))) {
        return Ok(choosable.iter().map(|cpu| (cpu, format!("one of few: CPU {cpu}"))).collect());
    }
    let mut apart: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    let mut name = |cpus: &CpuSet, words: String| {
        cpus.iter().for_each(|cpu| apart.entry(cpu).or_default().push(words.clone()));
    };
    for neighbour in &recipe.neighbours {
        name(&neighbour.cpus.on(machine)?, format!("beside '{}'", neighbour.command));
    }
    let of_levels = levels.iter().flat_map(|(_, levels)| levels).flat_map(|level| &level.settings);
    for setting in recipe.settings.iter().chain(of_levels) {
        if let Some(cpus) = cpus_named(setting) {
            name(&cpus, format!("named by {} {}", setting.knob, setting.value));
        }
    }
    Ok(apart.into_iter().map(|(cpu, words)| (cpu, words.join(", "))).collect())
}

/// The CPUs that a setting names: in its value, where the knob takes a list of CPUs, or as its target (`cpu3`).
fn cpus_named(setting: &Setting) -> Option<CpuSet> {
    let takes_cpus = knobs::named(&setting.knob).is_ok_and(|knob| knob.about().unit.starts_with("CPU list"));
    let in_value = CpuSet::from_list(&setting.value).ok().filter(|cpus| takes_cpus && !cpus.is_empty());
    let in_target = || {
        let digits = setting.target.strip_prefix("cpu")?.chars().take_while(char::is_ascii_digit);
        digits.collect::<String>().parse().ok().map(CpuSet::single)
    };
    in_value.or_else(in_target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::levels::tests::two_nodes_of_two_cores_of_two_threads;

    fn space(text: &str) -> Result<Space, Fault> {
        let recipe = Recipe::from_toml(text, "x").unwrap();
        of(&recipe, &two_nodes_of_two_cores_of_two_threads()).map(|(space, _)| space)
    }

    #[test]
    fn the_usual_sizes_of_small_and_large_machines() {
        assert_eq!(usual_sizes(3), [1, 2, 3]);
        assert_eq!(usual_sizes(24).len(), 24);
        assert_eq!(usual_sizes(64), (1..=16).map(|part| part * 4).collect::<Vec<_>>());
        assert_eq!(usual_sizes(1000).last(), Some(&1000));
    }

    #[test]
    fn a_setting_that_names_a_cpu_distinguishes_it() {
        let of = |text: &str| space(&format!("{text}[search]\nserver = [2, 3, 4]\n")).unwrap();
        let none = of("");
        let named = of(
            "[[factors]]\nkind = \"knob\"\nknob = \"rps-cpus\"\ntarget = \"eth0/rx-0\"\nvalues = [\"0\", \"1\"]\n",
        );
        assert!(named.listed.classes.len() > none.listed.classes.len());
        let beside = of("neighbours = [{ command = \"x\", cpus = \"3\" }]\n");
        assert!(beside.symmetry().unwrap().differences.iter().any(|words| words.contains("beside 'x'")));
    }

    #[test]
    fn few_placements_are_all_tried() {
        let space = space("[search]\nserver = [1]\n").unwrap();
        assert_eq!(space.len(), 8, "every CPU for itself");
    }

    #[test]
    fn cpus_of_the_load_are_not_chosen_and_sizes_that_do_not_fit_are_named() {
        let placed = space("load_cpus = \"4-7\"\n[search]\n").unwrap();
        let chosen = |at: usize| placed.point(at).unwrap().class.server.clone();
        assert!((0..placed.len()).all(|at| chosen(at).intersection(&"4-7".parse().unwrap()).is_empty()));
        let fault = space("load_cpus = \"4-7\"\n[search]\nserver = [5]\n").unwrap_err();
        assert!(fault.to_string().contains("5 CPUs: 4 may be chosen"), "{fault}");
    }
}
