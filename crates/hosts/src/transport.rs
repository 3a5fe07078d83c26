//! How a command is run on another host: by the system's own ssh(1), by srun(1), or right here.

use std::path::PathBuf;
use std::process::Command;

use machine::{Class, Fault, program_path};

use crate::binary_hash::KnownHash;
use crate::control_folder::ControlFolder;
use crate::host::{HostSpec, Via};

/// Seconds after which ssh gives up on a host that does not answer at all.
const CONNECT_TIMEOUT_S: u32 = 10;

/// How often ssh asks a host that says nothing whether it is there, s.
const ASK_EVERY_S: u32 = 2;

/// How many of these questions may be open: with the fourth, after 8 s, the connection is lost. Whoever comes to a master whose host has
/// gone waits for that first, and then for a connection of its own: 18 s at most.
const MOST_OPEN_QUESTIONS: u32 = 3;

/// Options of srun for a command that is run once, on one node of an allocation, beside whatever else runs there.
pub(crate) const STEP: [&str; 4] = ["--overlap", "--nodes=1", "--ntasks=1", "--cpu-bind=none"];

/// Runs commands on other hosts. The first ssh to a host is kept open for those that follow (ControlMaster), in a folder that goes with
/// this.
#[derive(Debug)]
pub struct Transport {
    /// Holds the control sockets; none where its path would be too long for one.
    control: Option<ControlFolder>,
    /// That of the binary that hosts get.
    pub(crate) known_hash: KnownHash,
}

impl Transport {
    /// # Errors
    /// No temporary folder can be made.
    pub fn new() -> Result<Self, Fault> {
        let control = ControlFolder::make(&std::env::temp_dir())?;
        Ok(Self { control, known_hash: KnownHash::default() })
    }

    /// The command of this host that runs `argv` on `host`, with its standard streams.
    ///
    /// # Errors
    /// The program that reaches the host is not installed here.
    pub fn command(&self, host: &HostSpec, argv: &[&str]) -> Result<Command, Fault> {
        match host.via {
            Via::Ssh => self.ssh(host, argv),
            Via::Srun => srun(host, argv),
            Via::Local => local(host, argv),
        }
    }

    fn ssh(&self, host: &HostSpec, argv: &[&str]) -> Result<Command, Fault> {
        let mut ssh = Command::new(installed(host, "ssh", "install openssh-client")?);
        ssh.args(["-T", "-o", "BatchMode=yes"]);
        ssh.arg("-o").arg(format!("ServerAliveInterval={ASK_EVERY_S}"));
        ssh.arg("-o").arg(format!("ServerAliveCountMax={MOST_OPEN_QUESTIONS}"));
        ssh.arg("-o").arg(format!("ConnectTimeout={CONNECT_TIMEOUT_S}"));
        if let Some(folder) = &self.control {
            ssh.args(["-o", "ControlMaster=auto", "-o", "ControlPersist=10", "-o"]);
            ssh.arg(format!("ControlPath={}/%C", folder.path().display()));
        }
        ssh.args(&host.ssh_options).arg("--").arg(host.destination()).arg(shell_words::join(argv));
        Ok(ssh)
    }
}

fn srun(host: &HostSpec, argv: &[&str]) -> Result<Command, Fault> {
    let mut srun =
        Command::new(installed(host, "srun", "install slurm-client, and run this within an allocation")?);
    srun.args(STEP).arg("--quiet");
    srun.arg(format!("--nodelist={}", host.name)).args(argv);
    Ok(srun)
}

fn local(host: &HostSpec, argv: &[&str]) -> Result<Command, Fault> {
    let Some((first, others)) = argv.split_first() else {
        return Err(Fault::new(
            Class::Usage,
            format!("host {}", host.name),
            "there is no command",
            "give one",
        ));
    };
    let mut command = match &host.netns {
        None => Command::new(first),
        Some(name) => {
            let mut within = Command::new(installed(host, "ip", "install iproute2")?);
            within.args(["netns", "exec", name, first]);
            within
        }
    };
    // The ledgers of this host are the study's, which holds their lock.
    let state = change::ledger::state_dir()?.join("agents").join(&host.name);
    command.args(others).env("PINWISE_STATE_DIR", state);
    Ok(command)
}

/// A program of the user's PATH, else of the system: ssh may be a wrapper of the site's own, and Slurm be in a folder of its own.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH");
    program_path::in_path(name.as_ref(), path.as_deref()).or_else(|| program_path::of_system(name))
}

fn installed(host: &HostSpec, name: &str, remedy: &str) -> Result<PathBuf, Fault> {
    program(name).ok_or_else(|| {
        let object = format!("host {}: {name}", host.name);
        Fault::new(Class::MachineLacks, object, "the program is not installed", remedy)
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn words(command: &Command) -> Vec<String> {
        command.get_args().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_command_reaches_the_other_shell_as_it_is() {
        let transport = Transport::new().unwrap();
        let host = HostSpec {
            ssh: Some("ann@10.0.0.2".into()),
            ssh_options: vec!["-p".into(), "2222".into()],
            ..HostSpec::named("b")
        };
        let Ok(command) = transport.command(&host, &["sh", "-c", "echo 'a b'"]) else {
            return eprintln!("skipped: ssh is not installed");
        };
        let words = words(&command);
        let last: Vec<&str> = words.iter().rev().take(5).rev().map(String::as_str).collect();
        assert_eq!(&last[..4], ["-p", "2222", "--", "ann@10.0.0.2"]);
        assert_eq!(shell_words::split(last[4]).unwrap(), ["sh", "-c", "echo 'a b'"]);
        // A host that has gone is found within 18 s: docs/hosts.md.
        for option in ["BatchMode=yes", "ServerAliveInterval=2", "ServerAliveCountMax=3", "ConnectTimeout=10"]
        {
            assert!(words.iter().any(|word| word == option), "{option}: {words:?}");
        }
    }

    #[test]
    fn a_host_that_is_this_one_has_ledgers_of_its_own() {
        let host = HostSpec { via: Via::Local, ..HostSpec::named("b") };
        let command = Transport::new().unwrap().command(&host, &["/bin/true", "x"]).unwrap();
        assert_eq!((command.get_program().to_str(), words(&command)), (Some("/bin/true"), vec!["x".into()]));
        let state = command.get_envs().find(|(name, _)| *name == "PINWISE_STATE_DIR").unwrap().1.unwrap();
        assert!(Path::new(state).ends_with("agents/b"));
    }
}
