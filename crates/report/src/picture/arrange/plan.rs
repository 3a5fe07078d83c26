//! How much of each core is drawn, and how large.

use super::SMALL;
use crate::picture::measure;
use crate::picture::outline::{Core, Outline};

/// Up to this number of CPUs each core is a box with its caches.
const FULL_UP_TO: usize = 32;
/// Up to this number of CPUs cells are large.
const MEDIUM_UP_TO: usize = 320;
/// Up to this number of CPUs cells have numbers.
const NUMBERED_UP_TO: usize = 8192;

/// How much is drawn of a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::picture) enum Detail {
    /// A box with name, caches and threads.
    Full,
    /// Its threads, side by side.
    Compact,
}

/// What is the same all over one picture.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::picture) struct Plan {
    pub(in crate::picture) detail: Detail,
    /// Size of a CPU's cell.
    pub(in crate::picture) cell: (f64, f64),
    /// Type size of its number; 0 when none is drawn.
    pub(in crate::picture) number: f64,
    /// Cores beside each other in a group, at most.
    pub(in crate::picture) columns: usize,
    /// Width of a core's box in full detail.
    full_width: f64,
}

/// Height of a line in a core's box.
pub(in crate::picture) const CORE_LINE: f64 = 15.0;
/// Room between a core's box and what is in it.
pub(in crate::picture) const CORE_PAD: f64 = 5.0;
/// Room between the outline of a core of several threads and their cells.
pub(in crate::picture) const RIM: f64 = 2.0;

impl Plan {
    /// The plan for a machine, with `columns` cores in a row of a group.
    pub(in crate::picture) fn of(outline: &Outline, columns: usize) -> Self {
        let count = outline.faces.len();
        let highest = outline.faces.last_key_value().map_or(0, |(cpu, _)| *cpu);
        let (detail, number, height) = match count {
            0..=FULL_UP_TO => (Detail::Full, 12.0, 24.0),
            0..=MEDIUM_UP_TO => (Detail::Compact, 10.5, 17.0),
            0..=NUMBERED_UP_TO => (Detail::Compact, 8.5, 13.0),
            _ => (Detail::Compact, 0.0, 8.0),
        };
        let width = match number {
            0.0 => 8.0,
            size => (measure::width(&highest.to_string(), size, false) + 4.0).max(height * 1.15).ceil(),
        };
        let mut plan = Self { detail, cell: (width, height), number, columns, full_width: 0.0 };
        plan.full_width = plan.widest_core(outline);
        plan
    }

    fn widest_core(&self, outline: &Outline) -> f64 {
        let threads = outline.cores().map(|core| core.cpus.len()).max().unwrap_or(0);
        let texts = outline.cores().flat_map(|core| core.name.iter().chain(&core.caches));
        let widest = texts.map(|text| measure::width(text, SMALL, false) + 10.0).fold(0.0, f64::max);
        self.threads_width(threads).max(widest) + 2.0 * CORE_PAD
    }

    fn full_height(&self, cores: &[Core]) -> f64 {
        let name = if cores.iter().any(|core| core.name.is_some()) { CORE_LINE } else { 0.0 };
        let caches = cores.iter().map(|core| core.caches.len()).max().unwrap_or(0);
        name + caches as f64 * (CORE_LINE + 2.0) + self.cell.1 + 2.0 * CORE_PAD
    }

    /// Width of so many cells beside each other.
    pub(in crate::picture) fn threads_width(&self, threads: usize) -> f64 {
        (threads as f64 * (self.cell.0 + self.cell_gap()) - self.cell_gap()).max(0.0)
    }

    /// Room between the cells of a core.
    pub(in crate::picture) fn cell_gap(&self) -> f64 {
        if self.detail == Detail::Full { 4.0 } else { 1.0 }
    }

    /// Room between cores.
    pub(in crate::picture) fn core_gap(&self) -> f64 {
        match self.detail {
            Detail::Full => 6.0,
            Detail::Compact => 3.0,
        }
    }

    /// The size that each of these cores is drawn with.
    pub(in crate::picture) fn core_size(&self, cores: &[Core]) -> (f64, f64) {
        if self.detail == Detail::Full && cores.iter().any(Core::has_box) {
            return (self.full_width, self.full_height(cores));
        }
        let threads = cores.iter().map(|core| core.cpus.len()).max().unwrap_or(1);
        let rim = if threads > 1 { 2.0 * RIM } else { 0.0 };
        (self.threads_width(threads) + rim, self.cell.1 + rim)
    }

    /// How many cores of a width stand beside each other: no more than planned or than there is room for, and in rows
    /// of equal length where that can be.
    pub(in crate::picture) fn columns(&self, cores: usize, width: f64, room: f64) -> usize {
        let fitting = ((room + self.core_gap()) / (width + self.core_gap())) as usize;
        let most = self.columns.min(fitting).max(1);
        let rows = cores.div_ceil(most).max(1);
        cores.div_ceil(rows).max(1)
    }
}

impl Core {
    /// Whether there is anything to write into a box around its threads.
    pub(in crate::picture) fn has_box(&self) -> bool {
        self.name.is_some() || !self.caches.is_empty()
    }
}
