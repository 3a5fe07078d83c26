//! Which CPUs a guest's virtual CPU may run on.

use super::{GuestKnob, Kind};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: GuestKnob = GuestKnob {
    about: About {
        id: "vcpu-affinity",
        title: "Host CPUs that a virtual CPU of a guest may run on",
        docs: "A vCPU that keeps a CPU of its own, on the node of the guest's memory, is not delayed by other guests or by its \
               own emulator; two vCPUs that are siblings in the guest belong on siblings of the host. Where libvirt runs the guest, libvirt moves it (virsh vcpupin), otherwise the thread is moved.",
        unit: "CPU list",
        scope: "one vCPU: GUEST/vcpu/NUMBER, or GUEST/vcpu for all; GUEST is the guest's name (-name), or pid:NUMBER of its \
                process where it has none or shares it",
        owner: "libvirt (<vcpupin>), through which pinwise goes; Proxmox VE (affinity:); OpenStack Nova (hw:cpu_policy); \
                kubelet, for KubeVirt; numad",
        owners: &[OwnerId::Kubelet, OwnerId::Numad],
        risk: "vCPUs that share a CPU wait for each other, also while one holds a lock (lock holder preemption). What is set \
               ends with the guest; --persist keeps it in the definition of a guest that libvirt runs.",
        may_set: MaySet::OwnProcesses,
        source: "virsh(1), vcpupin; qemu(1), -name debug-threads=on; sched_setaffinity(2)",
    },
    kind: Kind::Vcpu,
};
