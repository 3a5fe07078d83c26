//! CPU time of every process so far, by one pass over /proc.

use std::collections::BTreeMap;

use super::scan::{self, Seen};
use crate::{ReadError, Root};

/// What a process has had of the CPUs since it began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuTime {
    /// Its name.
    pub comm: String,
    /// Start, clock ticks after boot: detects a reused number.
    pub start_time_ticks: u64,
    /// CPU time of all its threads, clock ticks.
    pub ticks: u64,
    /// CPU on which its first thread ran last.
    pub last_cpu: Option<u32>,
    /// Whether it is a thread of the kernel.
    pub of_kernel: bool,
}

/// All processes that can be seen, by number. Those that end meanwhile, or whose time is no number, are left out. Source: /proc/PID/stat.
///
/// # Errors
/// /proc names no process.
pub fn cpu_times(root: &Root) -> Result<BTreeMap<u32, CpuTime>, ReadError> {
    let time = |seen: Seen| {
        let time = CpuTime {
            comm: seen.comm,
            start_time_ticks: seen.start_time_ticks,
            ticks: seen.cpu_ticks?,
            last_cpu: seen.last_cpu,
            of_kernel: seen.kernel,
        };
        Some((seen.pid, time))
    };
    Ok(scan::read(root)?.seen.into_iter().filter_map(time).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;
    use crate::processes::scan::tests::stat;

    #[test]
    fn every_process_with_what_it_had() {
        let tree = Tree::new()
            .file("/proc/8/stat", stat(8, "hog", 1, 0))
            .file("/proc/9/stat", "torn")
            .file("/proc/stat", "cpu 1\n");
        let times = cpu_times(&Root::from_tree(tree)).unwrap();
        assert_eq!(times.keys().copied().collect::<Vec<_>>(), [8]);
        assert_eq!((times[&8].comm.as_str(), times[&8].ticks, times[&8].last_cpu), ("hog", 50, Some(1)));
    }
}
