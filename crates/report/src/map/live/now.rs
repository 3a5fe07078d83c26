//! What a live map shows at one moment.

use std::collections::BTreeMap;

use machine::CpuSet;
use machine::wording::{plural, whole_percent};
use serde::{Deserialize, Serialize};

/// What happened in a window of time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Now {
    /// Length of the window, s; 0 before the second reading.
    pub window_s: f64,
    /// CPUs that are online, in groups that share package and node, neighbours in a core beside each other.
    pub groups: Vec<Group>,
    /// CPUs that were online before and are not now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offline: Vec<u32>,
    /// Interrupt lines and softirqs that came, in the order of the kernel's tables.
    pub lines: Vec<LineNow>,
    /// What is not known, and why.
    pub missing: Vec<String>,
}

/// CPUs of one package and node.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Group {
    /// Package; `None` where it is not reported.
    pub package: Option<u32>,
    /// NUMA node; `None` where it is not reported.
    pub node: Option<u32>,
    /// Its CPUs, core by core.
    pub cpus: Vec<CpuNow>,
}

/// One CPU in the window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CpuNow {
    /// Number.
    pub cpu: u32,
    /// Where its time went; `None` where that is not known.
    pub time: Option<Share>,
    /// Interrupts that it took; `None` where that is not known.
    pub interrupts: Option<u64>,
    /// Softirq handlers that it ran; `None` where that is not known.
    pub softirqs: Option<u64>,
}

/// Shares of a CPU's time, 0 to 1, as /proc/stat reports them: in ticks of 10 ms.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Share {
    /// Working: user, nice, system, irq, softirq.
    pub busy: f64,
    /// Ready to work while the hypervisor ran somebody else.
    pub steal: f64,
    /// Idle, waiting for disks included.
    pub idle: f64,
}

/// One interrupt line or kind of softirq.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LineNow {
    /// Whether it is a softirq.
    pub softirq: bool,
    /// IRQ number, the kernel's abbreviation (`LOC`), or the kind of softirq (`NET_RX`).
    pub name: String,
    /// What the kernel calls it.
    pub label: String,
    /// Devices that it belongs to.
    pub devices: Vec<String>,
    /// How often it came, on all CPUs.
    pub count: u64,
    /// How often by CPU; CPUs on which it did not come are left out.
    pub by_cpu: BTreeMap<u32, u64>,
}

/// By what the lines are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// The most frequent first.
    #[default]
    Rate,
    /// By the CPU that takes most of it, then by rate.
    Cpu,
    /// By name, numbers as numbers.
    Name,
}

impl Sort {
    /// The next one in turn.
    pub fn next(self) -> Self {
        match self {
            Sort::Rate => Sort::Cpu,
            Sort::Cpu => Sort::Name,
            Sort::Name => Sort::Rate,
        }
    }

    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Sort::Rate => "rate",
            Sort::Cpu => "CPU",
            Sort::Name => "name",
        }
    }
}

impl Now {
    /// Which CPUs are offline, in words; `None` where none went.
    pub(super) fn offline_words(&self) -> Option<String> {
        let cpus: CpuSet = self.offline.iter().copied().collect();
        (!cpus.is_empty()).then(|| format!("offline: {} {cpus}", plural("CPU", cpus.len())))
    }

    /// All CPUs in their order.
    pub fn cpus(&self) -> impl Iterator<Item = &CpuNow> {
        self.groups.iter().flat_map(|group| &group.cpus)
    }

    /// The lines in an order.
    pub fn sorted(&self, sort: Sort) -> Vec<&LineNow> {
        let mut lines: Vec<&LineNow> = self.lines.iter().collect();
        let number = |line: &LineNow| line.name.parse::<u32>().unwrap_or(u32::MAX);
        lines.sort_by(|a, b| {
            let (by_rate, by_name) = (b.count.cmp(&a.count), (number(a), &a.name).cmp(&(number(b), &b.name)));
            match sort {
                Sort::Rate => by_rate.then(by_name),
                Sort::Cpu => a.most().map(|m| m.0).cmp(&b.most().map(|m| m.0)).then(by_rate).then(by_name),
                Sort::Name => by_name,
            }
        });
        lines
    }

    /// A count as a rate, a second.
    pub fn rate(&self, count: u64) -> f64 {
        if self.window_s > 0.0 { count as f64 / self.window_s } else { 0.0 }
    }
}

impl LineNow {
    /// The CPU on which it came most often, and how often.
    pub fn most(&self) -> Option<(u32, u64)> {
        let least_cpu_first = self.by_cpu.iter().map(|(cpu, n)| (*cpu, *n));
        least_cpu_first.max_by_key(|(cpu, n)| (*n, std::cmp::Reverse(*cpu)))
    }

    /// The CPUs that take it, in few words: `CPU 3`, `CPU 3 80 %, 0 20 %`, `17 CPUs, CPU 3 60 %`,
    /// `256 CPUs evenly`.
    pub fn taken_by(&self) -> String {
        let Some((cpu, most)) = self.most() else { return "-".into() };
        let percent = |n: u64| whole_percent(n as f64 / self.count as f64);
        match self.by_cpu.len() {
            1 => format!("CPU {cpu}"),
            2 => {
                let other = self.by_cpu.iter().find(|(other, _)| **other != cpu);
                other.map_or_else(String::new, |(other, n)| {
                    format!("CPU {cpu} {}, {other} {}", percent(most), percent(*n))
                })
            }
            n if (most as f64) < 1.5 * self.count as f64 / n as f64 => format!("{n} CPUs evenly"),
            n => format!("{n} CPUs, CPU {cpu} {}", percent(most)),
        }
    }

    /// What it is called: devices first, then the kernel's words where they say more.
    pub fn title(&self) -> String {
        match (self.devices.is_empty(), self.label.is_empty()) {
            _ if self.softirq => "softirq".into(),
            (true, _) => self.label.clone(),
            (false, true) => self.devices.join(", "),
            (false, false) => format!("{}  {}", self.devices.join(", "), self.label),
        }
    }
}
