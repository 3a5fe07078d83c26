//! Tables of programs in the kernel (BPF arrays), whoever made them: for measurements with records in them that this machine cannot
//! have by itself.

use std::io;
use std::os::fd::AsFd as _;
use std::ptr::NonNull;

use aya::maps::{MapInfo, loaded_maps};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// An array of records in this process's memory.
pub struct KernelTable {
    start: NonNull<u8>,
    /// Bytes of a record.
    record_bytes: usize,
    /// How many there are.
    records: usize,
}

impl KernelTable {
    /// The youngest array of this name with so many records.
    ///
    /// # Errors
    /// When there is none, or the kernel does not let it be seen (root) or mapped.
    pub fn find(name: &str, records: usize) -> io::Result<Self> {
        let is_meant =
            |map: &MapInfo| map.name_as_str() == Some(name) && map.max_entries() as usize == records;
        let map = loaded_maps().filter_map(Result::ok).filter(is_meant).last();
        let map = map.ok_or_else(|| {
            io::Error::other(format!("no program in the kernel has a table {name} of {records}"))
        })?;
        // The kernel lays records out at multiples of eight bytes.
        let record_bytes = (map.value_size() as usize).next_multiple_of(8);
        let fd = map.fd().map_err(io::Error::other)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice; nothing that exists is replaced.
        let start = unsafe {
            mmap(std::ptr::null_mut(), record_bytes * records, protection, MapFlags::SHARED, fd.as_fd(), 0)
        }?;
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        Ok(Self { start, record_bytes, records })
    }

    /// Bytes of all records.
    pub fn bytes(&self) -> usize {
        self.record_bytes * self.records
    }

    /// Copies a record over another.
    ///
    /// # Panics
    /// When one of them is not there, or both are the same.
    pub fn copy(&mut self, from: usize, to: usize) {
        assert!(from.max(to) < self.records && from != to);
        let at = |record: usize| record * self.record_bytes;
        // SAFETY: both ranges lie within the mapping and do not overlap. What the kernel writes meanwhile may be copied by half, as by
        // any reader.
        unsafe {
            let start = self.start.as_ptr();
            std::ptr::copy_nonoverlapping(start.add(at(from)), start.add(at(to)), self.record_bytes);
        }
    }
}

impl Drop for KernelTable {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing borrows from it.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.record_bytes * self.records) };
    }
}
