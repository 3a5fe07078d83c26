//! Variables of a profile: `${name}`. Functions (`${f:...}`) run programs and look at devices; they are not worked out here.

use std::collections::BTreeMap;

/// No value of a profile is as long; variables that double themselves would be without end.
const LONGEST_BYTES: usize = 64 << 10;

/// Variables by name; those that cannot be worked out with the reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Variables(BTreeMap<String, Result<String, String>>);

impl Variables {
    /// Defines one, from those that are defined already.
    pub(super) fn define(&mut self, name: &str, value: &str) {
        let value = self.expanded(value);
        self.0.insert(name.to_string(), value);
    }

    /// A value with its variables put in. Errors: why that cannot be done.
    pub(super) fn expanded(&self, text: &str) -> Result<String, String> {
        let mut expanded = String::new();
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            let (before, from) = rest.split_at(start);
            if before.ends_with('\\') {
                return Err("it has an escaped variable".into());
            }
            let (name, behind) = from[2..]
                .split_once('}')
                .ok_or_else(|| "a variable in it has no closing brace".to_string())?;
            expanded += before;
            expanded += &self.value(name)?;
            if expanded.len() > LONGEST_BYTES {
                return Err("its variables make it too long".into());
            }
            rest = behind;
        }
        Ok(expanded + rest)
    }

    fn value(&self, name: &str) -> Result<String, String> {
        match self.0.get(name) {
            Some(value) => value.clone(),
            None if name.starts_with("f:") => {
                Err(format!("${{{name}}} is a function of tuned, which pinwise does not run"))
            }
            None => Err(format!("${{{name}}} is not defined in the profile")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_put_in_and_functions_are_refused() {
        let mut variables = Variables::default();
        variables.define("a", "2-3");
        variables.define("b", "x${a}y");
        variables.define("c", "${f:exec:rm}");
        assert_eq!(variables.expanded("<${b},${a}>"), Ok("<x2-3y,2-3>".to_string()));
        for (text, why) in [
            ("${c}", "function"),
            ("${f:cpulist2hex:${a}}", "function"),
            ("${d}", "not defined"),
            ("${a", "brace"),
            ("\\${a}", "escaped"),
        ] {
            let refused = variables.expanded(text).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }

    #[test]
    fn variables_that_double_themselves_come_to_an_end() {
        let mut variables = Variables::default();
        variables.define("a", "0123456789");
        for _ in 0..100 {
            variables.define("a", "${a}${a}");
        }
        assert!(variables.expanded("${a}").unwrap_err().contains("too long"));
    }
}
