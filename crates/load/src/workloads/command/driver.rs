//! The driver `command`: its options, its process, and its figures.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use change::exit_words;
use change::{Hand, Launch};
use machine::{Class, CpuSet, Fault, Missing, OwnFolder, Placement};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::extract::Extract;
use super::gate::Gate;
use super::locale::with_locale;
use super::tool_errors::error_line;
use crate::drive::Document;
use crate::outcome::{Outcome, unit_of};
use crate::process::running::{Finished, Running};
use crate::process::{log_tail, netns, program, trial_folder};
use crate::server::{self, Server};
use crate::template::Command;
use crate::workloads::{About, Workload};

/// What it is.
pub static ABOUT: About = About {
    id: "command",
    title: "any load tool by its command line, its figures taken from what it prints",
    docs: "Runs `command` with {address}, {port}, {cpus}, {cpu} (the load's) and {seconds} filled in, waits for its end and \
          takes each of `figures` from its output: by a regular expression whose group named `value` (or first group) is \
          the figure, or by a JSON pointer. Numbers may have separators (1,234.5), suffixes (12.3k) and units (1.5ms, 1m2.5s, \
          93.9 MB/s), which are turned into the unit that the figure's name ends in; a number or unit that cannot be read in full \
          fails the trial. The command runs with LC_ALL=C, unless `env` sets a locale. There are no intervals: the whole run counts.",
    example: "driver = \"command\"\ncommand = \"wrk -t1 -c16 -d{seconds}s http://{address}:{port}/\"\nseconds = 3.0\n\
              [figures]\nrequests_per_s = { regex = 'Requests/sec:\\s+(\\S+)' }\n\
              latency_us = { regex = 'Latency\\s+(\\S+)' }\n",
};

/// Of its standard error, no more than the end is searched for figures, bytes.
const MOST_OF_STDERR: u64 = 64 << 20;

/// What a load's command may ask to have filled in.
pub const PLACEHOLDERS: [&str; 6] = ["address", "cpu", "cpus", "dir", "port", "seconds"];

/// A load tool and how to read its output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandLoad {
    /// Command with the placeholders of [`PLACEHOLDERS`].
    pub command: Command,
    /// Network namespace (/run/netns/NAME) that it runs in; none for ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub netns: Option<String>,
    /// Folder to start in; none for ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// How long it is to run, s: what `{seconds}` stands for, rounded up to a whole number.
    #[serde(default = "default_seconds")]
    pub seconds: f64,
    /// It has failed when it still runs after this time, s.
    #[serde(default = "default_timeout_s")]
    pub timeout_s: f64,
    /// Variables beside (or in place of) those of our own environment. `LC_ALL=C` is added where none of them sets a locale, so that
    /// numbers are printed in one form everywhere.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The figures by name.
    pub figures: BTreeMap<String, Extract>,
}

fn default_seconds() -> f64 {
    5.0
}

fn default_timeout_s() -> f64 {
    120.0
}

/// One process of a command that several hosts drive together.
#[derive(Debug)]
pub struct CommandPart<'a> {
    /// Where the server listens, as this host reaches it.
    pub server: SocketAddr,
    /// CPUs of this host; none: wherever the scheduler puts it.
    pub cpus: Option<CpuSet>,
    /// A folder of this process alone.
    pub dir: &'a OwnFolder,
    /// What it waits at.
    pub gate: &'a Gate,
}

impl CommandLoad {
    /// This command with the default times, and no figures yet.
    pub fn new(command: Command) -> Self {
        Self {
            command,
            netns: None,
            cwd: None,
            seconds: default_seconds(),
            timeout_s: default_timeout_s(),
            env: BTreeMap::new(),
            figures: BTreeMap::new(),
        }
    }

    /// How long it may take, s: then it is ended, and has failed.
    pub fn longest_s(&self) -> f64 {
        self.timeout_s.max(self.seconds + 5.0)
    }

    /// Starts one process of a load that several hosts drive together. It becomes the command when its gate is opened, for which it has
    /// `within`. What it prints on standard output is kept nowhere.
    ///
    /// # Errors
    /// An option makes no sense; as [`Hand::launch`].
    pub fn start_part(
        &self,
        part: CommandPart<'_>,
        within: Duration,
        hand: &mut Hand,
    ) -> Result<Running<Document>, Fault> {
        self.check()?;
        let (launch, figures) = (self.launch(part.server, part.cpus, part.dir)?, self.figures.clone());
        let words = launch.argv.clone();
        let launch = Launch { argv: part.gate.before(&words), ..launch };
        let running = Running::start(hand, launch, within + self.timeout(), move |finished| {
            let outcome = reckon(&figures, &finished)?;
            Ok(Document { outcome, broken: None, starved: false })
        });
        running.map(|running| running.called(&words))
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs_f64(self.longest_s())
    }

    /// The process, with what stands in braces filled in.
    fn launch(&self, server: SocketAddr, cpus: Option<CpuSet>, dir: &OwnFolder) -> Result<Launch, Fault> {
        let mut values = server::values(server, cpus.as_ref(), dir.path())?;
        values.insert("seconds", format!("{}", self.seconds.ceil()));
        Ok(Launch {
            argv: self.command.fill(&values)?,
            env: with_locale(&self.env).into_iter().collect(),
            cwd: self.cwd.clone(),
            netns: self.netns.clone(),
            cpus,
            log: dir.path().join("load.log"),
            ..Launch::default()
        })
    }
}

