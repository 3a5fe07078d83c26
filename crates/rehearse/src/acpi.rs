//! Firmware tables that replace or join QEMU's own, put in front of the initramfs
//! (Documentation/admin-guide/acpi/initrd_table_override.rst).

pub mod madt;
pub mod ssdt;

use acpi_tables::sdt::Sdt;

/// QEMU's own maker's mark; a table replaces the one of the same signature and mark (drivers/acpi/tables.c).
const OEM_ID: [u8; 6] = *b"BOCHS ";
const OEM_TABLE_ID: [u8; 8] = *b"BXPC    ";

/// Above QEMU's 1: the kernel takes a table only when it is newer than the one that is there.
const OEM_REVISION: u32 = 2;

/// The header, 36 bytes long, that each table starts with.
fn table(signature: [u8; 4], revision: u8) -> Sdt {
    Sdt::new(signature, 36, revision, OEM_ID, OEM_TABLE_ID, OEM_REVISION)
}
