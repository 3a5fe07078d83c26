//! The affinity that systemd gives itself and so every service without one of its own (systemd-system.conf(5)).

use std::collections::BTreeMap;

use super::super::scan::Scan;
use super::{Owner, OwnerId, OwnerSetting, assignments};
use crate::{Notes, ReadError, Root};

/// Where configuration lies, the weakest first.
const PLACES: [&str; 4] = ["/usr/lib/systemd", "/usr/local/lib/systemd", "/run/systemd", "/etc/systemd"];
/// What bears on placement.
const KEYS: [&str; 3] = ["CPUAffinity", "NUMAPolicy", "NUMAMask"];

/// systemd, if it is process 1, and its settings in the order in which it takes them.
pub(super) fn read(root: &Root, scan: Option<&Scan>, notes: &mut Notes) -> Owner {
    let first = scan.and_then(|scan| scan.process(1)).filter(|seen| seen.comm == "systemd");
    let mut owner = Owner {
        id: Some(OwnerId::Systemd),
        name: "systemd".into(),
        sets:
            "affinity, cpuset, CPU weight and quota of services; it writes its cgroups again at daemon-reload"
                .into(),
        pid: first.map(|seen| seen.pid),
        ..Owner::default()
    };
    for file in files(root) {
        match root.read(&file) {
            Ok(text) => owner.settings.extend(settings(&text, &file)),
            Err(e) if e.is_absent() => {}
            Err(e) => notes.missing("CPUAffinity= of systemd", e),
        }
    }
    owner
}

/// The main file of the strongest place, then drop-ins by name: one name in several places counts in the strongest.
fn files(root: &Root) -> Vec<String> {
    let main = PLACES.iter().rev().map(|place| format!("{place}/system.conf")).find(|file| root.exists(file));
    let mut drop_ins = BTreeMap::new();
    for place in PLACES {
        let folder = format!("{place}/system.conf.d");
        let names = match root.list(&folder) {
            Ok(names) => names,
            Err(ReadError { .. }) => continue,
        };
        let configs = names.into_iter().filter(|name| name.ends_with(".conf"));
        drop_ins.extend(configs.map(|name| (name.clone(), format!("{folder}/{name}"))));
    }
    main.into_iter().chain(drop_ins.into_values()).collect()
}

/// The settings of the section [Manager]. An empty value takes back what came before it, and is reported as such.
fn settings(text: &str, file: &str) -> Vec<OwnerSetting> {
    let mut section = "";
    let mut manager = String::new();
    for line in text.lines() {
        match line.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(name) => section = name,
            None if section == "Manager" => manager.extend([line, "\n"]),
            None => {}
        }
    }
    let known = assignments(&manager).into_iter().filter(|(key, _)| KEYS.contains(&key.as_str()));
    known.map(|(key, value)| OwnerSetting { key: format!("{key}="), value, file: file.into() }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::of;
    use crate::Tree;

    #[test]
    fn the_affinity_of_the_manager_with_its_file() {
        let (owners, missing) = of(Tree::new()
            .file("/usr/lib/systemd/system.conf", "[Manager]\nCPUAffinity=9\n")
            .file("/etc/systemd/system.conf", "#CPUAffinity=7\n[Manager]\nLogLevel=info\nCPUAffinity=0 1\n")
            .file("/run/systemd/system.conf.d/50-a.conf", "[Manager]\nCPUAffinity=8\n")
            .file(
                "/etc/systemd/system.conf.d/50-a.conf",
                "[Manager]\nCPUAffinity=\nCPUAffinity=2-3\n[Other]\nCPUAffinity=6\n",
            )
            .file("/etc/systemd/system.conf.d/readme", "[Manager]\nCPUAffinity=5\n"));
        assert_eq!(missing, []);
        let told: Vec<_> = owners[0].settings.iter().map(|s| (s.value.as_str(), s.file.as_str())).collect();
        let drop_in = "/etc/systemd/system.conf.d/50-a.conf";
        assert_eq!(told, [("0 1", "/etc/systemd/system.conf"), ("", drop_in), ("2-3", drop_in)]);
        assert_eq!(owners[0].pid, None);
    }

    #[test]
    fn a_refused_file_is_missing_and_a_torn_one_says_nothing() {
        let (owners, missing) = of(Tree::new().denied("/etc/systemd/system.conf"));
        assert!(owners.is_empty() && missing[0].why.contains("permission denied"));
        assert!(of(Tree::new().file("/etc/systemd/system.conf", "[Manager\nCPUAffinity\n")).0.is_empty());
    }
}
