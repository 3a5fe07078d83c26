//! A picture as data: axes, series of points, and what stands beside them.

use serde::{Serialize, Serializer};

use crate::visible;

/// Whole numbers below this are written without a point; they are exact.
const MOST_WHOLE: f64 = 9e15;

/// A picture that the script can draw.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Plot {
    /// By which its frame in the page is found, and what the file of its data is called.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// How points are drawn.
    pub marks: Marks,
    /// Across.
    pub x: Axis,
    /// Upward.
    pub y: Axis,
    /// The points; no series is empty.
    pub series: Vec<Series>,
    /// Shaded parts of the x axis.
    pub bands: Vec<[f64; 2]>,
    /// Level lines: from, to, and their y.
    pub levels: Vec<[f64; 3]>,
    /// Where something happened.
    pub notes: Vec<Note>,
}

/// How points are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Marks {
    /// Each by itself.
    Dots,
    /// As a line through them.
    Line,
}

/// How values are spread over an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Spread {
    /// Evenly.
    Linear,
    /// By their logarithm.
    Log,
    /// Percentiles: equal steps for 90, 99, 99.9 %.
    Nines,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Axis {
    name: String,
    spread: Spread,
}

/// Points of one arm, or of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Series {
    name: String,
    kind: &'static str,
    #[serde(serialize_with = "numbers")]
    x: Vec<f64>,
    #[serde(serialize_with = "numbers")]
    y: Vec<f64>,
}

/// A place on the x axis, and what happened there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Note {
    at: f64,
    words: String,
}

impl Plot {
    /// A picture with nothing beside its points; `None` without any.
    pub fn new(
        id: &str,
        title: &str,
        marks: Marks,
        (x, y): (Axis, Axis),
        series: Vec<Series>,
    ) -> Option<Self> {
        let series: Vec<Series> = series.into_iter().filter(|series| !series.x.is_empty()).collect();
        (!series.is_empty()).then(|| Self {
            id: id.into(),
            title: visible::one_line(title).into_owned(),
            marks,
            x,
            y,
            series,
            bands: Vec::new(),
            levels: Vec::new(),
            notes: Vec::new(),
        })
    }
}

impl Axis {
    /// An axis of this name, which says the unit.
    pub fn new(name: &str, spread: Spread) -> Self {
        Self { name: visible::one_line(name).into_owned(), spread }
    }
}

impl Series {
    /// The finite ones of these points, by x. `kind` is the style class of the static drawing.
    pub fn new(name: &str, kind: &'static str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let is_finite = |(x, y): &(f64, f64)| x.is_finite() && y.is_finite();
        let mut points: Vec<(f64, f64)> = points.into_iter().filter(is_finite).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (x, y) = points.into_iter().unzip();
        Self { name: visible::one_line(name).into_owned(), kind, x, y }
    }
}

impl Note {
    /// What happened at a place of the x axis.
    pub fn new(at: f64, words: &str) -> Self {
        Self { at, words: visible::one_line(words).into_owned() }
    }
}

/// A million numbers in as few characters as say them exactly.
fn numbers<S: Serializer>(values: &[f64], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(values.iter().map(|value| Number(*value)))
}

struct Number(f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0.fract() == 0.0 && self.0.abs() < MOST_WHOLE {
            true => to.serialize_i64(self.0 as i64),
            false => to.serialize_f64(self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_in_order_finite_and_exact() {
        let points = [(3.0, 0.1), (1.0, 1e300), (2.0, f64::NAN), (f64::INFINITY, 1.0), (0.5, -4.0)];
        let series = Series::new("a\u{202e}b", "slow", points);
        let json = serde_json::to_value(&series).unwrap();
        assert_eq!(json["x"], serde_json::json!([0.5, 1, 3]));
        assert_eq!(json["y"], serde_json::json!([-4, 1e300, 0.1]));
        assert!(!series.name.contains('\u{202e}'), "{series:?}");
    }

    #[test]
    fn a_picture_without_points_is_none() {
        let axes = || (Axis::new("x", Spread::Linear), Axis::new("y", Spread::Log));
        let empty = Series::new("a", "slow", []);
        assert_eq!(Plot::new("id", "title", Marks::Dots, axes(), vec![empty.clone()]), None);
        let full = Series::new("b", "slow", [(1.0, 2.0)]);
        let plot = Plot::new("id", "title", Marks::Dots, axes(), vec![empty, full.clone()]).unwrap();
        assert_eq!(plot.series, [full]);
    }
}
