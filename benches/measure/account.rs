//! What one reading of all that `pinwise watch` counts costs on a machine of 1,024 CPUs.
//!
//! The programs are loaded for such a machine and count for a while on the CPUs that there are. Then their records are copied to all
//! the others, as the kernel would have written them there. What is measured is the reading of [`Counting`] as it is.

use std::hint::black_box;
use std::io;
use std::process::{Child, Command};
use std::time::Duration;

use benches::blocks::middle;
use benches::cpu_time::{self, Cost};
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
    let machine = grown(&live);
    let mut counting = match Counting::begin(&target, &machine, &TracePoints::Best) {
        Ok(counting) => counting,
        Err(missing) => {
            section.say(format!("Not measured: {}: {}.", missing.fact, missing.why));
            return Ok(section);
        }
    };
    std::thread::sleep(COUNTED);
    let bytes = spread(&live.online())?;
    let names = Names::of(&machine);
    let (mut reading, mut telling, mut rows) = (Vec::new(), Vec::new(), 0);
    for _ in 0..READINGS {
        std::thread::sleep(Duration::from_secs(1) / A_SECOND);
        let (cost, snapshot) = cpu_time::of_work(|| Ok(counting.read()))?;
        reading.push(cost);
        let tell = || Ok(black_box(Account::of(&snapshot, false, &names, &[])));
        let (cost, account) = cpu_time::of_work(tell)?;
        telling.push(cost);
        rows = account.cpus.iter().map(|cpu| cpu.sources.len()).sum();
    }
    section.say(format!(
        "{} counters of sources that came, in {:.1} MB of records. CPU time of this process, user and system; {READINGS} readings, \
         {A_SECOND} a second. Goal: readings take less than 0.5 % of one CPU.",
        number::count(rows),
        bytes as f64 / 1e6
    ));
    section.say(table(&[("reading", &reading), ("making an account of it", &telling)]));
    Ok(section)
}

fn table(rows: &[(&str, &[Cost])]) -> String {
    let mut table = format!("| | CPU, ms | of one CPU, {A_SECOND} times a second |\n|---|---:|---:|\n");
    for (name, costs) in rows {
        let ms = middle(&costs.iter().map(|cost| cost.cpu_ns as f64).collect::<Vec<_>>()) / 1e6;
        table.push_str(&format!("| {name} | {ms:.2} | {:.2} % |\n", ms * f64::from(A_SECOND) / 10.0));
    }
    table.trim_end().to_string()
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
