//! Memory and swap of the emulated machine.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::path::Path;

use machine::{CpuSet, ProcessRef};

use super::Memory;
use crate::kernel::emulated::{EmulatedKernel, error};

impl Memory for EmulatedKernel {
    fn node_memory(&self, process: &ProcessRef) -> io::Result<BTreeMap<u32, u64>> {
        let mut inner = self.inner();
        inner.same_process(process)?;
        inner.state.memory.get(&process.pid).cloned().ok_or_else(|| error(libc::ESRCH))
    }

    fn migrate_pages(&self, pid: u32, from: &CpuSet, to: &CpuSet) -> io::Result<()> {
        self.change(&format!("memory {pid}"), |inner| {
            let memory = inner.state.memory.get_mut(&pid).ok_or_else(|| error(libc::ESRCH))?;
            let to = to.first().ok_or_else(|| error(libc::EINVAL))?;
            let moved = from.iter().filter_map(|node| memory.remove(&node)).sum::<u64>();
            *memory.entry(to).or_default() += moved;
            Ok(())
        })
    }

    fn spread_pages(&self, process: &ProcessRef, wanted: &BTreeMap<u32, u64>) -> io::Result<()> {
        self.change(&format!("memory {}", process.pid), |inner| {
            inner.same_process(process)?;
            inner.state.memory.insert(process.pid, wanted.clone());
            Ok(())
        })
    }

    fn make_swap_file(&self, path: &Path, bytes: u64) -> io::Result<()> {
        self.change(&path.display().to_string(), |inner| {
            match inner.state.files.entry((None, path.to_path_buf())) {
                Entry::Occupied(_) => Err(error(libc::EEXIST)),
                Entry::Vacant(free) => {
                    free.insert(format!("{bytes} bytes of swap"));
                    Ok(())
                }
            }
        })
    }

    fn remove_swap_file(&self, path: &Path) -> io::Result<()> {
        self.change(&path.display().to_string(), |inner| {
            // As the kernel, which lets nobody remove what it swaps to.
            if inner.state.swaps.contains(path) {
                return Err(error(libc::EPERM));
            }
            inner.state.files.remove(&(None, path.to_path_buf())).map(drop).ok_or_else(|| error(libc::ENOENT))
        })
    }

    fn swaps_to(&self, path: &Path) -> io::Result<bool> {
        Ok(self.inner().state.swaps.contains(path))
    }

    fn swap_on(&self, path: &Path) -> io::Result<()> {
        self.change(&format!("swap {}", path.display()), |inner| {
            inner.state.swaps.insert(path.to_path_buf());
            Ok(())
        })
    }

    fn swap_off(&self, path: &Path) -> io::Result<()> {
        self.change(&format!("swap {}", path.display()), |inner| {
            inner.state.swaps.remove(path).then_some(()).ok_or_else(|| error(libc::EINVAL))
        })
    }
}
