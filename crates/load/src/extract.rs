//! Taking a figure out of what a load tool printed.

use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where a figure stands in the output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Extract {
    /// A regular expression (syntax of the `regex` crate); the group named `value`, or else the first group, is the
    /// figure. Looked for in standard output, then in standard error; the last match counts, since tools print what
    /// they have so far before what they have in the end.
    Regex(String),
    /// A JSON pointer (RFC 6901) into the JSON document on standard output.
    JsonPointer(String),
}

impl Extract {
    /// What it is, for messages.
    pub fn name(&self) -> String {
        match self {
            Self::Regex(expression) => format!("regular expression '{expression}'"),
            Self::JsonPointer(pointer) => format!("JSON pointer '{pointer}'"),
        }
    }

    /// Says what is wrong with it, as far as that can be seen without output.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Self::Regex(expression) => compile(expression).map(drop),
            Self::JsonPointer(pointer) if !pointer.is_empty() && !pointer.starts_with('/') => {
                Err(format!("is malformed: it must start with a slash, for example '/{pointer}'"))
            }
            Self::JsonPointer(_) => Ok(()),
        }
    }

    /// The figure called `name`; its name tells the unit that times are turned into. The error says why there is none.
    pub fn figure(&self, name: &str, stdout: &str, stderr: &str) -> Result<f64, String> {
        match self {
            Self::Regex(expression) => {
                let compiled = compile(expression)?;
                let text = last_match(&compiled, stdout).or_else(|| last_match(&compiled, stderr));
                number(name, text.ok_or("matches nothing in what the command printed")?)
            }
            Self::JsonPointer(pointer) => {
                self.check()?;
                let document = json(stdout)?;
                match document.pointer(pointer) {
                    None => Err("leads to nothing in the JSON that the command printed".into()),
                    Some(Value::Number(n)) => {
                        n.as_f64().ok_or_else(|| format!("gives {n}, which is too large"))
                    }
                    Some(Value::String(text)) => number(name, text),
                    Some(other) => Err(format!("gives {}, which is no number", kind(other))),
                }
            }
        }
    }
}

fn compile(expression: &str) -> Result<Regex, String> {
    let compiled = Regex::new(expression).map_err(|why| format!("is malformed: {why}"))?;
    match compiled.captures_len() {
        1 => Err("has no group: put the figure in parentheses".into()),
        _ => Ok(compiled),
    }
}

fn last_match<'t>(expression: &Regex, text: &'t str) -> Option<&'t str> {
    let captures = expression.captures_iter(text).last()?;
    captures.name("value").or_else(|| captures.get(1)).map(|group| group.as_str())
}

/// The document, whole or from its first brace on: some tools print a banner before it.
fn json(stdout: &str) -> Result<Value, String> {
    serde_json::from_str(stdout).or_else(|why| {
        let start = stdout.find("\n{").or_else(|| stdout.find("\n["));
        start
            .and_then(|at| serde_json::from_str(&stdout[at..]).ok())
            .ok_or_else(|| format!("needs JSON, and the command printed something else ({why})"))
    })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
        Value::Number(_) | Value::String(_) => "a value",
    }
}

/// Reads `1234.5`, `1,234.5`, `12.3k`, and times with their unit (`1.5ms`) for figures whose name tells what unit
/// they are to be in (`latency_us`).
fn number(name: &str, text: &str) -> Result<f64, String> {
    let text = text.trim();
    let end = text.find(|c: char| c.is_ascii_alphabetic() && !matches!(c, 'e' | 'E')).unwrap_or(text.len());
    let (digits, suffix) = (text[..end].trim_end(), &text[end..]);
    let plain: f64 = without_separators(digits)
        .and_then(|plain| plain.parse().ok())
        .filter(|n: &f64| n.is_finite())
        .ok_or_else(|| format!("gives '{text}', which is no number"))?;
    let factor = match suffix {
        "" => Some(1.0),
        "k" | "K" => Some(1e3),
        "M" => Some(1e6),
        "G" => Some(1e9),
        unit => match (seconds_of(unit), unit_in_name(name)) {
            (Some(from), Some(to)) => Some(from / to),
            (Some(_), None) => {
                return Err(format!(
                    "gives '{text}', a time: end the figure's name in _us, _ms or _s to say what unit it is to be in"
                ));
            }
            (None, _) => None,
        },
    };
    let factor =
        factor.ok_or_else(|| format!("gives '{text}', which is no number: put only digits in the group"))?;
    Ok(plain * factor)
}

