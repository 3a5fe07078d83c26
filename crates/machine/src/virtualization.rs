//! Whether this is a guest, and of which hypervisor: wrong firmware tables and stolen time are a guest's troubles.

use serde::{Deserialize, Serialize};

use crate::procfs::{cpuinfo, stat};
use crate::{Notes, ReadError, Root};

/// Whether a hypervisor runs below the kernel.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Virtualization {
    /// Whether this is a guest; `None` when nothing shows.
    pub guest: Option<bool>,
    /// Who runs it: `KVMKVMKVM` (its own signature), `xen`, or the vendor of the virtual board.
    pub hypervisor: Option<String>,
    /// Share of the CPUs' time since boot that the hypervisor gave to others while they had work (`steal` of /proc/stat),
    /// 0 to 1; `None` outside of guests.
    pub steal_share: Option<f64>,
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

/// Reads CPUID's answer (x86), then what firmware and Xen report.
pub(crate) fn read(root: &Root, notes: &mut Notes) -> Virtualization {
    let told = [
        root.fact("hypervisor").ok(),
        root.line("/sys/hypervisor/type").ok(),
        root.line("/proc/device-tree/hypervisor/compatible").ok(),
        root.line("/sys/class/dmi/id/sys_vendor").ok().filter(|vendor| is_virtual_board(vendor)),
    ];
    let hypervisor = told.into_iter().flatten().find(|name| !name.is_empty());
    let guest = match (flags(root), controls_xen(root)) {
        // The control domain sees the hardware, with Xen below it all the same.
        (_, true) => Some(false),
        // A vendor's board may be metal: on x86 only the CPU's own word counts.
        (Some(flag), _) => Some(flag || root.exists("/sys/hypervisor/type")),
        (None, _) => hypervisor.as_ref().map(|_| true),
    };
    let hypervisor = hypervisor.filter(|_| guest == Some(true));
    if guest.is_none() {
        notes.missing(
            "whether this is a guest",
            "/proc/cpuinfo has no flags of x86, and no firmware shows it",
        );
    } else if guest == Some(true) && hypervisor.is_none() {
        notes.missing(
            "name of the hypervisor",
            "neither the CPU nor /sys/hypervisor nor /sys/class/dmi/id shows it",
        );
    }
    let steal_share = match guest {
        Some(true) => match steal_share(root) {
            // Every running system has the file; trees that other tools made do not.
            Err(e) if e.is_absent() => None,
            other => notes.keep("steal", other),
        },
        _ => None,
    };
    Virtualization { guest, hypervisor, steal_share }
}

/// Whether the CPU (x86) says that a hypervisor runs below; `None` where /proc/cpuinfo has no such line.
fn flags(root: &Root) -> Option<bool> {
    let text = root.read("/proc/cpuinfo").ok()?;
    let flags = cpuinfo::first(&text, "flags")?;
    Some(flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

fn steal_share(root: &Root) -> Result<f64, ReadError> {
    /// Columns of /proc/stat (proc_stat(5)); guest times are contained in user and nice.
    const STEAL: usize = 7;
    let file = "/proc/stat";
    let text = root.read(file)?;
    let stat = stat::parse(&text).map_err(|e| ReadError::malformed(file, e))?;
    let unknown = |why: &str| match stat.odd.is_empty() {
        true => ReadError::malformed(file, why),
        false => ReadError::malformed(file, &stat.odd),
    };
    let all = stat.all.ok_or_else(|| unknown("it has no line cpu"))?;
    let steal = all.get(STEAL).ok_or_else(|| unknown("it has no column steal"))?;
    let times: Option<Vec<u64>> = (0..=STEAL).map(|column| all.get(column)).collect();
    let times = times.ok_or_else(|| unknown("a time of its line cpu is not known"))?;
    match times.into_iter().fold(0, u64::saturating_add) {
        // Kernels that count no CPU time print zeros: of nothing there is no share.
        0 => Err(ReadError::malformed(file, "no CPU time is counted in it")),
        total => Ok(steal as f64 / total as f64),
    }
}

/// Whether this is Xen's control domain, which runs on the hardware.
fn controls_xen(root: &Root) -> bool {
    root.read("/proc/xen/capabilities").is_ok_and(|text| text.contains("control_d"))
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
    fn guests_hosts_and_machines_that_report_neither() {
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

    #[test]
    fn metal_of_a_cloud_and_the_control_domain_of_xen_are_no_guests() {
        let metal = Tree::new()
            .file("/proc/cpuinfo", "flags : fpu sse\n")
            .file("/sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
        let (metal, _) = of(metal);
        assert_eq!((metal.guest, metal.name()), (Some(false), None));
        let dom0 = Tree::new()
            .file("/proc/cpuinfo", "flags : fpu hypervisor\n")
            .file("/sys/hypervisor/type", "xen\n")
            .file("/proc/xen/capabilities", "control_d\n");
        assert_eq!(of(dom0).0.guest, Some(false));
    }

    #[test]
    fn steal_is_a_share_of_the_time_since_boot_of_guests() {
        let tree =
            |stat: &str| Tree::new().file("/proc/cpuinfo", "flags : hypervisor\n").file("/proc/stat", stat);
        let (guest, _) = of(tree("cpu  50 0 20 20 0 0 0 10 0 0\ncpu0 50 0 20 20 0 0 0 10 0 0\n"));
        assert_eq!(guest.steal_share, Some(0.1));
        let most = u64::MAX;
        let (forged, _) = of(tree(&format!("cpu  {most} {most} 0 0 0 0 0 {most} 0 0\n")));
        assert_eq!(forged.steal_share, Some(1.0));
        let (torn, missing) = of(tree("cpu  50 x\n"));
        assert_eq!((torn.steal_share, missing), (None, 2));
    }

    #[test]
    fn steal_is_not_known_where_no_time_is_counted_and_known_where_another_line_is_odd() {
        let stat = |stat: &str| {
            let tree = Tree::new().file("/proc/cpuinfo", "flags : hypervisor\n").file("/proc/stat", stat);
            let (guest, missing) = of(tree);
            (guest.steal_share, missing)
        };
        // The other missing fact is the hypervisor's name.
        assert_eq!(stat("cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\n"), (None, 2));
        assert_eq!(stat("cpu  50 0 20 30 0 0 0 0 0 0\n"), (Some(0.0), 1), "none was stolen");
        assert_eq!(stat("cpu  50 0 20 20 0 0 0 10 0 0\nprocesses -2045677862\n"), (Some(0.1), 1));
        assert_eq!(stat("cpu  50 0 20 20 0 0 0 -10 0 0\n"), (None, 2));
    }
}
