//! Memory of a process, from the `Vm*`, `Rss*` and `HugetlbPages` lines of /proc/PID/status (proc_pid_status(5),
//! fs/proc/task_mmu.c).
//!
//! Apart from [`super::pid_status`], which is read ten times a second and does not need them.

use super::{Malformed, decimal};

/// What a process holds, bytes. What the kernel did not print is `None`: a kernel thread has no memory of its own.
///
/// The kernel counts per CPU and adds up late, so that these are exact to some 64 pages a CPU only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PidMemory {
    /// Resident memory without huge pages of hugetlbfs (`VmRSS`).
    pub resident_bytes: Option<u64>,
    /// Of it anonymous memory (`RssAnon`, since 4.5).
    pub anonymous_bytes: Option<u64>,
    /// Of it pages of files (`RssFile`, since 4.5).
    pub file_bytes: Option<u64>,
    /// Of it shared memory and tmpfs (`RssShmem`, since 4.5).
    pub shared_bytes: Option<u64>,
    /// Anonymous memory that was swapped out (`VmSwap`); shared memory in swap is not counted.
    pub swap_bytes: Option<u64>,
    /// Huge pages of hugetlbfs (`HugetlbPages`, since 4.4).
    pub hugetlb_bytes: Option<u64>,
    /// The process (`Tgid`), which differs from the number asked for when that is a thread's.
    pub process: Option<u32>,
}

/// Parses the file; lines that are not known are passed over.
pub fn parse(text: &str) -> Result<PidMemory, Malformed> {
    let mut memory = PidMemory::default();
    for (index, line) in text.lines().enumerate() {
        let Some((key, value)) = line.split_once(':') else { continue };
        let slot = match key {
            "Tgid" => {
                let process = decimal(index + 1, key, value)?;
                let number = u32::try_from(process);
                memory.process = Some(number.map_err(|_| Malformed::new(index + 1, key, "is past 32 bits"))?);
                continue;
            }
            "VmRSS" => &mut memory.resident_bytes,
            "RssAnon" => &mut memory.anonymous_bytes,
            "RssFile" => &mut memory.file_bytes,
            "RssShmem" => &mut memory.shared_bytes,
            "VmSwap" => &mut memory.swap_bytes,
            "HugetlbPages" => &mut memory.hugetlb_bytes,
            _ => continue,
        };
        *slot = Some(bytes(index + 1, key, value)?);
    }
    Ok(memory)
}

fn bytes(line: usize, key: &str, value: &str) -> Result<u64, Malformed> {
    let kib = value.trim().strip_suffix("kB").ok_or_else(|| Malformed::new(line, key, "is not in kB"))?;
    decimal(line, key, kib)?.checked_mul(1024).ok_or_else(|| Malformed::new(line, key, "is past 64 bits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_and_a_kernel_thread() {
        let text = "Name:\tredis\nTgid:\t812\nVmRSS:\t    9000 kB\nRssAnon:\t    4000 kB\nRssFile:\t    4000 kB\n\
            RssShmem:\t    1000 kB\nVmSwap:\t       4 kB\nHugetlbPages:\t    2048 kB\nThreads:\t4\n";
        let memory = parse(text).unwrap();
        assert_eq!(memory.process, Some(812));
        assert_eq!((memory.resident_bytes, memory.swap_bytes), (Some(9000 << 10), Some(4096)));
        assert_eq!((memory.hugetlb_bytes, memory.shared_bytes), (Some(2 << 20), Some(1000 << 10)));
        let kernel = parse("Name:\tksoftirqd/0\nTgid:\t14\n").unwrap();
        assert_eq!(kernel, PidMemory { process: Some(14), ..PidMemory::default() });
    }

    #[test]
    fn malformed_values_name_their_line() {
        for bad in ["VmRSS:\t1 MB\n", "VmRSS:\tmany kB\n", "VmSwap:\t\n", "VmRSS:\t18446744073709551615 kB\n"]
        {
            assert_eq!(parse(bad).unwrap_err().line, 1, "{bad}");
        }
        assert!(parse("Tgid:\t99999999999\n").is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "(VmRSS:|VmSwap:|Tgid:|[0-9]{1,22}| kB|\n|.){0,40}") {
            let _ = parse(&text);
        }
    }
}
