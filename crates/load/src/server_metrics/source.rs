//! Where a figure from the server itself is read. Pure.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use machine::{Class, Fault};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::selector::Selector;
use super::url::Url;
use crate::drive::answer::shown;
use crate::template::Command;

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// `prometheus:URL#METRIC{label="value"}`: an exposition in the text format of Prometheus, or OpenMetrics.
    Prometheus {
        /// Where it is fetched.
        url: Url,
        /// Which of its series.
        series: Selector,
    },
    /// `command:LINE`: what a program prints, which no shell runs.
    Command(Command),
    /// `log:PATH`: the lines that are appended to a file.
    Log(PathBuf),
}

impl FromStr for Source {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        let wrong = |cause: &str, remedy: &str| {
            Err(Fault::new(Class::Usage, format!("source '{}'", shown(text.as_bytes())), cause, remedy))
        };
        let (kind, rest) = text.split_once(':').unwrap_or(("", text));
        match kind {
            "prometheus" => {
                let Some((url, series)) = rest.split_once('#') else {
                    return wrong("it names no metric", "append #METRIC or #METRIC{label=\"value\"}");
                };
                let url = Url::of(url)?;
                match Selector::of(series) {
                    Ok(series) => Ok(Self::Prometheus { url, series }),
                    Err(why) => wrong(&why, "write #METRIC or #METRIC{label=\"value\"}"),
                }
            }
            "command" => Ok(Self::Command(unquoted(rest.trim())?)),
            "log" if rest.starts_with('/') && !rest.contains('\0') && rest.len() <= 4095 => {
                Ok(Self::Log(PathBuf::from(rest)))
            }
            "log" => wrong("a log is named by its whole path", "write log:/PATH"),
            _ => wrong("its kind is unknown", "begin with prometheus:, command: or log:"),
        }
    }
}

/// The command of a line, which may be in quotes as a whole: `'redis-cli info stats'`.
fn unquoted(line: &str) -> Result<Command, Fault> {
    let command: Command = line.parse()?;
    match command.words() {
        [whole] if line.starts_with(['\'', '"']) && whole.contains(' ') => whole.parse(),
        _ => Ok(command),
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prometheus { url, series } => write!(f, "prometheus:{url}#{series}"),
            // A program with a blank in its path is not a line in quotes.
            Self::Command(command) => match command.words() {
                [whole] if whole.contains(' ') => {
                    write!(f, "command:{}", shell_words::quote(&command.to_string()))
                }
                _ => write!(f, "command:{command}"),
            },
            Self::Log(path) => write!(f, "log:{}", path.display()),
        }
    }
}

impl Serialize for Source {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl JsonSchema for Source {
    fn schema_name() -> Cow<'static, str> {
        "MetricSource".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Where the figure is read: prometheus:URL#METRIC{label=\"value\"} (plain HTTP), command:LINE (no shell runs it), or \
                            log:PATH (the lines that are appended).",
            "type": "string",
            "pattern": "^(prometheus|command|log):",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_kinds_are_read_and_written() {
        for text in [
            "prometheus:http://127.0.0.1:9100/metrics#node_load1",
            r#"prometheus:http://h:80/m?x=1#http_requests_total{code="200",path="/#a"}"#,
            "command:redis-cli info stats",
            "log:/var/log/nginx/access.log",
        ] {
            assert_eq!(text.parse::<Source>().unwrap().to_string(), text);
        }
        let command = |text: &str| match text.parse::<Source>().unwrap() {
            Source::Command(command) => command.words().to_vec(),
            other => panic!("{other}"),
        };
        assert_eq!(command("command:'redis-cli info stats'"), ["redis-cli", "info", "stats"]);
        assert_eq!(command(r"command:/opt/my\ tool/x 'a b'"), ["/opt/my tool/x", "a b"]);
        let blank: Source = r"command:/opt/my\ tool/x".parse().unwrap();
        assert_eq!(command(&blank.to_string()), ["/opt/my tool/x"]);
    }

    #[test]
    fn others_are_refused_with_a_remedy() {
        for (text, why) in [
            ("", "prometheus:, command: or log:"),
            ("http://h/m#x", "prometheus:, command: or log:"),
            ("prometheus:http://h/m", "names no metric"),
            ("prometheus:http://h/m#", "not a name of a metric"),
            ("prometheus:https://h/m#x", "command:curl"),
            ("command:redis-cli 'info", "quote"),
            ("log:access.log", "whole path"),
        ] {
            let error = text.parse::<Source>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        assert!(serde_json::from_str::<Source>("\"x\"").is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(?s).{0,60}", near in "(prometheus:http://a/|command:|log:/)[#a-c{}=\"' \\\\]{0,30}") {
            let _ = text.parse::<Source>();
            if let Ok(source) = near.parse::<Source>() {
                let _ = source.to_string();
            }
        }
    }
}
