//! Memory and swap of the running system.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use machine::{CpuSet, ProcessRef};

use super::{Memory, nodes, swap};
use crate::capability;
use crate::kernel::live::LiveKernel;

impl Memory for LiveKernel {
    fn node_memory(&self, process: &ProcessRef) -> io::Result<BTreeMap<u32, u64>> {
        nodes::by_node(process)
    }

    fn migrate_pages(&self, pid: u32, from: &CpuSet, to: &CpuSet) -> io::Result<()> {
        nodes::migrate(pid, from, to)
    }

    fn spread_pages(&self, process: &ProcessRef, wanted: &BTreeMap<u32, u64>) -> io::Result<()> {
        nodes::spread(process, wanted, capability::is_effective(capability::SYS_NICE))
    }

    fn make_swap_file(&self, path: &Path, bytes: u64) -> io::Result<()> {
        match capability::is_effective(capability::SYS_ADMIN) {
            true => swap::make(path, bytes),
            // Before gigabytes are written that the caller cannot use.
            false => Err(io::Error::from_raw_os_error(libc::EPERM)),
        }
    }

    fn remove_swap_file(&self, path: &Path) -> io::Result<()> {
        swap::remove(path)
    }

    fn swaps_to(&self, path: &Path) -> io::Result<bool> {
        swap::is_on(path)
    }

    fn swap_on(&self, path: &Path) -> io::Result<()> {
        swap::on(path)
    }

    fn swap_off(&self, path: &Path) -> io::Result<()> {
        swap::off(path)
    }
}
