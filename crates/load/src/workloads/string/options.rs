//! The options of the string load.

use machine::{Class, Fault};

use crate::drive::{Keys, driven_load};

driven_load! {
    /// The string load of a recipe: one line out, one line back.
    pub struct StringLoad {
        id: "string",
        connections: 16,
        keep_alive: false,
        /// Every answer must be the built-in server's after this many rounds.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub rounds: Option<u64> = None,
        /// The line to send instead of the built-in ones, without its end.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub request: Option<String> = None,
        /// Every answer must be this line, without its end. Without `rounds`, `expect` and `expect_prefix` any one line is right, except
        /// that a first answer which is an error of a known protocol (`-ERR ...`, `HTTP/1.1 404 ...`) ends the run.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub expect: Option<String> = None,
        /// Every answer must be a line that begins with this.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub expect_prefix: Option<String> = None,
    }
}

impl StringLoad {
    /// Fails, naming the key, when a value makes no sense.
    pub fn check(&self) -> Result<(), Fault> {
        self.pace().check(self.id())?;
        let wrong = |key: &str, cause: &str, remedy: &str| {
            Err(Fault::new(Class::Usage, format!("string load: {key}"), cause, remedy))
        };
        let (line, prefix) = (self.expect.is_some(), self.expect_prefix.is_some());
        let remedy = "give one of `rounds`, `expect` and `expect_prefix`";
        if self.rounds.is_some() && (line || prefix) {
            let key = if line { "expect" } else { "expect_prefix" };
            return wrong(key, "`rounds` says already what to expect", remedy);
        }
        if line && prefix {
            return wrong("expect_prefix", "`expect` says already what to expect", remedy);
        }
        if self.expect_prefix.as_ref().is_some_and(|prefix| prefix.is_empty() || prefix.contains('\n')) {
            return wrong("expect_prefix", "it is empty or longer than a line", "give the start of a line");
        }
        for (key, line) in [("request", &self.request), ("expect", &self.expect)] {
            if line.as_ref().is_some_and(|l| l.trim_end_matches(['\r', '\n']).contains('\n')) {
                return wrong(key, "it has more than one line", "give one line");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senseless_values_are_named() {
        let bad = [
            (StringLoad { connections: 0, ..StringLoad::default() }, "connections"),
            (StringLoad { seconds: f64::NAN, ..StringLoad::default() }, "seconds"),
            (StringLoad { rate_per_s: Some(-1.0), ..StringLoad::default() }, "rate_per_s"),
            (StringLoad { timeout_s: 0.0, ..StringLoad::default() }, "timeout_s"),
            (StringLoad { max_requests: Some(0), ..StringLoad::default() }, "max_requests"),
            (StringLoad { rounds: Some(1), expect: Some("x".into()), ..StringLoad::default() }, "expect"),
            (StringLoad { request: Some("a\nb".into()), ..StringLoad::default() }, "request"),
            (StringLoad { expect_prefix: Some("".into()), ..StringLoad::default() }, "expect_prefix"),
            (
                StringLoad { rounds: Some(1), expect_prefix: Some("x".into()), ..StringLoad::default() },
                "expect_prefix",
            ),
            (
                StringLoad {
                    expect: Some("x".into()),
                    expect_prefix: Some("x".into()),
                    ..StringLoad::default()
                },
                "expect_prefix",
            ),
        ];
        for (load, key) in bad {
            let fault = load.check().unwrap_err();
            assert!(fault.to_string().contains(key), "{fault}");
        }
    }

    #[test]
    fn an_unknown_key_of_a_recipe_is_refused() {
        let error = serde_json::from_str::<StringLoad>(r#"{"connection": 3}"#).unwrap_err().to_string();
        assert!(error.contains("connection") && error.contains("connections"), "{error}");
    }
}
