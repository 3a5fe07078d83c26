//! Who hands out memory. The release binary is static and so has the allocator of musl, which maps and unmaps memory for
//! nearly every file that is read: a map took half as long again as with glibc (docs/journal/0011). With any other C
//! library the allocator is its own.

/// It has one lock for all threads: those of pinwise read files, and the load generator asks for no memory once it runs.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;
