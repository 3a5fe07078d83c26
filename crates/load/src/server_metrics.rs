//! Figures from the server itself: what its exposition for Prometheus, a program that asks it, or its log states.
//!
//! [`Readers`] ask the sources; two [`Raw`] readings and the [`MetricSpec`] make a [`figure()`]. All that comes from a source is taken as
//! hostile: lengths and times are bounded, and what is ambiguous, went back, or was lost is missing with the reason, and never a number.
//!
//! A reading may take as long as its slowest source (two seconds each): who has a clock to keep reads on a thread of its own.

mod answer;
mod appended;
mod asked;
mod exposition;
mod fetch;
mod figure;
mod histogram;
mod labels;
mod lines;
mod raw;
mod readers;
mod selector;
mod source;
mod spec;
mod tail;
mod take;
mod unit;
mod url;
mod window;

pub use figure::Figure;
pub use raw::Raw;
pub use readers::Readers;
pub use selector::Selector;
pub use source::Source;
pub use spec::MetricSpec;
pub use take::Take;
pub use url::Url;
pub use window::{figure, figures};
