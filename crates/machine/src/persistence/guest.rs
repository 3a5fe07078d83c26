//! Settings of guests, which libvirt keeps in their definitions.

use crate::{Act, Root};

/// Where libvirt keeps the definitions of persistent guests.
const DEFINITIONS: &str = "/etc/libvirt/qemu";

/// The acts that keep a setting whose own acts are `acts`.
pub(super) fn acts(root: &Root, acts: &[Act]) -> Result<Vec<Act>, String> {
    acts.iter().map(|act| in_definition(root, act)).collect()
}

fn in_definition(root: &Root, act: &Act) -> Result<Act, String> {
    let Act::PinGuest { pin, cpus } = act else {
        return Err("no file of the platform can name a thread of a guest; set it where the guest is started, or run it \
                    under libvirt, which keeps the settings of all but vhost threads"
            .into());
    };
    match root.exists(format!("{DEFINITIONS}/{}.xml", pin.name)) {
        true => Ok(Act::PinGuest { pin: pin.in_definition(), cpus: cpus.clone() }),
        false => Err(format!("guest {} is transient: set it where it is created (virsh create)", pin.name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CpuSet, GuestPart, GuestPin, PinScope, ProcessRef, ThreadRef, Tree};

    #[test]
    fn what_libvirt_defines_lasts() {
        let process = ProcessRef { pid: 7, start_time_ticks: 1 };
        let scope = PinScope::Running { process };
        let pin = GuestPin { name: "web 1".into(), uuid: "u".into(), part: GuestPart::Emulator, scope };
        let act = |pin: &GuestPin| Act::PinGuest { pin: pin.clone(), cpus: CpuSet::single(1) };
        let root = |tree| Root::from_tree(tree);
        let defined = root(Tree::new().file("/etc/libvirt/qemu/web 1.xml", ""));
        assert_eq!(acts(&defined, &[act(&pin)]).unwrap(), [act(&pin.in_definition())]);
        assert!(acts(&root(Tree::new()), &[act(&pin)]).unwrap_err().contains("transient"));
        let thread = ThreadRef { pid: 7, tid: 7, start_time_ticks: 1 };
        let plain = Act::SetAffinity { thread, cpus: CpuSet::single(1) };
        assert!(acts(&defined, &[plain]).unwrap_err().contains("under libvirt"));
    }
}
