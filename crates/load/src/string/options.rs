//! What the load generator is told, in recipes (serde) and as flags of the hidden verb.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use machine::{Class, Fault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::flags::{self, Flags};

/// How the intended send times of an open loop are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    /// Exponential gaps, as from many independent users.
    #[default]
    Poisson,
    /// Equal gaps.
    Uniform,
}

impl FromStr for Spacing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "poisson" => Ok(Self::Poisson),
            "uniform" => Ok(Self::Uniform),
            _ => Err("choose poisson or uniform".into()),
        }
    }
}

/// The string load of a recipe: one line out, one line back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StringLoad {
    /// Network namespace (/run/netns/NAME) that the client runs in; none for our own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub netns: Option<String>,
    /// The pinwise binary that is the client; none for the one that runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exe: Option<PathBuf>,
    /// Connections at the same time.
    pub connections: u32,
    /// Whether connections are kept; otherwise each request has its own.
    pub keep_alive: bool,
    /// Open loop at this many requests a second; none for a closed loop, where each connection asks again as soon as
    /// it has its answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
    /// Spacing of an open loop.
    pub spacing: Spacing,
    /// Seed of Poisson spacing.
    pub seed: u64,
    /// Length of the run, s.
    pub seconds: f64,
    /// The run ends earlier once this many requests are finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_requests: Option<u64>,
    /// Every answer must be the built-in server's after this many rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u64>,
    /// The line to send instead of the built-in ones, without its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Every answer must be this line. Without `rounds` and `expect` any one line will do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<String>,
    /// A request that has no answer after this time has failed, s.
    pub timeout_s: f64,
}

impl Default for StringLoad {
    fn default() -> Self {
        Self {
            netns: None,
            exe: None,
            connections: 16,
            keep_alive: false,
            rate_per_s: None,
            spacing: Spacing::Poisson,
            seed: 1,
            seconds: 5.0,
            max_requests: None,
            rounds: None,
            request: None,
            expect: None,
            timeout_s: 5.0,
        }
    }
}

impl StringLoad {
    /// Fails, naming the key, when a value makes no sense.
    pub fn check(&self) -> Result<(), Fault> {
        let wrong = |key: &str, cause: String, remedy: &str| {
            Err(Fault::new(Class::Usage, format!("string load: {key}"), cause, remedy))
        };
        if !(1..=10_000).contains(&self.connections) {
            return wrong(
                "connections",
                format!("{} is out of range", self.connections),
                "choose 1 to 10000",
            );
        }
        if !(self.seconds > 0.0 && self.seconds <= 86_400.0) {
            return wrong("seconds", format!("{} is out of range", self.seconds), "choose above 0, to 86400");
        }
        if !(self.timeout_s > 0.0 && self.timeout_s <= 3_600.0) {
            return wrong(
                "timeout_s",
                format!("{} is out of range", self.timeout_s),
                "choose above 0, to 3600",
            );
        }
        if let Some(rate) = self.rate_per_s
            && !(rate > 0.0 && rate <= 10_000_000.0)
        {
            return wrong("rate_per_s", format!("{rate} is out of range"), "choose above 0, to 10000000");
        }
        if self.max_requests == Some(0) {
            return wrong("max_requests", "0 requests measure nothing".into(), "leave it out or raise it");
        }
        if self.rounds.is_some() && self.expect.is_some() {
            return wrong("expect", "`rounds` says already what to expect".into(), "give one of the two");
        }
        for (key, line) in [("request", &self.request), ("expect", &self.expect)] {
            if line.as_ref().is_some_and(|l| l.trim_end_matches(['\r', '\n']).contains('\n')) {
                return wrong(key, "it has more than one line".into(), "give one line");
            }
        }
        Ok(())
    }
}

/// A string load and the server that it is for.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientOptions {
    /// The server's address.
    pub address: IpAddr,
    /// The server's TCP port.
    pub port: u16,
    /// How to drive it; `netns` and `exe` are matters of who starts the client and are not looked at.
    pub load: StringLoad,
}

impl ClientOptions {
    /// Address and port together.
    pub fn server(&self) -> SocketAddr {
        SocketAddr::new(self.address, self.port)
    }

    /// Reads the flags of `pinwise string-load`: `--address A --port P --connections K --seconds S [--keep-alive]
    /// [--rate-per-s R --spacing poisson|uniform --seed N] [--max-requests N] [--rounds N | --expect LINE]
    /// [--request LINE] [--timeout-s S]`. Fails on unknown, missing or malformed ones.
    pub fn from_args(args: &[String]) -> Result<Self, Fault> {
        let mut given = Flags::parse("string-load", args, &["keep-alive"])?;
        let default = StringLoad::default();
        let options = Self {
            address: given.optional("address")?.unwrap_or(IpAddr::from([127, 0, 0, 1])),
            port: given.required("port")?,
            load: StringLoad {
                netns: None,
                exe: None,
                connections: given.optional("connections")?.unwrap_or(default.connections),
                keep_alive: given.optional("keep-alive")?.unwrap_or(false),
                rate_per_s: given.optional("rate-per-s")?,
                spacing: given.optional("spacing")?.unwrap_or_default(),
                seed: given.optional("seed")?.unwrap_or(default.seed),
                seconds: given.optional("seconds")?.unwrap_or(default.seconds),
                max_requests: given.optional("max-requests")?,
                rounds: given.optional("rounds")?,
                request: given.optional("request")?,
                expect: given.optional("expect")?,
                timeout_s: given.optional("timeout-s")?.unwrap_or(default.timeout_s),
            },
        };
        given.finish()?;
        options.load.check()?;
        Ok(options)
    }

    /// The flags that [`ClientOptions::from_args`] reads back.
    pub fn to_args(&self) -> Vec<String> {
        let load = &self.load;
        let mut args = Vec::new();
        flags::push(&mut args, "address", self.address);
        flags::push(&mut args, "port", self.port);
        flags::push(&mut args, "connections", load.connections);
        flags::push(&mut args, "seconds", load.seconds);
        flags::push(&mut args, "timeout-s", load.timeout_s);
        if load.keep_alive {
            args.push("--keep-alive".into());
        }
        if let Some(rate) = load.rate_per_s {
            flags::push(&mut args, "rate-per-s", rate);
            let spacing = match load.spacing {
                Spacing::Poisson => "poisson",
                Spacing::Uniform => "uniform",
            };
            flags::push(&mut args, "spacing", spacing);
            flags::push(&mut args, "seed", load.seed);
        }
        for (name, value) in [("max-requests", load.max_requests), ("rounds", load.rounds)] {
            if let Some(value) = value {
                flags::push(&mut args, name, value);
            }
        }
        for (name, value) in [("request", &load.request), ("expect", &load.expect)] {
            if let Some(value) = value {
                flags::push(&mut args, name, value);
            }
        }
        args
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(load: StringLoad) -> ClientOptions {
        ClientOptions { address: "10.0.0.2".parse().unwrap(), port: 4242, load }
    }

    #[test]
    fn flags_give_back_the_options() {
        let full = StringLoad {
            connections: 3,
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
            assert_eq!(ClientOptions::from_args(&options(load.clone()).to_args()).unwrap(), options(load));
        }
    }

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
            let fault = ClientOptions::from_args(&options(load).to_args()).unwrap_err();
            assert!(fault.to_string().contains(key), "{fault}");
        }
    }

    #[test]
    fn an_unknown_key_of_a_recipe_is_refused() {
        let error = serde_json::from_str::<StringLoad>(r#"{"connection": 3}"#).unwrap_err().to_string();
        assert!(error.contains("connection") && error.contains("connections"), "{error}");
    }
}
