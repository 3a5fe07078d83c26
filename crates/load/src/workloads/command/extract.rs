//! Taking a figure out of what a load tool printed: where it stands. How it is read: `number`; in which unit: `unit`.

mod number;
mod unit;

use regex::{Match, Regex};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::number::number;
use self::unit::{Suffix, Unit};

/// Whether the name of a figure ends in a unit of time.
pub(super) fn is_time(name: &str) -> bool {
    Unit::is_time_of_name(name)
}

/// Whether the name of a figure ends in an amount of data.
pub(super) fn is_data(name: &str) -> bool {
    Unit::is_data_of_name(name)
}

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

    /// The figure called `name`, in the unit that its name ends in. The error says why there is none: nothing stands there, or what stands
    /// there is no number that has one reading, or the expression takes a part of the number only.
    pub fn figure(&self, name: &str, stdout: &str, stderr: &str) -> Result<f64, String> {
        match self {
            Self::Regex(expression) => {
                let compiled = compile(expression)?;
                let found = last_match(&compiled, stdout).or_else(|| last_match(&compiled, stderr));
                let found = found.ok_or("matches nothing in what the command printed")?;
                found.check(name)?;
                number(name, found.group.as_str())
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
                    Some(other) => Err(format!("gives {}, which is not a number", kind(other))),
                }
            }
        }
    }
}

/// A regular expression that is looked for in line after line: compiled once.
#[derive(Debug)]
pub(crate) struct LineFigure(Regex);

impl LineFigure {
    /// The expression as of [`Extract::Regex`]. The error says what is wrong with it.
    pub(crate) fn new(expression: &str) -> Result<Self, String> {
        compile(expression).map(Self)
    }

    /// The figure called `name` as [`Extract::figure`] reads it; none where the line does not match, or the group has no part in it.
    pub(crate) fn of_line(&self, name: &str, line: &str) -> Option<Result<f64, String>> {
        let found = last_match(&self.0, line)?;
        Some(found.check(name).and_then(|()| number(name, found.group.as_str())))
    }
}

fn compile(expression: &str) -> Result<Regex, String> {
    let compiled = Regex::new(expression).map_err(|why| format!("is malformed: {why}"))?;
    match compiled.captures_len() {
        1 => Err("has no group: put the figure in parentheses".into()),
        _ => Ok(compiled),
    }
}

/// What a regular expression has found.
struct Found<'t> {
    /// All of the text.
    text: &'t str,
    /// Where the whole expression ends in it.
    end: usize,
    /// The figure.
    group: Match<'t>,
}

fn last_match<'t>(expression: &Regex, text: &'t str) -> Option<Found<'t>> {
    let captures = expression.captures_iter(text).last()?;
    let group = captures.name("value").or_else(|| captures.get(1))?;
    Some(Found { text, end: captures.get(0)?.end(), group })
}

impl Found<'_> {
    /// Fails where the group holds only a part of a number, or leaves out a unit that changes it.
    fn check(&self, name: &str) -> Result<(), String> {
        let (before, after) = (&self.text[..self.group.start()], &self.text[self.group.end()..]);
        let (group, seen) = (self.group.as_str(), self.surroundings());
        let is_digit = |c: char| c.is_ascii_digit();
        if group.starts_with(is_digit)
            && before.trim_end_matches(['.', ',']).ends_with(is_digit)
            && !before.ends_with(',')
        {
            return Err(format!(
                "gives '{group}', only the end of the number in '{seen}': make what stands before the group shorter"
            ));
        }
        // What the expression itself names behind the group is there on purpose.
        let is_named = self.end > self.group.end();
        if group.ends_with(is_digit) && !is_named && goes_on(after) {
            return Err(format!(
                "gives '{group}', only a part of '{seen}': take the whole number into the group, or name what separates it from the next"
            ));
        }
        let unit = first_word(after);
        let is_left_out = after.starts_with(unit)
            && !is_named
            && Suffix::of(unit).is_some_and(|unit| unit.is_scaled() && unit.factor(name) != Ok(1.0));
        match group.ends_with(is_digit) && !unit.is_empty() && (is_left_out || Unit::contradicts(unit, name))
        {
            true => Err(format!(
                "gives '{group}' and leaves out the unit '{unit}' behind it: take the unit into the group, and end the figure's name in \
                 the unit that it is to have"
            )),
            false => Ok(()),
        }
    }

    /// The group with the characters that touch it.
    fn surroundings(&self) -> &str {
        let (start, end) = (self.group.start(), self.group.end());
        let from = self.text[..start].rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let length = self.text[end..].find(char::is_whitespace).unwrap_or(self.text.len() - end);
        // A blank of several bytes: not at a border.
        self.text.get(from..end + length).unwrap_or(self.group.as_str())
    }
}

