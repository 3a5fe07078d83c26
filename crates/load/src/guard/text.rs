//! Guards as they are written: `FIGURE <= LIMIT`, where the limit is a number, `baseline` or `NUMBER x baseline`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use machine::{Class, Fault};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::bound::{Guard, Limit, Relation};
use super::check::{is_name, is_number};

/// How long a guard may be, bytes.
const LONGEST: usize = 200;
/// The form, for remedies.
const FORM: &str = "write FIGURE <= LIMIT, where the limit is a number or a multiple of the baseline: 'latency_p99_us <= 20000', \
                    'latency_p99_us <= 1.5 x baseline', 'errors == 0'";

impl Relation {
    const ALL: [Self; 3] = [Self::AtMost, Self::AtLeast, Self::Equal];

    /// As it is written.
    fn text(self) -> &'static str {
        match self {
            Self::AtMost => "<=",
            Self::AtLeast => ">=",
            Self::Equal => "==",
        }
    }
}

impl FromStr for Guard {
    type Err = Fault;

    /// Reads a guard, and refuses one that would end trials without harm; the fault says what to write instead.
    fn from_str(text: &str) -> Result<Self, Fault> {
        let fault = |cause: &str| Fault::new(Class::Usage, format!("guard '{}'", cut(text)), cause, FORM);
        if text.len() > LONGEST {
            return Err(fault("it is longer than 200 bytes"));
        }
        let (figure, relation, limit) = Relation::ALL
            .into_iter()
            .find_map(|relation| {
                text.split_once(relation.text())
                    .map(|(figure, limit)| (figure.trim(), relation, limit.trim()))
            })
            .ok_or_else(|| fault("it has none of the relations <=, >= and =="))?;
        if !is_name(figure) {
            return Err(fault("what stands before the relation is not a name of a figure"));
        }
        let limit = limit_of(limit).ok_or_else(|| {
            fault(
                "the limit is neither 0, nor a number from 1e-9 to 1e15, nor such a multiple of the baseline",
            )
        })?;
        let guard = Self { figure: figure.into(), relation, limit };
        guard.check()?;
        Ok(guard)
    }
}

fn limit_of(text: &str) -> Option<Limit> {
    let Some(before) = text.strip_suffix("baseline") else {
        return number_of(text).map(Limit::Absolute);
    };
    match before.trim() {
        "" => Some(Limit::OfBaseline(1.0)),
        times => number_of(times.strip_suffix('x')?.trim()).map(Limit::OfBaseline),
    }
}

fn number_of(text: &str) -> Option<f64> {
    let number = text.parse::<f64>().ok().filter(|number| is_number(*number))?;
    // -0 is 0.
    Some(number + 0.0)
}

/// The beginning of a text that is too long to be quoted.
fn cut(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}...", &text[..at]).into(),
        None => text.into(),
    }
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ", self.figure, self.relation.text())?;
        match self.limit {
            Limit::Absolute(value) => write!(f, "{value}"),
            Limit::OfBaseline(1.0) => f.write_str("baseline"),
            Limit::OfBaseline(times) => write!(f, "{times} x baseline"),
        }
    }
}

impl Serialize for Guard {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Guard {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Guard {
    fn schema_name() -> Cow<'static, str> {
        "Guard".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A bound on a figure: FIGURE, then <=, >= or ==, then a number, \"baseline\" or \"NUMBER x baseline\" \
                            (\"latency_p99_us <= 1.5 x baseline\").",
            "type": "string",
            "maxLength": 200,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_read_as_they_are_written() {
        let guard: Guard = " latency_p99_us<=1.5x baseline".parse().unwrap();
        let expected = Guard {
            figure: "latency_p99_us".into(),
            relation: Relation::AtMost,
            limit: Limit::OfBaseline(1.5),
        };
        assert_eq!(guard, expected);
        assert_eq!(guard.to_string(), "latency_p99_us <= 1.5 x baseline");
        let usual: Vec<String> = Guard::usual().iter().map(Guard::to_string).collect();
        assert_eq!(
            usual,
            ["latency_p99_us <= 2 x baseline", "cpu_us_per_request <= 1.5 x baseline", "errors <= baseline"]
        );
        for text in usual {
            assert_eq!(text.parse::<Guard>().unwrap().to_string(), text);
        }
        assert_eq!("errors == -0".parse::<Guard>().unwrap().to_string(), "errors == 0");
    }

    #[test]
    fn what_is_no_guard_is_refused_with_the_form() {
        for text in [
            "",
            "<=",
            "latency_p99_us",
            "latency_p99_us < 5",
            "latency_p99_us <= ",
            "latency_p99_us <= nan",
            "latency_p99_us <= inf",
            "latency_p99_us <= 1e300",
            "latency_p99_us <= -1",
            "latency_p99_us <= xbaseline",
            "latency_p99_us <= 2 baseline",
            "a b <= 1",
            "\u{e4} <= 1",
        ] {
            assert_eq!(text.parse::<Guard>().unwrap_err().remedy, FORM, "{text}");
        }
        let long = "\u{e4}".repeat(5000).parse::<Guard>().unwrap_err();
        assert!(long.object.len() < 500, "{}", long.object.len());
    }

    #[test]
    fn a_guard_is_a_string_in_json() {
        let guards: Vec<Guard> = serde_json::from_str(r#"["errors == 0", "queue_len <= 12.5"]"#).unwrap();
        assert_eq!(serde_json::to_string(&guards).unwrap(), r#"["errors == 0","queue_len <= 12.5"]"#);
        assert!(serde_json::from_str::<Guard>("5").is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "\\PC{0,60}") {
            let _ = text.parse::<Guard>();
        }

        #[test]
        fn what_was_read_is_written_so_that_it_reads_the_same(
            figure in "(latency_p(50|90|99|999)_us|errors|[a-z]{1,9}_per_request|[a-z]{1,9}_len)",
            relation in "(<=|>=|==)",
            number in "[0-9]{1,15}(\\.[0-9]{1,12})?",
            of in "( ?x ?baseline)?",
        ) {
            if let Ok(guard) = format!("{figure}{relation} {number}{of}").parse::<Guard>() {
                proptest::prop_assert_eq!(guard.to_string().parse::<Guard>().unwrap(), guard);
            }
        }
    }
}
