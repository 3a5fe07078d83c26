//! One figure of a row.

use std::borrow::Cow;

/// A figure with its name; `None` where it is not known.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The name of its column; the unit is at its end.
    pub name: &'static str,
    /// The figure.
    pub value: Value,
}

/// Kinds of figures.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Words.
    Text(Option<String>),
    /// A number that is never below 0.
    Whole(Option<u64>),
    /// A number.
    Signed(Option<i64>),
    /// A number with a fraction.
    Real(Option<f64>),
    /// Yes or no.
    Truth(Option<bool>),
    /// A time, ns since 1970, UTC.
    Moment(Option<u64>),
}

impl Cell {
    pub(super) fn text<'a>(name: &'static str, text: impl Into<Option<Cow<'a, str>>>) -> Self {
        Self { name, value: Value::Text(text.into().map(Cow::into_owned)) }
    }

    pub(super) fn whole(name: &'static str, number: impl Into<Option<u64>>) -> Self {
        Self { name, value: Value::Whole(number.into()) }
    }

    pub(super) fn signed(name: &'static str, number: i64) -> Self {
        Self { name, value: Value::Signed(Some(number)) }
    }

    pub(super) fn real(name: &'static str, number: impl Into<Option<f64>>) -> Self {
        Self { name, value: Value::Real(number.into()) }
    }

    pub(super) fn truth(name: &'static str, truth: bool) -> Self {
        Self { name, value: Value::Truth(Some(truth)) }
    }

    pub(super) fn moment(name: &'static str, unix_ns: u64) -> Self {
        Self { name, value: Value::Moment(Some(unix_ns)) }
    }
}
