//! The memory of a running process by NUMA node: read, moved as a whole (migrate_pages(2)), and spread over nodes in given
//! shares (move_pages(2)).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};

use machine::processes::numa_memory::NumaMemory;
use machine::procfs::numa_maps;
use machine::{Cause, CpuSet, ProcessRef, Root};

use crate::kernel::syscall::check;

const BITS: u32 = libc::c_ulong::BITS;

/// Pages in one call.
const AT_A_TIME: usize = 4096;

const MPOL_MF_MOVE: libc::c_int = 1 << 1;
/// Also pages that other processes map; needs CAP_SYS_NICE. migrate_pages(2) moves them without a flag if the caller has
/// that capability.
const MPOL_MF_MOVE_ALL: libc::c_int = 1 << 2;

/// Bytes on each node that has any.
///
/// # Errors
/// `ESRCH` when the process has no memory any more, since it is ending; `EACCES`; `Unsupported` on a kernel without nodes.
pub fn by_node(process: &ProcessRef) -> io::Result<BTreeMap<u32, u64>> {
    let memory = NumaMemory::read(&Root::live(), process.pid).map_err(|error| match error.kind {
        Cause::Denied => io::Error::from_raw_os_error(libc::EACCES),
        _ => io::Error::new(io::ErrorKind::Unsupported, error.to_string()),
    })?;
    match memory.nodes.is_empty() {
        true => Err(io::Error::from_raw_os_error(libc::ESRCH)),
        false => Ok(memory.nodes),
    }
}

/// migrate_pages(2): moves pages from some nodes to others, in the same shares. Pages that cannot be moved stay where they
/// are, which is no error.
pub fn migrate(pid: u32, from: &CpuSet, to: &CpuSet) -> io::Result<()> {
    let words = from.union(to).last().map_or(1, |highest| highest / BITS + 1);
    let mask = |nodes: &CpuSet| {
        let mut mask: Vec<libc::c_ulong> = vec![0; words as usize];
        for node in nodes.iter() {
            mask[(node / BITS) as usize] |= 1 << (node % BITS);
        }
        mask
    };
    let (from, to) = (mask(from), mask(to));
    // The kernel reads one bit less than this number.
    let bits = libc::c_ulong::from(words * BITS + 1);
    // SAFETY: the kernel reads at most `bits - 1` bits, which both masks have.
    check(unsafe { libc::syscall(libc::SYS_migrate_pages, pid, bits, from.as_ptr(), to.as_ptr()) })
}

/// Moves pages until each node has the same share of the memory as in `wanted` (bytes by node), as far as they can be
/// moved. `all`: also pages that other processes map.
///
/// # Errors
/// As [`by_node`], and those of move_pages(2).
pub fn spread(process: &ProcessRef, wanted: &BTreeMap<u32, u64>, all: bool) -> io::Result<()> {
    let mut balance = Balance::between(&by_node(process)?, wanted);
    let ends = ends(process.pid)?;
    let maps = BufReader::new(File::open(format!("/proc/{}/numa_maps", process.pid))?);
    for line in maps.split(b'\n') {
        // Names of mapped files are any bytes.
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        let Ok(mapping) = numa_maps::parse_line(0, &line) else { continue };
        let (Some(end), Some(page_bytes)) = (ends.get(&mapping.start), mapping.page_bytes) else { continue };
        if balance.is_even() {
            break;
        }
        if !mapping.pages.iter().any(|(node, _)| balance.too_much.contains_key(node)) {
            continue;
        }
        let mut addresses = (mapping.start..*end).step_by(page_bytes as usize).peekable();
        while addresses.peek().is_some() && !balance.is_even() {
            let some: Vec<u64> = addresses.by_ref().take(AT_A_TIME).collect();
            move_some(process.pid, &some, page_bytes, &mut balance, all)?;
        }
    }
    Ok(())
}

/// End of each mapping, by its start.
fn ends(pid: u32) -> io::Result<BTreeMap<u64, u64>> {
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let mut ends = BTreeMap::new();
    for line in BufReader::new(File::open(format!("/proc/{pid}/maps"))?).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        let range = range.and_then(|(start, end)| Some((number(start)?, number(end)?)));
        ends.extend(range);
    }
    Ok(ends)
}

/// Moves those pages that are on nodes with too much.
fn move_some(pid: u32, pages: &[u64], page_bytes: u64, balance: &mut Balance, all: bool) -> io::Result<()> {
    let places = move_pages(pid, pages, None, all)?;
    let chosen = pages.iter().zip(places).filter_map(|(page, node)| {
        // A negative number: there is no page.
        let to = balance.take(u32::try_from(node).ok()?, page_bytes)?;
        Some((*page, to as libc::c_int))
    });
    let (pages, nodes): (Vec<u64>, Vec<libc::c_int>) = chosen.unzip();
    match pages.is_empty() {
        true => Ok(()),
        false => move_pages(pid, &pages, Some(&nodes), all).map(drop),
    }
}

