//! Which series of an exposition is meant: `http_request_duration_seconds{handler="/"}`. Pure.

use std::fmt;

use super::labels::{Label, in_braces, labels};
use crate::drive::answer::shown;

/// A selector is not longer than this, bytes.
const LONGEST_BYTES: usize = 4096;

/// A metric by its name, and the labels that its series must have. One with more labels fits, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector {
    /// The metric's name; of a histogram or a summary that of the whole, without `_bucket`.
    pub name: String,
    /// Names and values of labels.
    pub labels: Vec<(String, String)>,
}

impl Selector {
    /// Reads `name` or `name{label="value",...}`. The error says what is wrong with it.
    pub(super) fn of(text: &str) -> Result<Self, String> {
        if text.len() > LONGEST_BYTES {
            return Err(format!("the selector is longer than {LONGEST_BYTES} bytes"));
        }
        let (name, inside) = match text.split_once('{') {
            Some((name, inside)) => (name.trim(), Some(inside)),
            None => (text.trim(), None),
        };
        if !is_metric_name(name) {
            return Err(format!("'{}' is not a name of a metric", shown(name.as_bytes())));
        }
        let labels = match inside {
            None => Vec::new(),
            Some(inside) if is_pattern(inside) => {
                return Err("labels are compared by = alone, not by !=, =~ or !~".into());
            }
            Some(inside) => match labels(inside)? {
                (labels, rest) if rest.trim().is_empty() => labels,
                (_, rest) => return Err(format!("'{}' stands behind the labels", shown(rest.as_bytes()))),
            },
        };
        Ok(Self { name: name.to_string(), labels })
    }

    /// Whether a series with these labels is meant.
    pub(super) fn fits(&self, of_series: &[Label]) -> bool {
        self.labels.iter().all(|label| of_series.contains(label))
    }

    /// Whether it names a value of this label.
    pub(super) fn names(&self, label: &str) -> bool {
        self.labels.iter().any(|(name, _)| name == label)
    }
}

/// Whether the first label is compared as PromQL can, and this cannot.
fn is_pattern(inside: &str) -> bool {
    let operator = inside.trim_start().trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    ["!=", "=~", "!~"].iter().any(|one| operator.trim_start().starts_with(one))
}

fn is_metric_name(text: &str) -> bool {
    let is_start = |b: u8| b.is_ascii_alphabetic() || b == b'_' || b == b':';
    let mut bytes = text.bytes();
    bytes.next().is_some_and(is_start) && bytes.all(|b| is_start(b) || b.is_ascii_digit())
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, in_braces(&self.labels))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_is_a_name_with_labels() {
        let selector = Selector::of(r#"http_requests_total{code="200", path="/\"a\""}"#).unwrap();
        assert_eq!(selector.name, "http_requests_total");
        assert_eq!(selector.to_string(), r#"http_requests_total{code="200",path="/\"a\""}"#);
        assert_eq!(Selector::of(&selector.to_string()).unwrap(), selector);
        assert!(Selector::of("job:rate:sum").unwrap().labels.is_empty());
        let labels = |text: &str| labels(text).unwrap().0;
        assert!(selector.fits(&labels(r#"path="/\"a\"",code="200",host="x"}"#)));
        assert!(!selector.fits(&labels(r#"code="200"}"#)));
        assert!(selector.names("code") && !selector.names("le"));
    }

    #[test]
    fn what_is_no_selector_is_named() {
        for (text, why) in [
            ("", "not a name of a metric"),
            ("9lives", "not a name of a metric"),
            ("a b", "not a name of a metric"),
            ("rate(x[1m])", "not a name of a metric"),
            (r#"x{a=~"b"}"#, "by = alone"),
            (r#"x{a!="b"}"#, "by = alone"),
            (r#"x{a="b"} 3"#, "stands behind"),
            (r#"x{a="b""#, "neither a comma"),
        ] {
            let error = Selector::of(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        assert!(Selector::of(&"x".repeat(5000)).unwrap_err().contains("longer"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(?s).{0,60}", near in "[a-c:=~!\"\\\\,{} ]{0,40}") {
            let _ = Selector::of(&text);
            let _ = Selector::of(&near);
        }
    }
}
