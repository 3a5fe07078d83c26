//! The flags of `pinwise drive`: `--address A --port P --driver NAME` and each key of the load as `--key value`, as its recipe would say
//! it; or, with `--options -`, the keys as TOML on standard input, which no list of processes shows. Options, flags and input are turned into
//! each other here, so that the process that starts a load and the one that is the load cannot disagree, and a load of a recipe can be run
//! manually.

use std::io::Read;
use std::net::{IpAddr, SocketAddr};

use machine::{Class, Fault, secret};
use serde::Deserialize;
use toml::{Table, Value};

use crate::workloads::LoadSpec;

/// The flag that says where further keys are: `-`, on standard input.
const OPTIONS: &str = "options";

/// The key that chooses the load.
const DRIVER: &str = "driver";

/// All of a load as flags, for people: [`from_args`] reads them back, but for secrets, which it takes from its input alone. `netns` and
/// `exe` are matters of who starts the load and are left out.
///
/// Fails when a value cannot be written as TOML, as a seed above 2^63.
pub fn to_args(server: SocketAddr, load: &LoadSpec) -> Result<Vec<String>, Fault> {
    let mut args = address_args(server);
    for (key, value) in &table_of(load)? {
        let name = format!("--{}", key.replace('_', "-"));
        match value {
            Value::Boolean(true) => args.push(name),
            value => args.extend([name, word(value)]),
        }
    }
    Ok(args)
}

/// The flag of the moment at which a load begins; see [`Course::start_at_ns`](crate::drive::Course).
const START_AT: &str = "--start-at-ns";

/// The flag of a load that announces when it began; see [`Course::announces`](crate::drive::Course).
pub(super) const ANNOUNCE: &str = "--announce-start";

/// The flag and its value, for a load that begins at this moment, CLOCK_MONOTONIC ns.
pub(super) fn start_at(start_at_ns: u64) -> [String; 2] {
    [START_AT.into(), start_at_ns.to_string()]
}

/// How the process of a load starts: matters of who starts it, no options of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Start {
    /// See [`Course::start_at_ns`](crate::drive::Course).
    pub at_ns: Option<u64>,
    /// See [`Course::announces`](crate::drive::Course).
    pub announces: bool,
}

/// How a load is started: the flags, and what is to be read from standard input. No option is among the flags but the driver: any text of
/// a recipe may be a secret.
///
/// Fails as [`to_args`] does.
pub(super) fn to_start(server: SocketAddr, load: &LoadSpec) -> Result<(Vec<String>, String), Fault> {
    let mut table = table_of(load)?;
    let mut args = address_args(server);
    if let Some(driver) = table.remove(DRIVER) {
        args.extend([format!("--{DRIVER}"), word(&driver)]);
    }
    args.extend([format!("--{OPTIONS}"), "-".into()]);
    Ok((args, toml::to_string(&table).map_err(|why| unwritable(&why))?))
}

fn address_args(server: SocketAddr) -> Vec<String> {
    vec!["--address".into(), server.ip().to_string(), "--port".into(), server.port().to_string()]
}

fn table_of(load: &LoadSpec) -> Result<Table, Fault> {
    let table = Table::try_from(load).map_err(|why| unwritable(&why))?;
    Ok(table.into_iter().filter(|(key, _)| !matches!(key.as_str(), "netns" | "exe")).collect())
}

