//! The arguments of the tools. What a client sends is hostile text: no value of it can be taken for an option of the verb that gets it.

use machine::untrusted::text::is_hidden;
use machine::{Class, Fault};
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest window, s.
pub const MOST_SECONDS: u32 = 60;

/// The longest name of a process, an arm or a case, bytes.
pub const MOST_BYTES: usize = 512;

/// The most cases that are compared at once.
pub const MOST_CASES: usize = 8;

/// How much of an answer is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Detail {
    /// The figures that matter most
    #[default]
    Summary,
    /// All that fits into 64 KiB; what is left out is named
    Full,
}

/// Arguments of `map`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MapArguments {
    /// One running server instead of the machine: a process number, a name, a systemd unit, the path of a cgroup, a container, a guest,
    /// a Kubernetes pod, all:NAME for all processes of a name
    #[serde(default)]
    #[schemars(length(min = 1, max = MOST_BYTES), regex(pattern = r"^[^-]"))]
    pub process: Option<String>,
    /// How much of the answer is wanted
    #[serde(default)]
    pub detail: Detail,
}

/// Arguments of `diagnose`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiagnoseArguments {
    /// The server: a process number, a name, a systemd unit, the path of a cgroup, a container, a guest, a Kubernetes pod, all:NAME for
    /// all processes of a name. Without it: the machine as a whole
    #[serde(default)]
    #[schemars(length(min = 1, max = MOST_BYTES), regex(pattern = r"^[^-]"))]
    pub process: Option<String>,
    /// Length of the window, s: the call takes this long and a little more
    #[serde(default = "usual_seconds")]
    #[schemars(range(min = 1, max = MOST_SECONDS))]
    pub seconds: u32,
    /// How much of the answer is wanted
    #[serde(default)]
    pub detail: Detail,
}

/// Arguments of `watch`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WatchArguments {
    /// The server, named as for diagnose. Without it: all CPUs, and who had them
    #[serde(default)]
    #[schemars(length(min = 1, max = MOST_BYTES), regex(pattern = r"^[^-]"))]
    pub process: Option<String>,
    /// Only what happens on these CPUs: numbers (2-3) or the names of the map (node:0, l3:0)
    #[serde(default)]
    #[schemars(length(min = 1, max = MOST_BYTES), regex(pattern = r"^[^-]"))]
    pub cpus: Option<String>,
    /// Length of the window, s: the call takes this long and a little more
    #[serde(default = "usual_seconds")]
    #[schemars(range(min = 1, max = MOST_SECONDS))]
    pub seconds: u32,
    /// How much of the answer is wanted
    #[serde(default)]
    pub detail: Detail,
}

/// Arguments of `case`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseArguments {
    /// The id of the case, as the tool 'cases' lists it
    #[schemars(length(min = 1, max = MOST_BYTES), regex(pattern = r"^[^-/]"))]
    pub case: String,
    /// How much of the answer is wanted
    #[serde(default)]
    pub detail: Detail,
}

/// Arguments of `explain`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainArguments {
    /// The id of the case, as the tool 'cases' lists it
    #[schemars(length(min = 1, max = MOST_BYTES), regex(pattern = r"^[^-/]"))]
    pub case: String,
    /// Explain this arm alone; without it, every observed arm against the baseline
    #[serde(default)]
    #[schemars(length(min = 1, max = MOST_BYTES), regex(pattern = r"^[^-]"))]
    pub arm: Option<String>,
    /// The arm that it is held against; without it, the baseline
    #[serde(default)]
    #[schemars(length(min = 1, max = MOST_BYTES), regex(pattern = r"^[^-]"))]
    pub against: Option<String>,
    /// How much of the answer is wanted
    #[serde(default)]
    pub detail: Detail,
}

/// Arguments of `compare`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompareArguments {
    /// The ids of the cases, as the tool 'cases' lists them; ratios are to the first
    #[schemars(length(min = 2, max = MOST_CASES), inner(length(min = 1, max = MOST_BYTES), regex(pattern = r"^[^-/]")))]
    pub cases: Vec<String>,
    /// How much of the answer is wanted
    #[serde(default)]
    pub detail: Detail,
}

/// Arguments of the tools whose answer has no subject: `cases`, `status`, `knobs`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoSubject {
    /// How much of the answer is wanted
    #[serde(default)]
    pub detail: Detail,
}

/// The window where none is asked for, s.
fn usual_seconds() -> u32 {
    10
}

