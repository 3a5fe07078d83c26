//! The note of pages that show intervals.

use study::Evidence;

use crate::Html;
use crate::case::result_words;

/// Says that the intervals of the `surprising` contrasts leave out 0 beside a verdict that shows no difference; nothing where there are none.
pub fn note(html: &mut Html, evidence: &Evidence, surprising: &[String]) {
    if let Some(words) = result_words::surprising_intervals(evidence, surprising) {
        html.element("p", &[("class", &"caption")], words);
    }
}
