//! The flags of `pinwise drive`: `--address A --port P --driver NAME` and each key of the load as `--key value`, as its recipe would say
//! it. Options and flags are turned into each other here, so that the process that starts a load and the one that is the load cannot
//! disagree, and a load of a recipe can be run by hand.

use std::net::{IpAddr, SocketAddr};

use machine::{Class, Fault};
use serde::Deserialize;
use toml::{Table, Value};

use crate::workloads::LoadSpec;

/// The flags that [`from_args`] reads back. `netns` and `exe` are matters of who starts the load and are left out.
///
/// Fails when a value cannot be written as TOML, as a seed above 2^63.
pub fn to_args(server: SocketAddr, load: &LoadSpec) -> Result<Vec<String>, Fault> {
    let table = Table::try_from(load).map_err(|why| {
        Fault::new(Class::Usage, "load", why.to_string(), "choose values that a recipe can hold")
    })?;
    let mut args =
        vec!["--address".into(), server.ip().to_string(), "--port".into(), server.port().to_string()];
    for (key, value) in table.iter().filter(|(key, _)| !matches!(key.as_str(), "netns" | "exe")) {
        let name = format!("--{}", key.replace('_', "-"));
        match value {
            Value::Boolean(true) => args.push(name),
            value => args.extend([name, word(value)]),
        }
    }
    Ok(args)
}

/// A value as one word: text stands bare where nobody could take it for something else.
fn word(value: &Value) -> String {
    match value {
        Value::String(text) if !text.starts_with('-') && value_of(text) == Value::String(text.clone()) => {
            text.clone()
        }
        value => value.to_string(),
    }
}

/// What a word means: a value of TOML where it is one, else the text itself.
fn value_of(word: &str) -> Value {
    let table = format!("value = {word}").parse::<Table>().ok();
    let alone = table.filter(|table| table.len() == 1).and_then(|mut table| table.remove("value"));
    alone.unwrap_or_else(|| Value::String(word.to_string()))
}

/// Reads the flags of `pinwise drive`. A flag that is followed by another one, or by nothing, is a key that is true.
///
/// Fails on what is no flag, is given twice, is missing, or is no key of this load, naming it.
pub fn from_args(args: &[String]) -> Result<(SocketAddr, LoadSpec), Fault> {
    let mut table = table(args)?;
    let mut take = |name: &str| table.remove(name);
    let address = match take("address") {
        None => IpAddr::from([127, 0, 0, 1]),
        Some(given) => parsed("--address", &given)?,
    };
    let port = match take("port") {
        None => return Err(usage("--port", "is missing", "say where the server listens")),
        Some(given) => parsed("--port", &given)?,
    };
    let load = LoadSpec::deserialize(table).map_err(|why| {
        usage("load", why.to_string().trim(), "see 'pinwise list workloads' for drivers and their keys")
    })?;
    Ok((SocketAddr::new(address, port), load))
}

fn table(args: &[String]) -> Result<Table, Fault> {
    let mut table = Table::new();
    let mut args = args.iter().peekable();
    while let Some(arg) = args.next() {
        let Some(name) = arg.strip_prefix("--").filter(|name| !name.is_empty()) else {
            return Err(usage(arg, "is no flag", "give flags as --key value"));
        };
        let value =
            args.next_if(|next| !next.starts_with("--")).map_or(Value::Boolean(true), |word| value_of(word));
        if table.insert(name.replace('-', "_"), value).is_some() {
            return Err(usage(arg, "is given twice", "give it once"));
        }
    }
    Ok(table)
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(flag: &str, value: &Value) -> Result<T, Fault> {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    text.parse()
        .map_err(|why| usage(&format!("{flag} {text}"), &format!("{why}"), "give an address and a port"))
}

fn usage(object: &str, cause: &str, remedy: &str) -> Fault {
    Fault::new(Class::Usage, format!("drive: {object}"), cause, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StringLoad;
    use crate::drive::Spacing;

    fn at() -> SocketAddr {
        "10.0.0.2:4242".parse().unwrap()
    }

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(String::from).collect()
    }

    #[test]
    fn flags_give_back_the_options() {
        let full = StringLoad {
            connections: 3,
            threads: 2,
            keep_alive: true,
            rate_per_s: Some(1234.5),
            spacing: Spacing::Uniform,
            seed: 9,
            seconds: 0.25,
            max_requests: Some(77),
            request: Some("PING now".into()),
            expect: Some("+PONG".into()),
            timeout_s: 1.5,
            ..StringLoad::default()
        };
        for load in [full, StringLoad { rounds: Some(5), ..StringLoad::default() }] {
            let load = LoadSpec::String(load);
            assert_eq!(from_args(&to_args(at(), &load).unwrap()).unwrap(), (at(), load));
        }
    }

    #[test]
    fn a_load_can_be_driven_by_hand() {
        let (server, load) = from_args(&words(
            "--driver string --port 80 --keep-alive --connections 3 --seconds 2 --expect ok",
        ))
        .unwrap();
        let LoadSpec::String(load) = load else { panic!("{load:?}") };
        assert_eq!(server, "127.0.0.1:80".parse().unwrap());
        assert!(
            load.keep_alive
                && load.connections == 3
                && load.seconds == 2.0
                && load.expect.as_deref() == Some("ok")
        );
    }

    #[test]
    fn malformed_flags_are_named() {
        let why = |line: &str| from_args(&words(line)).unwrap_err().to_string();
        assert!(why("port 80").contains("port: is no flag"));
        assert!(why("--driver string").contains("--port: is missing"));
        assert!(why("--driver string --port 66000").contains("--port 66000"));
        assert!(why("--driver string --port 1 --port 2").contains("twice"));
        assert!(why("--driver string --port 1 --conections 2").contains("conections"));
        assert!(why("--driver strin --port 1").contains("strin"));
        assert!(why("--port 1").contains("driver"));
    }

    proptest::proptest! {
        #[test]
        fn any_text_comes_through(request in "\\PC{0,12}", expect in "[-0-9a-z\"'= \\[\\]{}.]{0,8}") {
            let load = LoadSpec::String(StringLoad {
                request: Some(request),
                expect: Some(expect),
                ..StringLoad::default()
            });
            proptest::prop_assert_eq!(from_args(&to_args(at(), &load).unwrap()).unwrap().1, load);
        }
    }
}
