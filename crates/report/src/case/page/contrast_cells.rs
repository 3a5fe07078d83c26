//! A comparison as cells of the data beside a picture.

use study::Contrast;

use crate::markup::data_link::Cell;

/// Heads of the cells that [`of`] gives.
pub(crate) const HEADS: [&str; 4] = ["change_percent", "low_percent", "high_percent", "against"];

/// The change, both ends of its interval, and what it is against; empty where there is none.
pub(crate) fn of(contrast: Option<&Contrast>) -> [Cell; 4] {
    let percent = |ratio: Option<f64>| Cell::Number(ratio.map(|ratio| (ratio - 1.0) * 100.0));
    let interval = contrast.and_then(|contrast| contrast.interval);
    [
        percent(contrast.map(|contrast| contrast.ratio)),
        percent(interval.map(|(low, _)| low)),
        percent(interval.map(|(_, high)| high)),
        Cell::Text(contrast.map(|contrast| contrast.reference.clone()).unwrap_or_default()),
    ]
}
