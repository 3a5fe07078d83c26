//! One figure of a row.

use std::borrow::Cow;

use serde::Serialize;

/// A figure with its name; `None` where it is not known.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The name of its column; the unit is at its end.
    pub name: Cow<'static, str>,
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
    pub(crate) fn text<'a>(
        name: impl Into<Cow<'static, str>>,
        text: impl Into<Option<Cow<'a, str>>>,
    ) -> Self {
        Self { name: name.into(), value: Value::Text(text.into().map(Cow::into_owned)) }
    }

    pub(crate) fn whole(name: impl Into<Cow<'static, str>>, number: impl Into<Option<u64>>) -> Self {
        Self { name: name.into(), value: Value::Whole(number.into()) }
    }

    pub(crate) fn signed(name: impl Into<Cow<'static, str>>, number: i64) -> Self {
        Self { name: name.into(), value: Value::Signed(Some(number)) }
    }

    /// What is not finite is not known.
    pub(crate) fn real(name: impl Into<Cow<'static, str>>, number: impl Into<Option<f64>>) -> Self {
        let known: Option<f64> = number.into();
        Self { name: name.into(), value: Value::Real(known.filter(|number| number.is_finite())) }
    }

    pub(crate) fn truth(name: impl Into<Cow<'static, str>>, truth: impl Into<Option<bool>>) -> Self {
        Self { name: name.into(), value: Value::Truth(truth.into()) }
    }

    pub(crate) fn moment(name: impl Into<Cow<'static, str>>, unix_ns: impl Into<Option<u64>>) -> Self {
        Self { name: name.into(), value: Value::Moment(unix_ns.into()) }
    }
}

/// The word of an enum, as in JSON.
pub(crate) fn word(of: impl Serialize) -> Option<Cow<'static, str>> {
    serde_json::to_value(of).ok()?.as_str().map(|word| word.to_string().into())
}
