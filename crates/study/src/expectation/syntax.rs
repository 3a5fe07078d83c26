//! How a demand is written and read back: `requests_per_s of "cpu 1" >= 0.97 x baseline`.

use std::fmt;
use std::str::FromStr;

use machine::{Class, Fault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which side of the bound passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// The figure must not be below the bound.
    AtLeast,
    /// The figure must not be above the bound.
    AtMost,
}

impl Relation {
    fn sign(self) -> &'static str {
        match self {
            Relation::AtLeast => ">=",
            Relation::AtMost => "<=",
        }
    }

    /// Whether `value` is on the side that passes.
    pub fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Relation::AtLeast => value >= bound,
            Relation::AtMost => value <= bound,
        }
    }
}

/// A bound on a figure of an arm: a number in the figure's unit, or a multiple of the same figure in another arm.
///
/// Written `FIGURE [of ARM] >= NUMBER [x ARM]`, with `<=` as well. A name with spaces may stand in double quotes, and `baseline` is both
/// runs of the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Expectation {
    /// The figure, as trials name it.
    pub figure: String,
    /// The arm; `None`: the only one that is compared with the baseline.
    pub arm: Option<String>,
    /// Which side of the bound passes.
    pub relation: Relation,
    /// The bound, in the figure's unit, or as a multiple of `times`.
    pub bound: f64,
    /// The arm whose figure is multiplied by `bound`.
    pub times: Option<String>,
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", as_written(&self.figure))?;
        if let Some(arm) = &self.arm {
            write!(f, " of {}", as_written(arm))?;
        }
        write!(f, " {} {}", self.relation.sign(), self.bound)?;
        match &self.times {
            Some(arm) => write!(f, " x {}", as_written(arm)),
            None => Ok(()),
        }
    }
}

/// A name in quotes where it would not be read back as one word.
pub(super) fn as_written(name: &str) -> String {
    match name.contains(char::is_whitespace) || name.contains(['<', '>', '=', '"']) {
        true => format!("\"{name}\""),
        false => name.to_string(),
    }
}

impl From<Expectation> for String {
    fn from(expectation: Expectation) -> Self {
        expectation.to_string()
    }
}

impl TryFrom<String> for Expectation {
    type Error = Fault;

    fn try_from(text: String) -> Result<Self, Fault> {
        text.parse()
    }
}

impl FromStr for Expectation {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        parse(text).map_err(|cause| {
            let remedy = "write it as 'FIGURE of ARM >= NUMBER' or 'FIGURE of ARM >= NUMBER x ARM' (or <=), such as \
                          'requests_per_s of \"cpu 1\" >= 0.97 x baseline'";
            Fault::new(Class::Usage, format!("expectation '{text}'"), cause, remedy)
        })
    }
}

fn parse(text: &str) -> Result<Expectation, String> {
    let (left, relation, right) = split(text)?;
    let (figure, arm) = match left.split_once(" of ") {
        Some((figure, arm)) => (figure, Some(name(arm)?)),
        None => (left, None),
    };
    let figure = name(figure)?;
    if figure.contains(char::is_whitespace) {
        return Err(format!("'{figure}' is not the name of a figure: it has a space"));
    }
    let (number, times) = match right.split_once(" x ").or_else(|| right.split_once(" × ")) {
        Some((number, arm)) => (number, Some(name(arm)?)),
        None => (right, None),
    };
    let number = number.trim();
    let bound = number.parse::<f64>().ok().filter(|bound| bound.is_finite());
    let bound = bound.ok_or_else(|| format!("'{number}' is not a number"))?;
    if times.is_some() && bound <= 0.0 {
        return Err(format!("a multiple of {bound} bounds nothing"));
    }
    Ok(Expectation { figure, arm, relation, bound, times })
}

/// What is left and right of the relation, which is the first outside quotes.
fn split(text: &str) -> Result<(&str, Relation, &str), String> {
    let mut in_quotes = false;
    let at = text.char_indices().find(|(_, c)| {
        in_quotes ^= *c == '"';
        !in_quotes && matches!(c, '<' | '>' | '=')
    });
    let (at, _) = at.ok_or("it has neither >= nor <=")?;
    let relation = match text.get(at..at + 2) {
        Some(">=") => Relation::AtLeast,
        Some("<=") => Relation::AtMost,
        _ => return Err("the relation is neither >= nor <=".into()),
    };
    Ok((text[..at].trim(), relation, text[at + 2..].trim()))
}

/// A name without the quotes around it.
fn name(text: &str) -> Result<String, String> {
    let text = text.trim();
    let bare = match text.strip_prefix('"') {
        Some(rest) => rest.strip_suffix('"').ok_or_else(|| format!("{text} has no closing quote"))?,
        None => text,
    };
    match bare.is_empty() || bare.contains('"') {
        true => Err(format!("a name is expected instead of '{text}'")),
        false => Ok(bare.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Expectation {
        text.parse().unwrap()
    }

    #[test]
    fn the_forms_that_the_manual_shows() {
        let relative = read("requests_per_s >= 0.97 x baseline");
        assert_eq!((relative.figure.as_str(), relative.arm.as_deref()), ("requests_per_s", None));
        assert_eq!((relative.relation, relative.bound), (Relation::AtLeast, 0.97));
        assert_eq!(relative.times.as_deref(), Some("baseline"));
        let absolute = read("latency_p99_us of \"cpu 1\" <= 2000");
        assert_eq!((absolute.arm.as_deref(), absolute.times), (Some("cpu 1"), None));
        assert_eq!((absolute.relation, absolute.bound), (Relation::AtMost, 2000.0));
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_the_form() {
        for (text, why) in [
            ("requests_per_s", "neither >= nor <="),
            ("requests_per_s > 5", "neither >= nor <="),
            ("requests_per_s = 5", "neither >= nor <="),
            ("requests_per_s >= fast", "'fast' is not a number"),
            ("requests_per_s >= nan", "not a number"),
            ("requests_per_s >= -1 x baseline", "bounds nothing"),
            ("requests_per_s of \"cpu 1 >= 5", "neither >= nor <="),
            ("of \"cpu 1\" >= 5", "a name is expected"),
            ("requests per_s >= 5", "has a space"),
            (">= 5", "a name is expected"),
            ("requests_per_s >= 5 x ", "not a number"),
        ] {
            let fault = text.parse::<Expectation>().unwrap_err();
            assert!(fault.cause.contains(why) && fault.remedy.contains("FIGURE of ARM"), "{text}: {fault}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            figure in "[a-z][a-z0-9_]{0,12}",
            arm in proptest::option::of("[a-z<>=][a-z0-9 ;,<>=]{0,12}[a-z0-9]"),
            times in proptest::option::of("[a-z][a-z0-9 ;,]{0,12}[a-z0-9]"),
            bound in 1e-6f64..1e9,
            at_least: bool,
        ) {
            let relation = if at_least { Relation::AtLeast } else { Relation::AtMost };
            let expectation = Expectation { figure, arm, relation, bound, times };
            prop_assert_eq!(read(&expectation.to_string()), expectation);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,60}") {
            if let Ok(expectation) = text.parse::<Expectation>() {
                prop_assert_eq!(read(&expectation.to_string()), expectation);
            }
        }
    }
}
