//! A table that gives each CPU idle states (ACPI specification, 8.4.1.1, `_CST`). QEMU's own tables have none.

use acpi_tables::Aml;
use acpi_tables::aml::{BufferData, Name, Package, Path, Scope};

use crate::Layout;
use crate::shape::IdleState;

/// Reading this port puts a CPU into the state; nothing listens there in QEMU, so it only takes its time.
const FIRST_PORT: u64 = 0xed0;

/// The table that gives each CPU of a layout these idle states.
pub fn table(layout: &Layout, states: &[IdleState]) -> Vec<u8> {
    let mut table = super::table(*b"SSDT", 2);
    for seat in &layout.seats {
        let elements: Vec<Vec<u8>> = states.iter().map(state).collect();
        let count = Raw(vec![0x0a, u8::try_from(states.len()).unwrap_or(u8::MAX)]);
        let raw: Vec<Raw> = elements.into_iter().map(Raw).collect();
        let mut package: Vec<&dyn Aml> = vec![&count];
        package.extend(raw.iter().map(|state| state as &dyn Aml));
        let cst = Name::new(Path::new("_CST"), &Package::new(package));
        // QEMU's names of its processors (hw/acpi/cpu.c).
        let processor = format!("\\_SB_.CPUS.C{:03X}", layout.index(seat));
        let mut bytes = Vec::new();
        Scope::new(Path::new(&processor), vec![&cst]).to_aml_bytes(&mut bytes);
        table.append_slice(&bytes);
    }
    table.as_slice().to_vec()
}

/// One state: where to enter it, its type, its exit latency (us) and its power (mW; deeper ones take less).
fn state(state: &IdleState) -> Vec<u8> {
    let buffer = BufferData::new(register(state.depth));
    let power = 1000_u16 / u16::from(state.depth);
    let mut bytes = Vec::new();
    Package::new(vec![&buffer, &state.depth, &state.exit_latency_us, &power]).to_aml_bytes(&mut bytes);
    bytes
}

/// A resource template of one register (ACPI specification, 6.4.3.7): the halt instruction for type 1, a port for the
/// others. Written out, because the library's builder writes a wrong length for it.
fn register(depth: u8) -> Vec<u8> {
    const FIXED_HARDWARE: u8 = 0x7f;
    const SYSTEM_IO: u8 = 1;
    let [space, width, size] = match depth {
        1 => [FIXED_HARDWARE, 0, 0],
        _ => [SYSTEM_IO, 8, 1],
    };
    let port = match depth {
        1 => 0,
        _ => FIRST_PORT + u64::from(depth) - 2,
    };
    let mut bytes = vec![0x82, 12, 0, space, width, 0, size];
    bytes.extend(port.to_le_bytes());
    bytes.extend([0x79, 0]);
    bytes
}

/// Bytes that are AML already.
struct Raw(Vec<u8>);

impl Aml for Raw {
    fn to_aml_bytes(&self, sink: &mut dyn acpi_tables::AmlSink) {
        sink.vec(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::catalogue;

    #[test]
    fn each_processor_has_its_scope_and_the_sum_is_zero() {
        let shape = catalogue::find("deep-idle").unwrap().unwrap();
        let table = table(&Layout::of(&shape).unwrap(), &shape.idle_states);
        assert_eq!(table.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)), 0);
        let text = String::from_utf8_lossy(&table).into_owned();
        assert_eq!(text.matches("CPUSC00").count(), 4);
        assert_eq!(text.matches("_CST").count(), 4);
    }

    #[test]
    fn a_register_is_twelve_bytes_and_an_end_mark() {
        assert_eq!(register(2), [0x82, 12, 0, 1, 8, 0, 1, 0xd0, 0xe, 0, 0, 0, 0, 0, 0, 0x79, 0]);
        assert_eq!(register(1)[3], 0x7f);
    }
}
