//! What a case has captured of its machine and of the hosts that drive its load, beside its facts.

use std::path::Path;

use advise::environment::{Captured, LoadHost};
use advise::fleet::Processor;
use hosts::{HostSpec, Role};
use machine::{Class, Fault, Machine, Root};
use study::Facts;

/// The captures of one case.
pub(super) struct Captures {
    /// Model and microcode of the CPUs of its machine, or in words why they are not known.
    pub(super) processor: Result<Processor, String>,
    /// The hosts that drive its load.
    pub(super) hosts: Vec<LoadHost>,
}

/// Reads the captures of the case in `dir`. What cannot be read is a reason in its place.
pub(super) fn of(dir: &Path, facts: &Facts) -> Captures {
    let machine = dir.join("machine");
    let processor = match machine.is_dir() {
        true => Root::at(&machine).map_err(|fault| fault.to_string()).and_then(|root| processor(&root)),
        false => Err("the case has no capture of its machine (machine/)".into()),
    };
    // The name of a host in someone else's case is checked before it is a part of a path.
    let drives = |host: &&HostSpec| host.role == Role::Load && host.check().is_ok();
    let load_host = |host: &HostSpec| {
        let capture = dir.join("hosts").join(format!("{}.tar.zst", host.name));
        LoadHost { name: host.name.clone(), captured: captured(&capture) }
    };
    Captures { processor, hosts: facts.study.recipe.hosts.iter().filter(drives).map(load_host).collect() }
}

fn processor(root: &Root) -> Result<Processor, String> {
    let cpuinfo = root.read("/proc/cpuinfo").map_err(|error| error.to_string())?;
    Ok(Processor::from_cpuinfo(&cpuinfo))
}

fn captured(capture: &Path) -> Result<Captured, String> {
    match capture.is_file() {
        true => machine_at(capture).map_err(|fault| fault.to_string()),
        false => Err("the case has no capture of it".into()),
    }
}

/// The machine of a capture, with its processor.
///
/// # Errors
/// It is damaged, or no machine is in it.
pub fn machine_at(capture: &Path) -> Result<Captured, Fault> {
    let root = Root::at(capture)?;
    let machine = Machine::read(&root);
    if machine.cpus.is_empty() {
        let cause = "it has no CPU, so it is not a capture of a machine";
        let remedy = "capture the machine again with 'pinwise capture'";
        return Err(Fault::new(Class::Storage, capture.display(), cause, remedy));
    }
    // The map reads /proc/cpuinfo, too, so that it is in every capture. Trees that other tools made may be without it: then model and
    // microcode are not compared.
    Ok(Captured { machine, processor: processor(&root).unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_of_a_host_is_its_machine_with_its_processor_and_one_that_is_not_there_a_reason() {
        let capture =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/machines/two-node-smt/capture.tar.zst");
        let of_fixture = captured(Path::new(capture)).unwrap();
        assert!(!of_fixture.machine.cpus.is_empty(), "{of_fixture:?}");
        let folder = tempfile::tempdir().unwrap();
        assert!(captured(&folder.path().join("b.tar.zst")).unwrap_err().contains("no capture"));
        let damaged = folder.path().join("c.tar.zst");
        std::fs::write(&damaged, "not an archive").unwrap();
        assert!(captured(&damaged).is_err());
    }

    #[test]
    fn what_is_no_machine_is_refused_by_its_path() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("proc")).unwrap();
        let fault = machine_at(folder.path()).unwrap_err().to_string();
        assert!(fault.contains(&folder.path().display().to_string()) && fault.contains("no CPU"), "{fault}");
    }
}
