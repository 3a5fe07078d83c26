//! `pinwise noise --cores` and `--memory`: distances between CPUs, and between nodes.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use change::calling_thread;
use indicatif::ProgressBar;
use machine::own_folder::named;
use machine::{Class, CpuSet, Fault, Machine, Root};
use probe::distance_measurement::{self, Cores, Memory, Plan, Surroundings};

use crate::format::Format;
use crate::notes::note;
use crate::output::{self, Answer};
use crate::{notes, progress_bar};

// What of them is wanted.
#[derive(Debug, clap::Args)]
pub struct Flags {
    /// Measure how long a cache line takes from each CPU to each other CPU, instead of gaps
    #[arg(long, conflicts_with_all = ["fifo", "threshold", "together"])]
    cores: bool,
    /// Measure the latency and bandwidth of each node's memory from each node's CPUs, instead of gaps
    #[arg(long, conflicts_with_all = ["fifo", "threshold", "together"])]
    memory: bool,
    /// Save what --cores and --memory measure to a file, for 'pinwise map --distances' and 'pinwise capture --distances'
    #[arg(long, value_name = "FILE")]
    save: Option<std::path::PathBuf>,
}

impl Flags {
    /// Whether any distances were requested.
    ///
    /// # Errors
    /// They are to be kept, and none is to be measured.
    pub fn wanted(&self) -> Result<bool, Fault> {
        let wanted = self.cores || self.memory;
        match &self.save {
            Some(path) if !wanted => {
                let cause = "a file of distances does not hold gaps";
                let remedy = "add --cores, --memory or both; for gaps use --format json";
                Err(Fault::new(Class::Usage, format!("--save {}", path.display()), cause, remedy))
            }
            _ => Ok(wanted),
        }
    }

    /// Whether there is a pair of CPUs to measure between; `are_named` says whether the user named them.
    ///
    /// # Errors
    /// There is none.
    pub fn have_cpus(&self, cpus: &CpuSet, are_named: bool) -> Result<(), Fault> {
        if !self.cores || cpus.len() > 1 {
            return Ok(());
        }
        let cause = "a cache line moves between two CPUs, and only one was named";
        match (are_named, self.memory) {
            (true, _) => {
                let remedy = "name two or more CPUs with --cpu, or leave it out for all";
                Err(Fault::new(Class::Usage, format!("--cores --cpu {cpus}"), cause, remedy))
            }
            (false, false) => {
                let remedy = "lift the cpuset or affinity (taskset, cpuset.cpus of the cgroup); --memory measures nodes";
                let cause = format!("it takes two CPUs, and this process may use CPU {cpus} only");
                Err(Fault::new(Class::MachineLacks, "--cores", cause, remedy))
            }
            // Nodes are measured all the same, and it is said what is missing.
            (false, true) => Ok(()),
        }
    }

    /// Measures, saves, prints.
    pub fn run(
        &self,
        cpus: CpuSet,
        time: Option<Duration>,
        (machine, root): (&Machine, &Root),
        format: Format,
        stop: &AtomicBool,
    ) -> Result<Answer, Fault> {
        if let Some(path) = &self.save {
            // Not after minutes of measuring.
            can_be_written(path)?;
        }
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        let plan = Plan {
            cpus,
            cores: self.cores.then(Cores::default),
            memory: self.memory.then(Memory::default),
            time,
            seed: since_1970.map_or(0, |since| since.as_nanos() as u64),
        };
        let host = Host::new();
        let measured = distance_measurement::measure(&plan, machine, root, &host, stop);
        host.bar.finish_and_clear();
        let measured = measured?;
        if let Some(path) = &self.save {
            output::to(Some(path), &output::pretty(&measured)?)?;
            note!("pinwise: saved to {}; show it with 'pinwise map --distances {0}'", path.display());
        }
        match format {
            Format::Json => output::json(&measured)?,
            Format::Text => output::text(&report::map::distances_text::render(&measured, output::style()))?,
        }
        Ok(Answer::Done)
    }
}

fn can_be_written(path: &Path) -> Result<(), Fault> {
    named::open(path).map(drop).map_err(|e| Fault::io(path.display(), &e, "choose another place with --save"))
}

/// Where threads run, and what is shown meanwhile.
struct Host {
    bar: ProgressBar,
}

impl Host {
    fn new() -> Self {
        let shown = notes::is_terminal();
        Self { bar: progress_bar::bar("{bar:30} {eta} left  {msg}", 1_000, shown) }
    }
}

impl Surroundings for Host {
    fn enter(&self, cpu: u32) -> Result<(), Fault> {
        calling_thread::run_on(&CpuSet::single(cpu))
    }

    fn passes(&self, what: &str, done: f64) {
        if done == 0.0 {
            self.bar.reset();
        }
        self.bar.set_message(format!("measuring {what}"));
        self.bar.set_position((done * 1e3) as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cpu_has_no_distance() {
        let flags = |memory: bool| Flags { cores: true, memory, save: None };
        let cpus = |list: &str| CpuSet::from_list(list).unwrap();
        let named = flags(true).have_cpus(&cpus("3"), true).unwrap_err();
        assert!(named.class == Class::Usage && named.to_string().contains("--cpu 3"), "{named}");
        let alone = flags(false).have_cpus(&cpus("0"), false).unwrap_err();
        assert!(alone.class == Class::MachineLacks && alone.to_string().contains("CPU 0 only"), "{alone}");
        assert_eq!(flags(true).have_cpus(&cpus("0"), false), Ok(()));
        assert_eq!(flags(false).have_cpus(&cpus("0-1"), true), Ok(()));
    }
}
