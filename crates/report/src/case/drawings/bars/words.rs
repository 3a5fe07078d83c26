//! The words of the drawing.

use super::{Column, Layout};
use crate::number;

/// As much of a name as fits over a column.
pub(super) fn short(name: &str, step: f64) -> String {
    let fits = ((step.max(34.0) / 6.4) as usize).max(4);
    if name.chars().count() <= fits {
        name.into()
    } else {
        name.chars().take(fits - 1).chain(".".chars()).collect()
    }
}

/// What shows when the pointer rests on a column.
pub(super) fn tooltip(column: &Column, unit: &str) -> String {
    let mean = format!("{}: mean {} {unit}", column.name, number::figure(column.mean));
    match column.contrast {
        Some(c) => format!(
            "{}; {} against {}",
            mean.trim_end(),
            number::change_with_interval(c.ratio, c.interval),
            c.reference
        ),
        None => mean,
    }
}

/// The drawing in words, for those who cannot see it.
pub(super) fn description(layout: &Layout) -> String {
    let columns: Vec<String> =
        layout.columns.iter().map(|c| format!("{} {}", c.name, number::figure(c.mean))).collect();
    format!("Means: {}. The table below has all numbers.", columns.join(", "))
}
