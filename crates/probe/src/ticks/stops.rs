//! Counts, in the kernel, how often each CPU stopped its tick and what kept it from doing so.

use std::fs;
use std::path::Path;

use machine::Missing;

use super::hist::{self, TickStops};
use super::instance::{Instance, missing, tracefs};

/// The tracepoint (include/trace/events/timer.h).
const EVENT: &str = "events/timer/tick_stop";

/// The CPU as a key of a histogram: since Linux 5.14, and before.
const CPU_KEYS: [&str; 2] = ["common_cpu", "cpu"];

/// Answers that one CPU can have: stopped, and one for each dependency; as a power of two.
const ENTRIES_PER_CPU: u32 = 8;

/// Sizes that the kernel takes for a table (TRACING_MAP_BITS_MIN and _MAX of kernel/trace/tracing_map.h).
const SIZES: [u32; 2] = [1 << 7, 1 << 17];

/// Counts until it is dropped: a histogram trigger on timer:tick_stop in an instance of our own. No event is recorded.
#[derive(Debug)]
pub(super) struct StopCounter {
    instance: Instance,
}

impl StopCounter {
    /// Begins to count on this machine, which has `cpus` CPUs. Missing where tracefs is not mounted or refuses, and where the
    /// kernel is missing the tracepoint or histogram triggers.
    pub fn begin(cpus: usize) -> Result<Self, Missing> {
        Self::begin_at(&tracefs()?, cpus)
    }

    fn begin_at(tracefs: &Path, cpus: usize) -> Result<Self, Missing> {
        offered(tracefs)?;
        let instance = Instance::make(tracefs)?;
        let trigger = format!("{EVENT}/trigger");
        let mut refused = None;
        for key in CPU_KEYS {
            // A second attempt after a success would take its place, and one that fails takes it away (seen on 6.1).
            match instance.write(&trigger, &command(key, cpus)) {
                Ok(()) => return Ok(Self { instance }),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        let because = refused.map(|error| missing(&instance.file(&trigger), &error));
        Err(because.unwrap_or_else(|| Missing::new(trigger, "the kernel took no key for the CPU")))
    }

    /// What was counted so far.
    pub fn read(&self) -> Result<TickStops, Missing> {
        let path = self.instance.file(&format!("{EVENT}/hist"));
        let text = fs::read_to_string(&path).map_err(|e| missing(&path, &e))?;
        hist::parse(&text).map_err(|e| Missing::new(path.display(), e))
    }
}

/// Whether the kernel has what counting takes; looked at before anything is made.
fn offered(tracefs: &Path) -> Result<(), Missing> {
    let event = tracefs.join(EVENT);
    fs::metadata(&event).map_err(|e| missing(&event, &e))?;
    let why = "the kernel has no histogram triggers - it takes CONFIG_HIST_TRIGGERS";
    fs::metadata(event.join("hist")).map(|_| ()).map_err(|_| Missing::new(event.display(), why))
}

/// The trigger, with a table that holds every answer of every CPU.
fn command(cpu_key: &str, cpus: usize) -> String {
    let entries = u32::try_from(cpus).unwrap_or(SIZES[1]).saturating_mul(ENTRIES_PER_CPU);
    let size = entries.min(SIZES[1]).next_power_of_two().max(SIZES[0]);
    format!("hist:keys={cpu_key},success,dependency:size={size}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_holds_every_answer_of_every_cpu_within_what_the_kernel_takes() {
        let size = |cpus| command("common_cpu", cpus).rsplit('=').next().unwrap().parse::<u32>().unwrap();
        assert_eq!([0, 4, 16, 17, 512].map(size), [128, 128, 128, 256, 4096]);
        assert_eq!([100_000, usize::MAX].map(size), [131_072; 2]);
        assert_eq!(command("cpu", 1), "hist:keys=cpu,success,dependency:size=128");
    }

    #[test]
    fn a_kernel_without_the_event_or_without_histograms_is_told_apart_before_anything_is_made() {
        let tracefs = tempfile::tempdir().unwrap();
        let event = tracefs.path().join(EVENT);
        let why = || StopCounter::begin_at(tracefs.path(), 4).unwrap_err();
        assert!(why().fact.ends_with(EVENT) && why().why.contains("no such file"), "{:?}", why());
        fs::create_dir_all(&event).unwrap();
        assert!(why().why.contains("CONFIG_HIST_TRIGGERS"), "{:?}", why());
        fs::write(event.join("hist"), "").unwrap();
        assert!(why().fact.contains("/instances/pinwise-"), "{:?}", why());
    }
}
