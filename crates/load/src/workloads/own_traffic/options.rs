//! What a load that drives nothing is given.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use machine::{Class, Fault};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::drive::{Keys, Pace, Spacing};
use crate::guard::{Guard, Guarding, Reference};
use crate::server_metrics::{MetricSpec, Take};

/// As many ports are distinguished.
const MOST_PORTS: usize = 64;

/// As many figures of the server are read.
const MOST_METRICS: usize = 64;

/// Figures of requests as the kernel sees them.
const OF_REQUESTS: [&str; 12] = [
    "completed",
    "cpu_us_per_request",
    "latency_jitter_us",
    "latency_max_us",
    "latency_mean_us",
    "latency_p50_us",
    "latency_p90_us",
    "latency_p999_us",
    "latency_p99_us",
    "latency_service_us",
    "latency_wait_us",
    "requests_per_s",
];

/// A server's own traffic, which is watched in slices of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OwnTrafficLoad {
    /// The server that is watched, as `pinwise diagnose --process` takes it; a study fills in its own.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "name_or_number")]
    pub server: Option<String>,
    /// TCP ports of which requests are counted; none: all TCP ports and Unix sockets on which the server listens.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<u16>,
    /// Length of a slice, s. Guards are looked at, at the end of each.
    pub slice_s: f64,
    /// How often the figures of the server itself are read, s.
    pub metrics_every_s: f64,
    /// Length of the run, s.
    pub seconds: f64,
    /// Network namespace (/run/netns/NAME) from which the figures of the server itself are fetched; none for our own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub netns: Option<String>,
    /// The pinwise binary that watches; none for the one that runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exe: Option<PathBuf>,
    /// What ends the run at once, as "latency_p99_us <= 20000" or "errors <= 2 x baseline". Without this key: latency_p99_us at most 2 x
    /// baseline, cpu_us_per_request at most 1.5 x baseline and errors at most baseline, each where it is known.
    pub guards: Vec<Guard>,
    /// Figures that the server states itself. With at least one of them the kernel need not show requests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricSpec>,
    /// The figures of the baseline, with which guards compare: set by a study before each trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub reference: Option<Reference>,
}

impl Default for OwnTrafficLoad {
    fn default() -> Self {
        Self {
            server: None,
            ports: Vec::new(),
            slice_s: 0.1,
            metrics_every_s: 0.5,
            seconds: 5.0,
            netns: None,
            exe: None,
            guards: Guard::usual(),
            metrics: Vec::new(),
            reference: None,
        }
    }
}

/// A process number may be written as a number.
fn name_or_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Named {
        Number(u32),
        Name(String),
    }
    let named = Option::<Named>::deserialize(deserializer)?;
    Ok(named.map(|named| match named {
        Named::Number(number) => number.to_string(),
        Named::Name(name) => name,
    }))
}

impl OwnTrafficLoad {
    /// Fails, naming the key, when a value makes no sense, or when a guard would never act.
    pub fn check(&self) -> Result<(), Fault> {
        self.pace().check(self.id())?;
        for (key, value, least, most) in
            [("slice_s", self.slice_s, 0.01, 10.0), ("metrics_every_s", self.metrics_every_s, 0.05, 60.0)]
        {
            if !(least..=most).contains(&value) {
                return wrong(key, &format!("{value} is out of range"), &format!("choose {least} to {most}"));
            }
        }
        if self.server.as_ref().is_some_and(|server| server.trim().is_empty()) {
            return wrong(
                "server",
                "it names none",
                "leave it out, or give a process, unit, cgroup or container",
            );
        }
        if self.ports.len() > MOST_PORTS || self.ports.contains(&0) {
            return wrong(
                "ports",
                "there is port 0, or there are more than 64",
                "name up to 64 ports of 1 to 65535",
            );
        }
        self.check_metrics()?;
        self.guards.iter().try_for_each(|guard| self.check_guard(guard))?;
        Guarding::new(self.guards.clone(), self.reference.clone()).map(drop)
    }

    fn check_metrics(&self) -> Result<(), Fault> {
        self.metrics.iter().try_for_each(MetricSpec::check)?;
        let names: BTreeSet<&str> = self.metrics.iter().map(|metric| metric.name.as_str()).collect();
        if self.metrics.len() > MOST_METRICS {
            return wrong("metrics", "there are more than 64", "leave some out");
        }
        if names.len() < self.metrics.len() {
            return wrong("metrics", "two of them have the same name", "give each a name of its own");
        }
        match names.into_iter().find(|name| OF_REQUESTS.contains(name)) {
            None => Ok(()),
            Some(name) => {
                let cause = format!("{name} is what pinwise calls its own figure of requests");
                wrong("metrics", &cause, &format!("choose another name, such as server_{name}"))
            }
        }
    }

    /// A guard of a figure that nothing gives would look like one. The usual ones act where their figure is known.
    fn check_guard(&self, guard: &Guard) -> Result<(), Fault> {
        let refused = |cause: &str, remedy: &str| {
            Err(Fault::new(Class::Usage, format!("own-traffic load: guard '{guard}'"), cause, remedy))
        };
        let metric = self.metrics.iter().find(|metric| metric.name == guard.figure);
        let is_count =
            matches!(guard.figure.as_str(), "errors" | "failed") || guard.figure.ends_with("_errors");
        match metric {
            Some(metric) if is_count && metric.take != Some(Take::Count) => refused(
                "a guard of errors compares how many there were, and its metric is not a count",
                "take the count: --metric 'NAME=SOURCE | count'",
            ),
            None if !OF_REQUESTS.contains(&guard.figure.as_str()) && !Guard::usual().contains(guard) => {
                refused(
                    "nothing gives this figure, so that the guard would never act",
                    "name the metric that it is (--metric NAME=SOURCE), or compare latency_p99_us or cpu_us_per_request",
                )
            }
            _ => Ok(()),
        }
    }

