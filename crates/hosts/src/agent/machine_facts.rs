//! What an agent says of its host.

use std::net::{IpAddr, SocketAddr};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use machine::devices::path::{self, PathEnd};
use machine::{Class, CpuSet, Fault, Machine, Root};

use crate::protocol::{Hello, PROTOCOL};

/// Who this is.
///
/// # Errors
/// /proc does not say.
pub(super) fn hello() -> Result<Hello, Fault> {
    let root = Root::live();
    let boot_id = root.read("/proc/sys/kernel/random/boot_id").map_err(|error| {
        Fault::new(Class::MachineLacks, "/proc/sys/kernel/random/boot_id", error, "mount /proc")
    })?;
    let uname = rustix::system::uname();
    Ok(Hello {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").into(),
        hostname: uname.nodename().to_string_lossy().into_owned(),
        boot_id: boot_id.trim().into(),
        arch: uname.machine().to_string_lossy().into_owned(),
        cpus_online: cpus_online(&root)?,
        root: rustix::process::geteuid().is_root(),
        controller: controller(std::env::var("SSH_CONNECTION").ok().as_deref()),
    })
}

/// How many CPUs are online: the one fact that a greeting needs of the machine.
fn cpus_online(root: &Root) -> Result<u32, Fault> {
    let (path, remedy) = ("/sys/devices/system/cpu/online", "mount /sys");
    let list = root.read(path).map_err(|error| Fault::new(Class::MachineLacks, path, error, remedy))?;
    let online = CpuSet::from_list(list.trim());
    online.map(|cpus| cpus.len() as u32).map_err(|error| Fault::new(Class::MachineLacks, path, error, remedy))
}

/// The client of `SSH_CONNECTION`, which sshd(8) sets: client address and port, server address and port.
fn controller(ssh_connection: Option<&str>) -> Option<IpAddr> {
    // A link-local address has its interface behind a %, which only this host could use.
    ssh_connection?.split(' ').next()?.parse().ok()
}

/// How this host reaches another one.
pub(super) fn path(peer: SocketAddr) -> PathEnd {
    path::read(&Root::live(), peer.ip())
}

/// The capture of this host, an archive in base64.
///
/// # Errors
/// Nothing was recorded, or it cannot be compressed.
pub(super) fn capture() -> Result<String, Fault> {
    let root = Root::recording(Root::live());
    let _ = Machine::read(&root);
    let mut capture = root.take_capture().ok_or_else(|| {
        let remedy = machine::IS_A_BUG;
        Fault::new(Class::Storage, "capture", "nothing was recorded", remedy)
    })?;
    capture.mask();
    let archive = capture.archive().map_err(|error| Fault::io("capture", &error, "try again"))?;
    Ok(STANDARD.encode(archive))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_controller_is_the_client_of_the_connection() {
        assert_eq!(controller(Some("10.0.0.1 51234 10.0.0.2 22")), "10.0.0.1".parse().ok());
        assert_eq!(controller(Some("fe80::1%eth0 51234 fe80::2%eth0 22")), None);
        assert_eq!(controller(Some("")), None);
        assert_eq!(controller(None), None);
    }

    #[test]
    fn a_host_knows_the_address_at_the_other_end_and_the_reason_of_what_it_does_not_know() {
        let end = path("127.0.0.1:9".parse().unwrap());
        assert_eq!(end.peer, "127.0.0.1".parse().ok());
        assert!(end.interface.is_some() || !end.missing.is_empty(), "{end:?}");
    }

    #[test]
    fn a_capture_can_be_read_again() {
        let archive = STANDARD.decode(capture().unwrap()).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("b.tar.zst");
        std::fs::write(&path, archive).unwrap();
        let there = Machine::read(&Root::at(&path).unwrap());
        assert_eq!(there.online(), Machine::read(&Root::live()).online());
    }
}
