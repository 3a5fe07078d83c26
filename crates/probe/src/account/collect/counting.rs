//! Counting that goes on in the kernel.

#[cfg(test)]
mod cleared_record;
mod eviction;
mod rate_limit;
mod recursion_misses;

use std::path::PathBuf;
use std::sync::Arc;

use machine::procfs::pid_stat;
use machine::{CpuSet, Machine, Missing, Root};

use super::absences::Absences;
use super::frequency::Frequencies;
use super::functions;
use super::interrupt_counts::CountedSince;
use super::paging::PagingSince;
use super::places::places;
use super::reading::{Lengths, Reader};
use super::snapshot::Snapshot;
use super::target::{Target, all_cpus, full, namespace_of, never_met, possible_cpus, threads_of};
use crate::account::time_account::Account;
use crate::bpf::refused;
use crate::bpf::{
    Control, CpuTables, Faults, Loaded, Made, Options, Record, Sizes, Tables, ThreadSeen, load, thread_state,
};
use crate::clock;
use rate_limit::Pace;
use recursion_misses::Missed;

/// How often a record is copied when it changes meanwhile. A program in the kernel is done within a us.
const TRIES: usize = 100;

/// How long the threads of a target may take to be stamped, ns: some us for each hundred of them.
const STAMPED_WITHIN_NS: u64 = 200_000;

/// Walks over all tasks take one in so many ns at most: one takes half a us for each task that there is, and shows what tasks count
/// themselves (page faults), and of threads whose state was lost what they do.
const WALKS: u64 = 50;

/// The same of readings of all that is counted of CPUs. Up to some 100 CPUs that is less than ten a second take; on larger machines lengths and
/// functions are left out of some.
const WHOLE_READINGS: u64 = 1_000;

/// Another number in its place: to try out here what machines with very many CPUs get. For tests.
const OTHER_WHOLE_READINGS: &str = "PINWISE_WHOLE_READINGS";

/// BPF_NOEXIST: an entry that is there stays as it is, and the kernel says so.
const NEW_ONLY: u64 = 1;

/// Which trace points the programs use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TracePoints {
    /// Those with types where the kernel has them, else raw ones.
    #[default]
    Best,
    /// Raw ones: for kernels before 5.12, and to try them out.
    Raw,
    /// Raw ones, with the kernel's types (BTF) from this file: for kernels that do not report them.
    RawWith(PathBuf),
}

impl TracePoints {
    /// The file with the kernel's types, if one is named.
    pub(crate) fn types(&self) -> Option<&PathBuf> {
        match self {
            Self::RawWith(file) => Some(file),
            Self::Best | Self::Raw => None,
        }
    }
}

/// Programs in the kernel that count; they end with this.
pub struct Counting {
    loaded: Loaded,
    tables: Tables,
    began_ns: u64,
    reader: Reader,
    functions: functions::Reader,
    /// How many slots were ever given out: lower ones are given out before higher ones.
    reached: usize,
    /// Tasks by CPU that there is room for.
    room_for_takers: usize,
    /// Threads that have ended; their slots were given back.
    ended: Vec<(u64, ThreadSeen)>,
    /// Waiting of those of them that were forgotten, of which it is not known who was on the CPU, ns.
    forgotten_unseen_waiting_ns: u64,
    root: Root,
    paging: PagingSince,
    absences: Absences,
    /// `None` where nobody wants to know.
    frequencies: Option<Frequencies>,
    /// What no program sees; `None` until counting begins.
    counted: Option<CountedSince>,
    foreign_numbers: bool,
    walks: Pace,
    whole_readings: Pace,
    missed: Missed,
}

