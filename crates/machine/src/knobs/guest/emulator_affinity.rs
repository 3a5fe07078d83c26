//! Which CPUs the other threads of a guest's process may run on.

use super::{GuestKnob, Kind};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: GuestKnob = GuestKnob {
    about: About {
        id: "emulator-affinity",
        title: "Host CPUs that the emulator of a guest may run on",
        docs: "The main loop, workers, VNC and migration of a guest's process: all that is neither a vCPU nor an I/O thread. \
               Away from the CPUs of the vCPUs it does not interrupt them. Where libvirt runs the guest, libvirt moves it (virsh \
               emulatorpin), otherwise the threads are moved.",
        unit: "CPU list",
        scope: "one guest: GUEST/emulator, GUEST as with vcpu-affinity. Of a guest that libvirt runs its first thread is \
                read, which libvirt moves with all others that have a cgroup in common with it",
        owner: "libvirt (<emulatorpin>), through which pinwise goes; Proxmox VE (affinity:); OpenStack Nova \
                (hw:emulator_threads_policy); numad",
        owners: &[OwnerId::Numad],
        risk: "Virtual disks and network cards without a thread of their own are served here: on a busy CPU they get slow. \
               Threads that it starts later inherit the set, also vCPUs that are plugged in.",
        may_set: MaySet::OwnProcesses,
        source: "virsh(1), emulatorpin; sched_setaffinity(2)",
    },
    kind: Kind::Emulator,
};