/// Whether a number that ended here would go on: by a digit, decimals, or an exponent.
fn goes_on(after: &str) -> bool {
    let rest = after.strip_prefix(['.', ',']).unwrap_or(after);
    let power =
        rest.strip_prefix(['e', 'E']).map_or(rest, |power| power.strip_prefix(['+', '-']).unwrap_or(power));
    power.starts_with(|c: char| c.is_ascii_digit())
}

/// The word that stands there, or in brackets or behind one blank: `ms` of ` [ms] (mean)`. Nothing where it is the name of another figure,
/// as in ` min=0.1`.
fn first_word(after: &str) -> &str {
    let word = after.strip_prefix(' ').unwrap_or(after);
    let word = word.strip_prefix(['[', '(']).unwrap_or(word);
    let end = word.find(|c: char| !(c.is_alphabetic() || matches!(c, '/' | '%'))).unwrap_or(word.len());
    let is_name = word[end..].starts_with(['=', ':']);
    if is_name { "" } else { &word[..end] }
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
        assert!(
            why(r"Requests/sec:\s+(\S+)", "Requests/sec: -nan").contains("'-nan', which is not a number")
        );
        assert!(why(r"Latency\s+(\S+)", WRK).contains("_us"));
        assert!(why(r"(\S+)MB read", "47.7x7MB read").contains("not a number"));
        assert!(why(r"Transfer/sec:\s+(\S+)", WRK).contains("only digits"));
        assert!(why(r"Requests/sec: [", WRK).contains("malformed"));
        assert!(why(r"Requests/sec", WRK).contains("no group"));
        assert!(why(r"rate ()", "rate ").contains("not a number"));
    }

    #[test]
    fn a_part_of_a_number_is_no_figure() {
        let why = |expression: &str, name: &str, text: &str| regex(expression, name, text).unwrap_err();
        assert!(why(r"tps = ([0-9.]+)", "tps", "tps = 12.345,67").contains("'12.345,67'"));
        assert!(why(r"tps = ([0-9]+)", "tps", "tps = 12.345").contains("only a part"));
        assert!(why(r"tps = ([0-9.]+)", "tps", "tps = 1.5e+04").contains("only a part"));
        assert!(why(r"tps = .*([0-9.]+)", "tps", "tps = 29441.08").contains("only the end"));
        assert_eq!(regex(r"tps = (\S+)", "tps", "tps = 12.345,67 x").unwrap(), 12345.67);
        // Fields of CSV that the expression distinguishes.
        assert_eq!(regex(r"^get,([0-9.]+),", "tps", "get,61349.69,0.4").unwrap(), 61349.69);
        assert_eq!(regex(r"^get,[^,]*,([0-9.]+)", "tps", "get,61349,0.4\n").unwrap(), 0.4);
        assert_eq!(regex(r"= [0-9.]+/([0-9.]+)/", "rtt_ms", "rtt = 0.1/0.2/0.3 ms").unwrap(), 0.2);
        assert_eq!(regex(r"took (\d+)", "n", "took 12.").unwrap(), 12.0, "the end of a sentence");
    }

    #[test]
    fn a_unit_that_is_left_out_is_no_figure_where_it_is_another_one() {
        let why = |expression: &str, name: &str, text: &str| regex(expression, name, text).unwrap_err();
        assert!(why(r"Latency\s+([\d.]+)", "latency_ms", WRK).contains("the unit 'us'"));
        assert!(why(r"Req/Sec\s+([\d.]+)", "requests_per_s", WRK).contains("the unit 'k'"));
        assert!(why(r"p50=([\d.]+)", "p50_us", REDIS).contains("the unit 'msec'"));
        assert!(why(r"request:\s+([\d.]+) \[ms\] \(mean\)", "latency_us", AB).contains("the unit 'ms'"));
        assert_eq!(regex(r"Latency\s+([\d.]+)", "latency_us", WRK).unwrap(), 645.1, "the name's own");
        assert_eq!(regex(r"second, p50=([\d.]+)", "p50_ms", REDIS).unwrap(), 0.367);
        assert_eq!(regex(r"read (\d+)MB", "read_mb", "read 47MB").unwrap(), 47.0);
        assert_eq!(regex(r"hit (\d+)", "hit", "hit 93%").unwrap(), 93.0, "it is never scaled");
        assert_eq!(
            regex(r"p50=([\d.]+)", "p50_ms", "p50=0.3 min=0.1").unwrap(),
            0.3,
            "the name of another figure"
        );
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
        assert!(pointer("/jobs/0/name", text).unwrap_err().contains("not a number"));
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
    }
}
