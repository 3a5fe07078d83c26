//! The programs that sum up in tables.

use std::path::PathBuf;

use machine::Missing;

use super::hooks::{BIRTHS, INTERRUPTS, NAMES_AND_IDLING, PAGE_FAULTS, RUN_QUEUES, SOFTIRQS, SUMS, WAKERS};
use super::loading::{Loaded, Programs};
use super::objects;
use super::records::{FUNCTION_ROWS, FUNCTIONS, SOURCES, STEPS_LINES};
use super::system_calls;

/// How large the tables are made; each record that does not fit is counted as lost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    /// CPUs, by the highest number that there can be.
    pub(crate) cpus: u32,
    /// Threads of the target that are alive at once.
    pub(crate) threads: u32,
    /// Processes or threads that are named as the target.
    pub(crate) wanted: u32,
    /// Tasks that ran in the target's place, by CPU.
    pub(crate) takers: u32,
    /// Device lines, by CPU.
    pub(crate) lines: u32,
    /// Pairs of CPUs between which threads moved.
    pub(crate) routes: u32,
}

/// What the programs are to do.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// Whether the time of every task is counted.
    pub(crate) every_task: bool,
    /// On PREEMPT_RT softirqs run in threads that can be preempted: they are seen as those threads.
    pub(crate) softirqs_are_threads: bool,
    /// Whether trace points with types are tried first.
    pub(crate) typed: bool,
    /// Number of the PID namespace whose numbers name the target; 0 for the first.
    pub(crate) namespace: u32,
    /// A file with the kernel's types, where it does not report them itself. Goes with raw trace points only.
    pub(crate) types: Option<PathBuf>,
}

/// Loads and attaches everything. Nothing is counted before the tables say so.
///
/// # Errors
/// When the kernel has no BPF, does not permit it, or does not have what everything rests on: what, why and the remedy.
pub(crate) fn load(sizes: Sizes, options: Options) -> Result<Loaded, Missing> {
    let softirqs = if options.softirqs_are_threads { &[][..] } else { SOFTIRQS };
    let wakers = if options.every_task { &[][..] } else { WAKERS };
    let programs = Programs {
        object: &objects::ACCOUNT,
        tables: vec![
            ("cpus", sizes.cpus),
            ("places", sizes.cpus),
            ("sources", sizes.cpus * SOURCES as u32),
            ("source_steps", sizes.cpus * (SOURCES * STEPS_LINES) as u32),
            ("threads", sizes.threads),
            ("free_slots", sizes.threads),
            ("wanted", sizes.wanted),
            ("takers", sizes.takers),
            ("lines", sizes.lines),
            ("functions", sizes.cpus * FUNCTIONS as u32),
            ("functions_came", sizes.cpus * FUNCTION_ROWS as u32),
            ("routes", sizes.routes),
        ],
        raw_tables: vec![("slots", sizes.threads)],
        numbers: vec![("every_task", u32::from(options.every_task)), ("room_for_cpus", sizes.cpus)],
        typed_bytes: vec![("reasons_of_calls", system_calls::reasons().to_vec())],
        core: [BIRTHS, RUN_QUEUES].into_iter().flatten().collect(),
        others: [NAMES_AND_IDLING, INTERRUPTS, PAGE_FAULTS, SUMS, softirqs, wakers]
            .into_iter()
            .flatten()
            .collect(),
        typed: options.typed,
        follows_threads: true,
        namespace: options.namespace,
        types: options.types,
    };
    programs.load()
}