    /// The guards without those of the usual ones of which nobody gives the figure: `requests` says whether the kernel shows them.
    pub(super) fn guards_that_act(&self, requests: bool) -> Vec<Guard> {
        let acts = |guard: &&Guard| {
            let of_kernel = requests && OF_REQUESTS.contains(&guard.figure.as_str());
            of_kernel || self.metrics.iter().any(|metric| metric.name == guard.figure)
        };
        self.guards.iter().filter(acts).cloned().collect()
    }

    /// The first guard, of those that were asked for, that cannot act where the kernel does not show requests.
    pub(super) fn needs_requests(&self) -> Option<&Guard> {
        let metric = |guard: &Guard| self.metrics.iter().any(|metric| metric.name == guard.figure);
        self.guards.iter().find(|guard| !metric(guard) && !Guard::usual().contains(guard))
    }
}

fn wrong(key: &str, cause: &str, remedy: &str) -> Result<(), Fault> {
    Err(Fault::new(Class::Usage, format!("own-traffic load: {key}"), cause, remedy))
}

impl Keys for OwnTrafficLoad {
    fn id(&self) -> &'static str {
        "own-traffic"
    }

    /// Nothing is driven: all but the length has no meaning here.
    fn pace(&self) -> Pace {
        Pace {
            connections: 1,
            threads: 1,
            keep_alive: true,
            rate_per_s: None,
            spacing: Spacing::Uniform,
            seed: 1,
            seconds: self.seconds,
            max_requests: None,
            timeout_s: 5.0,
        }
    }

    fn netns(&self) -> Option<&String> {
        self.netns.as_ref()
    }

    fn exe(&self) -> Option<&Path> {
        self.exe.as_deref()
    }

    /// Takes the length.
    fn set_pace(&mut self, pace: Pace) {
        self.seconds = pace.seconds;
    }

    fn set_netns(&mut self, netns: Option<String>) {
        self.netns = netns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guards(texts: &[&str]) -> Vec<Guard> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn metrics(texts: &[&str]) -> Vec<MetricSpec> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    const ERRORS: &str = "errors=prometheus:http://127.0.0.1:9100/metrics#errors_total";

    #[test]
    fn senseless_values_are_named() {
        let default = OwnTrafficLoad::default;
        default().check().unwrap();
        let twice =
            metrics(&["a_len=command:x | gauge | regex (.*)", "a_len=command:y | gauge | regex (.*)"]);
        for (load, key) in [
            (OwnTrafficLoad { slice_s: 0.0, ..default() }, "slice_s"),
            (OwnTrafficLoad { slice_s: f64::NAN, ..default() }, "slice_s"),
            (OwnTrafficLoad { metrics_every_s: 61.0, ..default() }, "metrics_every_s"),
            (OwnTrafficLoad { seconds: -1.0, ..default() }, "seconds"),
            (OwnTrafficLoad { server: Some(" ".into()), ..default() }, "server"),
            (OwnTrafficLoad { ports: vec![80, 0], ..default() }, "ports"),
            (OwnTrafficLoad { ports: (1..=65).collect(), ..default() }, "ports"),
            (OwnTrafficLoad { metrics: twice, ..default() }, "same name"),
        ] {
            let fault = load.check().unwrap_err().to_string();
            assert!(fault.contains(key), "{key}: {fault}");
        }
    }

    #[test]
    fn a_metric_has_no_name_of_a_figure_of_requests() {
        for name in ["cpu_us_per_request", "requests_per_s"] {
            let metrics = metrics(&[&format!("{name}=command:x | gauge | regex (.*)")]);
            let fault = OwnTrafficLoad { metrics, ..OwnTrafficLoad::default() }.check().unwrap_err();
            assert!(fault.remedy.contains(&format!("server_{name}")), "{fault}");
        }
    }

    #[test]
    fn a_guard_that_would_never_act_is_refused() {
        let check = |guard: &str, metric: &[&str]| {
            let (guards, metrics) = (guards(&[guard]), metrics(metric));
            OwnTrafficLoad { guards, metrics, ..OwnTrafficLoad::default() }.check()
        };
        for guard in ["latency_p99_us <= 20000", "cpu_us_per_request <= 100", "errors <= baseline"] {
            check(guard, &[]).unwrap();
        }
        assert!(check("errors == 0", &[]).unwrap_err().cause.contains("never act"));
        assert!(check("queue_len <= 5", &[]).unwrap_err().cause.contains("never act"));
        assert!(check("errors == 0", &[ERRORS]).unwrap_err().cause.contains("not a count"));
        check("errors == 0", &[&format!("{ERRORS} | count")]).unwrap();
    }

    #[test]
    fn a_server_is_named_by_number_too_and_a_guard_is_a_text() {
        let text = "server = 1234\nguards = ['latency_p99_us <= 20000']\nseconds = 2.0\n";
        let load: OwnTrafficLoad = toml::from_str(text).unwrap();
        assert_eq!((load.server.as_deref(), load.guards.len(), load.slice_s), (Some("1234"), 1, 0.1));
        assert!(load.needs_requests().is_some() && OwnTrafficLoad::default().needs_requests().is_none());
        let again: OwnTrafficLoad = toml::from_str(&toml::to_string(&load).unwrap()).unwrap();
        assert_eq!(again, load);
        let acting = |requests| OwnTrafficLoad::default().guards_that_act(requests).len();
        assert_eq!((acting(true), acting(false)), (2, 0), "errors are known of a metric only");
        let off: OwnTrafficLoad = toml::from_str("guards = []").unwrap();
        assert!(off.guards.is_empty());
    }
}
