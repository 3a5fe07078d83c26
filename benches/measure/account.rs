//! What one reading of all that `pinwise watch` counts costs on a machine of 1,024 CPUs.
//!
//! The programs are loaded for such a machine and count for a while on the CPUs that there are. Then their records are copied to all
//! the others, as the kernel would have written them there: once, or again before each reading and on another CPU than the one that reads, so
//! that everywhere comes what came here, and the reader finds it in no cache of its own. What is measured is the reading of [`Counting`] as
//! it is.

use std::io;
use std::process::{Child, Command};
use std::time::Duration;

use benches::blocks::middle;
use benches::cpu_time;
use benches::kernel_tables::KernelTable;
use benches::system_time::SystemTime;
use machine::topology::cpus::Cpu;
use machine::{CpuSet, Machine, Root};
use probe::account::{Account, Counting, Names, Target, TracePoints};
use probe::ring::{Recorder, Session, unix_ns_at};
use report::number;

use crate::pinned::Pinned;
use crate::section::Section;
use crate::tools;

const CPUS: u32 = 1_024;

/// Rows that the tables have for them: an odd number.
const ROWS: u32 = CPUS + 1;

/// Sources of a CPU that are distinguished, and lines that the steps of their lengths take: the tables have a row for each CPU of each of them.
const SOURCES: usize = 20;
const STEPS_LINES: usize = 10;

/// Functions in a row have it side by side how often they came, those on a line what they did; the tables have such a piece for each CPU, then
/// the next functions.
const FUNCTIONS: usize = 512;
const FUNCTIONS_IN_ROW: usize = 32;
const FUNCTION_ROWS: usize = FUNCTIONS / FUNCTIONS_IN_ROW;
const FUNCTIONS_IN_LINE: usize = 2;

const A_SECOND: u32 = 10;
const READINGS: usize = 100;

const RING_BYTES: u64 = 64 << 20;

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
    let online = live.online();
    let _pinned = Pinned::to(online.first())?;
    let here = on_its_own(&mut begin(&live)?, &live, || Ok(()))?;
    let large = grown(&live);
    let mut counting = begin(&large)?;
    std::thread::sleep(COUNTED);
    let bytes = spread(&online)?;
    let quiet = on_its_own(&mut counting, &large, || Ok(()))?;
    let busy = on_its_own(&mut counting, &large, || spread_beside(&online))?;
    section.say(format!(
        "{} counters of sources that came and {} of functions that the kernel ran, in {:.1} MB of records. CPU time of this process, {A_SECOND} readings a second, \
         {READINGS} in all; in user space is what of it was in no system call (counted by a program at their entry and exit, whose own \
         cost is in all figures). Where readings are of two kinds, each row but theirs is the mean of both as they came, each in its median. Goal: readings take less than 0.5 % of one CPU in user space.",
        number::count(busy.sources),
        number::count(busy.functions),
        bytes as f64 / 1e6
    ));
    let mut table =
        format!("| | CPU, ms | of one CPU, {A_SECOND} a second | in user space |\n|---|---:|---:|---:|\n");
    let busy_row = format!(
        "reading, 1,024 CPUs on which came what came here ({:.1} sources a reading and CPU)",
        busy.came
    );
    busy.put(&mut table, &busy_row);
    quiet.put(&mut table, "reading, 1,024 CPUs of which all but those that there are did nothing");
    here.put(&mut table, &format!("reading, the {} CPUs that there are", live.online().len()));
    section.say(table.trim_end());
    Ok(section)
}

/// Measures on a thread that did nothing else before.
fn on_its_own(
    counting: &mut Counting,
    machine: &Machine,
    meanwhile: impl FnMut() -> io::Result<()> + Send,
) -> io::Result<Costs> {
    let measured = std::thread::scope(|scope| scope.spawn(|| Costs::of(counting, machine, meanwhile)).join());
    measured.map_err(|_| io::Error::other("the thread that reads panicked"))?
}

/// What readings cost.
struct Costs {
    reading: Costly,
    summing: Costly,
    /// What a recorder makes of that: what came since the account before, and an entry of a ring.
    difference: Costly,
    entry: Costly,
    /// Sources that came, CPU by CPU.
    sources: usize,
    /// Functions of the kernel, CPU by CPU.
    functions: usize,
    /// How many came on a CPU between two readings.
    came: f64,
}