impl Counting {
    /// Loads and attaches the programs (some 20 ms), and begins to count.
    ///
    /// # Errors
    /// When the kernel has no such programs, or does not permit them: what, why and the remedy.
    pub fn begin(target: &Target, machine: &Machine, trace_points: &TracePoints) -> Result<Self, Missing> {
        let namespace = namespace_of(target)?;
        if *target != Target::Everything && namespace > 0 && *trace_points != TracePoints::Best {
            let why = "this is a PID namespace of its own (a container), whose numbers raw trace points do not know: run pinwise on the \
                host, or with the host's PID namespace";
            return Err(refused::no_events_of_process(why));
        }
        let sizes = sizes(target, machine);
        let options = Options {
            every_task: *target == Target::Everything,
            softirqs_are_threads: machine.kernel.preempt.as_deref() == Some("rt"),
            typed: *trace_points == TracePoints::Best,
            namespace,
            types: trace_points.types().cloned(),
        };
        let mut loaded = load(sizes, options)?;
        let mut tables = Tables::open(&mut loaded, sizes)?;
        for (cpu, place) in places(machine) {
            tables.places.set(cpu as usize, &place);
        }
        for slot in (0..sizes.threads).rev() {
            tables.free_slots.push(slot, 0).map_err(full)?;
        }
        let (numbers, meant) = target.numbers();
        for number in numbers {
            tables.wanted.insert(number, meant, 0).map_err(full)?;
        }
        let cpus: Vec<u32> = machine.online().iter().filter(|cpu| *cpu < sizes.cpus).collect();
        let all = all_cpus(machine, sizes.cpus);
        let root = Root::live();
        let mut counting = Self {
            loaded,
            tables,
            began_ns: 0,
            frequencies: Some(Frequencies::of(&root, &cpus)),
            counted: None,
            reader: Reader::of(all.iter().collect()),
            absences: Absences::of(all, &machine.online()),
            functions: functions::Reader::default(),
            reached: 0,
            room_for_takers: sizes.takers as usize,
            ended: Vec::new(),
            forgotten_unseen_waiting_ns: 0,
            paging: PagingSince::now(&root),
            root,
            foreign_numbers: namespace > 0,
            walks: Pace::one_in(WALKS),
            whole_readings: Pace::one_in(whole_readings()),
            missed: Missed::default(),
        };
        counting.start(target)?;
        Ok(counting)
    }

    /// The same without a look at the frequency of CPUs, and without a word about it.
    #[must_use]
    pub fn without_frequency(self) -> Self {
        Self { frequencies: None, ..self }
    }

    /// Gives slots to the threads that are there, lets the programs count, and has each thread's state reported.
    fn start(&mut self, target: &Target) -> Result<(), Missing> {
        self.loaded.walk_tasks()?;
        self.loaded.walk_tasks()?;
        self.adopt_by_number(target)?;
        self.counted = Some(CountedSince::now(Root::live(), |program| self.loaded.runs(program)));
        self.stamp();
        self.tables.control.set_word(0, std::mem::offset_of!(Control, began_ns), self.began_ns);
        self.tables.count(true)?;
        let counts_since_ns = clock::monotonic_ns();
        self.miss_what_came_before(counts_since_ns);
        self.loaded.walk_tasks()?;
        self.forget_the_dead(counts_since_ns);
        self.must_be_met(target)?;
        self.absences.begin(&self.root, &self.tables.cpus, self.began_ns);
        Ok(())
    }

    /// Fails where the target is alive and no thread of it is known by now: the walk meets those that sleep, too.
    fn must_be_met(&mut self, target: &Target) -> Result<(), Missing> {
        let mut slots = self.slots();
        let met = slots.any(|slot| self.tables.threads.get(slot).is_some_and(|thread| thread.tid != 0));
        if met { Ok(()) } else { never_met(target).map_or(Ok(()), Err) }
    }

    /// Says so where much lies between the moment of which everything is reported and the word to the programs: this process lost its CPU, or there
    /// are very many threads to stamp.
    fn miss_what_came_before(&mut self, counts_since_ns: u64) {
        let unseen_ns = counts_since_ns.saturating_sub(self.began_ns);
        if unseen_ns > 2 * STAMPED_WITHIN_NS {
            let us = unseen_ns / 1_000;
            let why = "the programs did not count yet (pinwise lost its CPU, or has very many threads to watch): what came then \
                is given to whoever was there";
            self.loaded.missing.push(Missing::new(format!("the first {us} us of the window"), why));
        }
    }

