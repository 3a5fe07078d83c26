//! CPUs on which libvirt runs a part of a guest, by virsh(1), which works with every version of libvirt.

use std::io::{self, Read};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use machine::{CpuSet, GuestPin};

use crate::kernel::program;

/// Far longer than an answer takes. A guest whose monitor hangs would keep libvirt waiting forever.
const PATIENCE: Duration = Duration::from_secs(30);

/// The CPUs at present.
///
/// # Errors
/// `NotFound` when libvirt has no such guest, or no definition for it; `Unsupported` when virsh is not installed;
/// `TimedOut` when libvirt does not answer.
pub fn get(pin: &GuestPin) -> io::Result<CpuSet> {
    let answer = virsh(&pin.question().ok_or_else(damaged)?)?;
    pin.parse_answer(&answer)
        .map_err(|why| io::Error::new(io::ErrorKind::InvalidData, format!("virsh answers: {why}")))
}

/// Sets the CPUs.
///
/// # Errors
/// As [`get`], and what libvirt refuses them with.
pub fn set(pin: &GuestPin, cpus: &CpuSet) -> io::Result<()> {
    virsh(&pin.order(cpus).ok_or_else(damaged)?).map(drop)
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "the guest has no UUID by which libvirt could know it")
}

/// Runs virsh and returns what it prints.
fn virsh(arguments: &[String]) -> io::Result<String> {
    let mut command = program::command("virsh");
    // Its messages are matched.
    command.args(arguments).env("LC_ALL", "C").env_remove("LANGUAGE");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|error| match error.kind() {
        // Not NotFound, which would mean that the guest has gone.
        io::ErrorKind::NotFound => io::Error::new(io::ErrorKind::Unsupported, "virsh is not installed"),
        _ => io::Error::other(format!("virsh could not be started: {error}")),
    })?;
    let output = wait(child)?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(failure(&String::from_utf8_lossy(&output.stderr))),
    }
}

/// Waits for its end, for [`PATIENCE`]. Its output fits into the pipes.
fn wait(mut child: Child) -> io::Result<Output> {
    let until = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if Instant::now() < until => std::thread::sleep(Duration::from_millis(2)),
            None => {
                // It may have ended meanwhile, which is as good.
                let _ = child.kill();
                child.wait()?;
                let why = format!("libvirt did not answer within {} s", PATIENCE.as_secs());
                return Err(io::Error::new(io::ErrorKind::TimedOut, why));
            }
        }
    };
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    child.stdout.take().map_or(Ok(0), |mut pipe| pipe.read_to_end(&mut stdout))?;
    child.stderr.take().map_or(Ok(0), |mut pipe| pipe.read_to_end(&mut stderr))?;
    Ok(Output { status, stdout, stderr })
}

/// The error that virsh reports. A guest that has gone is an error of its own, since an undo has nothing left to do then.
fn failure(said: &str) -> io::Error {
    let gone = ["failed to get domain", "transient domains do not have any persistent config"];
    let mut lines = said.lines().map(|line| line.trim().trim_start_matches("error: "));
    let why = lines.by_ref().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
    match why {
        _ if gone.iter().any(|gone| why.contains(gone)) => io::Error::new(io::ErrorKind::NotFound, why),
        _ if why.contains("authentication") || why.contains("Permission denied") => {
            io::Error::new(io::ErrorKind::PermissionDenied, why)
        }
        _ if why.is_empty() => io::Error::other("virsh failed without a message"),
        _ => io::Error::other(format!("libvirt: {why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages of virsh 9.0.
    #[test]
    fn a_guest_that_has_gone_differs_from_a_libvirt_that_does_not_answer() {
        let gone = [
            "error: failed to get domain 'f37c6602-cd1f-4a54-94c3-e9fbfe9aff94'\n\n",
            "error: Requested operation is not valid: transient domains do not have any persistent config\n\n",
        ];
        for said in gone {
            assert_eq!(failure(said).kind(), io::ErrorKind::NotFound, "{said}");
        }
        let down = "error: failed to connect to the hypervisor\nerror: Failed to connect socket to \
                    '/var/run/libvirt/libvirt-sock': No such file or directory\n";
        let error = failure(down);
        assert_eq!((error.kind(), error.raw_os_error()), (io::ErrorKind::Other, None));
        assert!(
            error.to_string().starts_with("libvirt: failed to connect to the hypervisor; Failed"),
            "{error}"
        );
        let refused = "error: failed to connect to the hypervisor\nerror: authentication unavailable: no polkit agent\n";
        assert_eq!(failure(refused).kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(failure("").to_string(), "virsh failed without a message");
    }
}
