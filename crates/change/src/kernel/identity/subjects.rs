//! Identities of objects of the running system.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use machine::Act;

use crate::acts::operation;
use crate::kernel::network::interfaces::{found, network_of, within};
use crate::kernel::pseudo_files::{is_pseudo, read_number};
use crate::namespace::{Namespace, netns};
use crate::subject::{Line, Scope, Subject};

/// The identity of what an act means here and now, as far as the kernel reports one.
pub fn of(act: &Act) -> Subject {
    let nothing = Subject::default();
    match operation(act).scope() {
        Scope::Network(interface) => Subject {
            network: network_of(act).ok(),
            interface: interface.and_then(|name| within(act, || found(act, name)).ok()),
            ..nothing
        },
        Scope::Cgroup(directory) => Subject { cgroup: cgroup(directory), ..nothing },
        Scope::Line(number) => Subject { line: line(number), ..nothing },
        Scope::Disk(name) => {
            Subject { disk: read_number(&format!("/sys/block/{name}/diskseq")).ok(), ..nothing }
        }
        Scope::Files => Subject { made: made(act), ..nothing },
        Scope::Machine | Scope::Processes => nothing,
    }
}

/// The network namespaces that an act has made.
fn made(act: &Act) -> Vec<Namespace> {
    match act {
        Act::MakeNetnsPair { pair } => {
            let open = |name: &String| Namespace::of_file(&netns::open(name).ok()?).ok();
            pair.names.iter().filter_map(open).collect()
        }
        _ => Vec::new(),
    }
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
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn loopback_is_an_interface_of_our_own_namespace() {
        let act = Act::SetEthtool {
            device: "lo".into(),
            netns: None,
            setting: machine::EthtoolSetting::Channels { counts: BTreeMap::new() },
        };
        let subject = of(&act);
        assert!(subject.network.unwrap().is(&Namespace::of_network().unwrap()));
        assert_eq!(subject.interface.unwrap().index, 1);
    }

    #[test]
    fn a_line_and_a_disk_have_an_identity_where_the_kernel_tells_one() {
        let lines = fs::read_dir("/proc/irq").unwrap().flatten();
        let number = lines
            .filter_map(|line| line.file_name().to_str()?.parse::<u32>().ok())
            .find(|n| line(*n).is_some());
        let Some(number) = number else {
            eprintln!("skipped: this kernel describes no interrupt line (/sys/kernel/irq)");
            return;
        };
        let path = format!("/proc/irq/{number}/smp_affinity_list").into();
        let act = Act::WriteFile { path, value: "0".into(), netns: None };
        assert_eq!(of(&act).line, line(number));
    }
}
