//! Choices of CPUs as text: on the command line, in TOML and JSON, in schemas.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::CpuChoice;
use super::grammar::{self, Choice};
use crate::CpuSet;
use crate::cpuset::{self, HIGHEST};

/// Most characters of a malformed text that a message repeats.
const MOST_SHOWN: usize = 200;

/// Why a text names no CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedCpuChoice {
    /// The text as it was given, its beginning where it is long.
    pub text: String,
    /// The character where it goes wrong, the first being 1.
    pub character: usize,
    /// What is wrong there.
    pub why: String,
}

/// A text as a message repeats it: its beginning where it is long.
pub(super) fn shown(text: &str) -> String {
    match text.char_indices().nth(MOST_SHOWN) {
        Some((at, _)) => format!("{}...", text.get(..at).unwrap_or_default()),
        None => text.to_string(),
    }
}

impl MalformedCpuChoice {
    /// What is wrong, and where.
    pub(super) fn at_position(&self) -> String {
        format!("character {}: {}", self.character, self.why)
    }
}

impl fmt::Display for MalformedCpuChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' names no CPUs: {}; {}", self.text, self.at_position(), super::FORM)
    }
}

impl std::error::Error for MalformedCpuChoice {}

impl FromStr for CpuChoice {
    type Err = MalformedCpuChoice;

    fn from_str(text: &str) -> Result<Self, MalformedCpuChoice> {
        let choice = grammar::parse(text).map_err(|wrong| MalformedCpuChoice {
            text: text.chars().take(MOST_SHOWN).collect(),
            character: text.get(..wrong.at).map_or(0, |before| before.chars().count()) + 1,
            why: wrong.why,
        })?;
        // Numbers have one form, so that what is written is read as the same.
        let asked = text.trim().to_string();
        Ok(match choice.numbers() {
            Some(numbers) => Self { asked, ..Self::from(numbers) },
            None => Self { text: asked.clone(), asked, choice },
        })
    }
}

impl From<CpuSet> for CpuChoice {
    fn from(cpus: CpuSet) -> Self {
        let text = cpus.to_list();
        Self { asked: text.clone(), text, choice: Choice::of(&cpus) }
    }
}

impl fmt::Display for CpuChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl JsonSchema for CpuChoice {
    fn schema_name() -> Cow<'static, str> {
        "CpuChoice".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        cpuset::text_or_numbers(
            "CPUs in words (\"0-3,8\", \"node:1\", \"l3:0 & smt:0\", \"all,!siblings\": docs/cpus.md), or their numbers as an array ([0, 1]).",
        )
    }
}

impl Serialize for CpuChoice {
    /// Numbers alone as an array, as a [`CpuSet`]; words as they were written.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.numbers() {
            Some(numbers) => numbers.serialize(serializer),
            None => serializer.serialize_str(&self.text),
        }
    }
}

impl<'de> Deserialize<'de> for CpuChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = CpuChoice;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("CPUs in words (\"0-3,8\", \"node:1\") or their numbers as an array ([0, 1])")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<CpuChoice, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<CpuChoice, A::Error> {
                let numbers = CpuSet::deserialize(SeqAccessDeserializer::new(seq))?;
                match numbers.last() {
                    Some(cpu) if cpu >= HIGHEST => {
                        Err(de::Error::custom(format_args!("{cpu} is past {}", HIGHEST - 1)))
                    }
                    _ => Ok(numbers.into()),
                }
            }
        }
        deserializer.deserialize_any(Either)
    }
}
