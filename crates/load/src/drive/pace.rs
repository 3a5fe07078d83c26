//! How hard and how long a load drives, whatever its protocol; and the keys of a recipe that say so.

use machine::{Class, Fault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// What the engine has to know of a load beside its protocol. The keys of recipes are those of [`driven_load`].
#[derive(Debug, Clone, PartialEq)]
pub struct Pace {
    /// Connections at the same time, over all threads.
    pub connections: u32,
    /// Threads that share the connections, and the rate of an open loop.
    pub threads: u32,
    /// Whether connections are kept; otherwise each request has its own.
    pub keep_alive: bool,
    /// Open loop at this many requests a second; none for a closed loop.
    pub rate_per_s: Option<f64>,
    /// Spacing of an open loop.
    pub spacing: Spacing,
    /// Seed of Poisson spacing and of whatever else is drawn.
    pub seed: u64,
    /// Length of the run, s.
    pub seconds: f64,
    /// The run ends earlier once this many requests are finished.
    pub max_requests: Option<u64>,
    /// A request that has no answer after this time has failed, s.
    pub timeout_s: f64,
}

impl Pace {
    /// Fails, naming load and key, when a value makes no sense.
    pub fn check(&self, load: &str) -> Result<(), Fault> {
        let wrong = |key: &str, cause: String, remedy: &str| {
            Err(Fault::new(Class::Usage, format!("{load} load: {key}"), cause, remedy))
        };
        let out_of_range = |value: &dyn std::fmt::Display| format!("{value} is out of range");
        if !(1..=10_000).contains(&self.connections) {
            return wrong("connections", out_of_range(&self.connections), "choose 1 to 10000");
        }
        if !(1..=self.connections).contains(&self.threads) {
            return wrong(
                "threads",
                out_of_range(&self.threads),
                "choose 1 to as many as there are connections",
            );
        }
        if !(self.seconds > 0.0 && self.seconds <= 86_400.0) {
            return wrong("seconds", out_of_range(&self.seconds), "choose above 0, to 86400");
        }
        if !(self.timeout_s > 0.0 && self.timeout_s <= 3_600.0) {
            return wrong("timeout_s", out_of_range(&self.timeout_s), "choose above 0, to 3600");
        }
        if let Some(rate) = self.rate_per_s
            && !(rate > 0.0 && rate <= 10_000_000.0)
        {
            return wrong("rate_per_s", out_of_range(&rate), "choose above 0, to 10000000");
        }
        match self.max_requests {
            Some(0) => wrong("max_requests", "0 requests measure nothing".into(), "leave it out or raise it"),
            _ => Ok(()),
        }
    }

    /// The part of thread `number` (from 0): its share of the connections, of the rate and of the requests, and a seed of its own.
    pub(super) fn part(&self, number: u32) -> Self {
        let share = |whole: u64| {
            whole / u64::from(self.threads) + u64::from(u64::from(number) < whole % u64::from(self.threads))
        };
        Self {
            connections: share(self.connections.into()) as u32,
            threads: 1,
            rate_per_s: self.rate_per_s.map(|rate| rate / f64::from(self.threads)),
            seed: self.seed.wrapping_add(number.into()),
            max_requests: self.max_requests.map(share),
            ..self.clone()
        }
    }
}

/// Declares the options of a load that the engine drives: its own keys, and behind them those that all have. Written out by a macro since
/// serde cannot both flatten a part and refuse unknown keys.
///
/// Makes the struct, its `Default` (each own key says its own) and its [`Keys`].
macro_rules! driven_load {
    (
        $(#[$about:meta])*
        pub struct $Load:ident {
            id: $id:literal,
            connections: $connections:literal,
            keep_alive: $keep_alive:literal,
            $($(#[$key_about:meta])* pub $key:ident: $Type:ty = $default:expr,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $Load {
            $($(#[$key_about])* pub $key: $Type,)*
            /// Network namespace (/run/netns/NAME) that the load runs in; none for our own.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub netns: Option<String>,
            /// The pinwise binary that is the load; none for the one that runs.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub exe: Option<std::path::PathBuf>,
            /// Connections at the same time, over all threads.
            pub connections: u32,
            /// Threads that share the connections, and the rate of an open loop: for servers that one thread cannot keep busy.
            #[serde(skip_serializing_if = "crate::drive::pace::is_one")]
            pub threads: u32,
            /// Whether connections are kept; otherwise each request has its own.
            pub keep_alive: bool,
            /// Open loop at this many requests a second; none for a closed loop, where each connection asks again as soon as it has its
            /// answer.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub rate_per_s: Option<f64>,
            /// Spacing of an open loop.
            pub spacing: crate::drive::Spacing,
            /// Seed of Poisson spacing and of whatever else is drawn.
            pub seed: u64,
            /// Length of the run, s.
            pub seconds: f64,
            /// The run ends earlier once this many requests are finished.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub max_requests: Option<u64>,
            /// A request that has no answer after this time has failed, s.
            pub timeout_s: f64,
        }

        impl Default for $Load {
            fn default() -> Self {
                Self {
                    $($key: $default,)*
                    netns: None,
                    exe: None,
                    connections: $connections,
                    threads: 1,
                    keep_alive: $keep_alive,
                    rate_per_s: None,
                    spacing: crate::drive::Spacing::Poisson,
                    seed: 1,
                    seconds: 5.0,
                    max_requests: None,
                    timeout_s: 5.0,
                }
            }
        }

        impl crate::drive::Keys for $Load {
            fn id(&self) -> &'static str {
                $id
            }

            fn pace(&self) -> crate::drive::Pace {
                crate::drive::Pace {
                    connections: self.connections,
                    threads: self.threads,
                    keep_alive: self.keep_alive,
                    rate_per_s: self.rate_per_s,
                    spacing: self.spacing,
                    seed: self.seed,
                    seconds: self.seconds,
                    max_requests: self.max_requests,
                    timeout_s: self.timeout_s,
                }
            }

            fn netns(&self) -> Option<&String> {
                self.netns.as_ref()
            }

            fn exe(&self) -> Option<&std::path::Path> {
                self.exe.as_deref()
            }

            fn set_pace(&mut self, pace: crate::drive::Pace) {
                let crate::drive::Pace { connections, threads, keep_alive, rate_per_s, spacing, .. } = pace;
                (self.connections, self.threads, self.keep_alive) = (connections, threads, keep_alive);
                (self.rate_per_s, self.spacing, self.seed) = (rate_per_s, spacing, pace.seed);
                (self.seconds, self.max_requests, self.timeout_s) = (pace.seconds, pace.max_requests, pace.timeout_s);
            }

            fn set_netns(&mut self, netns: Option<String>) {
                self.netns = netns;
            }
        }
    };
}
pub(crate) use driven_load;

/// The keys that all loads have which the engine drives.
pub trait Keys {
    /// What the load is called in `driver = "..."`.
    fn id(&self) -> &'static str;

    /// How hard and how long.
    fn pace(&self) -> Pace;

    /// Network namespace (/run/netns/NAME) that it runs in; none for ours.
    fn netns(&self) -> Option<&String>;

    /// The binary that is the load; none for the one that runs.
    fn exe(&self) -> Option<&std::path::Path>;

    /// Sets how hard and how long.
    fn set_pace(&mut self, pace: Pace);

    /// Sets how long it runs, s; nothing where the load ends by itself.
    fn set_seconds(&mut self, seconds: f64) {
        self.set_pace(Pace { seconds, ..self.pace() });
    }

    /// Sets where it runs.
    fn set_netns(&mut self, netns: Option<String>);
}

/// For serde: what is left out of a recipe that is written down.
pub(crate) fn is_one(count: &u32) -> bool {
    *count == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_threads_are_the_whole() {
        let pace = Pace {
            connections: 7,
            threads: 3,
            keep_alive: true,
            rate_per_s: Some(300.0),
            spacing: Spacing::Uniform,
            seed: u64::MAX,
            seconds: 1.0,
            max_requests: Some(100),
            timeout_s: 1.0,
        };
        pace.check("x").unwrap();
        let parts: Vec<Pace> = (0..3).map(|number| pace.part(number)).collect();
        assert_eq!(parts.iter().map(|part| part.connections).collect::<Vec<_>>(), [3, 2, 2]);
        assert_eq!(parts.iter().filter_map(|part| part.max_requests).sum::<u64>(), 100);
        assert!(parts.iter().all(|part| part.rate_per_s == Some(100.0) && part.threads == 1));
        assert_eq!(parts.iter().map(|part| part.seed).collect::<Vec<_>>(), [u64::MAX, 0, 1]);
        let too_many = Pace { threads: 8, ..pace };
        assert!(too_many.check("x").unwrap_err().to_string().contains("x load: threads: 8"));
    }
}