/// move_pages(2). Returns the node of each page, or a negative errno; without `nodes` nothing is moved.
fn move_pages(
    pid: u32,
    pages: &[u64],
    nodes: Option<&[libc::c_int]>,
    all: bool,
) -> io::Result<Vec<libc::c_int>> {
    let mut status = vec![-libc::ENOENT; pages.len()];
    let nodes = nodes.map_or(std::ptr::null(), <[_]>::as_ptr);
    let flags = if all { MPOL_MF_MOVE_ALL } else { MPOL_MF_MOVE };
    // Addresses are as wide as pointers on every system that has nodes.
    let addresses: Vec<usize> = pages.iter().map(|page| *page as usize).collect();
    // SAFETY: `addresses`, `status` and `nodes` (unless null) have an element for each page; only `status` is written to.
    let done = unsafe {
        let (count, status) = (addresses.len(), status.as_mut_ptr());
        libc::syscall(libc::SYS_move_pages, pid, count, addresses.as_ptr(), nodes, status, flags)
    };
    check(done).map(|()| status)
}

/// Bytes that each node has too much or too little.
#[derive(Debug, PartialEq, Eq)]
struct Balance {
    too_much: BTreeMap<u32, u64>,
    too_little: BTreeMap<u32, u64>,
}

impl Balance {
    /// What separates `now` from the shares in `asked`. The process may have more or less memory than then.
    fn between(now: &BTreeMap<u32, u64>, asked: &BTreeMap<u32, u64>) -> Self {
        let sum = |of: &BTreeMap<u32, u64>| of.values().map(|bytes| u128::from(*bytes)).sum::<u128>();
        let (total, of) = (sum(now), sum(asked).max(1));
        let wanted = |node: &u32| {
            let bytes = u128::from(asked.get(node).copied().unwrap_or(0));
            (bytes * total / of) as u64
        };
        let there = |node: &u32| now.get(node).copied().unwrap_or(0);
        let mut balance = Self { too_much: BTreeMap::new(), too_little: BTreeMap::new() };
        for node in now.keys().chain(asked.keys()) {
            let (there, wanted) = (there(node), wanted(node));
            if there > wanted {
                balance.too_much.insert(*node, there - wanted);
            }
            if there < wanted {
                balance.too_little.insert(*node, wanted - there);
            }
        }
        balance
    }

    fn is_even(&self) -> bool {
        self.too_much.is_empty() || self.too_little.is_empty()
    }

    /// The node that a page on this node is to go to; `None`: it stays.
    fn take(&mut self, node: u32, bytes: u64) -> Option<u32> {
        let surplus = self.too_much.get_mut(&node)?;
        let (to, missing) = self.too_little.iter_mut().next().map(|(to, missing)| (*to, missing))?;
        *surplus = surplus.saturating_sub(bytes);
        *missing = missing.saturating_sub(bytes);
        self.too_much.retain(|_, bytes| *bytes > 0);
        self.too_little.retain(|_, bytes| *bytes > 0);
        Some(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(of: &[(u32, u64)]) -> BTreeMap<u32, u64> {
        of.iter().copied().collect()
    }

    #[test]
    fn shares_are_brought_back_although_the_process_has_grown() {
        let mut balance = Balance::between(&bytes(&[(1, 200)]), &bytes(&[(0, 75), (1, 25)]));
        assert_eq!((&balance.too_much, &balance.too_little), (&bytes(&[(1, 150)]), &bytes(&[(0, 150)])));
        assert_eq!(balance.take(0, 100), None, "there is not too much");
        assert_eq!((balance.take(1, 100), balance.take(1, 100)), (Some(0), Some(0)));
        assert!(balance.is_even() && balance.take(1, 100).is_none());
        assert!(Balance::between(&bytes(&[(0, 4), (1, 4)]), &bytes(&[(0, 9), (1, 9)])).is_even());
        assert!(Balance::between(&bytes(&[(0, 4)]), &bytes(&[])).is_even());
    }

    #[test]
    fn memory_of_this_process_is_asked_for_where_it_is_already() {
        let pid = std::process::id();
        let own = ProcessRef { pid, start_time_ticks: 0 };
        match by_node(&own) {
            Ok(now) => {
                let nodes: CpuSet = now.keys().copied().collect();
                migrate(pid, &nodes, &nodes).unwrap();
                spread(&own, &now, false).unwrap();
                let there = move_pages(pid, &[&raw const own as u64 & !4095], None, false).unwrap();
                assert!(there[0] >= 0 && nodes.contains(there[0] as u32), "{there:?}");
                // There is no such node.
                assert!(migrate(pid, &nodes, &CpuSet::single(1023)).is_err());
            }
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::Unsupported, "{error}"),
        }
    }
}