    /// Gives back the slots of threads that ended after they got one and before the programs counted: nothing shows their end.
    fn forget_the_dead(&mut self, counts_since_ns: u64) {
        for slot in self.slots() {
            let known = self.tables.threads.get(slot).filter(|thread| thread.tid != 0);
            let Some(thread) = known else { continue };
            // Of one that was seen to switch or to be woken, the end is seen as well.
            if thread.state == thread_state::ENDED || thread.version > 0 || thread.began_ns > counts_since_ns
            {
                continue;
            }
            // The walk has met all that live, and said what they do. Without it, /proc knows.
            let dead = match self.loaded.typed {
                true => thread.state == thread_state::NONE,
                false => self.root.read(format!("/proc/{}/stat", thread.tid)).is_err(),
            };
            if dead {
                self.free(slot);
            }
        }
    }

    fn free(&mut self, slot: usize) {
        self.tables.threads.set(slot, &ThreadSeen::zeroed());
        // The table of free slots has room for every slot, and this one is not in it.
        let _ = self.tables.free_slots.push(slot as u32, 0);
    }

    /// Says of each thread that it is watched from now on. What happens between this moment and the word to the programs is
    /// not seen, so that it is done again if this process lost its CPU meanwhile.
    fn stamp(&mut self) {
        let mut known: Vec<(usize, ThreadSeen)> = self
            .slots()
            .filter_map(|slot| Some((slot, self.tables.threads.get(slot).filter(|thread| thread.tid != 0)?)))
            .collect();
        for _ in 0..TRIES {
            self.began_ns = clock::monotonic_ns();
            for (slot, thread) in &mut known {
                (thread.began_ns, thread.since_ns) = (self.began_ns, self.began_ns);
                self.tables.threads.set(*slot, thread);
            }
            if clock::monotonic_ns() - self.began_ns < STAMPED_WITHIN_NS {
                break;
            }
        }
    }

    /// Without a walk inside the kernel: gives slots to the threads that /proc lists.
    fn adopt_by_number(&mut self, target: &Target) -> Result<(), Missing> {
        let Some(slots) = &mut self.tables.slots else { return Ok(()) };
        for thread in threads_of(target) {
            let Ok(slot) = self.tables.free_slots.pop(0) else { break };
            slots.insert(thread.tid, slot, 0).map_err(full)?;
            self.tables.threads.set(slot as usize, &ThreadSeen { slot, ..thread });
        }
        Ok(())
    }

    /// Takes in more processes: those that came to the target by another way than being started by it (moved into its cgroup).
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn add(&mut self, numbers: &[u32]) -> Result<(), Missing> {
        let (_, meant) = Target::Processes(Vec::new()).numbers();
        let mut fresh = false;
        for number in numbers {
            let mut added = self.tables.wanted.insert(number, meant, NEW_ONLY);
            if added.is_err() && self.tables.wanted.get(number, 0).is_err() {
                self.forget_all_but(numbers);
                added = self.tables.wanted.insert(number, meant, NEW_ONLY);
            }
            fresh |= added.is_ok();
        }
        if fresh { self.loaded.walk_tasks() } else { Ok(()) }
    }

