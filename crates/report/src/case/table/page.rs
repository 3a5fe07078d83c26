//! The text of the terminal table while it grows: headings and paragraphs.

use super::columns::{Cell, Colour};
use super::wrap::wrap;
use crate::display_width;
use crate::terminal_style::Style;
use crate::visible;

/// The text so far.
pub(super) struct Page {
    pub(super) style: Style,
    pub(super) text: String,
}

impl Page {
    /// A heading after an empty line.
    pub(super) fn heading(&mut self, title: &str) {
        self.text.push('\n');
        self.text.push_str(&Cell::coloured(title, Colour::Bold).painted(self.style));
        self.text.push('\n');
    }

    /// A paragraph; `first` starts its first line, the others are indented as far.
    pub(super) fn paragraph(&mut self, first: &str, text: &str) {
        let indent = " ".repeat(display_width::width(first));
        for (i, line) in wrap(&visible::one_line(text), self.style.width - indent.len()).iter().enumerate() {
            self.text.push_str(if i == 0 { first } else { &indent });
            self.text.push_str(line);
            self.text.push('\n');
        }
    }
}