/// Reads the arguments of a tool.
///
/// # Errors
/// They are not what its schema asks for: which of them, and why.
pub fn read<T: DeserializeOwned>(tool: &str, arguments: JsonObject) -> Result<T, Fault> {
    serde_json::from_value(Value::Object(arguments)).map_err(|why| {
        Fault::new(
            Class::Usage,
            format!("arguments of {tool}"),
            why,
            "send what the schema of the tool asks for",
        )
    })
}

/// A name that cannot be taken for anything else.
///
/// # Errors
/// It is empty or too long, begins as an option does, begins or ends with a blank, or holds a character that is not seen.
pub fn name(key: &str, value: &str) -> Result<(), Fault> {
    let cause = match value {
        "" => "it is empty",
        value if value.len() > MOST_BYTES => "it is longer than 512 bytes",
        value if value.starts_with('-') => "it begins with '-', as an option does",
        value if value.trim() != value => "it begins or ends with a space",
        value if value.chars().any(|c| is_hidden(c) || c == '\n' || c == '\t') => {
            "it has an invisible character"
        }
        _ => return Ok(()),
    };
    Err(Fault::new(
        Class::Usage,
        format!("argument {key}"),
        cause,
        "send the name as it is, as the tools list it",
    ))
}

/// An option with its value, in one argument: whatever the value is, it is the value.
///
/// # Errors
/// As [`name`]; key and value are named.
pub fn option(key: &str, flag: &str, value: Option<&str>) -> Result<Option<String>, Fault> {
    let Some(value) = value else { return Ok(None) };
    name(key, value)?;
    Ok(Some(format!("{flag}={value}")))
}

/// The length of a window, s.
///
/// # Errors
/// It is out of bounds.
pub fn window(seconds: u32) -> Result<u32, Fault> {
    if (1..=MOST_SECONDS).contains(&seconds) {
        return Ok(seconds);
    }
    let cause = format!("{seconds} s is not a window of 1 to {MOST_SECONDS} s");
    Err(Fault::new(
        Class::Usage,
        "argument seconds",
        cause,
        "for a longer one run 'pinwise watch' in a shell",
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> JsonObject {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn names_of_servers_pass() {
        for fine in [
            "nginx",
            "4711",
            "/system.slice/db.service",
            "shop/web-7d9f",
            "all:redis-server",
            "my guest",
            "名前",
        ] {
            assert_eq!(name("process", fine), Ok(()), "{fine}");
        }
    }

    #[test]
    fn hostile_names_are_refused() {
        let long = "x".repeat(MOST_BYTES + 1);
        let hostile = [
            "",
            "-",
            "--format=svg",
            "-o/etc/passwd",
            " nginx",
            "nginx ",
            "a\nb",
            "a\0b",
            "a\u{202e}b",
            "a\u{1b}[2J",
            &long,
        ];
        for hostile in hostile {
            assert_eq!(name("process", hostile).unwrap_err().class, Class::Usage, "{hostile:?}");
        }
    }

    #[test]
    fn no_text_of_hostile_characters_makes_it_panic_or_passes_as_an_option() {
        let letters = ['-', '=', ' ', '\0', '\n', '/', '.', 'a', 'é', '\u{202e}', '\u{e0001}', '🚀'];
        for first in letters {
            for second in letters {
                for third in letters {
                    let text: String = [first, second, third].iter().collect();
                    let made = option("process", "--process", Some(&text));
                    assert!(made.is_err() || made.unwrap().unwrap() == format!("--process={text}"));
                    assert!(first != '-' || name("process", &text).is_err());
                }
            }
        }
    }

    #[test]
    fn windows_have_bounds() {
        assert_eq!((window(1), window(60)), (Ok(1), Ok(60)));
        assert!(window(0).is_err() && window(61).is_err());
    }

    #[test]
    fn what_no_schema_asks_for_is_refused() {
        for bad in [
            json!({"process": 5}),
            json!({"seconds": -1}),
            json!({"seconds": 1.5}),
            json!({"seconds": "10"}),
            json!({"keep": "/etc/passwd"}),
            json!({"detail": "everything"}),
        ] {
            let fault = read::<DiagnoseArguments>("diagnose", object(bad.clone())).unwrap_err();
            assert_eq!(fault.class, Class::Usage, "{bad}");
        }
        let usual = read::<DiagnoseArguments>("diagnose", JsonObject::new()).unwrap();
        assert_eq!((usual.seconds, usual.process, usual.detail), (10, None, Detail::Summary));
    }
}