/// Leaves out commas between groups of three digits; none when commas stand anywhere else (a decimal comma?).
fn without_separators(digits: &str) -> Option<String> {
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let groups: Vec<&str> = whole.split(',').collect();
    let first = groups[0].trim_start_matches(['+', '-']);
    let separated = groups.len() == 1
        || ((1..=3).contains(&first.len()) && groups[1..].iter().all(|g| g.len() == 3))
            && !rest.contains(',');
    separated.then(|| digits.replace(',', ""))
}

fn seconds_of(unit: &str) -> Option<f64> {
    match unit {
        "ns" => Some(1e-9),
        "us" => Some(1e-6),
        "ms" | "msec" => Some(1e-3),
        "s" | "sec" => Some(1.0),
        "m" => Some(60.0),
        _ => None,
    }
}

fn unit_in_name(figure: &str) -> Option<f64> {
    match figure.rsplit_once('_')? {
        (before, "s") if before.ends_with("_per") => None,
        (_, unit @ ("ns" | "us" | "ms" | "s")) => seconds_of(unit),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRK: &str = "Running 2s test @ http://127.0.0.1:8080/
  1 threads and 16 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   645.10us    1.02ms  18.31ms   96.41%
    Req/Sec    29.61k     3.12k   34.45k    75.00%
  58934 requests in 2.00s, 47.77MB read
Requests/sec:  29441.08
Transfer/sec:     23.87MB
";
    const REDIS: &str = "\rSET: rps=0.0 (overall: 0.0) avg_msec=-nan (overall: -nan)\rSET: rps=61234.1 (overall: 61234.1) avg_msec=0.412\r\
                         SET: 61349.69 requests per second, p50=0.383 msec                    \n\
                         GET: 64,935.06 requests per second, p50=0.367 msec\n\n";
    const AB: &str = "Concurrency Level:      8
Requests per second:    11873.22 [#/sec] (mean)
Time per request:       0.674 [ms] (mean)
Time per request:       0.084 [ms] (mean, across all concurrent requests)
";

    fn regex(expression: &str, name: &str, text: &str) -> Result<f64, String> {
        Extract::Regex(expression.into()).figure(name, text, "")
    }

    #[test]
    fn figures_of_wrk() {
        assert_eq!(regex(r"Requests/sec:\s+(\S+)", "requests_per_s", WRK).unwrap(), 29441.08);
        assert_eq!(regex(r"Req/Sec\s+(\S+)", "requests_per_s", WRK).unwrap(), 29610.0);
        assert_eq!(regex(r"Latency\s+(\S+)", "latency_us", WRK).unwrap(), 645.1);
        assert!((regex(r"Latency\s+(\S+)", "latency_ms", WRK).unwrap() - 0.6451).abs() < 1e-12);
        assert!(
            (regex(r"Latency\s+\S+\s+\S+\s+(\S+)", "latency_max_us", WRK).unwrap() - 18310.0).abs() < 1e-9
        );
    }

    #[test]
    fn figures_of_redis_benchmark_and_ab() {
        let set = r"SET: (?P<value>[\d.,]+) requests per second";
        assert_eq!(regex(set, "requests_per_s", REDIS).unwrap(), 61349.69);
        assert_eq!(
            regex(r"([\d.,]+) requests per second", "requests_per_s", REDIS).unwrap(),
            64935.06,
            "the last"
        );
        assert_eq!(regex(r"(rps)=|per second, p50=(?P<value>\S+)", "p50_ms", REDIS).unwrap(), 0.367);
        assert_eq!(regex(r"Requests per second:\s+([\d.]+)", "requests_per_s", AB).unwrap(), 11873.22);
        assert_eq!(regex(r"Time per request:\s+([\d.]+) \[ms\] \(mean\)", "ms", AB).unwrap(), 0.674);
    }

    #[test]
    fn standard_error_is_looked_at_where_standard_output_has_nothing() {
        let extract = Extract::Regex(r"rate (\d+)".into());
        assert_eq!(extract.figure("x", "nothing", "rate 7").unwrap(), 7.0);
        assert_eq!(extract.figure("x", "rate 8", "rate 7").unwrap(), 8.0);
    }

    #[test]
    fn what_gives_no_figure_says_why() {
        let why = |expression: &str, text: &str| regex(expression, "requests_per_s", text).unwrap_err();
        assert!(
            why(r"Requests/sec:\s+(\S+)", "unable to connect to 127.0.0.1:1").contains("matches nothing")
        );
        assert!(why(r"Requests/sec:\s+(\S+)", "Requests/sec: -nan").contains("'-nan', which is no number"));
        assert!(why(r"Latency\s+(\S+)", WRK).contains("_us"));
        assert!(why(r"(\S+)MB read", "47.7x7MB read").contains("no number"));
        assert!(why(r"Transfer/sec:\s+(\S+)", WRK).contains("only digits"));
        assert!(why(r"Requests/sec: [", WRK).contains("malformed"));
        assert!(why(r"Requests/sec", WRK).contains("no group"));
        assert!(why(r"rate ()", "rate ").contains("no number"));
    }

    #[test]
    fn numbers_in_the_forms_that_tools_print() {
        let read = |text| number("x", text);
        for (text, value) in [
            ("12", 12.0),
            ("-1.5", -1.5),
            ("1,234,567.5", 1234567.5),
            ("12.3k", 12300.0),
            ("2 M", 2e6),
            ("1e3", 1e3),
            ("3G", 3e9),
        ] {
            assert_eq!(read(text).unwrap(), value, "{text}");
        }
        for text in
            ["", "1,5", "1,2345", ",123", "12,34,567", "1.2.3", "inf", "nan", "k", "1e999", "5 apples"]
        {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn json_pointers() {
        let pointer = |pointer: &str, text: &str| {
            Extract::JsonPointer(pointer.into()).figure("requests_per_s", text, "")
        };
        let text = r#"{"jobs": [{"iops": 1234.5, "human": "1.2k", "name": "x", "none": null}]}"#;
        assert_eq!(pointer("/jobs/0/iops", text).unwrap(), 1234.5);
        assert_eq!(pointer("/jobs/0/human", text).unwrap(), 1200.0);
        assert_eq!(pointer("/jobs/0/iops", &format!("banner\n{text}")).unwrap(), 1234.5);
        assert!(pointer("/jobs/1/iops", text).unwrap_err().contains("leads to nothing"));
        assert!(pointer("/jobs/0/name", text).unwrap_err().contains("no number"));
        assert!(pointer("/jobs/0/none", text).unwrap_err().contains("null"));
        assert!(pointer("jobs", text).unwrap_err().contains("'/jobs'"));
        assert!(pointer("/jobs", "{torn").unwrap_err().contains("needs JSON"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,30}", name in "[a-z_]{0,10}") {
            let _ = number(&name, &text);
            let _ = Extract::Regex(text.clone()).figure(&name, &text, &text);
            let _ = Extract::JsonPointer(text.clone()).figure(&name, &text, &text);
        }

        #[test]
        fn plain_numbers_are_read_as_they_are(n in -1e12f64..1e12) {
            proptest::prop_assert_eq!(number("x", &n.to_string()).unwrap(), n);
        }
    }
}
