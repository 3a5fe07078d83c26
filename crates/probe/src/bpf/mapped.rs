//! Arrays of the kernel in this process's memory.

use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;

use machine::Missing;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::records::Record;

/// An array of records that programs in the kernel write while it is read here.
///
/// Records are copied out word by word with volatile reads; each word of eight bytes is whole, a record as such need not be.
pub(crate) struct Mapped<T> {
    start: NonNull<u64>,
    len: usize,
    bytes: usize,
    record: PhantomData<T>,
}

// SAFETY: the memory is shared with the kernel and belongs to no thread; it is only touched by volatile accesses.
unsafe impl<T> Send for Mapped<T> {}
// SAFETY: as above; through a shared reference it is only read.
unsafe impl<T> Sync for Mapped<T> {}

impl<T: Record> Mapped<T> {
    /// Maps an array of `len` records.
    ///
    /// # Errors
    /// When the kernel refuses: the table and its word.
    pub(crate) fn new(table: &str, fd: BorrowedFd<'_>, len: usize) -> Result<Self, Missing> {
        let bytes = (len * size_of::<T>()).next_multiple_of(rustix::param::page_size());
        // SAFETY: a new mapping at an address of the kernel's choice; nothing that exists is replaced.
        let start = unsafe {
            mmap(std::ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, fd, 0)
        };
        let start = start.map_err(|e| {
            Missing::new("kernel events", format_args!("table {table} cannot be mapped: {e}"))
        })?;
        let start = NonNull::new(start.cast()).ok_or_else(|| {
            Missing::new("kernel events", format_args!("table {table} was mapped at address 0"))
        })?;
        Ok(Self { start, len, bytes, record: PhantomData })
    }

    /// How many records there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Copies a record; `None` beyond the end.
    pub(crate) fn get(&self, index: usize) -> Option<T> {
        let mut record = T::zeroed();
        self.copy(index, &mut record).then_some(record)
    }

    /// Copies a record into memory that is there; false beyond the end.
    pub(crate) fn copy(&self, index: usize, into: &mut T) -> bool {
        self.copy_part(index, 0, into)
    }

    /// Copies a part of a record that is a record by itself and lies `offset` bytes in it; false beyond the end.
    pub(crate) fn copy_part<P: Record>(&self, index: usize, offset: usize, into: &mut P) -> bool {
        let words = size_of::<P>() / 8;
        let Some(first) = self.place_of(index, offset) else { return false };
        if offset + size_of::<P>() > size_of::<T>() {
            return false;
        }
        let to = std::ptr::from_mut(into).cast::<u64>();
        for word in 0..words {
            // SAFETY: all of the part lies in a record that lies in the mapping; records are whole words (see `Record`), and `to`
            // has as many.
            unsafe { to.add(word).write(self.start.as_ptr().add(first + word).read_volatile()) };
        }
        true
    }

    /// Whether a record begins with these words; false beyond the end.
    pub(crate) fn begins_with(&self, index: usize, words: &[u64]) -> bool {
        let Some(first) = self.place_of(index, 0).filter(|_| words.len() <= size_of::<T>() / 8) else {
            return false;
        };
        let mut places = words.iter().zip(first..);
        // SAFETY: within the record, which lies within the mapping.
        places.all(|(word, place)| unsafe { self.start.as_ptr().add(place).read_volatile() } == *word)
    }

    /// Has the processor fetch what is going to be read of a record; it does not wait for it.
    #[inline]
    pub(crate) fn expect(&self, index: usize, offset: usize) {
        #[cfg(target_arch = "x86_64")]
        if let Some(word) = self.place_of(index, offset) {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: within the mapping; nothing is read or written.
            unsafe { _mm_prefetch(self.start.as_ptr().add(word).cast::<i8>(), _MM_HINT_T0) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (index, offset);
    }

    /// Appends numbers of 32 bits of a record, by their places in it; nothing beyond its end.
    pub(crate) fn append(&self, index: usize, places: RangeInclusive<usize>, to: &mut Vec<u32>) {
        let in_record = size_of::<T>() / 4;
        if index >= self.len || *places.end() >= in_record {
            return;
        }
        let record = self.start.cast::<u32>();
        // SAFETY: within the record, which lies within the mapping.
        to.extend(places.map(|place| unsafe { record.add(index * in_record + place).read_volatile() }));
    }

    /// One word of a record. `offset` is that of a field of eight bytes.
    pub(crate) fn word(&self, index: usize, offset: usize) -> Option<u64> {
        let word = self.place_of(index, offset)?;
        // SAFETY: within the record, which lies within the mapping.
        Some(unsafe { self.start.as_ptr().add(word).read_volatile() })
    }

    /// Writes one word of a record: what the kernel writes into its others meanwhile stays. `offset` as above; nothing happens
    /// beyond the end.
    pub(crate) fn set_word(&mut self, index: usize, offset: usize, value: u64) {
        if let Some(word) = self.place_of(index, offset) {
            // SAFETY: within the record, which lies within the mapping.
            unsafe { self.start.as_ptr().add(word).write_volatile(value) };
        }
    }

    /// Where a word of a record lies, in words; `None` beyond the end.
    fn place_of(&self, index: usize, offset: usize) -> Option<usize> {
        if index >= self.len || !offset.is_multiple_of(8) || offset >= size_of::<T>() {
            return None;
        }
        Some(index * (size_of::<T>() / 8) + offset / 8)
    }

    /// Writes a record. Nothing happens beyond the end.
    pub(crate) fn set(&mut self, index: usize, record: &T) {
        if index >= self.len {
            return;
        }
        let words = size_of::<T>() / 8;
        let from = std::ptr::from_ref(record).cast::<u64>();
        for word in 0..words {
            // SAFETY: as in `copy`.
            unsafe { self.start.as_ptr().add(index * words + word).write_volatile(from.add(word).read()) };
        }
    }
}

impl<T> Drop for Mapped<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing borrows from it: records are copied out.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
