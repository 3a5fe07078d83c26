//! Identities of objects of the running system.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::kernel::network::interfaces::{found, network_around, within};
use crate::kernel::pseudo_files::{is_pseudo, read_number};
use crate::namespace::{Namespace, netns};
use crate::subject::{Line, Reference, Scope, Subject};

/// The identity of an object as it is here and now, as far as the kernel reports one.
pub fn of(object: &Reference) -> Subject {
    let nothing = Subject::default();
    match object.scope {
        Scope::Network(interface) => {
            // Each look into a named namespace takes a thread and a mount: one for both.
            let look = || {
                let network = match object.netns {
                    Some(_) => Namespace::of_network(),
                    None => network_around(object),
                };
                Ok((network.ok(), interface.and_then(|name| found(object, name).ok())))
            };
            let (network, interface) = within(object, look).unwrap_or_default();
            Subject { network, interface, ..nothing }
        }
        Scope::Cgroup(directory) => Subject { cgroup: cgroup(directory), ..nothing },
        Scope::Line(number) => Subject { line: line(number), ..nothing },
        Scope::Disk(name) => {
            Subject { disk: read_number(&format!("/sys/block/{name}/diskseq")).ok(), ..nothing }
        }
        Scope::Files => Subject { made: made(object.makes_networks), ..nothing },
        Scope::Machine | Scope::Processes => nothing,
    }
}

/// The network namespaces of these names.
fn made(names: &[String]) -> Vec<Namespace> {
    let open = |name: &String| Namespace::of_file(&netns::open(name).ok()?).ok();
    names.iter().filter_map(open).collect()
}

/// Inode number of a cgroup's directory.
fn cgroup(directory: &Path) -> Option<u64> {
    let file = File::open(directory).ok()?;
    is_pseudo(&file).ok()?.then_some(file.metadata().ok()?.ino())
}

/// The interrupt line that has a number.
fn line(number: u32) -> Option<Line> {
    let read = |file: &str| fs::read_to_string(format!("/sys/kernel/irq/{number}/{file}")).ok();
    let (chip, hardware_number) = (read("chip_name")?, read("hwirq")?);
    Some(Line { chip: chip.trim().into(), hardware_number: hardware_number.trim().into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(scope: Scope<'_>) -> Reference<'_> {
        Reference { scope, netns: None, in_sys: false, makes_networks: &[] }
    }

    #[test]
    fn loopback_is_an_interface_of_our_own_namespace() {
        let subject = of(&reference(Scope::Network(Some("lo"))));
        assert!(subject.network.unwrap().is(&Namespace::of_network().unwrap()));
        assert_eq!(subject.interface.unwrap().index, 1);
    }

    #[test]
    fn a_line_and_a_disk_have_an_identity_where_the_kernel_reports_one() {
        let lines = fs::read_dir("/proc/irq").unwrap().flatten();
        let number = lines
            .filter_map(|line| line.file_name().to_str()?.parse::<u32>().ok())
            .find(|n| line(*n).is_some());
        let Some(number) = number else {
            eprintln!("skipped: this kernel describes no interrupt line (/sys/kernel/irq)");
            return;
        };
        assert_eq!(of(&reference(Scope::Line(number))).line, line(number));
    }
}
