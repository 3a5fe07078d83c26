//! How a figure follows from what two readings have found. Pure.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use machine::{Class, Fault};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::drive::answer::shown;

/// What is taken of a source. Written `gauge`, `counter`, `count`, `mean`, `p99`, `p99.9`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Take {
    /// The value as it is at the end.
    Gauge,
    /// By how much it grew each second; of a histogram, a summary or a log: observations or lines each second.
    Counter,
    /// By how much it grew; of a histogram, a summary or a log: observations or lines.
    Count,
    /// The mean of what was observed in between.
    Mean,
    /// This percentile (above 0, below 100) of what was observed in between; of a summary the one that it states.
    Percentile(f64),
}

impl FromStr for Take {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        match text {
            "gauge" => return Ok(Self::Gauge),
            "counter" => return Ok(Self::Counter),
            "count" => return Ok(Self::Count),
            "mean" => return Ok(Self::Mean),
            _ => {}
        }
        let is_plain =
            |digits: &&str| digits.len() <= 12 && digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let percent = text.strip_prefix('p').filter(is_plain).and_then(|digits| digits.parse::<f64>().ok());
        percent.filter(|percent| *percent > 0.0 && *percent < 100.0).map(Self::Percentile).ok_or_else(|| {
            Fault::new(
                Class::Usage,
                format!("'{}'", shown(text.as_bytes())),
                "it is no way to take a figure",
                "choose gauge, counter, count, mean, or a percentile such as p50, p99 or p99.9; no shell runs a command, so that it has no pipes",
            )
        })
    }
}

impl fmt::Display for Take {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gauge => f.write_str("gauge"),
            Self::Counter => f.write_str("counter"),
            Self::Count => f.write_str("count"),
            Self::Mean => f.write_str("mean"),
            Self::Percentile(percent) => write!(f, "p{percent}"),
        }
    }
}

impl Serialize for Take {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Take {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl JsonSchema for Take {
    fn schema_name() -> Cow<'static, str> {
        "MetricTake".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "How the figure follows from two readings: gauge (the value), counter (growth each second), count (growth), \
                            mean, or a percentile (p50, p99, p99.9) of what was observed in between.",
            "type": "string",
            "pattern": "^(gauge|counter|count|mean|p[0-9]+(\\.[0-9]+)?)$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_percentiles_are_read_and_written() {
        for text in ["gauge", "counter", "count", "mean", "p50", "p99.9", "p0.1"] {
            assert_eq!(text.parse::<Take>().unwrap().to_string(), text);
        }
        assert_eq!("p99.9".parse::<Take>().unwrap(), Take::Percentile(99.9));
        for text in ["", "p", "p0", "p100", "p999", "p-1", "pNaN", "p1e1", "p1.2.3", "Mean", "grep x"] {
            assert!(text.parse::<Take>().unwrap_err().to_string().contains("p99.9"), "{text}");
        }
        assert_eq!(serde_json::from_str::<Take>("\"p99\"").unwrap(), Take::Percentile(99.0));
        assert_eq!(serde_json::to_string(&Take::Mean).unwrap(), "\"mean\"");
        assert!(serde_json::from_str::<Take>("\"p999\"").is_err());
    }
}
