//! How each CPU looks: what it is free for, and what its tooltip says.

use std::collections::BTreeMap;

use machine::topology::cpus::Cpu;
use machine::{CpuSet, Machine};

use crate::map::machine_text::cpus as cpu_words;

/// Something that keeps a server, or the kernel, off a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// Not used by the scheduler at all.
    Offline,
    /// This process may not run there.
    NotAllowed,
    /// Kept free of the scheduler's balancing (`isolcpus=`, cpusets).
    Isolated,
    /// Without a tick while one task runs (`nohz_full=`).
    Tickless,
}

impl Mark {
    /// All marks, in the order of the legend.
    pub const ALL: [Self; 4] = [Self::Offline, Self::NotAllowed, Self::Isolated, Self::Tickless];

    /// What it means, for legend and tooltip.
    pub fn words(self) -> &'static str {
        match self {
            Self::Offline => "offline",
            Self::NotAllowed => "not allowed to this process",
            Self::Isolated => "isolated from the scheduler",
            Self::Tickless => "without tick (nohz_full)",
        }
    }
}

/// How one CPU looks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Face {
    /// Its marks, in the order of [`Mark::ALL`].
    pub marks: Vec<Mark>,
    /// Where it is and what is special about it, for the tooltip.
    pub title: String,
}

/// The faces of all CPUs that are present.
pub(super) fn of(machine: &Machine) -> BTreeMap<u32, Face> {
    let none = CpuSet::new();
    let isolated = machine.isolated().unwrap_or_default();
    let tickless = machine.kernel.nohz_full.as_ref().unwrap_or(&none);
    let face = |cpu: &Cpu| {
        let is = |mark: &Mark| match mark {
            Mark::Offline => !cpu.online,
            Mark::NotAllowed => cpu.online && cpu.allowed == Some(false),
            Mark::Isolated => isolated.contains(cpu.id),
            Mark::Tickless => tickless.contains(cpu.id),
        };
        let marks: Vec<Mark> = Mark::ALL.into_iter().filter(is).collect();
        let title = title(cpu, &marks);
        (cpu.id, Face { marks, title })
    };
    machine.cpus.iter().map(face).collect()
}

fn title(cpu: &Cpu, marks: &[Mark]) -> String {
    let numbered = |noun: &str, id: Option<u32>| id.map(|id| format!("{noun} {id}"));
    let others: CpuSet = cpu.siblings.iter().flat_map(CpuSet::iter).filter(|id| *id != cpu.id).collect();
    let places = [
        Some(format!("CPU {}", cpu.id)),
        numbered("core", cpu.core),
        (!others.is_empty()).then(|| format!("with {}", cpu_words(&others))),
        numbered("node", cpu.node),
        numbered("package", cpu.package),
        cpu.max_frequency_khz.map(|khz| format!("up to {:.2} GHz", khz as f64 / 1e6)),
        numbered("capacity", cpu.capacity.filter(|capacity| *capacity != 1024)),
    ];
    let marks = marks.iter().map(|mark| mark.words().to_string());
    places.into_iter().flatten().chain(marks).collect::<Vec<_>>().join(", ")
}