impl Costs {
    /// `meanwhile` is done between two readings.
    fn of(
        counting: &mut Counting,
        machine: &Machine,
        mut meanwhile: impl FnMut() -> io::Result<()>,
    ) -> io::Result<Self> {
        let names = Names::of(machine);
        let system = SystemTime::of_this_thread()?;
        let [reading, summing, difference, entry] = [(); 4].map(|()| Costly::default());
        let mut costs = Self { reading, summing, difference, entry, sources: 0, functions: 0, came: 0.0 };
        let folder = tempfile::tempdir()?;
        let session = Session::now("sleep".into(), serde_json::Value::Null, "tp_btf", 100_000_000);
        let fault = |fault: machine::Fault| io::Error::other(fault.to_string());
        let mut ring = Recorder::open(folder.path(), RING_BYTES, session.map_err(fault)?).map_err(fault)?;
        let mut before = Account::default();
        for _ in 0..READINGS {
            std::thread::sleep(Duration::from_secs(1) / A_SECOND / 2);
            meanwhile()?;
            std::thread::sleep(Duration::from_secs(1) / A_SECOND / 2);
            let (snapshot, cost) = cost_of(&system, || counting.read())?;
            let is_whole = snapshot.is_whole();
            costs.reading.add(is_whole, cost);
            let (account, cost) = cost_of(&system, || Account::of(&snapshot, false, &names, &[]))?;
            costs.summing.add(is_whole, cost);
            costs.sources = account.cpus.iter().map(|cpu| cpu.sources.iter().len()).sum();
            costs.functions = account.functions.len();
            let (since, cost) = cost_of(&system, || account.since(&before))?;
            costs.difference.add(is_whole, cost);
            let (written, cost) = cost_of(&system, || ring.add(&since, unix_ns_at(since.to_ns)))?;
            written.map_err(fault)?;
            costs.entry.add(is_whole, cost);
            let came = since.cpus.iter().map(|cpu| cpu.sources.iter().len()).sum::<usize>();
            costs.came = came as f64 / account.cpus.len() as f64;
            before = account;
        }
        Ok(costs)
    }

    /// Rows of readings and of what is computed from them.
    fn put(&self, table: &mut String, name: &str) {
        table.push_str(&row(name, self.reading.mean()));
        let [whole, rest] = &self.reading.0;
        if !rest.0.is_empty() {
            let count = |kind: &Cost| format!("{:.0} of 100", kind.0.len() as f64 / READINGS as f64 * 100.0);
            let kinds = [(whole, "with lengths and functions"), (rest, "counts and times")];
            for (kind, what) in kinds {
                table.push_str(&row(&format!("{}: {what}, if each were so", count(kind)), kind.median()));
            }
        }
        table.push_str(&row("making an account of it", self.summing.mean()));
        table.push_str(&row("what it has more than the one before", self.difference.mean()));
        table.push_str(&row("writing that into a ring", self.entry.mean()));
    }
}

/// CPU time of a piece of work, and what of it was in no system call, ns.
type Ns = [f64; 2];

fn cost_of<T>(system: &SystemTime, work: impl FnOnce() -> T) -> io::Result<(T, Ns)> {
    let before_ns = system.so_far_ns()?;
    let (cost, answer) = cpu_time::of_work(|| Ok(work()))?;
    let system_ns = system.since_ns(before_ns)?;
    Ok((answer, [cost.cpu_ns, cost.cpu_ns.saturating_sub(system_ns)].map(|ns| ns as f64)))
}

/// What the same piece of work cost again and again: where the reading was whole, and where it was not.
#[derive(Default)]
struct Costly([Cost; 2]);

impl Costly {
    fn add(&mut self, is_whole: bool, cost: Ns) {
        self.0[usize::from(!is_whole)].0.push(cost);
    }

    /// Of both kinds as they came, each in its median.
    fn mean(&self) -> Ns {
        let all: usize = self.0.iter().map(|kind| kind.0.len()).sum();
        self.0.iter().fold([0.0; 2], |sum, kind| {
            let (share, of_kind) = (kind.0.len() as f64 / all as f64, kind.median());
            [sum[0] + share * of_kind[0], sum[1] + share * of_kind[1]]
        })
    }
}

#[derive(Default)]
struct Cost(Vec<Ns>);

impl Cost {
    /// 0 where there is none.
    fn median(&self) -> Ns {
        if self.0.is_empty() {
            return [0.0; 2];
        }
        [0, 1].map(|which| middle(&self.0.iter().map(|ns| ns[which]).collect::<Vec<_>>()))
    }
}

fn row(name: &str, [cpu_ns, user_ns]: Ns) -> String {
    let of_one = |ns: f64| ns * f64::from(A_SECOND) / 1e7;
    format!("| {name} | {:.2} | {:.2} % | {:.2} % |\n", cpu_ns / 1e6, of_one(cpu_ns), of_one(user_ns))
}

/// The same machine with so many CPUs.
fn grown(live: &Machine) -> Machine {
    let first = live.cpus.first().cloned().unwrap_or_default();
    let cpus = (0..CPUS).map(|id| Cpu { id, online: true, ..first.clone() }).collect();
    let possible: CpuSet = (0..CPUS).collect();
    Machine { cpus, possible: Some(possible), ..live.clone() }
}

