//! The interrupt controller table (MADT, `APIC`), which decides how Linux numbers the CPUs
//! (ACPI specification, 5.2.12; arch/x86/kernel/acpi/boot.c).

use crate::Layout;

/// Where a PC has its local APICs and its I/O APIC.
const LOCAL_APIC: u32 = 0xfee0_0000;
const IO_APIC: u32 = 0xfec0_0000;

/// Interrupts of the PCI links of QEMU's q35, level triggered and active high.
const PCI_INTERRUPTS: [u8; 4] = [5, 9, 10, 11];

/// The table of a layout: its CPUs in the order of the numbers that they are to have.
///
/// Seats that are not plugged are listed as not enabled: Linux counts them as possible. Places that nobody takes are
/// left out, so that they do not even exist.
pub fn table(layout: &Layout) -> Vec<u8> {
    let mut table = super::table(*b"APIC", 3);
    table.append_slice(&LOCAL_APIC.to_le_bytes());
    // There is a pair of 8259s.
    table.append_slice(&1_u32.to_le_bytes());
    for seat in &layout.seats {
        let enabled = u32::from(seat.plugged).to_le_bytes();
        let [uid, apic] = [layout.index(seat), layout.apic_id(seat)];
        match (u8::try_from(uid), u8::try_from(apic)) {
            (Ok(uid), Ok(apic)) if apic < 255 => {
                table.append_slice(&[0, 8, uid, apic]);
                table.append_slice(&enabled);
            }
            _ => {
                table.append_slice(&[9, 16, 0, 0]);
                table.append_slice(&apic.to_le_bytes());
                table.append_slice(&enabled);
                table.append_slice(&uid.to_le_bytes());
            }
        }
    }
    table.append_slice(&[1, 12, 0, 0]);
    table.append_slice(&IO_APIC.to_le_bytes());
    table.append_slice(&0_u32.to_le_bytes());
    // The timer, line 0, arrives at pin 2.
    table.append_slice(&[2, 10, 0, 0, 2, 0, 0, 0, 0, 0]);
    for line in PCI_INTERRUPTS {
        table.append_slice(&[2, 10, 0, line, line, 0, 0, 0, 0xd, 0]);
    }
    // Line 1 of every local APIC is the NMI.
    table.append_slice(&[4, 6, 0xff, 0, 0, 1]);
    table.as_slice().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::catalogue;

    fn of(name: &str) -> Vec<u8> {
        table(&Layout::of(&catalogue::find(name).unwrap().unwrap()).unwrap())
    }

    #[test]
    fn the_sum_of_all_bytes_is_zero_and_the_length_is_right() {
        let table = of("artemis");
        assert_eq!(table.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)), 0);
        assert_eq!(u32::from_le_bytes(table[4..8].try_into().unwrap()) as usize, table.len());
        assert_eq!(table.len(), 44 + 24 * 8 + 12 + 5 * 10 + 6);
    }

    #[test]
    fn cpus_stand_in_the_order_of_their_numbers() {
        let table = of("leviathan");
        let apics: Vec<u8> = table[44..44 + 4 * 8].chunks(8).map(|entry| entry[3]).collect();
        // CPU 0 and 2 are the first threads of package 0, 1 and 3 those of package 1 (six cores: bits 1-3, socket: bit 4).
        assert_eq!(apics, [0, 16, 2, 18]);
    }

    #[test]
    fn hot_pluggable_cpus_are_listed_as_not_enabled() {
        let table = of("offline-cpus");
        let enabled: Vec<u8> = table[44..44 + 8 * 8].chunks(8).map(|entry| entry[4]).collect();
        assert_eq!(enabled, [1, 1, 1, 1, 1, 1, 1, 0]);
    }
}