    /// By which means: `tp_btf`, `raw_tp`.
    pub fn means(&self) -> &'static str {
        if self.loaded.typed { "tp_btf" } else { "raw_tp" }
    }

    /// What is not counted on this kernel, and why.
    pub fn missing(&self) -> &[Missing] {
        &self.loaded.missing
    }

    /// The account of the last reading with what no program saw and /proc/interrupts counts, on these CPUs if any are named. Of readings
    /// that follow each other within a second the later ones have what the first had.
    pub fn with_counted(&self, account: Account, cpus: Option<&CpuSet>) -> Account {
        match &self.counted {
            Some(counted) => counted.within(account, cpus),
            None => account,
        }
    }

    /// The kernel's records of the CPUs, as they change.
    pub(crate) fn cpu_tables(&self) -> Arc<CpuTables> {
        Arc::clone(&self.tables.cpus)
    }

    /// Ends counting; what was counted stays readable, and no longer moves.
    pub fn stop(&mut self) {
        self.absences.look(&self.root, &self.tables.cpus);
        self.absences.end();
        let ended_ns = clock::monotonic_ns();
        if let Err(refused) = self.tables.count(false) {
            self.loaded.missing.push(refused);
        }
        self.tables.control.set_word(0, std::mem::offset_of!(Control, ended_ns), ended_ns);
        self.counted.iter_mut().for_each(CountedSince::end);
    }

    /// What was counted up to now.
    pub fn read(&mut self) -> Snapshot {
        self.harvest();
        self.counted.iter_mut().for_each(CountedSince::look);
        let control = self.tables.control.get(0);
        let ended_ns = control.map_or(0, |control| control.ended_ns);
        // What tasks count themselves; without it they are read one by one.
        let asked = self.walk_if_due(ended_ns != 0);
        let now = || if ended_ns == 0 { clock::monotonic_ns() } else { ended_ns };
        let mut snapshot = Snapshot {
            began_ns: self.began_ns,
            at_ns: now(),
            lost: control.map(|control| control.lost),
            page_faults: self.loaded.runs("page_fault_user"),
            absences: self.absences.by_cpu(),
            absences_missing: self.absences.missing().cloned(),
            misses: self.missed.look(ended_ns != 0, || self.loaded.misses()).clone(),
            paging: Some(self.paging.read(&self.root)),
            frequency: self.frequencies.as_ref().map(|frequencies| frequencies.seen().clone()),
            forgotten_unseen_waiting_ns: self.forgotten_unseen_waiting_ns,
            foreign_numbers: self.foreign_numbers,
            threads: self.ended.clone(),
            ..Snapshot::default()
        };
        self.read_cpus(&mut snapshot, ended_ns != 0, now);
        let at_ns = snapshot.at_ns;
        for slot in self.slots() {
            let Some(mut thread) = self.thread(slot).filter(|thread| thread.tid != 0) else { continue };
            if !self.loaded.typed || asked.is_err() {
                thread.faults = faults_of(&self.root, &thread);
            }
            // Where nothing happened since, the record says how it was at the moment of the reading: then all that rest have
            // the same moment. On a CPU, interrupts go on.
            let rests = thread.state != thread_state::RUNNING && thread.since_ns <= at_ns;
            snapshot.threads.push((if rests { at_ns.max(thread.began_ns) } else { now() }, thread));
        }
        let made = self.made();
        snapshot.takers = self.tables.takers.read(made.takers);
        snapshot.lines = self.tables.lines.read(made.lines);
        snapshot.routes = self.tables.routes.read(made.routes);
        snapshot
    }

    /// Reads what is counted of CPUs: all of it where that is not dear or the last reading, else without lengths and functions.
    fn read_cpus(&mut self, snapshot: &mut Snapshot, has_ended: bool, now: impl Fn() -> u64) {
        let began_ns = snapshot.at_ns;
        let is_whole = has_ended || self.whole_readings.may_go_again(began_ns);
        let before_ns = clock::thread_cpu_ns();
        let lengths = if is_whole { Lengths::Read } else { Lengths::Left };
        snapshot.cpus = self.reader.read(&self.tables.cpus, lengths, began_ns, now);
        if is_whole {
            let (made, changed) = (self.made().functions, self.reader.changed().collect());
            snapshot.functions =
                self.functions.read(&self.tables.functions, made, changed, self.reader.cpus());
            self.whole_readings.went(began_ns, clock::thread_cpu_ns() - before_ns);
        } else {
            snapshot.functions = self.functions.last();
            snapshot.detail_ns = Some(self.whole_readings.began_ns());
        }
    }

    /// Reads what tasks count themselves; at the end in any case.
    fn walk_if_due(&mut self, has_ended: bool) -> Result<(), Missing> {
        let began_ns = clock::monotonic_ns();
        if self.slots().is_empty() || !(has_ended || self.walks.may_go_again(began_ns)) {
            return Ok(());
        }
        let before_ns = clock::thread_cpu_ns();
        self.loaded.walk_tasks()?;
        self.walks.went(began_ns, clock::thread_cpu_ns() - before_ns);
        Ok(())
    }

    /// Entries that have ever been made in the tables.
    fn made(&self) -> Made {
        self.tables.control.get(0).map_or(Made::zeroed(), |control| control.made)
    }

    /// Copies a thread's record as it was between two events.
    fn thread(&self, slot: usize) -> Option<ThreadSeen> {
        let mut thread = ThreadSeen::zeroed();
        for _ in 0..TRIES {
            let before = self.tables.threads.word(slot, 0)?;
            self.tables.threads.copy(slot, &mut thread);
            if before % 2 == 0 && self.tables.threads.word(slot, 0) == Some(before) {
                break;
            }
            std::hint::spin_loop();
        }
        Some(thread)
    }

    /// The slots that are or were in use. Those beyond have never been given out: each is only when all below it are.
    fn slots(&mut self) -> std::ops::Range<usize> {
        let numbers = std::mem::offset_of!(ThreadSeen, tid);
        while self.tables.threads.word(self.reached, numbers).is_some_and(|numbers| numbers != 0) {
            self.reached += 1;
        }
        0..self.reached
    }

    /// Looks which CPUs are online, keeps what ended threads did, and gives their slots back. To be called some ten times a second: between two
    /// calls no more threads may be born than the table has room for, else they are lost (and counted as such).
    pub fn harvest(&mut self) {
        self.absences.look(&self.root, &self.tables.cpus);
        if let Some(frequencies) = &mut self.frequencies {
            frequencies.look(&self.root);
        }
        for slot in self.slots() {
            // Most slots are free: one word shows it, and the record is long.
            let word = self.tables.threads.word(slot, std::mem::offset_of!(ThreadSeen, state));
            if word.is_none_or(|word| word as u32 != thread_state::ENDED) {
                continue;
            }
            let thread = self.thread(slot).filter(|thread| thread.state == thread_state::ENDED);
            let Some(thread) = thread else { continue };
            self.ended.push((thread.since_ns, thread));
            self.free(slot);
        }
    }
}

