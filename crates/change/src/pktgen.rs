//! The kernel's packet generator: which interfaces a thread of it sends through (net/core/pktgen.c).

use std::io;
use std::path::{Path, PathBuf};

use crate::kernel::Kernel;

const FOLDER: &str = "/proc/net/pktgen";

/// The file of the thread on a CPU.
pub fn thread_file(cpu: u32) -> PathBuf {
    Path::new(FOLDER).join(format!("kpktgend_{cpu}"))
}

/// The interfaces that the thread on a CPU sends through, or would, with blanks between them.
pub fn devices(kernel: &dyn Kernel, cpu: u32) -> io::Result<String> {
    let text = kernel.read_file(&thread_file(cpu), None)?;
    listed(&text).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it lists no interfaces"))
}

/// CPUs that are looked for at most: what a kernel can be built for.
const MOST_CPUS: u32 = 8192;

/// The first interface of another thread: whoever starts the generator starts all of them.
pub fn elsewhere(kernel: &dyn Kernel, cpu: u32) -> io::Result<Option<(u32, String)>> {
    for other in (0..MOST_CPUS).filter(|other| *other != cpu) {
        if !kernel.exists(&thread_file(other), None)? {
            continue;
        }
        let devices = devices(kernel, other)?;
        if !devices.is_empty() {
            return Ok(Some((other, devices)));
        }
    }
    Ok(None)
}

fn listed(text: &str) -> Option<String> {
    let row = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let (running, stopped) = (row("Running:")?, row("Stopped:")?);
    let all: Vec<&str> = running.split_whitespace().chain(stopped.split_whitespace()).collect();
    Some(all.join(" "))
}

/// Adds an interface to the thread on a CPU, and gives it its orders.
pub fn attach(kernel: &dyn Kernel, cpu: u32, device: &str, orders: &[String]) -> io::Result<()> {
    if device.is_empty() || device.contains(['/', ' ', '\n']) || device == ".." {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "this is no name of an interface"));
    }
    kernel.write_file(&thread_file(cpu), &format!("add_device {device}"), None)?;
    let file = Path::new(FOLDER).join(device);
    orders.iter().try_for_each(|order| kernel.write_file(&file, order, None))
}

/// Takes all interfaces from the thread on a CPU, and with them what was ordered of them.
pub fn detach(kernel: &dyn Kernel, cpu: u32) -> io::Result<()> {
    kernel.write_file(&thread_file(cpu), "rem_device_all", None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_are_listed_whether_they_run_or_not() {
        assert_eq!(listed("Running: \nStopped: \nResult: NA\n").as_deref(), Some(""));
        assert_eq!(listed("Running: d0 \nStopped: d1 d2 \nResult: OK\n").as_deref(), Some("d0 d1 d2"));
        assert_eq!(listed("Result: NA\n"), None);
    }
}
