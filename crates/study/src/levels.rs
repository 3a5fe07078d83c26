//! Levels: what each factor of a recipe comes to on a machine. Pure.

mod relations;

use std::collections::BTreeMap;

use machine::kernel::boot;
use machine::{Class, CpuSet, Fault, Machine, MemoryPolicy, Neighbour, Setting, cpu_choice};

use crate::fill;
use crate::recipe::place::{Place, boot_title, key_title, setting_title};
use crate::recipe::{BootLevel, Factor, Fill};

/// One level of a factor, on a machine.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Level {
    /// Name in tables, unique within its factor.
    pub name: String,
    /// CPUs of the server, where the level says them.
    pub server: Option<CpuSet>,
    /// CPUs of the load, where the level says them.
    pub load: Option<CpuSet>,
    /// Where the server's memory comes from, where the level says it.
    pub memory: Option<MemoryPolicy>,
    /// Knobs that are set.
    pub settings: Vec<Setting>,
    /// CPUs that the kernel's own work is moved to, where the level says it.
    pub housekeeping: Option<CpuSet>,
    /// What runs beside the server at this level.
    pub neighbours: Vec<Neighbour>,
    /// Words on the kernel's command line, where the level says them.
    pub boot: Option<Vec<String>>,
    /// Keys of the recipe that differ.
    pub keys: BTreeMap<String, toml::Value>,
    /// The one CPU that it tries, of a factor that tries each in turn.
    pub cpu: Option<u32>,
    /// How many CPUs it gives the server, and in which order they are taken, of a factor that scales.
    pub scale: Option<(Fill, usize)>,
}

