//! pinwise's own binary on another host: copied once, known by its hash.

use std::fs::File;
use std::path::Path;
use std::process::{Output, Stdio};

use machine::{Class, Fault};

use crate::host::{HostSpec, Via};
use crate::transport::Transport;

/// Finds the binary at `$1`, or makes the folder for it. Says `present`, or `absent` and the architecture. A folder that is not one's own
/// is not used: others could put a binary there.
const LOOK: &str = r#"f=$(dirname "$1")
if [ -x "$1" ] && [ -O "$1" ]; then echo present; exit; fi
mkdir -p -m 700 "$f" && [ -O "$f" ] || { echo "$f cannot be made, or is not yours" >&2; exit 1; }
echo absent $(uname -m)"#;

/// Puts standard input there, whole or not at all.
const COPY: &str = r#"umask 077; cat > "$1.$$" && chmod 700 "$1.$$" && mv -f "$1.$$" "$1""#;

/// Where `exe` is on `host`, as a command of its shell names it; it is copied there where it is missing. On this host itself nothing is.
///
/// # Errors
/// The host cannot be reached, is of another architecture, or has no room; the fault has what it printed.
pub fn stage(host: &HostSpec, exe: &Path, transport: &Transport) -> Result<String, Fault> {
    if host.via == Via::Local {
        return Ok(exe.display().to_string());
    }
    let hash = transport.known_hash.of(exe).map_err(|error| unreadable(exe, &error))?;
    let there = format!("{}/pinwise-{hash}", folder(host));
    let said = run(host, transport, &["sh", "-c", LOOK, "sh", &there], Stdio::null())?;
    match said.split_whitespace().collect::<Vec<_>>()[..] {
        ["present"] => return Ok(there),
        ["absent", arch] if arch == std::env::consts::ARCH => {}
        ["absent", arch] => return Err(other_architecture(host, arch)),
        _ => {
            let cause = format!("its shell answered: {}", said.trim());
            let remedy = "let ~/.bashrc and its like be silent without a terminal";
            return Err(Fault::new(Class::WorkloadFailed, object(host), cause, remedy));
        }
    }
    let binary = File::open(exe).map_err(|error| unreadable(exe, &error))?;
    run(host, transport, &["sh", "-c", COPY, "sh", &there], binary.into())?;
    Ok(there)
}

/// The folder on the host: of its user's home, where ssh begins; srun begins where the job was submitted.
fn folder(host: &HostSpec) -> String {
    match (&host.folder, host.via) {
        (Some(folder), _) => folder.trim_end_matches('/').to_string(),
        (None, Via::Srun) => format!("/tmp/pinwise-{}", rustix::process::geteuid().as_raw()),
        (None, _) => ".cache/pinwise".into(),
    }
}

/// What a command prints there.
fn run(host: &HostSpec, transport: &Transport, argv: &[&str], input: Stdio) -> Result<String, Fault> {
    let mut command = transport.command(host, argv)?;
    let ran = command.stdin(input).output();
    let Output { status, stdout, stderr } = ran.map_err(|error| {
        let program = command.get_program().to_string_lossy().into_owned();
        Fault::io(format!("{}: {program}", object(host)), &error, "install it")
    })?;
    if status.success() {
        return Ok(String::from_utf8_lossy(&stdout).into_owned());
    }
    let printed = String::from_utf8_lossy(&stderr);
    let cause = match printed.trim() {
        "" => status.to_string(),
        printed => printed.to_string(),
    };
    let remedy = match host.via {
        Via::Ssh => format!("this must work without a question: ssh {} true", host.destination()),
        Via::Srun => format!("this must work: srun --overlap --nodelist={} true", host.name),
        Via::Local => String::new(),
    };
    Err(Fault::new(Class::WorkloadFailed, object(host), cause, remedy))
}

fn other_architecture(host: &HostSpec, arch: &str) -> Fault {
    let own = std::env::consts::ARCH;
    let cause = format!("it is of architecture {arch}, and this pinwise is for {own}");
    Fault::new(Class::MachineLacks, object(host), cause, format!("choose hosts of {own}"))
}

fn object(host: &HostSpec) -> String {
    format!("host {}", host.name)
}

fn unreadable(exe: &Path, error: &std::io::Error) -> Fault {
    Fault::io(exe.display(), error, "let pinwise's binary be readable")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scripts_put_a_binary_there_once() {
        let dir = tempfile::tempdir().unwrap();
        let there = dir.path().join("cache/pinwise-1");
        let sh = |script: &str, input: Stdio| {
            let ran =
                std::process::Command::new("sh").args(["-c", script, "sh"]).arg(&there).stdin(input).output();
            String::from_utf8(ran.unwrap().stdout).unwrap()
        };
        assert!(sh(LOOK, Stdio::null()).starts_with("absent "));
        let exe = dir.path().join("exe");
        std::fs::write(&exe, "#!/bin/sh\n").unwrap();
        sh(COPY, File::open(&exe).unwrap().into());
        assert_eq!(std::fs::read_to_string(&there).unwrap(), "#!/bin/sh\n");
        assert_eq!(sh(LOOK, Stdio::null()).trim(), "present");
        let left = std::fs::read_dir(dir.path().join("cache")).unwrap().count();
        assert_eq!(left, 1, "nothing beside it");
    }

    #[test]
    fn a_host_that_is_this_one_gets_no_copy() {
        let host = HostSpec { via: Via::Local, ..HostSpec::named("b") };
        let there = stage(&host, Path::new("/usr/bin/pinwise"), &Transport::new().unwrap()).unwrap();
        assert_eq!(there, "/usr/bin/pinwise");
    }
}
