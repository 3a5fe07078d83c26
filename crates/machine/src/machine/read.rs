//! Reading the machine, part by part.

use crate::kernel::{self, boot};
use crate::limits::mounts::{self, Mounts};
use crate::power::{self, idle};
use crate::topology::nodes::{self, mem_total_bytes};
use crate::topology::{caches, cpus, kinds, memory};
use crate::{Machine, Notes, ReadError, Root};
use crate::{devices, distances, irqs, isolation, limits, processes, virtualization};

impl Machine {
    /// Reads everything from `root`. Never fails: what cannot be read is in `missing`.
    pub fn read(root: &Root) -> Self {
        let _folders = root.keep_folders();
        let mut notes = Notes::new();
        let mounts = mounts::read(root);
        let mut machine = Self::laid_out(root, &mounts, &mut notes);
        let online = machine.online();
        machine.power = power::read(root, &online, &mut notes);
        machine.core_kinds = kinds::read(root, &online, &machine.cpus, &machine.power.frequency);
        machine.irqs = irqs::read(root, &mut notes);
        devices::lines::assign(root, &mut machine.devices, &machine.irqs, &mut notes);
        irqs::name_owners(&mut machine.irqs, &machine.devices, &mut notes);
        devices::chain::note_unknown(&machine, &mut notes);
        machine.kernel = kernel::read(root, &mounts, &mut notes);
        let (listed, at_boot) = (machine.kernel.isolated.as_ref(), boot::isolated_at_boot(&machine));
        machine.isolation = isolation::read(root, &mounts, listed, &at_boot, &mut notes);
        machine.idle = idle::read(root, &online, &machine.core_kinds, &mut notes);
        machine.virtualization = virtualization::read(root, &mut notes);
        let processes = processes::read(root, mounts, &mut notes);
        machine.guests = processes.guests;
        machine.containers = processes.containers;
        machine.owners = processes.owners;
        processes::foresee(&mut machine.owners, &machine.irqs, &machine.devices);
        machine.kernel_threads = processes.kernel_threads;
        machine.measured_distances = distances::read(root, &machine, &mut notes);
        machine.missing = notes.into_vec();
        machine.kernel.boot = boot::decode(&machine);
        machine
    }

    /// Reads only how the machine is laid out: CPUs, caches, nodes, memory, devices, and what this process may use of
    /// them. The other parts are left empty, which says nothing about them.
    pub fn read_topology(root: &Root) -> Self {
        let _folders = root.keep_folders();
        let mut notes = Notes::new();
        let mut machine = Self::laid_out(root, &mounts::read(root), &mut notes);
        machine.core_kinds = kinds::read(root, &machine.online(), &machine.cpus, &[]);
        machine.measured_distances = distances::read(root, &machine, &mut notes);
        machine.missing = notes.into_vec();
        machine
    }

    fn laid_out(root: &Root, mounts: &Mounts, notes: &mut Notes) -> Self {
        let mut cpus = cpus::read(root, notes);
        let limits = limits::read(root, mounts, notes);
        let allowed = limits.allowed();
        for cpu in &mut cpus.cpus {
            cpu.allowed = allowed.as_ref().map(|allowed| allowed.contains(cpu.id) && cpu.online);
        }
        let nodes = nodes::read(root, &cpus.online, &mut cpus.cpus, notes);
        let caches = caches::read(root, &cpus.cpus, &cpus.online, notes);
        let meminfo = root.read("/proc/meminfo");
        let memory = memory::read(root, meminfo.as_deref().ok(), notes);
        let memory_bytes = notes.keep(
            "memory",
            meminfo.and_then(|text| {
                mem_total_bytes(&text).map_err(|why| ReadError::malformed("/proc/meminfo", why))
            }),
        );
        let many_nodes = nodes.len() > 1;
        let mut devices = devices::network::read(root, many_nodes, notes);
        devices.extend(devices::block::read(root, many_nodes, notes));
        devices.extend(devices::accelerators::read(root, many_nodes, notes));
        Self {
            possible: cpus.possible,
            present: cpus.present,
            offline: cpus.offline,
            nodes,
            caches,
            packages: cpus.packages,
            memory_bytes,
            memory,
            devices,
            limits,
            cpus: cpus.cpus,
            ..Self::default()
        }
    }
}