impl Level {
    fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

/// The place of a recipe on a machine.
///
/// # Errors
/// CPUs or nodes that are not there or may not be used.
pub fn placed(place: &Place, machine: &Machine) -> Result<Level, Fault> {
    let cpus = |text: &Option<String>| text.as_deref().map(|t| cpu_choice::resolve(t, machine)).transpose();
    Ok(Level {
        name: place.title(),
        server: cpus(&place.server)?,
        load: cpus(&place.load)?,
        memory: place.memory.as_deref().map(|text| memory(text, machine)).transpose()?,
        settings: place.settings.clone(),
        housekeeping: cpus(&place.housekeeping)?,
        neighbours: place.neighbours.clone(),
        boot: place.boot.as_deref().map(boot::words),
        keys: place.keys.clone(),
        ..Level::default()
    })
}

fn memory(text: &str, machine: &Machine) -> Result<MemoryPolicy, Fault> {
    let policy: MemoryPolicy = text.parse()?;
    policy.check(machine)?;
    Ok(policy)
}

/// The levels of a factor. `load` is what the recipe's baseline gives the load, which a server that grows keeps off.
///
/// # Errors
/// A level that this machine cannot have, two of the same name, or none at all.
pub fn of_factor(factor: &Factor, machine: &Machine, load: Option<&CpuSet>) -> Result<Vec<Level>, Fault> {
    let usable = machine.usable();
    let levels = match factor {
        Factor::EachCpu { cpus } => each_cpu(cpus.as_ref().unwrap_or(&usable), &usable)?,
        Factor::AllAlike { copies } => (1..=*copies).map(|i| Level::named(format!("same {i}"))).collect(),
        Factor::Places { levels, .. } => {
            levels.iter().map(|place| placed(place, machine)).collect::<Result<_, _>>()?
        }
        Factor::Nodes { sizes } => nodes(sizes, machine)?,
        Factor::Cores { counts, fill } => cores(counts, fill, machine, load)?,
        Factor::Memory { policies } => policies
            .iter()
            .map(|text| Ok(Level { memory: Some(memory(text, machine)?), ..Level::named(text) }))
            .collect::<Result<_, Fault>>()?,
        Factor::Knob { knob, target, values } => {
            values.iter().map(|value| knob_level(knob, target, value)).collect()
        }
        Factor::Boot { levels, .. } => boot_levels(levels),
        Factor::Key { key, values } => values.iter().map(|value| key_level(key, value)).collect(),
    };
    distinct(factor, levels)
}

/// The levels of several factors that are combined, by the factors' names.
///
/// # Errors
/// As [`of_factor`]; two factors that say the same thing.
pub fn of_factors(
    factors: &[Factor],
    machine: &Machine,
    load: Option<&CpuSet>,
) -> Result<Vec<(String, Vec<Level>)>, Fault> {
    let levels = factors
        .iter()
        .map(|factor| Ok((factor.name(), of_factor(factor, machine, load)?)))
        .collect::<Result<Vec<_>, Fault>>()?;
    go_together(&levels)?;
    Ok(match (factors, levels.as_slice(), load) {
        // Beside other factors they would multiply, and a load that the recipe has placed stays there.
        ([Factor::EachCpu { cpus }], [(name, each)], None) => {
            let tried = cpus.clone().unwrap_or_else(|| machine.usable());
            vec![(name.clone(), [each.as_slice(), &relations::of(&tried, machine)].concat())]
        }
        _ => levels,
    })
}

/// Two factors that both place the server have no combination.
fn go_together(levels: &[(String, Vec<Level>)]) -> Result<(), Fault> {
    let say = |what: fn(&Level) -> bool| -> Vec<&str> {
        levels.iter().filter(|(_, of)| of.iter().any(what)).map(|(name, _)| name.as_str()).collect()
    };
    for (what, who) in [
        ("the server's CPUs", say(|level| level.server.is_some())),
        ("the load's CPUs", say(|level| level.load.is_some())),
        ("the server's memory", say(|level| level.memory.is_some())),
        ("the CPUs of the kernel's own work", say(|level| level.housekeeping.is_some())),
        ("the words that the kernel is booted with", say(|level| level.boot.is_some())),
    ] {
        if who.len() > 1 {
            let cause = format!("the factors {} all say {what}", who.join(" and "));
            let remedy = "make one factor of kind places of them, with a level for each pair";
            return Err(Fault::new(Class::Usage, "factors", cause, remedy));
        }
    }
    Ok(())
}

fn distinct(factor: &Factor, levels: Vec<Level>) -> Result<Vec<Level>, Fault> {
    let object = || format!("factor {}", factor.name());
    if levels.is_empty() {
        return Err(Fault::new(Class::Usage, object(), "it has no level", "name at least one"));
    }
    for (i, level) in levels.iter().enumerate() {
        if levels[..i].iter().any(|earlier| earlier.name == level.name) {
            let cause = format!("two levels are called '{}'", level.name);
            return Err(Fault::new(Class::Usage, object(), cause, "give each a name of its own"));
        }
        // They would share their boots, and so be one level.
        let same = |earlier: &&Level| earlier.boot.is_some() && earlier.boot == level.boot;
        if let (Factor::Boot { .. }, Some(earlier)) = (factor, levels[..i].iter().find(same)) {
            let cause = format!("'{}' and '{}' have the same words", earlier.name, level.name);
            let remedy = "leave one out: the baseline's words are booted twice in each block anyhow";
            return Err(Fault::new(Class::Usage, object(), cause, remedy));
        }
    }
    Ok(levels)
}

fn each_cpu(cpus: &CpuSet, usable: &CpuSet) -> Result<Vec<Level>, Fault> {
    let outside = cpus.difference(usable);
    if !outside.is_empty() {
        return Err(Fault::new(
            Class::Usage,
            format!("server CPUs {outside}"),
            format!(
                "pinwise may not run there: it does not exist, is offline, or the affinity or cpuset of this shell leaves it out (allowed: {usable})"
            ),
            format!("choose from {usable}"),
        ));
    }
    let level = |cpu| Level {
        server: Some(CpuSet::single(cpu)),
        cpu: Some(cpu),
        ..Level::named(format!("cpu {cpu}"))
    };
    Ok(cpus.iter().map(level).collect())
}

/// Most nodes whose every choice is tried.
const MOST_NODES: usize = 8;

fn nodes(sizes: &[usize], machine: &Machine) -> Result<Vec<Level>, Fault> {
    let usable = machine.usable();
    let with_cpus: Vec<(u32, CpuSet)> = machine
        .nodes
        .iter()
        .map(|node| (node.id, node.cpus.intersection(&usable)))
        .filter(|(_, cpus)| !cpus.is_empty())
        .collect();
    if with_cpus.is_empty() || with_cpus.len() > MOST_NODES {
        return Err(Fault::new(
            Class::MachineLacks,
            "factor nodes",
            format!(
                "this machine has {} NUMA nodes with CPUs; 1 to {MOST_NODES} can be tried in every choice",
                with_cpus.len()
            ),
            "name the choices as levels of a factor of kind places",
        ));
    }
    let choices = 1u32..1 << with_cpus.len();
    let mut levels: Vec<(u32, Level)> = choices
        .filter(|choice| sizes.is_empty() || sizes.contains(&(choice.count_ones() as usize)))
        .map(|choice| (choice, node_level(choice, &with_cpus)))
        .collect();
    levels.sort_by_key(|(choice, _)| (choice.count_ones(), *choice));
    Ok(levels.into_iter().map(|(_, level)| level).collect())
}

/// The server on the nodes whose bits are set in `choice`.
fn node_level(choice: u32, nodes: &[(u32, CpuSet)]) -> Level {
    let chosen = nodes.iter().enumerate().filter(|(bit, _)| choice >> bit & 1 == 1).map(|(_, node)| node);
    let (ids, cpus) = chosen.fold((CpuSet::default(), CpuSet::default()), |(ids, cpus), (id, own)| {
        (ids.union(&CpuSet::single(*id)), cpus.union(own))
    });
    Level { server: Some(cpus), ..Level::named(format!("nodes {ids}")) }
}

fn cores(
    counts: &[usize],
    fills: &[Fill],
    machine: &Machine,
    load: Option<&CpuSet>,
) -> Result<Vec<Level>, Fault> {
    let usable = machine.usable();
    let within = load.map_or(usable.clone(), |load| usable.difference(load));
    let most = within.iter().count();
    let counts = match counts.is_empty() {
        true => usual_counts(most),
        false => counts.to_vec(),
    };
    if let Some(wrong) = counts.iter().find(|count| **count == 0 || **count > most) {
        return Err(Fault::new(
            Class::Usage,
            format!("factor cores: {wrong} CPUs"),
            format!("the server can have 1 to {most} here ({within})"),
            "choose other counts, or give the load fewer CPUs (baseline.load)",
        ));
    }
    let mut levels = Vec::new();
    for fill in fills {
        let order = fill::order(*fill, machine, &within);
        for count in &counts {
            let server: CpuSet = order[..*count].iter().copied().collect();
            let cpus = if *count == 1 { "1 CPU".into() } else { format!("{count} CPUs") };
            let name = match fills.len() {
                1 => cpus,
                _ => format!("{cpus}, {}", fill.word()),
            };
            levels.push(Level { server: Some(server), scale: Some((*fill, *count)), ..Level::named(name) });
        }
    }
    Ok(levels)
}

/// 1, 2, 3, 4, 6, 8, 12, 16, 24 ... and all: even on a log axis, and six values from 8 CPUs on.
fn usual_counts(most: usize) -> Vec<usize> {
    let steps =
        (0..).map(|i| 1usize << i).flat_map(|power| [power, power + power / 2]).take_while(|n| *n < most);
    let mut counts: Vec<usize> = steps.chain([most]).collect();
    counts.dedup();
    counts
}

fn knob_level(knob: &str, target: &str, value: &str) -> Level {
    let setting = Setting { knob: knob.into(), target: target.into(), value: value.into() };
    Level { settings: vec![setting], ..Level::named(setting_title(knob, target, value)) }
}

fn boot_levels(levels: &[BootLevel]) -> Vec<Level> {
    let of = |level: &BootLevel| Level {
        boot: Some(boot::words(&level.words)),
        ..Level::named(level.name.clone().unwrap_or_else(|| boot_title(&level.words)))
    };
    levels.iter().map(of).collect()
}

fn key_level(key: &str, value: &toml::Value) -> Level {
    Level { keys: BTreeMap::from([(key.to_string(), value.clone())]), ..Level::named(key_title(key, value)) }
}

#[cfg(test)]
pub(crate) mod tests;
