//! The kernel's command line, word by word, and what came of it.

use std::collections::BTreeMap;

use machine::Machine;
use machine::kernel::boot::words;

use super::super::FeatureId;
use super::super::values::Value;
use super::found::{Facts, MOST};

/// Parameters whose values are by nature each host's own, or those of its kernel: file systems, addresses, names.
const OWN: &[&str] = &[
    "BOOT_IMAGE",
    "BOOTIF",
    "bootdev",
    "bridge",
    "cryptdevice",
    "ds",
    "hostname",
    "ifname",
    "initrd",
    "ip",
    "iscsi_initiator",
    "ks",
    "nameserver",
    "netroot",
    "nfsroot",
    "ostree",
    "resume",
    "resume_offset",
    "root",
    "roothash",
    "smsc95xx.macaddr",
    "systemd.hostname",
    "systemd.machine_id",
    "usrhash",
    "vlan",
];

/// The same of all parameters whose names begin like this.
const OWN_BEGINNINGS: [&str; 8] =
    ["luks.", "rd.luks", "rd.lvm", "rd.md", "rd.iscsi", "rd.zfcp", "rd.znet", "inst."];

pub(super) fn collect(machine: &Machine, facts: &mut Facts<'_>) {
    let Some(cmdline) = machine.kernel.cmdline.as_deref() else { return };
    let words = words(cmdline);
    // One parameter may be given several times (console=).
    let mut parameters: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for word in &words {
        let (name, value) = word.split_once('=').unwrap_or((word.as_str(), "given"));
        let is_own =
            OWN.contains(&name) || OWN_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning));
        if !is_own && parameters.len() < MOST {
            parameters.entry(uniform(name)).or_default().push(value);
        }
    }
    for (name, values) in &parameters {
        facts.text(FeatureId::BootParameter, name, values.join(" "));
    }
    effects(machine, facts);
}

/// What is not in force; a parameter of which that is not known is neither.
fn effects(machine: &Machine, facts: &mut Facts<'_>) {
    for parameter in machine.kernel.boot.iter().take(MOST) {
        let name = uniform(&parameter.name);
        match (parameter.took_effect, &parameter.now) {
            (Some(true), _) => {}
            (Some(false), Some(now)) => {
                let words = format!("did not take effect; now: {now}");
                facts.text(FeatureId::BootParameterEffect, &name, words);
            }
            (Some(false), None) => facts.text(FeatureId::BootParameterEffect, &name, "did not take effect"),
            (None, _) => facts.value(FeatureId::BootParameterEffect, &name, Value::Unknown),
        }
    }
}

/// The kernel takes `-` and `_` in names for the same.
fn uniform(name: &str) -> String {
    name.replace('-', "_")
}
