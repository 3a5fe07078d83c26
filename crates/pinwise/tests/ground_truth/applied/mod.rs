//! `pinwise apply` on this kernel: ended at every point where something lasting happens, hung up on, forgotten, interfered with.

mod bench_plan;
mod boot_loader;
mod confirmed;
mod killed;
