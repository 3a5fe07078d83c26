//! `--name value` flags of the hidden verbs. Options and flags are turned into each other here, so that the process
//! that starts a load and the process that is the load cannot disagree.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use machine::{Class, Fault};

/// Flags as given, each to be taken once.
pub(crate) struct Flags {
    verb: &'static str,
    values: BTreeMap<String, String>,
    known: Vec<&'static str>,
}

impl Flags {
    /// Splits `args` into `--name value` pairs; `switches` stand alone and get the value `true`.
    pub(crate) fn parse(verb: &'static str, args: &[String], switches: &[&str]) -> Result<Self, Fault> {
        let mut values = BTreeMap::new();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let Some(name) = arg.strip_prefix("--") else {
                return Err(usage(verb, arg, "is no flag", "give flags as --name value"));
            };
            let value = match switches.contains(&name) {
                true => "true".to_string(),
                false => match args.next() {
                    Some(value) => value.clone(),
                    None => return Err(usage(verb, arg, "has no value", "give one after it")),
                },
            };
            if values.insert(name.to_string(), value).is_some() {
                return Err(usage(verb, arg, "is given twice", "give it once"));
            }
        }
        Ok(Self { verb, values, known: Vec::new() })
    }

    /// The value of `--name`, if it was given.
    pub(crate) fn optional<T: FromStr<Err: Display>>(
        &mut self,
        name: &'static str,
    ) -> Result<Option<T>, Fault> {
        self.known.push(name);
        let Some(value) = self.values.remove(name) else { return Ok(None) };
        let parsed = value.parse().map_err(|why| {
            usage(self.verb, &format!("--{name} {value}"), &format!("{why}"), "see pinwise --help")
        })?;
        Ok(Some(parsed))
    }

    /// The value of `--name`, which must be there.
    pub(crate) fn required<T: FromStr<Err: Display>>(&mut self, name: &'static str) -> Result<T, Fault> {
        self.optional(name)?
            .ok_or_else(|| usage(self.verb, &format!("--{name}"), "is missing", "give it a value"))
    }

    /// Fails when a flag was given that nobody took.
    pub(crate) fn finish(self) -> Result<(), Fault> {
        match self.values.keys().next() {
            None => Ok(()),
            Some(name) => Err(usage(
                self.verb,
                &format!("--{name}"),
                "is unknown",
                &format!("choose from --{}", self.known.join(", --")),
            )),
        }
    }
}

fn usage(verb: &str, flag: &str, cause: &str, remedy: &str) -> Fault {
    Fault::new(Class::Usage, format!("{verb} {flag}"), cause, remedy)
}

/// Appends `--name value` to `args`.
pub(crate) fn push(args: &mut Vec<String>, name: &str, value: impl Display) {
    args.push(format!("--{name}"));
    args.push(value.to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(args: &[&str]) -> Result<Flags, Fault> {
        let args: Vec<String> = args.iter().map(|a| a.to_string()).collect();
        Flags::parse("string-server", &args, &["keep-alive"])
    }

    #[test]
    fn flags_are_taken_once_and_each_by_name() {
        let mut given = flags(&["--port", "80", "--keep-alive"]).unwrap();
        assert_eq!(given.required::<u16>("port").unwrap(), 80);
        assert_eq!(given.optional::<bool>("keep-alive").unwrap(), Some(true));
        assert_eq!(given.optional::<u64>("rate").unwrap(), None);
        given.finish().unwrap();
    }

    #[test]
    fn malformed_flags_are_named() {
        assert!(flags(&["port"]).err().unwrap().to_string().contains("is no flag"));
        assert!(flags(&["--port"]).err().unwrap().to_string().contains("has no value"));
        assert!(flags(&["--port", "1", "--port", "2"]).err().unwrap().to_string().contains("twice"));
        let mut given = flags(&["--port", "66000", "--prot", "1"]).unwrap();
        assert!(given.required::<u16>("port").unwrap_err().to_string().contains("--port 66000"));
        assert!(given.required::<u16>("rate").unwrap_err().to_string().contains("missing"));
        assert!(given.finish().unwrap_err().to_string().contains("--prot: is unknown - choose from --port"));
    }
}
