//! Servers as our recipes start them, for loads that are measured against them.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use change::{Hand, LiveKernel};
use load::Server;
use machine::{CpuSet, Placement};
use study::Recipe;

/// The server of `recipes/NAME.toml` on CPU 0, with its files below `folder`. The hand ends it.
///
/// # Errors
/// It cannot be started; the message says why.
pub fn server(name: &str, folder: &Path) -> io::Result<(Hand, Server)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../recipes/{name}.toml"));
    let recipe = Recipe::from_toml(&std::fs::read_to_string(&path)?, &path.display().to_string())
        .and_then(|recipe| recipe.with_keys(&Default::default()))
        .map_err(io::Error::other)?;
    let dir = folder.join(name);
    std::fs::create_dir(&dir)?;
    let purpose = format!("bench against {name}");
    let mut hand = Hand::with(Arc::new(LiveKernel::new()), &folder.join("ledger"), &purpose)
        .map_err(io::Error::other)?;
    let placement = Placement { server_cpus: CpuSet::from_list("0").ok(), ..Placement::default() };
    let server = Server::start(&recipe.server, &placement, &mut hand, &dir, &AtomicBool::new(false))
        .map_err(io::Error::other)?;
    Ok((hand, server))
}
