//! The fields of how long each kind of operation took in each part of the sequences of an arm.

use study::Evidence;
use study::evidence::{ArmCliff, PartTimes};

use super::Column;
use crate::case::result_words;

/// One kind of operation in one part of the sequences of an arm.
pub struct Part<'a> {
    name: String,
    cliff: &'a ArmCliff,
    times: &'a PartTimes,
}

impl<'a> Part<'a> {
    /// All of them, by arm.
    pub(crate) fn all(evidence: &'a Evidence) -> Vec<Self> {
        let of_arm = |cliff: &'a ArmCliff| {
            let name = result_words::cliff_arm(cliff, evidence);
            cliff.parts.iter().map(move |times| Self { name: name.clone(), cliff, times })
        };
        evidence.cliffs.iter().flat_map(of_arm).collect()
    }

    /// The median, or of a part that breaks those before and from there on: one of all would say that nothing happened.
    fn median(&self) -> String {
        match &self.cliff.breaks {
            Some(broke) if (broke.spot.kind, broke.spot.phase) == (self.times.kind, self.times.phase) => {
                let [before, after] = [broke.before_us, broke.after_us].map(result_words::ms);
                format!("{before}, then {after}")
            }
            _ => result_words::ms(self.times.median_us),
        }
    }

    /// The arm, above whose parts it stands once.
    fn name_once(&self) -> String {
        let is_first = self.cliff.parts.first().is_some_and(|first| std::ptr::eq(first, self.times));
        if is_first { self.name.clone() } else { String::new() }
    }
}

type Field<'a> = Column<'a, Part<'a>>;

/// The fields of such a part.
pub fn sequences<'a>() -> Vec<Field<'a>> {
    let part = |of: &Part<'_>| format!("{}, {}", of.times.phase.word(), of.times.kind.word());
    vec![
        Field::words("cliffs/arm", "arm", |of| of.name_once()).of_terminal(),
        Field::words("cliffs/arm", "arm", |of| of.name.clone()).of_page(),
        Field::words("cliffs/parts/phase", "part", part).of_terminal(),
        Field::words("cliffs/parts/phase", "part", |of| of.times.phase.word().into()).of_page(),
        Field::words("cliffs/parts/kind", "operation", |of| of.times.kind.word().into()).of_page(),
        Field::number("cliffs/parts/operations", "operations", |of| of.times.operations.to_string())
            .page_title("in a trial"),
        Field::number("cliffs/parts/median_us", "median", |of| of.median()),
        Field::number("cliffs/parts/max_us", "longest", |of| result_words::ms(of.times.max_us)),
    ]
}