fn unwritable(why: &dyn std::fmt::Display) -> Fault {
    Fault::new(Class::Usage, "load", why, "choose values that a recipe can hold")
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

/// Reads the flags of `pinwise drive`, and `input` where they ask for it. A flag that is followed by another one, or by nothing, is a key
/// that is true.
///
/// Fails on what is no flag, is given twice, is missing, or is no key of this load, naming it; and on a secret among the flags.
pub(super) fn from_args(
    args: &[String],
    input: &mut dyn Read,
) -> Result<(SocketAddr, LoadSpec, Start), Fault> {
    let mut table = table(args)?;
    if let Some((key, _)) = table.iter().find(|(key, value)| secret::is_named(key) && !value.is_bool()) {
        let remedy = format!("give --{OPTIONS} - and on standard input: {key} = \"...\"");
        return Err(usage(&format!("--{key}"), "the list of processes would show its value", &remedy));
    }
    let start = start_of(&mut table)?;
    if let Some(place) = table.remove(OPTIONS) {
        add(&mut table, &place, input)?;
    }
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
    Ok((SocketAddr::new(address, port), load, start))
}

/// Takes how the process starts.
fn start_of(table: &mut Table) -> Result<Start, Fault> {
    let mut take = |flag: &str| table.remove(&flag.trim_start_matches("--").replace('-', "_"));
    let at_ns = match take(START_AT) {
        None => None,
        Some(Value::Integer(at_ns)) if at_ns >= 0 => Some(at_ns as u64),
        Some(_) => return Err(usage(START_AT, "is followed by no number", "give CLOCK_MONOTONIC, ns")),
    };
    match take(ANNOUNCE) {
        announces @ (None | Some(Value::Boolean(true))) => {
            Ok(Start { at_ns, announces: announces.is_some() })
        }
        Some(_) => Err(usage(ANNOUNCE, "has a value", "give it alone")),
    }
}

/// Adds the keys that stand at `place`.
fn add(table: &mut Table, place: &Value, input: &mut dyn Read) -> Result<(), Fault> {
    if place.as_str() != Some("-") {
        return Err(usage(
            "--options",
            "names no standard input",
            "give --options - and the keys as TOML there",
        ));
    }
    let mut text = String::new();
    input.read_to_string(&mut text).map_err(|why| {
        usage("standard input", &why.to_string(), "give the keys of the load there, as TOML")
    })?;
    let given: Table = toml::from_str(&text).map_err(|why| {
        usage("standard input", why.message(), "give the keys of the load there, as TOML: password = \"...\"")
    })?;
    for (key, value) in given {
        if table.insert(key.clone(), value).is_some() {
            return Err(usage(&key, "is given as a flag and on standard input", "give it once"));
        }
    }
    Ok(())
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
    use crate::drive::Spacing;
    use crate::{NatsLoad, StringLoad};

    fn at() -> SocketAddr {
        "10.0.0.2:4242".parse().unwrap()
    }

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(String::from).collect()
    }

    fn from_input(args: &[String], mut input: &[u8]) -> Result<(SocketAddr, LoadSpec), Fault> {
        from_args(args, &mut input).map(|(server, load, _)| (server, load))
    }

    fn from_flags(args: &[String]) -> Result<(SocketAddr, LoadSpec), Fault> {
        from_input(args, b"")
    }

    /// What a load that is started like this one reads.
    fn started(load: &LoadSpec) -> (SocketAddr, LoadSpec) {
        let (args, input) = to_start(at(), load).unwrap();
        from_input(&args, input.as_bytes()).unwrap()
    }

    #[test]
    fn what_a_load_is_started_with_shows_no_option() {
        let load =
            NatsLoad { user: Some("ann".into()), password: Some("hunter2".into()), ..NatsLoad::default() };
        let load = LoadSpec::Nats(load);
        let (args, input) = to_start(at(), &load).unwrap();
        assert_eq!(args.join(" "), "--address 10.0.0.2 --port 4242 --driver nats --options -");
        assert!(input.contains("ann") && input.contains("hunter2"), "{input}");
        assert_eq!(started(&load), (at(), load));
    }

    #[test]
    fn a_secret_is_taken_from_the_input_alone() {
        let given = |line: &str, input: &str| from_input(&words(line), input.as_bytes());
        let nats = "--driver nats --port 80 --user ann";
        let (_, load) = given(&format!("{nats} --options -"), "password = 'hunter2'").unwrap();
        let LoadSpec::Nats(load) = load else { panic!("{load:?}") };
        assert_eq!((load.user.as_deref(), load.password.as_deref()), (Some("ann"), Some("hunter2")));
        let why = given(&format!("{nats} --password hunter2"), "").unwrap_err().to_string();
        assert!(
            why.contains("--password") && why.contains("--options -") && !why.contains("hunter2"),
            "{why}"
        );
        for (line, input, said) in [
            ("--options -", "password = hunter2", "standard input"),
            ("--options -", "user = 'x'", "user: is given as a flag and on standard input"),
            ("--options x", "", "--options"),
        ] {
            let why = given(&format!("{nats} {line}"), input).unwrap_err().to_string();
            assert!(why.contains(said) && !why.contains("hunter2"), "{why}");
        }
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
            assert_eq!(from_flags(&to_args(at(), &load).unwrap()).unwrap(), (at(), load.clone()));
            assert_eq!(started(&load), (at(), load));
        }
    }

    #[test]
    fn the_moment_of_the_start_is_no_option_of_the_load() {
        let start = |line: &str| from_args(&words(line), &mut std::io::empty()).map(|(_, _, start)| start);
        let given = start("--port 80 --start-at-ns 1234 --driver string --announce-start").unwrap();
        assert_eq!(given, Start { at_ns: Some(1234), announces: true });
        assert_eq!(start("--port 80 --driver string").unwrap(), Start::default());
        for wrong in ["--start-at-ns", "--start-at-ns x", "--start-at-ns 1 --start-at-ns 2"] {
            let why = start(&format!("--port 80 --driver string {wrong}")).unwrap_err().to_string();
            assert!(why.contains("--start-at-ns"), "{why}");
        }
    }

    #[test]
    fn a_load_can_be_driven_by_hand() {
        let (server, load) = from_flags(&words(
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
        let why = |line: &str| from_flags(&words(line)).unwrap_err().to_string();
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
            proptest::prop_assert_eq!(from_flags(&to_args(at(), &load).unwrap()).unwrap().1, load.clone());
            proptest::prop_assert_eq!(started(&load).1, load);
        }
    }
}
