//! The string load: the built-in load generator in a process of its own.

use std::path::Path;
use std::time::Duration;

use change::{Hand, Launch, Stdout};
use machine::{Class, Fault, Missing, Placement};

use super::{About, Workload, missing_netns};
use crate::outcome::Outcome;
use crate::running::{Finished, Running};
use crate::server::Server;
use crate::string::client::{ClientOptions, Document, StringLoad};

/// What it is.
pub static ABOUT: About = About {
    id: "string",
    title: "the built-in load generator: one short line out, one line back",
    docs: "Drives the built-in string server, or any TCP server that answers a line with a line (`request`, `expect`). \
          A connection for each request, or kept ones (`keep_alive`); a closed loop over `connections`, or an open loop \
          at `rate_per_s` with Poisson or uniform spacing, whose latencies count from the intended send time. Every \
          answer is checked. Gives requests_per_s, latency_p50_us, latency_p90_us, latency_p99_us, latency_p999_us, \
          latency_max_us, completed, failed (and failed_... by kind), unfinished, client_busy, and ten intervals a second.",
    example: "driver = \"string\"\nconnections = 16\nkeep_alive = false\nseconds = 5.0\n",
};

/// Beyond its own length, for starting and printing.
const MARGIN_S: f64 = 15.0;

impl Workload for StringLoad {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn check(&self) -> Result<(), Fault> {
        StringLoad::check(self)
    }

    fn needs(&self) -> Vec<Missing> {
        missing_netns(self.netns.as_deref()).into_iter().collect()
    }

    fn start(
        &self,
        server: &Server,
        placement: &Placement,
        hand: &mut Hand,
        dir: &Path,
    ) -> Result<Running, Fault> {
        StringLoad::check(self)?;
        let at = server.address();
        let options = ClientOptions { address: at.ip(), port: at.port(), load: self.clone() };
        let mut argv = vec![crate::exe(self.exe.as_deref()), "string-load".into()];
        argv.extend(options.to_args());
        let launch = Launch {
            argv,
            env: Vec::new(),
            cwd: None,
            netns: self.netns.clone(),
            cpus: placement.load_cpus.clone(),
            scheduling: None,
            memory: None,
            cpuset_cgroup: false,
            log: dir.join("load.log"),
            stdout: Stdout::Piped,
        };
        Running::start(hand, launch, Duration::from_secs_f64(self.seconds + MARGIN_S), reckon)
    }
}

fn reckon(finished: Finished) -> Result<Outcome, Fault> {
    if !finished.status.success() {
        let ended = change::exit_words::exit_words(finished.status);
        return Err(finished.fault(ended, "see the message above"));
    }
    let document: Document = serde_json::from_slice(&finished.stdout).map_err(|why| {
        finished.fault(format!("printed no outcome: {why}"), "check that `exe` is this version of pinwise")
    })?;
    match document.broken {
        None => Ok(document.outcome),
        Some(broken) => Err(Fault { class: Class::WorkloadFailed, ..broken.into() }),
    }
}
