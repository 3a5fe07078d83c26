//! The note of pages that show intervals.

use study::Evidence;

use crate::Html;
use crate::case::result_words;

/// Explains why the intervals of the `surprising` comparisons leave out 0 though no difference is shown; adds nothing if there are none.
pub fn note(html: &mut Html, evidence: &Evidence, surprising: &[String]) {
    if let Some(words) = result_words::surprising_intervals(evidence, surprising) {
        html.element("p", &[("class", &"caption")], words);
    }
}
