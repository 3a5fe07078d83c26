//! Reads the sources of some figures again and again.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::Path;
use std::time::Duration;

use machine::{Class, Fault, Missing};

use super::appended::Appended;
use super::asked::{Printed, ask};
use super::exposition;
use super::fetch::fetch;
use super::raw::{Content, Kind, Raw};
use super::selector::Selector;
use super::source::Source;
use super::spec::MetricSpec;
use super::take::Take;
use super::url::Url;
use crate::clock::monotonic_ns;
use crate::process::program;
use crate::template::Command;
use crate::workloads::command::extract::Extract;

/// There are no more figures than this.
const MOST: usize = 64;
/// How long one source may take for its answer.
const WITHIN: Duration = Duration::from_secs(2);

/// The sources of some figures. One that several figures share is asked once a reading.
#[derive(Debug)]
pub struct Readers {
    /// Which source each figure is of.
    ways: Vec<Way>,
    names: Vec<String>,
    endpoints: Vec<Endpoint>,
    commands: Vec<Vec<String>>,
    logs: Vec<Appended>,
}

/// Where a figure is found; sources by their place in [`Readers`].
#[derive(Debug)]
enum Way {
    Endpoint(usize, Selector),
    Command(usize, Extract, Kind),
    /// The log, and the place of the figure in it.
    Log(usize, usize),
}

/// An exposition.
#[derive(Debug)]
struct Endpoint {
    url: Url,
    addresses: Vec<SocketAddr>,
}

/// What one source has answered, and when (CLOCK_MONOTONIC ns).
type Answered<T> = (u64, Result<T, String>);

impl Readers {
    /// For these figures. Names of hosts are resolved here and not again; logs are read from their present end on.
    ///
    /// # Errors
    /// A fault of usage for a figure that makes no sense, or two of one name; else that a program, a host or a log is not there, or that
    /// the log may not be read.
    pub fn new(specs: &[MetricSpec]) -> Result<Self, Fault> {
        let mut readers = Self {
            ways: Vec::new(),
            names: Vec::new(),
            endpoints: Vec::new(),
            commands: Vec::new(),
            logs: Vec::new(),
        };
        if specs.len() > MOST {
            let cause = format!("{} are too many", specs.len());
            return Err(Fault::new(
                Class::Usage,
                "figures from the server",
                cause,
                format!("give at most {MOST}"),
            ));
        }
        for spec in specs {
            spec.check()?;
            if readers.names.contains(&spec.name) {
                let object = format!("figure {}", spec.name);
                return Err(Fault::new(Class::Usage, object, "it is given twice", "rename one of them"));
            }
            let way = readers.way(spec)?;
            readers.ways.push(way);
            readers.names.push(spec.name.clone());
        }
        Ok(readers)
    }

    fn way(&mut self, spec: &MetricSpec) -> Result<Way, Fault> {
        match (&spec.source, &spec.figure) {
            (Source::Prometheus { url, series }, _) => Ok(Way::Endpoint(self.endpoint(url)?, series.clone())),
            (Source::Command(command), Some(extract)) => {
                let kind = if spec.take == Some(Take::Gauge) { Kind::Gauge } else { Kind::Counter };
                Ok(Way::Command(self.command(command)?, extract.clone(), kind))
            }
            (Source::Log(path), Some(Extract::Regex(expression))) => {
                let log = self.log(path)?;
                let counts = matches!(spec.take, Some(Take::Count | Take::Counter));
                let place = self.logs[log].add(&spec.name, expression, counts);
                place.map(|place| Way::Log(log, place)).map_err(|why| {
                    Fault::new(
                        Class::Usage,
                        format!("figure {}", spec.name),
                        format!("its regular expression {why}"),
                        "correct it",
                    )
                })
            }
            // The check has refused it.
            (Source::Command(_) | Source::Log(_), _) => {
                let object = format!("figure {}", spec.name);
                Err(Fault::new(
                    Class::Usage,
                    object,
                    "it is not said where it stands",
                    "add: regex EXPRESSION",
                ))
            }
        }
    }