/// What the programs count of each CPU.
struct Tables {
    cpus: KernelTable,
    /// Each with how many rows it has of a CPU.
    sources: [(KernelTable, usize); 2],
    functions: Functions,
}

impl Tables {
    fn find() -> io::Result<Self> {
        let rows = |name, rows| Ok::<_, io::Error>((KernelTable::find(name, ROWS as usize * rows)?, rows));
        let sources = [rows("sources", SOURCES)?, rows("source_steps", SOURCES * STEPS_LINES)?];
        Ok(Self { cpus: KernelTable::find("cpus", ROWS as usize)?, sources, functions: Functions::find()? })
    }

    fn bytes(&self) -> usize {
        self.cpus.bytes()
            + self.sources.iter().map(|(table, _)| table.bytes()).sum::<usize>()
            + self.functions.bytes()
    }

    /// All rows of a CPU between which nothing was counted, as far as its record shows: else that would be missing in one of them for ever
    /// where they are copied to.
    fn of(&self, cpu: u32) -> Record {
        loop {
            let record = self.cpus.record(cpu as usize);
            let rows = self
                .sources
                .each_ref()
                .map(|(table, rows)| used((0..*rows).map(|row| (row, table.record(row_of(row, cpu))))));
            if self.cpus.record(cpu as usize) == record {
                return Record { record, rows, functions: self.functions.of(cpu) };
            }
        }
    }

    fn set(&mut self, cpu: u32, known: &Record) {
        for ((table, _), rows) in self.sources.iter_mut().zip(&known.rows) {
            rows.iter().for_each(|(row, bytes)| table.set(row_of(*row, cpu), bytes));
        }
        self.functions.set(cpu, &known.functions);
        self.cpus.set(cpu as usize, &known.record);
    }
}

/// What the programs counted on a CPU.
struct Record {
    record: Vec<u8>,
    /// Of sources and the steps of their lengths.
    rows: [Rows; 2],
    functions: FunctionRows,
}

/// Rows of a CPU by their numbers, without those that nothing came to: the kernel writes to no others.
type Rows = Vec<(usize, Vec<u8>)>;

fn used(rows: impl Iterator<Item = (usize, Vec<u8>)>) -> Rows {
    rows.filter(|(_, bytes)| bytes.iter().any(|byte| *byte != 0)).collect()
}

/// How often functions came, row by row where any did, and what each of those did, by number.
type FunctionRows = (Rows, Rows);

/// What the programs count of functions that the kernel runs on each CPU: timers, remote calls, work items.
struct Functions {
    seen: KernelTable,
    came: KernelTable,
}

impl Functions {
    fn find() -> io::Result<Self> {
        let rows = ROWS as usize * FUNCTION_ROWS;
        Ok(Self {
            seen: KernelTable::find("functions", ROWS as usize * FUNCTIONS)?,
            came: KernelTable::find("functions_came", rows)?,
        })
    }

    fn bytes(&self) -> usize {
        self.seen.bytes() + self.came.bytes()
    }

    fn of(&self, cpu: u32) -> FunctionRows {
        let came = (0..FUNCTION_ROWS).map(|row| (row, self.came.record(row_of(row, cpu))));
        let seen = (0..FUNCTIONS).map(|number| (number, self.seen.record(cell_of(number, cpu))));
        (used(came), used(seen))
    }

    fn set(&mut self, cpu: u32, (came, seen): &FunctionRows) {
        seen.iter().for_each(|(number, seen)| self.seen.set(cell_of(*number, cpu), seen));
        came.iter().for_each(|(row, came)| self.came.set(row_of(*row, cpu), came));
    }
}

fn cell_of(number: usize, cpu: u32) -> usize {
    row_of(number / FUNCTIONS_IN_LINE, cpu) * FUNCTIONS_IN_LINE + number % FUNCTIONS_IN_LINE
}

fn row_of(row: usize, cpu: u32) -> usize {
    row * ROWS as usize + cpu as usize
}

/// Copies the records of the CPUs that there are to all the others. Bytes of all records.
fn spread(there: &CpuSet) -> io::Result<usize> {
    let mut tables = Tables::find()?;
    let known: Vec<_> = there.iter().map(|cpu| tables.of(cpu)).collect();
    let others = (0..CPUS).filter(|cpu| !there.contains(*cpu));
    others.zip(known.iter().cycle()).for_each(|(cpu, known)| tables.set(cpu, known));
    Ok(tables.bytes())
}

/// The same from the last CPU, while nobody else does anything.
fn spread_beside(there: &CpuSet) -> io::Result<()> {
    let done = std::thread::scope(|scope| {
        let copier = scope.spawn(|| Pinned::to(there.last()).and_then(|_pinned| spread(there)));
        copier.join()
    });
    done.map_err(|_| io::Error::other("the thread that copies records panicked"))?.map(|_| ())
}

/// Somebody to watch.
struct Sleeping(Child);

impl Drop for Sleeping {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
