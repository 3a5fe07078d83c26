//! One level of a factor on a machine, and how the words of a recipe become one. Pure.

use std::collections::BTreeMap;

use machine::kernel::boot;
use machine::{CpuSet, Fault, Machine, MemoryPolicy, Neighbour, Setting, cpu_choice};

use crate::recipe::Fill;
use crate::recipe::place::Place;

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
    /// A level of this name that says nothing.
    pub(crate) fn named(name: impl Into<String>) -> Self {
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
        memory: place.memory.as_deref().map(|text| memory_policy(text, machine)).transpose()?,
        settings: place.settings.clone(),
        housekeeping: cpus(&place.housekeeping)?,
        neighbours: place.neighbours.iter().map(|beside| beside.on(machine)).collect::<Result<_, _>>()?,
        boot: place.boot.as_deref().map(boot::words),
        keys: place.keys.clone(),
        ..Level::default()
    })
}

/// A memory policy in the words of a recipe.
///
/// # Errors
/// Words that are none, or nodes that are not there.
pub(crate) fn memory_policy(text: &str, machine: &Machine) -> Result<MemoryPolicy, Fault> {
    let policy: MemoryPolicy = text.parse()?;
    policy.check(machine)?;
    Ok(policy)
}
