//! Messages over RDMA, on a soft-RoCE device.

use std::path::PathBuf;

use rehearse::Guest;

use crate::guest;

/// What the tools of rdma-core load for a soft-RoCE device; its name has the version of their interface in it.
fn provider() -> Option<PathBuf> {
    let folder = std::fs::read_dir("/usr/lib/x86_64-linux-gnu/libibverbs").ok()?;
    folder
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("librxe-")))
}

/// A guest with a soft-RoCE device on its card; `None`, with a word on stderr, where none can be had.
fn with_rdma() -> Option<Guest> {
    let guest = guest::like("plain")?;
    let (Some(provider), true) = (provider(), PathBuf::from("/usr/bin/rstream").exists()) else {
        eprintln!("skipped: rstream and its provider are not installed (scripts/setup guests installs them)");
        return None;
    };
    let recipe = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../recipes/latency-rdma.toml");
    let modules = ["crc32_generic", "ib_uverbs", "rdma_ucm", "rdma_rxe"];
    let guest = modules.iter().fold(guest, |guest, module| guest.module(module));
    let programs = ["/usr/bin/rstream", "/usr/bin/rdma"];
    let guest = programs.iter().fold(guest, |guest, program| guest.program(program));
    let guest = guest.program_as("librxe.so", &provider).file(recipe);
    let driver = format!("driver {}\n", provider.with_extension("").display().to_string().rsplit_once("-rdmav")?.0);
    Some(guest.lay("etc/libibverbs.d/rxe.driver", driver))
}
