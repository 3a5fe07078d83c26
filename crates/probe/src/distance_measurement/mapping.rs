//! Fresh memory from the kernel: no page of it was touched before, so that it lies where its first user is, or where it is bound.

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};

use machine::{Class, Fault};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// Anonymous memory, zeroed, given back when dropped.
pub(super) struct Mapping {
    start: NonNull<c_void>,
    bytes: usize,
}

// SAFETY: the memory belongs to this value alone and stays where it is until it is dropped; what shares it between threads
// (atomics, disjoint slices) sees to that itself.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// At least one page.
    ///
    /// # Errors
    /// The kernel has no room for it.
    pub(super) fn new(bytes: usize) -> Result<Self, Fault> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping at a place of the kernel's choice touches no other memory.
        let start =
            unsafe { mmap_anonymous(null_mut(), bytes.max(1), ProtFlags::READ | ProtFlags::WRITE, flags) };
        let no_room = |why: &dyn std::fmt::Display| {
            let object = format!("{} MiB of memory", bytes >> 20);
            Fault::new(Class::MachineLacks, object, why, "free some, or lift the limit (ulimit -v)")
        };
        let start = NonNull::new(start.map_err(|e| no_room(&e))?).ok_or_else(|| no_room(&"at address 0"))?;
        Ok(Self { start, bytes: bytes.max(1) })
    }

    /// Size.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Its first byte.
    pub(super) fn start(&self) -> NonNull<c_void> {
        self.start
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this size, and nothing refers to it any more. A failure loses address space only.
        let _ = unsafe { munmap(self.start.as_ptr(), self.bytes) };
    }
}