impl Workload for CommandLoad {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn check(&self) -> Result<(), Fault> {
        self.command.check("load: command", &PLACEHOLDERS)?;
        let wrong = |key: &str, cause: &str, remedy: &str| {
            Err(Fault::new(Class::Usage, format!("load: {key}"), cause, remedy))
        };
        if self.figures.is_empty() {
            return wrong("figures", "none is given", "say where in the output a figure stands");
        }
        for (name, extract) in &self.figures {
            if let Err(why) = extract.check() {
                return wrong(&format!("figure {name}, {}", extract.name()), &why, "correct it");
            }
        }
        for (key, seconds) in [("seconds", self.seconds), ("timeout_s", self.timeout_s)] {
            if !(seconds > 0.0 && seconds <= 86_400.0) {
                return wrong(key, &format!("{seconds} is out of range"), "choose above 0, to 86400");
            }
        }
        Ok(())
    }

    fn needs(&self) -> Vec<Missing> {
        let mut missing: Vec<Missing> = netns::missing(self.netns.as_deref()).into_iter().collect();
        let cwd = self.cwd.as_deref().unwrap_or(Path::new(""));
        if self.cwd.is_some() && !cwd.is_dir() {
            let why = "it is not a folder here: make it, or give another cwd";
            missing.push(Missing::new(format!("folder {}", cwd.display()), why));
        }
        if let Some(program) = self.command.words().first().filter(|name| !program::is_there(name, cwd)) {
            missing.push(Missing::new(
                format!("program {program}"),
                "it is not in PATH: install it, or give its path",
            ));
        }
        missing
    }

    fn start(
        &self,
        server: &Server,
        placement: &Placement,
        hand: &mut Hand,
        dir: &OwnFolder,
    ) -> Result<Running, Fault> {
        self.check()?;
        let launch = self.launch(server.address(), placement.load_cpus.clone(), dir)?;
        let (figures, dir) = (self.figures.clone(), trial_folder::again(dir)?);
        Running::start(hand, launch, self.timeout(), move |finished| {
            // For the reader of the case; the figures come from memory.
            trial_folder::write(&dir, "load.stdout", &finished.stdout)?;
            reckon(&figures, &finished)
        })
    }
}

fn reckon(figures: &BTreeMap<String, Extract>, finished: &Finished) -> Result<Outcome, Fault> {
    if !finished.status.success() {
        let remedy = "run its command manually against the server to see why it fails";
        return Err(finished.fault(exit_words(finished.status), remedy));
    }
    finished.is_whole()?;
    let stdout = String::from_utf8_lossy(&finished.stdout);
    let stderr = log_tail::read_end(&finished.log, MOST_OF_STDERR).unwrap_or_default();
    let stderr = String::from_utf8_lossy(&stderr);
    let mut outcome = Outcome { from_ns: finished.from_ns, to_ns: finished.to_ns, ..Outcome::default() };
    for (name, extract) in figures {
        let figure = extract.figure(name, &stdout, &stderr).map_err(|why| {
            let remedy = "compare it with the output above";
            finished.fault(format!("figure {name}: {} {why}", extract.name()), remedy)
        })?;
        outcome.figures.insert(name.clone(), figure);
        if let Some(unit) = unit_of(name) {
            outcome.units.insert(name.clone(), unit.into());
        }
    }
    if let Some(line) = error_line(&stdout) {
        let why = format!(
            "the load's output says '{line}': check the path and the server's log; the figures count these answers too"
        );
        outcome.missing.push(Missing::new("figures of right answers alone", why));
    }
    outcome.missing.push(Missing::new("intervals of the load", "the command reports only its final figures"));
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(command: &str, extract: Extract) -> CommandLoad {
        CommandLoad {
            command: command.parse().unwrap(),
            netns: None,
            cwd: None,
            seconds: 1.0,
            timeout_s: 5.0,
            env: BTreeMap::new(),
            figures: BTreeMap::from([("x".to_string(), extract)]),
        }
    }

    #[test]
    fn senseless_options_are_named_before_anything_runs() {
        let good = Extract::Regex("(x)".into());
        let why = |load: CommandLoad| load.check().unwrap_err().to_string();
        assert!(why(load("", good.clone())).contains("no command"));
        assert!(why(load("wrk {portt}", good.clone())).contains("{portt}"));
        assert!(why(load("wrk", Extract::Regex("(".into()))).contains("'('"));
        assert!(why(load("wrk", Extract::JsonPointer("a".into()))).contains("figure x"));
        assert!(why(CommandLoad { seconds: 0.0, ..load("wrk", good.clone()) }).contains("seconds"));
        assert!(
            why(CommandLoad { figures: BTreeMap::new(), ..load("wrk", good.clone()) }).contains("figures")
        );
        load("wrk -d{seconds}", good).check().unwrap();
    }

    #[test]
    fn a_program_that_is_not_there_is_missing() {
        let needs = |command: &str| load(command, Extract::Regex("(x)".into())).needs();
        assert!(needs("sh -c true").is_empty() && needs("/bin/sh").is_empty());
        assert!(needs("pinwise-no-such-tool")[0].fact.contains("pinwise-no-such-tool"));
        assert_eq!(needs("/etc/passwd").len(), 1, "not executable");
    }
}
