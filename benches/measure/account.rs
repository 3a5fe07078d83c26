//! What one reading of all that `pinwise watch` counts costs on a machine of 1,024 CPUs.
//!
//! The programs are loaded for such a machine and count for a while on the CPUs that there are. Then their records are copied to all
//! the others, as the kernel would have written them there. What is measured is the reading of [`Counting`] as it is.

use std::hint::black_box;
use std::io;
use std::process::{Child, Command};
use std::time::Duration;

use benches::blocks::middle;
use benches::cpu_time;
use benches::kernel_tables::KernelTable;
use machine::topology::cpus::Cpu;
use machine::{CpuSet, Machine, Root};
use probe::account::{Account, Counting, Names, Target, TracePoints};
use report::number;

use crate::section::Section;
use crate::tools;

const CPUS: u32 = 1_024;

/// Sources of a CPU that are told apart, and so the rows that it has in the table of their lengths.
const SOURCES: usize = 20;

const A_SECOND: u32 = 10;
const READINGS: usize = 100;

/// How long the CPUs that there are count before their records are copied.
const COUNTED: Duration = Duration::from_secs(3);

/// Measures readings ten times a second.
pub fn measure() -> io::Result<Section> {
    let mut section = Section::new("Reading what watch counts, 1,024 CPUs");
    if !tools::is_root() {
        section.say("Not measured: needs root.");
        return Ok(section);
    }
    let live = Machine::read(&Root::live());
    let sleeps = Sleeping(Command::new("sleep").arg("3600").spawn()?);
    let target = Target::Processes(vec![sleeps.0.id()]);
    let begin = |machine: &Machine| {
        Counting::begin(&target, machine, &TracePoints::Best)
            .map_err(|missing| io::Error::other(format!("{}: {}", missing.fact, missing.why)))
    };
    let here = Costs::of(begin(&live)?, &live)?;
    let large = grown(&live);
    let counting = begin(&large)?;
    std::thread::sleep(COUNTED);
    let bytes = spread(&live.online())?;
    let there = Costs::of(counting, &large)?;
    section.say(format!(
        "{} counters of sources that came, in {:.1} MB of records. CPU time of this process, {A_SECOND} readings a second, \
         {READINGS} in all. Goal: readings take less than 0.5 % of one CPU in user space.",
        number::count(there.sources),
        bytes as f64 / 1e6
    ));
    let mut table = format!(
        "| | CPU, ms | of it in user space | in user space, of one CPU, {A_SECOND} a second |\n|---|---:|---:|---:|\n"
    );
    table.push_str(&there.reading.row("reading, 1,024 CPUs"));
    table.push_str(&there.telling.row("making an account of it"));
    table.push_str(&here.reading.row(&format!("reading, the {} CPUs that there are", live.online().len())));
    section.say(table.trim_end());
    Ok(section)
}

/// What readings cost.
struct Costs {
    reading: Cost,
    telling: Cost,
    /// Sources that came, CPU by CPU.
    sources: usize,
}

impl Costs {
    fn of(mut counting: Counting, machine: &Machine) -> io::Result<Self> {
        let names = Names::of(machine);
        let mut costs = Self { reading: Cost::default(), telling: Cost::default(), sources: 0 };
        for _ in 0..READINGS {
            std::thread::sleep(Duration::from_secs(1) / A_SECOND);
            let snapshot = costs.reading.of_work(|| counting.read())?;
            let account = costs.telling.of_work(|| black_box(Account::of(&snapshot, false, &names, &[])))?;
            costs.sources = account.cpus.iter().map(|cpu| cpu.sources.len()).sum();
        }
        Ok(costs)
    }
}

/// What the same piece of work cost again and again.
#[derive(Default)]
struct Cost {
    /// Of each time, ns.
    cpu_ns: Vec<f64>,
    /// Of all together. The kernel sorts its ticks into these two, so that they are exact only in the long run.
    user_ns: u64,
    system_ns: u64,
}

impl Cost {
    fn of_work<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<T> {
        let (user_ns, system_ns) = cpu_time::of_thread();
        let (cost, answer) = cpu_time::of_work(|| Ok(work()))?;
        let after = cpu_time::of_thread();
        self.cpu_ns.push(cost.cpu_ns as f64);
        self.user_ns += after.0.saturating_sub(user_ns);
        self.system_ns += after.1.saturating_sub(system_ns);
        Ok(answer)
    }

    fn row(&self, name: &str) -> String {
        let ms = middle(&self.cpu_ns) / 1e6;
        let user = self.user_ns as f64 / (self.user_ns + self.system_ns).max(1) as f64;
        let percent = ms * user * f64::from(A_SECOND) / 10.0;
        format!("| {name} | {ms:.2} | {:.0} % | {percent:.2} % |\n", user * 100.0)
    }
}

/// The same machine with so many CPUs.
fn grown(live: &Machine) -> Machine {
    let first = live.cpus.first().cloned().unwrap_or_default();
    let cpus = (0..CPUS).map(|id| Cpu { id, online: true, ..first.clone() }).collect();
    let possible: CpuSet = (0..CPUS).collect();
    Machine { cpus, possible: Some(possible), ..live.clone() }
}

/// Copies the records of the CPUs that there are to all the others. Bytes of all records.
fn spread(there: &CpuSet) -> io::Result<usize> {
    let there: Vec<u32> = there.iter().collect();
    let mut bytes = 0;
    for (name, of_a_cpu) in [("cpus", 1), ("source_steps", SOURCES)] {
        let mut table = KernelTable::find(name, CPUS as usize * of_a_cpu)?;
        for (cpu, known) in (0..CPUS).filter(|cpu| !there.contains(cpu)).zip(there.iter().cycle()) {
            table.copy(*known as usize * of_a_cpu, cpu as usize * of_a_cpu, of_a_cpu);
        }
        bytes += table.bytes();
    }
    Ok(bytes)
}

/// Somebody to watch.
struct Sleeping(Child);

impl Drop for Sleeping {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
