//! What the string load is told.

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
        /// Every answer must be this line. Without `rounds` and `expect` any one line will do.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub expect: Option<String> = None,
    }
}

impl StringLoad {
    /// Fails, naming the key, when a value makes no sense.
    pub fn check(&self) -> Result<(), Fault> {
        self.pace().check(self.id())?;
        let wrong = |key: &str, cause: &str, remedy: &str| {
            Err(Fault::new(Class::Usage, format!("string load: {key}"), cause, remedy))
        };
        if self.rounds.is_some() && self.expect.is_some() {
            return wrong("expect", "`rounds` says already what to expect", "give one of the two");
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
