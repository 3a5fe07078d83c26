//! Text from outside on the pages and sheets of this crate: [`Outside`] in short.

use std::borrow::Cow;

use machine::Outside;

/// On one line, with what drives a terminal or deceives the eye written out.
pub fn one_line(text: &str) -> Cow<'_, str> {
    Outside(text).one_line()
}

/// The same as lines, whose ends and tabs stay.
pub fn lines(text: &str) -> Cow<'_, str> {
    Outside(text).lines()
}
