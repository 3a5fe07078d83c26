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

    /// A copy of a record. What the kernel writes meanwhile may be copied by half, as by any reader.
    ///
    /// # Panics
    /// When it is not there.
    pub fn record(&self, number: usize) -> Vec<u8> {
        let words = self.place_of(number).cast::<u64>();
        // SAFETY: the record lies within the mapping, at a multiple of eight bytes, and is as long as a multiple of them.
        (0..self.record_bytes / 8)
            .flat_map(|word| unsafe { words.add(word).read_volatile() }.to_ne_bytes())
            .collect()
    }

    /// Writes a record.
    ///
    /// # Panics
    /// When it is not there, or is not as long.
    pub fn set(&mut self, number: usize, record: &[u8]) {
        assert!(record.len() == self.record_bytes);
        // SAFETY: as above.
        unsafe { std::ptr::copy_nonoverlapping(record.as_ptr(), self.place_of(number), self.record_bytes) };
    }

    fn place_of(&self, number: usize) -> *mut u8 {
        assert!(number < self.records);
        // SAFETY: the record lies within the mapping.
        unsafe { self.start.as_ptr().add(number * self.record_bytes) }
    }
}

impl Drop for KernelTable {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing borrows from it.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.record_bytes * self.records) };
    }
}
