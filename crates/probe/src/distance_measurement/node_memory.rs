//! Memory that is bound to a node, and where it really lies.

use std::ffi::{c_long, c_ulong, c_void};
use std::io;

use machine::{Class, Fault, Root};
use rustix::mm::{Advice, madvise};

use super::mapping::Mapping;

/// Allocate on these nodes only (include/uapi/linux/mempolicy.h).
const MPOL_BIND: c_long = 2;

/// Pages that the kernel is asked about at most; evenly spread.
const PAGES_ASKED: usize = 4_096;

/// Memory, all of it touched.
pub(super) struct NodeMemory {
    mapping: Mapping,
}

/// How many of the pages that were asked about lie on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Lies {
    pub(super) checked: u64,
    pub(super) there: u64,
}

impl NodeMemory {
    /// Memory of a node, or wherever the kernel puts it; in huge pages where there are some.
    ///
    /// # Errors
    /// There is no room, or it may not be bound to the node.
    pub(super) fn new(node: Option<u32>, bytes: usize) -> Result<Self, Fault> {
        let memory = Self { mapping: Mapping::new(bytes)? };
        if let Some(node) = node {
            memory.bind(node)?;
        }
        // Before the first touch. Where it is refused there are small pages, which is reported.
        // SAFETY: advice about a mapping that is ours alone changes none of its content.
        let _ = unsafe { madvise(memory.start(), bytes, Advice::LinuxHugepage) };
        Ok(memory)
    }

    fn start(&self) -> *mut c_void {
        self.mapping.start().as_ptr()
    }

    /// Its first word.
    pub(super) fn words(&self) -> *mut u64 {
        self.start().cast()
    }

    /// Size.
    pub(super) fn bytes(&self) -> usize {
        self.mapping.bytes()
    }

    fn bind(&self, node: u32) -> Result<(), Fault> {
        let bits = c_ulong::BITS;
        let mut mask: Vec<c_ulong> = vec![0; (node / bits + 1) as usize];
        mask[(node / bits) as usize] = 1 << (node % bits);
        // The kernel takes one off before it counts (mm/mempolicy.c, get_nodes).
        let most_node = mask.len() as c_ulong * c_ulong::from(bits) + 1;
        // SAFETY: a policy for our own mapping; the mask lives through the call and has as many bits as are reported.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_mbind,
                self.start(),
                self.bytes() as c_ulong,
                MPOL_BIND,
                mask.as_ptr(),
                most_node,
                0 as c_long,
            )
        };
        match answer {
            0 => Ok(()),
            _ => Err(not_bound(node, &io::Error::last_os_error())),
        }
    }

    /// Asks the kernel where pages lie. The error is the kernel's.
    pub(super) fn lies_on(&self, node: u32, page_bytes: usize) -> io::Result<Lies> {
        let pages = self.bytes() / page_bytes.max(1);
        let asked = pages.min(PAGES_ASKED);
        let page = |n: usize| self.start().cast::<u8>().wrapping_add(n * pages / asked * page_bytes);
        let places: Vec<*mut u8> = (0..asked).map(page).collect();
        let mut nodes = vec![-1_i32; asked];
        // SAFETY: without a list of nodes it moves nothing and answers into `nodes`, which is as long as `places`.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_move_pages,
                0 as c_long,
                asked as c_ulong,
                places.as_ptr(),
                std::ptr::null::<i32>(),
                nodes.as_mut_ptr(),
                0 as c_long,
            )
        };
        if answer != 0 {
            return Err(io::Error::last_os_error());
        }
        let there = nodes.iter().filter(|on| u32::try_from(**on).is_ok_and(|on| on == node)).count();
        Ok(Lies { checked: asked as u64, there: there as u64 })
    }

    /// How much of it lies in huge pages, bytes; `None` where /proc/self/smaps does not report it.
    pub(super) fn huge_bytes(&self) -> Option<u64> {
        let start = self.start() as u64;
        let mut reader = HugeBytes { wanted: start..start + self.bytes() as u64, inside: false, sum: None };
        Root::live().each_line("/proc/self/smaps", |line| reader.take(line)).ok()?;
        reader.sum.map(|bytes| bytes.min(self.bytes() as u64))
    }
}

fn not_bound(node: u32, error: &io::Error) -> Fault {
    let (class, remedy) = match error.raw_os_error() {
        Some(libc::EPERM) => (
            Class::NotPermitted,
            "a container's filter of system calls forbids mbind(2): run outside, or allow it",
        ),
        Some(libc::ENOSYS) => (Class::MachineLacks, "this kernel is built without CONFIG_NUMA"),
        _ => {
            (Class::MachineLacks, "see cpuset.mems of the cgroup, and Mems_allowed_list in /proc/self/status")
        }
    };
    Fault::new(class, format!("memory of node {node}"), format!("it may not be used ({error})"), remedy)
}

/// Sums up the huge pages of the mappings that hold a range (proc_pid_smaps(5)). A neighbour of the same kind may be in one mapping
/// with it; there is no more of it in huge pages than its own size.
struct HugeBytes {
    wanted: std::ops::Range<u64>,
    inside: bool,
    sum: Option<u64>,
}

impl HugeBytes {
    fn take(&mut self, line: &str) {
        let range = || {
            let (start, end) = line.split(' ').next()?.split_once('-')?;
            Some(u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?)
        };
        if let Some(range) = range() {
            self.inside = range.start < self.wanted.end && self.wanted.start < range.end;
        } else if let Some(kib) = line.strip_prefix("AnonHugePages:").filter(|_| self.inside)
            && let Ok(kib) = kib.trim().trim_end_matches(" kB").trim().parse::<u64>()
        {
            *self.sum.get_or_insert(0) += kib * 1024;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_pages_of_the_range_count_and_no_others() {
        let text = "7f0000000000-7f0000200000 rw-p 00000000 00:00 0\nSize: 2048 kB\nAnonHugePages:      2048 kB\n\
                    7f0000400000-7f0000c00000 rw-p 00000000 00:00 0\nAnonHugePages:      6144 kB\nVmFlags: rd wr\n";
        let of = |start, end| {
            let mut reader = HugeBytes { wanted: start..end, inside: false, sum: None };
            text.lines().for_each(|line| reader.take(line));
            reader.sum
        };
        assert_eq!(of(0x7f00_0040_0000, 0x7f00_00c0_0000), Some(6_144 << 10));
        assert_eq!(of(0x7f00_0000_0000, 0x7f00_0080_0000), Some(8_192 << 10));
        assert_eq!(of(0x7f00_0100_0000, 0x7f00_0200_0000), None);
    }

    #[test]
    fn what_may_not_be_bound_says_why() {
        let of = |errno| not_bound(3, &io::Error::from_raw_os_error(errno)).to_string();
        assert!(of(libc::EPERM).contains("memory of node 3") && of(libc::EPERM).contains("container"));
        assert!(of(libc::EINVAL).contains("Mems_allowed_list"));
    }
}
