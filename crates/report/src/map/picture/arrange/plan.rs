//! How much of each core is drawn, and how large.

use super::SMALL;
use crate::map::picture::measure;
use crate::map::picture::outline::{Core, Outline};
use crate::map::picture::overlay::Overlay;

/// Up to this number of CPUs each core is a box with its caches.
const FULL_UP_TO: usize = 24;
/// Up to this number of CPUs cells are large.
const MEDIUM_UP_TO: usize = 320;
/// Up to this number of CPUs cells have numbers.
const NUMBERED_UP_TO: usize = 8192;

/// How much is drawn of a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::map::picture) enum Detail {
    /// A box with name, caches and threads.
    Full,
    /// Its threads, side by side.
    Compact,
}

/// What is the same all over one picture.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::map::picture) struct Plan {
    pub(in crate::map::picture) detail: Detail,
    /// Size of a CPU's cell.
    pub(in crate::map::picture) cell: (f64, f64),
    /// Type size of its number; 0 when none is drawn.
    pub(in crate::map::picture) number: f64,
    /// Whether a cell has room for lines of text below its number.
    pub(in crate::map::picture) with_lines: bool,
    /// Cores beside each other in a group, at most.
    pub(in crate::map::picture) columns: usize,
    /// Room between a frame and what is in it.
    pub(in crate::map::picture) pad: f64,
    /// Room between frames.
    pub(in crate::map::picture) gap: f64,
    /// Room between what stands below each other in a frame.
    pub(in crate::map::picture) stack: f64,
    /// Room between cores.
    pub(in crate::map::picture) core_gap: f64,
    /// Room between the cells of a core.
    pub(in crate::map::picture) cell_gap: f64,
    /// Room between the outline of a core of several threads and their cells.
    pub(in crate::map::picture) rim: f64,
    /// Width of a core's box in full detail.
    full_width: f64,
}

/// Height of a line in a core's box.
pub(in crate::map::picture) const CORE_LINE: f64 = 15.0;
/// Room between a core's box and what is in it.
pub(in crate::map::picture) const CORE_PAD: f64 = 5.0;

impl Plan {
    /// The plan for a machine, with `columns` cores in a row of a group, and room for what is written into its cells.
    pub(in crate::map::picture) fn of(outline: &Outline, columns: usize, overlay: Option<&Overlay>) -> Self {
        let count = outline.faces.len();
        let highest = outline.faces.last_key_value().map_or(0, |(cpu, _)| *cpu);
        let plan = match count {
            _ if count <= FULL_UP_TO => Self::full(),
            _ if count <= MEDIUM_UP_TO => Self::compact(),
            _ if count <= NUMBERED_UP_TO => Self::dense(),
            _ => Self { number: 0.0, cell: (8.0, 8.0), ..Self::dense() },
        };
        let number = measure::width(&highest.to_string(), plan.number, false) + 4.0;
        let width = number.max(plan.cell.0).ceil();
        let written = overlay.filter(|_| plan.number > 0.0);
        let (own_width, own_height) =
            written.map_or((0.0, 0.0), |overlay| overlay.cell(number, plan.number, plan.with_lines));
        let cell = (width.max(own_width), plan.cell.1.max(own_height));
        let plan = Self { cell, columns, ..plan };
        Self { full_width: plan.widest_core(outline), ..plan }
    }

    fn full() -> Self {
        Self {
            detail: Detail::Full,
            cell: (28.0, 24.0),
            number: 12.0,
            core_gap: 6.0,
            cell_gap: 4.0,
            ..Self::compact()
        }
    }

    fn compact() -> Self {
        Self {
            detail: Detail::Compact,
            cell: (20.0, 17.0),
            number: 10.5,
            with_lines: true,
            columns: 1,
            pad: 7.0,
            gap: 8.0,
            stack: 6.0,
            core_gap: 3.0,
            cell_gap: 1.0,
            rim: 2.0,
            full_width: 0.0,
        }
    }

    fn dense() -> Self {
        let small = Self { cell: (15.0, 12.0), number: 8.5, with_lines: false, ..Self::compact() };
        let small = Self { pad: 5.0, gap: 5.0, ..small };
        Self { stack: 4.0, core_gap: 2.0, rim: 1.5, ..small }
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
    pub(in crate::map::picture) fn threads_width(&self, threads: usize) -> f64 {
        (threads as f64 * (self.cell.0 + self.cell_gap) - self.cell_gap).max(0.0)
    }

    /// The size that each of these cores is drawn with.
    pub(in crate::map::picture) fn core_size(&self, cores: &[Core]) -> (f64, f64) {
        if self.detail == Detail::Full && cores.iter().any(Core::has_box) {
            return (self.full_width, self.full_height(cores));
        }
        let threads = cores.iter().map(|core| core.cpus.len()).max().unwrap_or(1);
        let rim = if threads > 1 { 2.0 * self.rim } else { 0.0 };
        (self.threads_width(threads) + rim, self.cell.1 + rim)
    }

    /// How many cores of a width stand beside each other: no more than planned or than there is room for, and in rows
    /// of equal length where that can be.
    pub(in crate::map::picture) fn columns(&self, cores: usize, width: f64, room: f64) -> usize {
        let fitting = ((room + self.core_gap) / (width + self.core_gap)) as usize;
        let most = self.columns.min(fitting).max(1);
        let rows = cores.div_ceil(most).max(1);
        cores.div_ceil(rows).max(1)
    }
}

impl Core {
    /// Whether there is anything to write into a box around its threads.
    pub(in crate::map::picture) fn has_box(&self) -> bool {
        self.name.is_some() || !self.caches.is_empty()
    }
}