/// The faults of a thread that lives, as /proc shows them; less than none (see `ThreadAccount::of`) where it does not.
fn faults_of(root: &Root, thread: &ThreadSeen) -> Faults {
    let text = root.read(format!("/proc/{}/task/{}/stat", thread.tgid, thread.tid)).unwrap_or_default();
    let stat = pid_stat::parse(&text).ok();
    let counted = stat.and_then(|stat| stat.minor_faults.zip(stat.major_faults));
    counted.map_or(Faults::zeroed(), |(minor, major)| Faults { minor, major })
}

fn whole_readings() -> u64 {
    let other = std::env::var(OTHER_WHOLE_READINGS).ok();
    other.and_then(|number| number.parse().ok()).unwrap_or(WHOLE_READINGS)
}

/// How large the tables have to be here.
fn sizes(target: &Target, machine: &Machine) -> Sizes {
    let online = machine.online().len() as u32;
    let threads = if *target == Target::Everything { 1 } else { 4_096 };
    Sizes {
        // An odd number: what is written of one CPU lies so many lines apart, and a power of two would have all of it compete for a few
        // places of that CPU's cache.
        cpus: possible_cpus(machine) | 1,
        threads,
        wanted: 1_024,
        takers: (64 * online).clamp(8_192, 262_144),
        lines: (16 * online).clamp(256, 65_536),
        routes: (online * online).clamp(16, 65_536),
    }
}