    fn endpoint(&mut self, url: &Url) -> Result<usize, Fault> {
        if let Some(known) = self.endpoints.iter().position(|endpoint| endpoint.url == *url) {
            return Ok(known);
        }
        let found = (url.host.as_str(), url.port).to_socket_addrs().map_err(|why| {
            let cause = format!("its host cannot be resolved: {why}");
            Fault::new(Class::WorkloadFailed, url, cause, "correct the name, or give an address")
        })?;
        self.endpoints.push(Endpoint { url: url.clone(), addresses: found.take(8).collect() });
        Ok(self.endpoints.len() - 1)
    }

    fn command(&mut self, command: &Command) -> Result<usize, Fault> {
        let words = command.fill(&std::collections::BTreeMap::new())?;
        if let Some(known) = self.commands.iter().position(|known| *known == words) {
            return Ok(known);
        }
        if let Some(program) = words.first().filter(|program| !program::is_there(program, Path::new(""))) {
            return Err(Fault::new(
                Class::MachineLacks,
                format!("program {program}"),
                "it is not in PATH",
                "install it, or give its path",
            ));
        }
        self.commands.push(words);
        Ok(self.commands.len() - 1)
    }

    fn log(&mut self, path: &Path) -> Result<usize, Fault> {
        if let Some(known) = self.logs.iter().position(|log| log.path() == path) {
            return Ok(known);
        }
        self.logs.push(Appended::new(path)?);
        Ok(self.logs.len() - 1)
    }

    /// Asks all sources, one after the other, each for two seconds at most, and takes the figures' parts: each by the place of its
    /// [`MetricSpec`], or why it is missing.
    ///
    /// What comes from a log is of the lines up to here; so call it before the time of which the figures are to be, too.
    pub fn read(&mut self) -> Vec<(usize, Result<Raw, Missing>)> {
        let texts: Vec<Answered<String>> =
            self.endpoints.iter().map(|of| now(fetch(&of.addresses, &of.url, WITHIN))).collect();
        let printed: Vec<Answered<Printed>> =
            self.commands.iter().map(|words| now(ask(words, WITHIN))).collect();
        let appended: Vec<Answered<()>> = self.logs.iter_mut().map(|log| now(log.read())).collect();
        let found = self.ways.iter().zip(&self.names).map(|(way, name)| match way {
            Way::Endpoint(at, series) => {
                let (read_ns, text) = &texts[*at];
                let content =
                    text.as_ref().map_err(String::clone).and_then(|text| exposition::content(text, series));
                let source = format!("prometheus:{}#{series}", self.endpoints[*at].url);
                raw(name, &source, *read_ns, content)
            }
            Way::Command(at, extract, kind) => {
                let (read_ns, printed) = &printed[*at];
                let content = printed
                    .as_ref()
                    .map_err(String::clone)
                    .and_then(|printed| number(extract, name, printed, *kind));
                raw(name, &format!("command:{}", shell_words::join(&self.commands[*at])), *read_ns, content)
            }
            Way::Log(at, place) => {
                let (read_ns, read) = &appended[*at];
                let content = read.clone().map(|()| Content::Lines(self.logs[*at].lines(*place)));
                raw(name, &format!("log:{}", self.logs[*at].path().display()), *read_ns, content)
            }
        });
        found.enumerate().collect()
    }
}

/// With the time.
fn now<T>(answer: T) -> (u64, T) {
    (monotonic_ns(), answer)
}

fn number(extract: &Extract, name: &str, printed: &Printed, kind: Kind) -> Result<Content, String> {
    let figure = extract.figure(name, &printed.stdout, &printed.stderr);
    figure.map(|value| Content::Number { value, kind }).map_err(|why| format!("its {} {why}", extract.name()))
}

fn raw(name: &str, source: &str, read_ns: u64, content: Result<Content, String>) -> Result<Raw, Missing> {
    match content {
        Ok(content) => Ok(Raw { read_ns, content }),
        Err(why) => Err(Missing::new(name, format!("{source}: {why}"))),
    }
}

#[cfg(test)]
mod tests;
