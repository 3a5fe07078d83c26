//! Whether this is a guest, and of whom: wrong firmware tables and stolen time are a guest's troubles.

use serde::{Deserialize, Serialize};

use crate::{Notes, Root};

/// Whether a hypervisor runs below the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Virtualization {
    /// Whether this is a guest; `None` when nothing tells.
    pub guest: Option<bool>,
    /// Who runs it: `KVMKVMKVM` (its own signature), `xen`, or the vendor of the virtual board.
    pub hypervisor: Option<String>,
}

impl Virtualization {
    /// The hypervisor as people call it: signatures of CPUID (arch/x86/kernel/cpu/hypervisor.c) are put into names.
    pub fn name(&self) -> Option<&str> {
        let told = self.hypervisor.as_deref()?;
        let known = [
            ("KVMKVMKVM", "KVM"),
            ("TCGTCGTCGTCG", "QEMU without KVM (TCG)"),
            ("VMwareVMware", "VMware"),
            ("Microsoft Hv", "Hyper-V"),
            ("XenVMMXenVMM", "Xen"),
            ("ACRNACRNACRN", "ACRN"),
            ("bhyve bhyve ", "bhyve"),
            (" lrpepyh  vr", "Parallels"),
            ("prl hyperv", "Parallels"),
        ];
        known
            .iter()
            .find(|(signature, _)| signature.trim() == told.trim())
            .map(|(_, name)| *name)
            .or(Some(told))
    }
}

/// Reads the CPU's own word (x86), then what firmware and Xen tell.
pub(crate) fn read(root: &Root, notes: &mut Notes) -> Virtualization {
    let told = [
        root.fact("hypervisor").ok(),
        root.line("/sys/hypervisor/type").ok(),
        root.line("/proc/device-tree/hypervisor/compatible").ok(),
        root.line("/sys/class/dmi/id/sys_vendor").ok().filter(|vendor| is_virtual_board(vendor)),
    ];
    let hypervisor = told.into_iter().flatten().find(|name| !name.is_empty());
    let guest = match flags(root) {
        Some(flag) => Some(flag || hypervisor.is_some()),
        None => hypervisor.as_ref().map(|_| true),
    };
    if guest.is_none() {
        notes.missing(
            "whether this is a guest",
            "/proc/cpuinfo has no flags of x86, and no firmware tells it",
        );
    } else if guest == Some(true) && hypervisor.is_none() {
        notes.missing(
            "name of the hypervisor",
            "neither the CPU nor /sys/hypervisor nor /sys/class/dmi/id tells it",
        );
    }
    Virtualization { guest, hypervisor }
}

/// Whether the CPU (x86) says that a hypervisor runs below; `None` where /proc/cpuinfo has no such line.
fn flags(root: &Root) -> Option<bool> {
    let text = root.read("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == "flags"))?;
    Some(line.split_whitespace().any(|flag| flag == "hypervisor"))
}

fn is_virtual_board(vendor: &str) -> bool {
    let vendors =
        ["QEMU", "VMware", "Xen", "Amazon EC2", "Google", "innotek", "OpenStack", "Parallels", "Bochs"];
    vendors.iter().any(|known| vendor.starts_with(known))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    fn of(tree: Tree) -> (Virtualization, usize) {
        let mut notes = Notes::new();
        let told = read(&Root::from_tree(tree), &mut notes);
        (told, notes.into_vec().len())
    }

    #[test]
    fn guests_hosts_and_machines_that_do_not_tell() {
        let x86 = |flags: &str| {
            Tree::new().file("/proc/cpuinfo", format!("processor\t: 0\nflags\t\t: fpu {flags}\n"))
        };
        let (guest, missing) = of(x86("hypervisor").file("/sys/class/dmi/id/sys_vendor", "QEMU\n"));
        assert_eq!((guest.guest, guest.hypervisor.as_deref(), missing), (Some(true), Some("QEMU"), 0));
        let (host, missing) = of(x86("sse").file("/sys/class/dmi/id/sys_vendor", "Dell Inc.\n"));
        assert_eq!((host.guest, host.hypervisor, missing), (Some(false), None, 0));
        let (arm, missing) = of(Tree::new().file("/proc/cpuinfo", "processor : 0\nFeatures : fp\n"));
        assert_eq!((arm.guest, missing), (None, 1));
        assert_eq!(of(x86("hypervisor")).1, 1);
    }
}
