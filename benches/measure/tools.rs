//! The programs that are compared, where they are and which versions they are; and the head of the results.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use machine::{Machine, Root};

/// The binary of this workspace that is measured: $PINWISE, or the static one in the target folder of this bench.
pub fn pinwise() -> io::Result<PathBuf> {
    let beside = || {
        let own = std::env::current_exe().ok()?;
        let release = own.parent()?.parent()?;
        let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
        Some(match cfg!(target_env = "musl") {
            true => release.join("pinwise"),
            false => release.parent()?.join(target).join("release/pinwise"),
        })
    };
    let path = std::env::var_os("PINWISE").map(PathBuf::from).or_else(beside).unwrap_or_default();
    match path.is_file() {
        true => Ok(path),
        false => Err(io::Error::other(format!(
            "{}: there is no such program - build it first: make build",
            path.display()
        ))),
    }
}

/// The first line that a program prints, if it is there.
pub fn version(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    String::from_utf8_lossy(&output.stdout).lines().next().map(String::from)
}

/// Whether this process may mount.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Trees of other machines that are not part of the repository: `../shared/snapshots/hwloc`.
pub fn snapshot(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?.parent()?;
    let path = root.join("shared/snapshots/hwloc").join(format!("{name}.tar.bz2"));
    path.is_file().then_some(path)
}

/// Machine, date and versions.
pub fn preamble() -> io::Result<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let machine = Machine::read(&Root::live());
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let known = |version: Option<String>| version.unwrap_or_else(|| "not installed".into());
    Ok(format!(
        "# Results\n\n\
        Written by `make bench`; no figure is typed by hand. Costs are medians; ratios are Hodges-Lehmann estimates of the \
        ratio within blocks, with exact 95 % intervals. CPU time is what decides: the host is shared and its clock time noisy.\n\n\
        - {}\n- {} CPUs ({}), Linux {}, load {} at the start\n- pinwise {}; {}; {}; procfs-core 0.18\n\
        - what is measured in this process has {}\n",
        report::number::moment(now),
        machine.online().len(),
        model.map_or("unknown model", |(_, model)| model),
        machine.kernel.release.as_deref().unwrap_or("unknown"),
        load.split(' ').next().unwrap_or("unknown"),
        env!("CARGO_PKG_VERSION"),
        known(version("lstopo")),
        known(version("lsirq")),
        LIBRARIES,
    ))
}

/// Costs in this process are those of the program that is handed out where they are the same.
const LIBRARIES: &str = match cfg!(target_env = "musl") {
    true => "the C library and the allocator of the program that is handed out",
    false => {
        "the C library of this host and its allocator, unlike the program that is handed out (`make bench`)"
    }
};

/// The program on one CPU; its arguments are to be added.
pub fn pinned(cpu: &str, program: &Path) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", cpu]).arg(program);
    command
}
