//! What the terminal can show.

/// How the terminal wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether ANSI colours may be used. Nothing is shown by colour alone.
    pub colour: bool,
    /// Columns of the terminal; held to 60 to 160.
    pub width: usize,
}

impl Default for Style {
    /// 80 columns without colour: what a file or a pipe gets.
    fn default() -> Self {
        Self { colour: false, width: 80 }
    }
}
