//! Arrays of the kernel in this process's memory.

use std::marker::PhantomData;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;

use machine::Missing;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::records::Record;
use super::refused;

/// An array of records that programs in the kernel write while it is read here.
///
/// Records are copied out with volatile reads; each word of eight bytes is whole, a record as such need not be.
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
        let start =
            start.map_err(|e| refused::no_events(format_args!("table {table} cannot be mapped: {e}")))?;
        let start = NonNull::new(start.cast())
            .ok_or_else(|| refused::no_events(format_args!("table {table} was mapped at address 0")))?;
        Ok(Self { start, len, bytes, record: PhantomData })
    }

    /// How many records there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Copies a record; `None` beyond the end.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<T> {
        let mut record = T::zeroed();
        self.copy(index, &mut record).then_some(record)
    }

    /// Copies a record into memory that is there; false beyond the end.
    #[inline]
    pub(crate) fn copy(&self, index: usize, into: &mut T) -> bool {
        self.copy_part(index, 0, into)
    }

    /// Copies a part of a record that is a record by itself and lies `offset` bytes in it, into memory that is there; false beyond the end. It
    /// is written where it stays: what is copied once more while it is in no cache yet is waited for.
    #[inline]
    pub(crate) fn copy_part<P: Record>(&self, index: usize, offset: usize, into: &mut P) -> bool {
        let lies_within = offset + size_of::<P>() <= size_of::<T>();
        let Some(first) = self.place_of(index, offset).filter(|_| lies_within) else { return false };
        // SAFETY: all of the part lies in the record, which lies in the mapping; records are whole words (see `Record`), and `into` has as many.
        unsafe {
            let from = self.start.as_ptr().add(first);
            copy_words(from, std::ptr::from_mut(into).cast(), size_of::<P>() / 8);
        }
        true
    }

    /// Whether a record begins with these words; false beyond the end.
    #[inline]
    pub(crate) fn begins_with(&self, index: usize, words: &[u64]) -> bool {
        let Some(first) = self.place_of(index, 0).filter(|_| words.len() <= size_of::<T>() / 8) else {
            return false;
        };
        let mut places = words.iter().zip(first..);
        // SAFETY: within the record, which lies within the mapping.
        places.all(|(word, place)| unsafe { self.start.as_ptr().add(place).read_volatile() } == *word)
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
    #[inline]
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

/// Copies words that somebody else may write meanwhile; each is whole.
///
/// # Safety
/// So many words lie at `from`, at a multiple of eight bytes, and there is room for them at `to`, which is such a multiple as well.
#[inline]
unsafe fn copy_words(from: *const u64, to: *mut u64, words: usize) {
    #[cfg_attr(not(target_arch = "x86_64"), expect(unused_mut, reason = "there they go one by one"))]
    let mut done = 0;
    // Two at a time, which is never less than a word at a time. Who reads them again as two waits for two stores of one word each.
    #[cfg(target_arch = "x86_64")]
    if from.cast::<std::arch::x86_64::__m128i>().is_aligned() {
        use std::arch::x86_64::__m128i;
        while done + 2 <= words {
            // SAFETY: within the words that are there; the first of them lies at a multiple of sixteen bytes.
            unsafe {
                to.add(done)
                    .cast::<__m128i>()
                    .write_unaligned(from.add(done).cast::<__m128i>().read_volatile())
            };
            done += 2;
        }
    }
    for word in done..words {
        // SAFETY: within the words that are there.
        unsafe { to.add(word).write(from.add(word).read_volatile()) };
    }
}

impl<T> Drop for Mapped<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing borrows from it: records are copied out.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
