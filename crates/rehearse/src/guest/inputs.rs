//! What a guest finds when it starts: the files that its first process reads, its initramfs, its disks.

use std::fs::{self, File};

use machine::Fault;

use super::{Folder, Guest, exchange};
use crate::cache::storage;
use crate::kernel::modules;
use crate::userland::Userland;
use crate::userland::debian;
use crate::{Kernel, Layout, acpi, qemu, userland};

/// Brings up the host's end of a guest's card; QEMU runs it with the tap's name.
const UP: &str = "#!/bin/busybox sh\n\
    /bin/busybox ip addr add 10.77.${1#tap}.1/24 dev $1\n\
    /bin/busybox ip link set $1 up\n";

/// Writes all of it into the guest's folder.
pub(super) fn write(
    guest: &Guest,
    kernel: &Kernel,
    layout: &Layout,
    folder: &Folder,
    command: &str,
) -> Result<(), Fault> {
    write_shared(guest, folder, command)?;
    write_initrd(guest, kernel, layout, folder)?;
    for (number, disk) in guest.shape.disks.iter().enumerate() {
        let path = qemu::disk(folder.path(), number);
        File::create(&path)
            .and_then(|file| file.set_len(disk.size_mb << 20))
            .map_err(|e| storage(&path, &e))?;
    }
    Ok(())
}

/// What the guest's first process reads.
fn write_shared(guest: &Guest, folder: &Folder, command: &str) -> Result<(), Fault> {
    let offline: String = guest.shape.offline.iter().map(|cpu| format!("{cpu}\n")).collect();
    folder.write("shared/command", command)?;
    folder.write("shared/offline", offline)?;
    if !changes_cpus(&guest.cmdline) {
        folder.write("shared/present", guest.shape.present().to_list())?;
    }
    if let Some(port) = guest.forward {
        folder.write("shared/forward", format!("{port:04X}"))?;
    }
    folder.write("shared/modules", guest.modules.join("\n"))?;
    for path in &guest.files {
        exchange::copy_in(path, &folder.files())?;
    }
    folder.write("up", UP)?;
    let up = folder.path().join("up");
    fs::set_permissions(&up, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .map_err(|e| storage(&up, &e))
}

/// Whether a command line may leave CPUs out that the shape has: then there is nothing to compare them with.
fn changes_cpus(cmdline: &str) -> bool {
    let changing = [
        "nr_cpus",
        "possible_cpus",
        "maxcpus",
        "nosmp",
        "nosmt",
        "acpi",
        "noapic",
        "nolapic",
        "disable_cpu_apicid",
    ];
    machine::kernel::boot::words(cmdline)
        .iter()
        .any(|word| changing.contains(&word.split('=').next().unwrap_or(word)))
}

fn write_initrd(guest: &Guest, kernel: &Kernel, layout: &Layout, folder: &Folder) -> Result<(), Fault> {
    let mut tables = vec![("apic", acpi::madt::table(layout))];
    if !guest.shape.idle_states.is_empty() {
        tables.push(("ssdt", acpi::ssdt::table(layout, &guest.shape.idle_states)));
    }
    let mut initrd = userland::tables(&tables);
    let mut named = guest.modules.clone();
    if guest.userland != Userland::Busybox {
        named.extend(debian::MODULES.map(String::from));
    }
    let modules = modules::pack(kernel, &named)?;
    initrd.extend(userland::initramfs(&guest.userland, &guest.programs, &guest.laid, kernel, &modules)?);
    folder.write("initrd", initrd)
}
