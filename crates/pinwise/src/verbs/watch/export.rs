//! Metrics for those who collect them, as long as it is watched: over HTTP, or in a file for node_exporter.

pub(super) mod flags;
mod request;
mod server;
mod textfile;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use machine::{Fault, Machine};
use probe::account::Counting;
use report::account::openmetrics::{About, Exposition, Form, Seen};

use super::args::Args;
use super::intervals::{Intake, Interval, Intervals, own_cpu_ns};
use super::target::Watched;
use crate::notes::note;
use crate::output::Answer;
use flags::ExportFlags;
use server::{Server, Shown};
use textfile::Textfile;

/// What hands metrics out. Opened before anything is counted: a place that cannot be had is reported at once.
pub struct Places<'a> {
    server: Option<Server>,
    file: Option<&'a Path>,
}

impl<'a> Places<'a> {
    /// Opens what the flags name; `None` where they name nothing.
    ///
    /// # Errors
    /// It cannot listen on the address.
    pub fn open(flags: &'a ExportFlags) -> Result<Option<Self>, Fault> {
        if !flags.is_asked() {
            return Ok(None);
        }
        let server = flags.openmetrics.map(Server::begin).transpose()?;
        Ok(Some(Self { server, file: flags.textfile.as_deref() }))
    }
}

/// Hands out metrics until a signal, the end of the window, or the end of a target that cannot come again.
///
/// # Errors
/// The file could not be written, at the beginning or at the end.
pub fn run(
    args: &Args,
    places: Places<'_>,
    counting: Counting,
    machine: &Machine,
    watched: &Watched,
    stop: &AtomicBool,
) -> Result<Answer, Fault> {
    let began = Instant::now();
    let mut intervals = Intervals::begin(args, counting, machine, watched);
    let about = About {
        version: env!("CARGO_PKG_VERSION").into(),
        target: watched.asked().map_or_else(|| watched.title(), str::to_string),
        means: intervals.means().into(),
    };
    let mut export = Export::begin(Exposition::of(about), places)?;
    export.say_where(watched);
    intervals.hand_on(began, stop, &mut export);
    export.end(began.elapsed())
}

struct Export {
    exposition: Exposition,
    server: Option<Server>,
    file: Option<Textfile>,
    /// Why the last page could not be written to the file.
    failed: Option<Fault>,
}

impl Intake for Export {
    const WHILE_GONE: &'static str = "its metrics stay";

    fn take(&mut self, interval: &Interval) -> bool {
        let (account, lost) = (&interval.account, &interval.lost);
        self.exposition.add(Seen { interval: account, lost, own_cpu_ns: own_cpu_ns() });
        self.show();
        true
    }
}

impl Export {
    /// Hands out a page on which nothing was counted yet.
    fn begin(exposition: Exposition, places: Places<'_>) -> Result<Self, Fault> {
        let page = exposition.render(Form::Prometheus);
        let file = places.file.map(|path| Textfile::begin(path, &page)).transpose()?;
        let export = Self { exposition, server: places.server, file, failed: None };
        export.serve(page);
        Ok(export)
    }

    fn say_where(&self, watched: &Watched) {
        if let Some(server) = &self.server {
            note!("pinwise: watching {}: http://{}/metrics; Ctrl-C ends it", watched.title(), server.at());
        }
        if let Some(file) = &self.file {
            note!("pinwise: watching {}: {}; Ctrl-C ends it", watched.title(), file.path().display());
        }
    }

    /// Makes the page the last one. Where the file cannot be written, the next page has everything, too.
    fn show(&mut self) {
        let prometheus = self.exposition.render(Form::Prometheus);
        if let Some(file) = &self.file {
            match (file.show(&prometheus), self.failed.take()) {
                (Ok(()), Some(_)) => note!("pinwise: writing metrics again"),
                (Ok(()), None) => {}
                (Err(fault), before) => {
                    if before.is_none() {
                        note!("pinwise: {fault}");
                    }
                    self.failed = Some(fault);
                }
            }
        }
        self.serve(prometheus);
    }

    /// Makes the page the last one that the server has.
    fn serve(&self, prometheus: String) {
        if let Some(server) = &self.server {
            let open_metrics = self.exposition.render(Form::OpenMetrics);
            server.show(Shown { open_metrics, prometheus });
        }
    }

    fn end(self, length: Duration) -> Result<Answer, Fault> {
        self.file.map_or(Ok(()), Textfile::end)?;
        let own_s = own_cpu_ns() as f64 / 1e9;
        note!("pinwise: serving metrics took {own_s:.2} s of CPU time in {:.0} s", length.as_secs_f64());
        self.failed.map_or(Ok(Answer::Done), Err)
    }
}
