//! Memory of a process, from the `Vm*`, `Rss*` and `HugetlbPages` lines of /proc/PID/status (proc_pid_status(5),
//! fs/proc/task_mmu.c).
//!
//! Apart from [`super::pid_status`], which is read ten times a second and does not need them.

use super::{Malformed, Oddities, decimal, decimal32};

/// What a process holds, bytes. What the kernel did not print, or is no number, is `None`: a kernel thread has no memory of its own.
///
/// The kernel counts per CPU and adds up late, so that these are exact to some 64 pages a CPU only.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
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
    /// Lines that could not be read.
    pub odd: Oddities,
}

/// Parses the file; lines that are not known are passed over.
///
/// # Errors
/// None of the known lines that it has can be read.
pub fn parse(text: &str) -> Result<PidMemory, Malformed> {
    let mut memory = PidMemory::default();
    for (index, line) in text.lines().enumerate() {
        let Some((key, value)) = line.split_once(':') else { continue };
        let slot = match key {
            "Tgid" => {
                memory.process = memory.odd.keep(decimal32(index + 1, key, value));
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
        *slot = memory.odd.keep(bytes(index + 1, key, value));
    }
    let odd = std::mem::take(&mut memory.odd);
    match !odd.is_empty() && memory == PidMemory::default() {
        true => Err(odd.first_or(Malformed::new(1, text, "none of the known lines can be read"))),
        false => Ok(PidMemory { odd, ..memory }),
    }
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
    fn an_odd_line_is_missing_by_itself() {
        for odd in [
            "VmRSS:\t1 MB",
            "VmRSS:\tmany kB",
            "VmRSS:\t",
            "VmRSS:\t18446744073709551615 kB",
            "Tgid:\t99999999999",
        ] {
            assert_eq!(parse(odd).unwrap_err().line, 1, "{odd}");
            let memory = parse(&format!("{odd}\nVmSwap:\t4 kB\n")).unwrap();
            assert_eq!((memory.odd.first().len(), memory.odd.first()[0].line), (1, 1), "{odd}");
            let sound = PidMemory { swap_bytes: Some(4096), odd: memory.odd.clone(), ..PidMemory::default() };
            assert_eq!(memory, sound);
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "(VmRSS:|VmSwap:|Tgid:|[0-9]{1,22}| kB|\n|.){0,40}") {
            let _ = parse(&text);
        }
    }
}
