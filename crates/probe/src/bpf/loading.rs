//! Loads the programs and attaches them.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use aya::maps::Map;
use aya::programs::{Iter, Program, ProgramError};
use aya::{Btf, BtfError, Ebpf, EbpfLoader, Endianness};
use machine::{Missing, Root};

use super::hooks::{Hook, SWITCH};
use super::lockdown::{self, verifier_log};
use super::objects::Object;
use super::refused;

/// Trace points that are left out although the kernel may have them: to try out here what other kernels and architectures get. For tests.
const LEFT_OUT: &str = "PINWISE_LEAVE_OUT";

/// The program that walks over all tasks, and the one that forgets a task with raw trace points.
const WALK: &str = "every_thread";
const FREE: &str = "sched_process_free";

/// A set of programs, and how it is to be loaded.
pub(super) struct Programs {
    pub(super) object: &'static Object,
    /// How large each table is made.
    pub(super) tables: Vec<(&'static str, u32)>,
    /// Those whose size is set for raw trace points only.
    pub(super) raw_tables: Vec<(&'static str, u32)>,
    /// Constants of the programs.
    pub(super) numbers: Vec<(&'static str, u32)>,
    /// Constants that only the set for trace points with types has.
    pub(super) typed_bytes: Vec<(&'static str, Vec<u8>)>,
    /// Without these nothing is known: they fail the loading. sched_switch comes last, when all else is there.
    pub(super) core: Vec<&'static Hook>,
    /// The others, left out where the kernel has no such trace point.
    pub(super) others: Vec<&'static Hook>,
    /// Whether trace points with types are tried first.
    pub(super) typed: bool,
    /// Whether threads are followed: a walk over all tasks and sched_switch go with it.
    pub(super) follows_threads: bool,
    /// Number of the PID namespace whose numbers name the target; 0 for the first. Raw trace points know no other.
    pub(super) namespace: u32,
    /// A file with the kernel's types, where it does not report them itself. Goes with raw trace points only.
    pub(super) types: Option<PathBuf>,
}

/// Programs that run, for as long as this lives.
pub(crate) struct Loaded {
    ebpf: Ebpf,
    attached: Vec<Attached>,
    /// What is not counted because its trace point is not there.
    pub(crate) missing: Vec<Missing>,
    /// Whether trace points with types are used.
    pub(crate) typed: bool,
}

/// A program that is attached.
struct Attached {
    program: &'static str,
    /// What the kernel reports it in, open: to be read again and again.
    fdinfo: Option<File>,
}

impl Programs {
    /// A set that there is for trace points with types alone, whose target is named by the numbers of the first PID namespace; all of its trace
    /// points are needed.
    pub(super) fn typed(
        object: &'static Object,
        tables: Vec<(&'static str, u32)>,
        core: Vec<&'static Hook>,
    ) -> Self {
        Self {
            object,
            tables,
            raw_tables: Vec::new(),
            numbers: Vec::new(),
            typed_bytes: Vec::new(),
            core,
            others: Vec::new(),
            typed: true,
            follows_threads: false,
            namespace: 0,
            types: None,
        }
    }

    /// Loads and attaches everything. Nothing is counted or reported before the tables say so.
    ///
    /// # Errors
    /// When the kernel has no BPF, does not permit it, or does not have what everything rests on: what, why and the remedy.
    pub(super) fn load(&self) -> Result<Loaded, Missing> {
        // Some kernels load the programs all the same, and let them read zeros.
        if lockdown::is_told(Root::live().read(lockdown::FILE).ok().as_deref()) {
            return Err(refused::no_events(lockdown::WHY));
        }
        let btf = match &self.types {
            Some(file) => Btf::parse_file(file, Endianness::default()).map_err(|e| bad_types(file, &e))?,
            None => Btf::from_sys_fs().map_err(|e| no_btf(&e, self.object.raw.is_some()))?,
        };
        if self.typed {
            let only = self.namespace > 0 || self.object.raw.is_none();
            match Loaded::of(self, &btf, true) {
                Ok(loaded) => return Ok(loaded),
                Err(refused) if refused.final_word || only => return Err(refused.missing),
                Err(_) => {}
            }
        }
        Loaded::of(self, &btf, false).map_err(|refused| refused.missing)
    }
}

/// Why a set of programs was not loaded.
struct Refused {
    missing: Missing,
    /// Another set would be refused, too.
    final_word: bool,
}

impl Loaded {
    fn of(programs: &Programs, btf: &Btf, typed: bool) -> Result<Self, Refused> {
        let mut loader = EbpfLoader::new();
        loader.btf(Some(btf)).allow_unsupported_maps();
        for (name, number) in &programs.numbers {
            loader.override_global(name, number, true);
        }
        if typed {
            if programs.follows_threads {
                loader.override_global("namespace_inum", &programs.namespace, true);
            }
            for (name, bytes) in &programs.typed_bytes {
                loader.override_global(name, bytes.as_slice(), true);
            }
        }
        let raw_tables = if typed { &[][..] } else { &programs.raw_tables };
        for (table, entries) in programs.tables.iter().chain(raw_tables) {
            loader.map_max_entries(table, *entries);
        }
        let object = if typed { programs.object.typed } else { programs.object.raw.unwrap_or_default() };
        let ebpf = loader.load(object).map_err(|e| refused("the programs cannot be loaded", &e))?;
        let mut loaded = Self { ebpf, attached: Vec::new(), missing: Vec::new(), typed };
        loaded.attach_all(programs, btf)?;
        Ok(loaded)
    }

    fn attach_all(&mut self, programs: &Programs, btf: &Btf) -> Result<(), Refused> {
        let left_out = std::env::var(LEFT_OUT).unwrap_or_default();
        for hook in &programs.core {
            self.attach(hook.program, hook.trace_point, btf).map_err(|e| refused(hook.trace_point, &e))?;
        }
        for hook in &programs.others {
            let attached = match is_left_out(hook.trace_point, &left_out) {
                true => Err(broken(format!("{LEFT_OUT} names it"))),
                false => self.attach(hook.program, hook.trace_point, btf),
            };
            if let Err(why) = attached {
                let missing = hook.without.map(|what| {
                    Missing::new(what, format_args!("trace point {}: {}", hook.trace_point, reasons(&why)))
                });
                self.missing.extend(missing);
            }
        }
        if !programs.follows_threads {
            return Ok(());
        }
        match self.typed {
            true => self.load_walk(btf).map_err(|e| refused("the walk over all tasks", &e))?,
            false => self.attach(FREE, FREE, btf).map_err(|e| refused(FREE, &e))?,
        }
        let newer = self.attach(SWITCH[0], SWITCH[0], btf);
        if newer.is_err() {
            self.attach(SWITCH[1], SWITCH[0], btf).map_err(|e| refused(SWITCH[0], &e))?;
        }
        Ok(())
    }

    fn attach(
        &mut self,
        program: &'static str,
        trace_point: &'static str,
        btf: &Btf,
    ) -> Result<(), ProgramError> {
        let loaded = self.program(program)?;
        match loaded {
            Program::BtfTracePoint(typed) => {
                typed.load(trace_point, btf)?;
                typed.attach()?;
            }
            Program::RawTracePoint(raw) => {
                raw.load()?;
                raw.attach(trace_point)?;
            }
            _ => return Err(broken(format!("{program} is no program for a trace point"))),
        }
        let fd = loaded.fd()?.as_fd().as_raw_fd();
        let fdinfo = File::open(format!("/proc/self/fdinfo/{fd}")).ok();
        self.attached.push(Attached { program, fdinfo });
        Ok(())
    }

    fn program(&mut self, name: &str) -> Result<&mut Program, ProgramError> {
        self.ebpf.program_mut(name).ok_or_else(|| broken(format!("no program {name} in the object")))
    }

    fn load_walk(&mut self, btf: &Btf) -> Result<(), ProgramError> {
        let program: &mut Iter = self.program(WALK)?.try_into()?;
        program.load("task", btf)
    }

    /// Walks over all tasks once, inside the kernel. Nothing happens with raw trace points.
    ///
    /// # Errors
    /// The kernel's word.
    pub(crate) fn walk_tasks(&mut self) -> Result<(), Missing> {
        if !self.typed {
            return Ok(());
        }
        self.walk()
            .map_err(|e| refused::no_events(format_args!("the walk over all tasks failed: {}", reasons(&e))))
    }

    fn walk(&mut self) -> Result<(), ProgramError> {
        let program: &mut Iter = self.program(WALK)?.try_into()?;
        let link = program.attach()?;
        let mut walk = program.take_link(link)?.into_file().map_err(|e| broken(reasons(&e)))?;
        walk.read_to_end(&mut Vec::new()).map_err(ProgramError::IOError)?;
        Ok(())
    }

    /// A table by its name.
    ///
    /// # Errors
    /// When the object has no such table: it is another build's.
    pub(crate) fn take(&mut self, table: &str) -> Result<Map, Missing> {
        let map = self.ebpf.take_map(table);
        map.ok_or_else(|| refused::no_events(format_args!("the programs have no table {table}")))
    }

    /// Whether a program is attached.
    pub(crate) fn runs(&self, program: &str) -> bool {
        self.attached.iter().any(|attached| attached.program == program)
    }

    /// How often the kernel left a program out because it was running already on that CPU, by program: those events are in no
    /// figure. Source: `recursion_misses` of /proc/self/fdinfo.
    pub(crate) fn misses(&self) -> BTreeMap<&'static str, u64> {
        let mut text = [0; 1_024];
        let mut missed = BTreeMap::new();
        for Attached { program, fdinfo: file } in &self.attached {
            let read = file.as_ref().and_then(|file| file.read_at(&mut text, 0).ok()).unwrap_or(0);
            match number_after(&text[..read], b"recursion_misses:") {
                Some(count) if count > 0 => missed.insert(*program, count),
                _ => None,
            };
        }
        missed
    }
}

/// What [`Loaded::misses`] reported, as what is missing.
pub(crate) fn missed_events(misses: &BTreeMap<&'static str, u64>) -> impl Iterator<Item = Missing> {
    misses.iter().map(|(program, count)| {
        let why = "the same program was already running on that CPU";
        Missing::new(format_args!("{count} events of {program}"), why)
    })
}

/// Whether a trace point is one of those that are named, separated by commas: `local_timer` names local_timer_entry and
/// local_timer_exit.
fn is_left_out(trace_point: &str, named: &str) -> bool {
    let bare = trace_point.trim_end_matches("_entry").trim_end_matches("_exit");
    named.split(',').any(|name| name == bare)
}

/// The number behind a word at the beginning of a line.
fn number_after(text: &[u8], word: &[u8]) -> Option<u64> {
    let line = text.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(word))?;
    std::str::from_utf8(line).ok()?.trim().parse().ok()
}

fn broken(why: String) -> ProgramError {
    ProgramError::IOError(io::Error::other(why))
}

/// An error and what caused it, in one line.
fn reasons(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !words.contains(&next) {
            words = format!("{words}: {next}");
        }
        cause = error.source();
    }
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether the kernel said that this process may not. What its verifier objects to comes as EACCES as well, with a log: that is a
/// fault of the program, and another kernel or another set of programs may do.
fn not_permitted(error: &(dyn Error + 'static)) -> bool {
    if verifier_log(error).is_some() {
        return false;
    }
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(io) = error.downcast_ref::<io::Error>() {
            // The verifier's refusals are EACCES.
            return io.raw_os_error() == Some(rustix::io::Errno::PERM.raw_os_error());
        }
        next = error.source();
    }
    false
}

fn refused(what: &str, error: &(dyn Error + 'static)) -> Refused {
    let locked_down = lockdown::is_why(error);
    let why = match not_permitted(error) {
        _ if locked_down => Err(lockdown::WHY),
        true => Err(
            "the kernel does not let this user load programs: run as root, or with CAP_BPF and CAP_PERFMON",
        ),
        false => Ok(format!("{what}: {}", reasons(error))),
    };
    let final_word = why.is_err();
    Refused { missing: refused::no_events(why.unwrap_or_else(str::to_string)), final_word }
}

fn bad_types(file: &Path, error: &BtfError) -> Missing {
    let file = file.display();
    refused::no_events(format_args!("{file} does not have the kernel's types (BTF): {}", reasons(error)))
}

/// `others_do`: types from elsewhere are as good, for raw trace points.
fn no_btf(error: &BtfError, others_do: bool) -> Missing {
    let remedy = if others_do { "; a file with them can be named (--btf)" } else { "" };
    let why = format!(
        "the kernel does not export its types (/sys/kernel/btf/vmlinux, CONFIG_DEBUG_INFO_BTF): {}{remedy}",
        reasons(error)
    );
    refused::no_events(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trace_points_are_left_out_by_name_with_both_their_ends() {
        let named = "local_timer,nmi_handler";
        for left_out in ["local_timer_entry", "local_timer_exit", "nmi_handler"] {
            assert!(is_left_out(left_out, named), "{left_out}");
        }
        for kept in ["reschedule_entry", "local", "hrtimer_expire_entry"] {
            assert!(!is_left_out(kept, named) && !is_left_out(kept, ""), "{kept}");
        }
    }

    #[test]
    fn a_number_is_found_by_the_word_at_the_beginning_of_its_line() {
        let text = b"pos:\t0\nrun_cnt:\t9\nrecursion_misses:\t77\nverified_insns:\t1\n";
        assert_eq!(number_after(text, b"recursion_misses:"), Some(77));
        assert_eq!(number_after(text, b"misses:"), None);
        assert_eq!(number_after(b"recursion_misses:\tx", b"recursion_misses:"), None);
        assert_eq!(number_after(b"", b"recursion_misses:"), None);
    }
}
