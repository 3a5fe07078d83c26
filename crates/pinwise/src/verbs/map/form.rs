//! Forms of the map.

use clap::ValueEnum;
use machine::{Class, Fault};

/// Form of the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Form {
    /// For people: the sheet.
    #[default]
    Text,
    /// For programs: one JSON document.
    Json,
    /// A self-contained picture.
    Svg,
    /// One page: the picture, the sheet, the interrupt lines, what is unknown.
    Html,
}

/// A form that this part of the map does not have.
pub(super) fn no_such_form(what: &str) -> Fault {
    Fault::new(Class::Usage, "--format", format!("there is no picture of {what}"), "choose text or json")
}
