//! What a row is, and how its counter grows.

/// How a counter grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A 32-bit number of the kernel (interrupts, softirqs): it wraps at 2^32.
    Wraps32,
    /// A 64-bit number. Some go back a little (`idle` and `iowait` of /proc/stat); the sum over a window counts.
    Grows,
    /// uJ that begin again at 0 after this value.
    EnergyUpTo(u64),
    /// No counter: a quantity that goes up and down.
    Gauge,
}

/// What a row is, apart from its values.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// Row name, unique within the probe together with the label.
    pub name: &'a str,
    /// What the kernel calls it; a row whose label changes is another row (an IRQ number given to another device).
    pub label: &'a str,
    /// Unit of differences: `events`, `us`, `kHz`.
    pub unit: &'static str,
    /// How it grows.
    pub kind: Kind,
}
