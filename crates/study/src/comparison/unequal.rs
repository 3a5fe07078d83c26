//! What makes equal arms and equal numbers of CPUs mean different things in different cases.

use std::collections::{BTreeMap, BTreeSet};

use machine::CpuSet;

use super::Side;
use crate::recipe::Fill;

/// Notes on the server's own traffic, on turbo, and on threads that share a core.
pub(super) fn notes(sides: &[Side<'_>]) -> Vec<String> {
    let mut notes: Vec<String> = own_traffic(sides).into_iter().chain(turbo(sides)).collect();
    let fills: BTreeSet<Fill> = sides
        .iter()
        .flat_map(|side| &side.facts.study.arms)
        .filter_map(|arm| Some(arm.scale?.fill))
        .collect();
    notes.extend(fills.into_iter().filter_map(|fill| shared_cores(sides, fill)));
    notes
}

fn own_traffic(sides: &[Side<'_>]) -> Option<String> {
    let names = names(sides, |side| side.facts.study.recipe.has_own_traffic());
    (!names.is_empty()).then(|| {
        format!(
            "the load of {names} is the server's own traffic, which is not the same in two cases: ratios between cases show that, too"
        )
    })
}

/// One busy CPU clocks higher than many.
fn turbo(sides: &[Side<'_>]) -> Option<String> {
    let scales = |side: &Side<'_>| side.facts.study.arms.iter().any(|arm| arm.scale.is_some());
    let names = names(sides, |side| scales(side) && side.facts.machine.power.turbo == Some(true));
    (!names.is_empty()).then(|| {
        format!(
            "turbo is on in {names}: one CPU alone may run at a higher clock than many, and efficiency and law show that, too"
        )
    })
}

fn names(sides: &[Side<'_>], of: impl Fn(&Side<'_>) -> bool) -> String {
    sides.iter().filter(|side| of(side)).map(|side| side.name).collect::<Vec<_>>().join(", ")
}

/// The fewest CPUs with which threads of one core serve in some cases, and a core each in others.
fn shared_cores(sides: &[Side<'_>], fill: Fill) -> Option<String> {
    let mut by_count: BTreeMap<usize, (Vec<&str>, Vec<&str>)> = BTreeMap::new();
    for side in sides {
        for (cpus, is_shared) in shares(side, fill) {
            let (sharing, apart) = by_count.entry(cpus).or_default();
            if is_shared { sharing.push(side.name) } else { apart.push(side.name) }
        }
    }
    let (cpus, (sharing, apart)) =
        by_count.into_iter().find(|(_, (sharing, apart))| !sharing.is_empty() && !apart.is_empty())?;
    Some(format!(
        "{}, {cpus} CPUs: in {} some of them are threads of one core, in {} each is a core of its own; as many CPUs are not as many \
         cores there",
        fill.word(),
        sharing.join(", "),
        apart.join(", ")
    ))
}

/// By number of CPUs, whether some of them share a core; without those of which it is not known.
fn shares(side: &Side<'_>, fill: Fill) -> BTreeMap<usize, bool> {
    let cores = side.facts.machine.cores();
    let is_known = |cpus: &CpuSet| cpus.iter().all(|cpu| cores.iter().any(|core| core.contains(cpu)));
    let is_shared = |cpus: &CpuSet| cores.iter().any(|core| core.intersection(cpus).len() > 1);
    let arms = side.facts.study.arms.iter().filter_map(|arm| {
        let scale = arm.scale.filter(|scale| scale.fill == fill)?;
        let cpus = arm.placement.server_cpus.as_ref().filter(|cpus| is_known(cpus))?;
        Some((scale.cpus, is_shared(cpus)))
    });
    arms.collect()
}
