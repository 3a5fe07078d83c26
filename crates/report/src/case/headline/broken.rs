//! Where a sequence of operations breaks: of a study of sequences that is the answer, and not how their rates compare.

use study::Evidence;
use study::cliff::SLOWER;
use study::evidence::{ArmCliff, Typical};

use super::sentence_start;
use crate::number;

/// The answer, about the first arm that breaks; `None` where none does. That a positive control breaks is what it is for.
pub(super) fn title(evidence: &Evidence) -> Option<String> {
    let role = |cliff: &ArmCliff| evidence.arm(&cliff.arm).map(|arm| arm.role);
    let is_control = |cliff: &ArmCliff| role(cliff).is_some_and(|role| role.is_positive_control());
    let of_others = evidence.cliffs.iter().filter(|cliff| !is_control(cliff));
    let breaks: Vec<(&str, &Typical)> =
        of_others.filter_map(|cliff| Some((title_of(evidence, cliff), cliff.breaks.as_ref()?))).collect();
    let ((first, typical), rest) = breaks.split_first()?;
    let more = rest.iter().filter(|(title, _)| title != first).count();
    let more = match more {
        0 => String::new(),
        1 => "; 1 more arm breaks".into(),
        n => format!("; {n} more arms break"),
    };
    Some(format!("{}: {}{more}", sentence_start(first), in_words(typical)))
}

/// The baseline, which stands there twice, by its own name.
fn title_of<'a>(evidence: &'a Evidence, cliff: &'a ArmCliff) -> &'a str {
    evidence.arm(&cliff.arm).map_or(cliff.arm.as_str(), |arm| arm.title())
}

/// `breaks at put 84 of 128 (2.0 times as slow from there on, pages written to swap)`.
fn in_words(typical: &Typical) -> String {
    let spot = &typical.spot;
    let place = format!("{} {} of {}", spot.kind.word(), number::grouped(spot.nth, 0), spot.of);
    let how = match typical.after_us < SLOWER * typical.before_us {
        true => "more uneven from there on".into(),
        false => format!("{:.1} times as slow from there on", typical.after_us / typical.before_us),
    };
    let with_it = typical.moved.first().map(|(counter, _)| format!(", {counter}")).unwrap_or_default();
    format!("breaks at {place} ({how}{with_it})")
}
