//! What a load is, in words.

use serde::Serialize;

/// What a load is, for `pinwise list workloads` and its docs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct About {
    /// Its name in `driver = "..."`; also the name of its folder, with `_` for `-`.
    pub id: &'static str,
    /// One line.
    pub title: &'static str,
    /// What it does, what it needs, which figures it gives.
    pub docs: &'static str,
    /// A `[load]` table of a recipe.
    pub example: &'static str,
}
