//! Flags of `pinwise watch`.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use machine::{Class, CpuChoice, Fault};
use probe::account::TracePoints;
use report::account::account_tables;

use super::export::flags::ExportFlags;
use crate::window;

/// The window where none is given.
const USUAL: Duration = Duration::from_secs(10);

/// The smallest ring, bytes: some entries have to fit.
const SMALLEST: u64 = 64 << 10;

/// Readings of a recorder may lie so far apart.
const EVERY: std::ops::RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(3_600);

// Flags of `pinwise watch`.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("in_intervals").multiple(true).args(["record", "openmetrics", "textfile"])))]
#[command(after_help = "\
Examples:
  pinwise watch --process nginx                     live, on a terminal
  pinwise watch --process nginx --for 30s           a systemd unit: all its threads, and new ones
  pinwise watch --process 4711                      a process and its descendants
  pinwise watch --process /system.slice/db.service  a cgroup (a container, a VM)
  pinwise watch --process all:redis-server          all processes of that name; job:4711: a Slurm job
  pinwise watch --thread 4712 --full                one thread; every task and function, not only the top dozen
  pinwise watch --all --for 10s                     all CPUs, and who used them, ranked
  pinwise watch --cpu 2-3                           what ran on two CPUs; --cpu node:0: on those of node 0
  pinwise watch --format json | jq '.takers[0]'     all CPUs, for programs
  pinwise watch --for 30s --format csv --table cpus > cpus.csv
  pinwise watch --process nginx --for 5s --format perfetto -o nginx.pftrace
                                                    every event, for the Perfetto UI
  pinwise watch --process nginx --for 10s --format flamegraph -o nginx.svg
                                                    where its threads wait and work, by stack: open it in a browser
  pinwise watch --process nginx --for 10s --format folded > nginx.folded
                                                    the same as folded stacks, for speedscope and other programs
A flight recorder:
  pinwise watch --process nginx --record RING       until Ctrl-C; the folder RING never takes more than --size
  pinwise watch --process nginx --record RING --when 'run queue > 5ms' --when 'taker backup > 10%' --when SIGUSR1
                                                    keep what came before and after, next to the ring, and diagnose it
  pinwise watch --replay RING --last 5m             what happened, as if watched at that time; needs no root
  pinwise watch --replay RING --since 10:00 --until 10:05 --full
  pinwise watch --replay RING --series --format parquet -o threads.parquet
For Prometheus and others, until Ctrl-C:
  pinwise watch --process nginx --openmetrics 127.0.0.1:9117
  pinwise watch --process nginx --textfile /var/lib/node_exporter/pinwise.prom --every 10s

BPF programs at the kernel's trace points add up every event, which needs root, or CAP_BPF and CAP_PERFMON. Without
them, text and JSON show the counters of /proc: how often something happened, but not how long it took. Everything else
(tables, traces, stacks, recordings, metrics) is refused then. Ctrl-C ends the window early.")]
pub struct Args {
    /// The server: a process number or name (all:NAME: all processes of that name), a systemd unit, the path of a cgroup, a container, a
    /// guest, a Kubernetes pod, a Slurm job (job:NUMBER)
    #[arg(long, alias = "pid", value_name = "PID|NAME|UNIT|CGROUP|CONTAINER|GUEST|POD|JOB")]
    pub process: Option<String>,
    /// Threads, by number
    #[arg(long, value_name = "TID", value_delimiter = ',', conflicts_with = "process")]
    pub thread: Vec<u32>,
    /// Watch all CPUs and everything that runs there, ranked; the default if no target is named
    #[arg(long, conflicts_with_all = ["process", "thread", "replay"])]
    pub all: bool,
    /// Only what happens on these CPUs: numbers (2-3) or names from 'pinwise map' (node:0, l3:0). With a target, the run and wait times of
    /// its threads still cover all CPUs; takers, tasks, interrupts and functions cover these only
    #[arg(long, value_name = "CPUS")]
    pub cpu: Option<CpuChoice>,
    /// How long, such as 30s, 200ms or 5m, at most 24h. Without it: until q as live text on a terminal; until Ctrl-C with --record,
    /// --openmetrics or --textfile; otherwise 10s
    #[arg(long = "for", value_name = "TIME", value_parser = window::length)]
    pub window: Option<Duration>,
    /// Show every cause, thread, task, line and function, not only those that matter most; in JSON, also histograms of lengths
    #[arg(long, conflicts_with = "record")]
    pub full: bool,
    /// Record to a folder, interval by interval: a ring of files, in which the oldest makes room for the newest
    #[arg(long, value_name = "RING")]
    pub record: Option<PathBuf>,
    /// With --record: upper limit for all files of the ring together (64MiB if not given). With --format perfetto: upper limit for the
    /// memory that holds events (256MiB if not given); the window ends when it is full. At least 64KiB
    #[arg(long, value_name = "BYTES", value_parser = size)]
    pub size: Option<u64>,
    /// Length of an interval of the ring, or time between two updates of metrics: 100ms to 1h
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = every, requires = "in_intervals")]
    pub every: Duration,
    #[command(flatten)]
    pub export: ExportFlags,
    #[command(flatten)]
    pub triggers: super::triggered::Flags,
    /// Show a recording, from this or another machine, also while it is being written
    #[arg(long, value_name = "RING", conflicts_with_all = ["record", "process", "thread", "cpu", "window", "raw"])]
    pub replay: Option<PathBuf>,
    /// Only the last part of the recording, such as 5m
    #[arg(long, value_name = "TIME", value_parser = window::length, requires = "replay", conflicts_with_all = ["since", "until"])]
    pub last: Option<Duration>,
    /// Only from this time on, in UTC: 10:00 (on the last day of the recording), '2026-11-21 10:00:05' or @1795255205
    #[arg(long, alias = "from", value_name = "WHEN", requires = "replay")]
    pub since: Option<String>,
    /// Only up to this time
    #[arg(long, alias = "to", value_name = "WHEN", requires = "replay")]
    pub until: Option<String>,
    /// Form of the output
    #[arg(long, value_enum, default_value_t, conflicts_with = "record")]
    pub format: Form,
    /// With --format csv or parquet: which table. Without it: threads, or tasks if there is no target
    #[arg(long, value_enum, conflicts_with = "record")]
    pub table: Option<Table>,
    /// With --replay, and --format csv or parquet: rows for each interval instead of the sum of all, for plots
    #[arg(long, requires = "replay")]
    pub series: bool,
    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "FILE", conflicts_with = "record")]
    pub output: Option<PathBuf>,
    /// File with the types (BTF) of the running kernel, if the kernel does not export them itself
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub btf: Option<PathBuf>,
    /// Raw trace points even where the kernel has them with types
    #[arg(long, hide = true)]
    pub raw: bool,
}

/// Forms of the sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Form {
    /// For people.
    #[default]
    Text,
    /// For programs: one JSON document; progress and notes stay on stderr.
    Json,
    /// One table for spreadsheets, RFC 4180.
    Csv,
    /// One table in Apache Parquet, for programs that plot.
    Parquet,
    /// Every event, as a trace for the Perfetto UI.
    Perfetto,
    /// What the target's threads waited for and worked on, in ns for each stack of their own functions. For flame graphs.
    Folded,
    /// A flame graph of the same, as one SVG file to open in a browser.
    Flamegraph,
}

impl Form {
    /// Whether it has a place for what the account comes to.
    pub fn has_verdict(self) -> bool {
        matches!(self, Self::Text | Self::Json)
    }

    /// Whether it shows time by stack.
    pub fn has_stacks(self) -> bool {
        matches!(self, Self::Folded | Self::Flamegraph)
    }

    /// The form of a table; `None` where the whole sheet is reported.
    pub fn of_table(self) -> Option<account_tables::Form> {
        match self {
            Self::Text | Self::Json | Self::Perfetto | Self::Folded | Self::Flamegraph => None,
            Self::Csv => Some(account_tables::Form::Csv),
            Self::Parquet => Some(account_tables::Form::Parquet),
        }
    }
}

/// Tables of the sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Table {
    /// Threads of the target.
    Threads,
    /// Who took the CPU.
    Takers,
    /// CPUs.
    Cpus,
    /// What interrupted each CPU.
    Sources,
    /// Tasks that ran on the target's CPUs while it waited; without a target, all tasks.
    Tasks,
    /// Interrupt lines of devices by CPU.
    Lines,
    /// Work that the kernel ran on behalf of others.
    Functions,
    /// Migrations of threads between CPUs.
    Migrations,
    /// Interrupts that BPF programs do not see: how often they came, from /proc/interrupts.
    Counted,
}

impl From<Table> for account_tables::Table {
    fn from(table: Table) -> Self {
        match table {
            Table::Threads => Self::Threads,
            Table::Takers => Self::Takers,
            Table::Cpus => Self::Cpus,
            Table::Sources => Self::Sources,
            Table::Tasks => Self::Tasks,
            Table::Lines => Self::Lines,
            Table::Functions => Self::Functions,
            Table::Migrations => Self::Migrations,
            Table::Counted => Self::Counted,
        }
    }
}

impl Args {
    /// Flags that others give a meaning to.
    ///
    /// # Errors
    /// One is given without any of those.
    pub fn fit_together(&self) -> Result<(), Fault> {
        let without =
            |flag: &str, cause: &str, remedy: &str| Err(Fault::new(Class::Usage, flag, cause, remedy));
        let is_table = self.format.of_table().is_some();
        let to_table = "add --format csv or --format parquet";
        if self.series && !is_table {
            return without("--series", "text and JSON show the sum of all intervals", to_table);
        }
        if self.table.is_some() && !is_table {
            return without(
                "--table",
                "text and JSON show all tables; traces and stacks have none",
                to_table,
            );
        }
        if self.size.is_some() && self.record.is_none() && self.format != Form::Perfetto {
            let cause = "it limits a ring, or the memory for a trace, and neither was requested";
            return without("--size", cause, "add --record RING or --format perfetto");
        }
        if self.format == Form::Perfetto && self.replay.is_some() {
            let cause = "a ring has sums only, and a trace consists of events";
            return without("--format perfetto", cause, "choose --format text, json, csv or parquet");
        }
        if self.format.has_stacks() {
            self.fit_stacks()?;
        }
        self.export.fit()?;
        self.btf.as_deref().map_or(Ok(()), holds_types)
    }

    /// What has no stacks.
    fn fit_stacks(&self) -> Result<(), Fault> {
        let flag = match self.format {
            Form::Flamegraph => "--format flamegraph",
            _ => "--format folded",
        };
        let without = |cause: &str, remedy: &str| Err(Fault::new(Class::Usage, flag, cause, remedy));
        match self {
            Self { replay: Some(_), .. } => {
                without("a ring has no stacks", "choose --format text, json, csv or parquet")
            }
            Self { process: None, thread, .. } if thread.is_empty() => {
                without("stacks need a target", "add --process or --thread")
            }
            Self { cpu: Some(_), .. } => {
                without("what a thread waits for does not belong to a CPU", "leave --cpu out")
            }
            Self { btf: Some(_), .. } | Self { raw: true, .. } => {
                without("stacks require a kernel that exports its types (BTF)", "leave --btf and --raw out")
            }
            _ => Ok(()),
        }
    }

    /// Which trace points the programs in the kernel are to use.
    pub fn trace_points(&self) -> TracePoints {
        match (&self.btf, self.raw) {
            (Some(file), _) => TracePoints::RawWith(file.clone()),
            (None, true) => TracePoints::Raw,
            (None, false) => TracePoints::Best,
        }
    }

    /// The window.
    pub fn length(&self) -> Duration {
        self.window.unwrap_or(USUAL)
    }

    /// The table; without a target there are no threads of one.
    pub fn table(&self, everything: bool) -> account_tables::Table {
        self.table.unwrap_or(if everything { Table::Tasks } else { Table::Threads }).into()
    }
}

/// The first two bytes of types (BTF_MAGIC of include/uapi/linux/btf.h), in the order of the machine that they are of.
const TYPES: u16 = 0xeb9f;

/// Looks whether a file can be read, and begins as types do.
fn holds_types(file: &Path) -> Result<(), Fault> {
    let object = format!("--btf {}", file.display());
    let remedy = "name a file with the types (BTF) of the running kernel, as written by pahole or bpftool, or leave --btf out if \
        the kernel has /sys/kernel/btf/vmlinux";
    let mut magic = [0; 2];
    let read = File::open(file).and_then(|mut file| file.read_exact(&mut magic));
    match read {
        Err(e) if e.kind() == ErrorKind::PermissionDenied => Err(Fault::io(object, &e, remedy)),
        Err(e) if e.kind() == ErrorKind::UnexpectedEof => {
            Err(Fault::new(Class::Usage, object, "the file is empty", remedy))
        }
        Err(e) => Err(Fault::new(Class::Usage, object, e, remedy)),
        Ok(()) if u16::from_ne_bytes(magic) == TYPES => Ok(()),
        Ok(()) => Err(Fault::new(Class::Usage, object, "the file does not begin like BTF", remedy)),
    }
}

/// `64MiB`, `1GiB`, `500KiB`, `100000`: a size in bytes.
fn size(text: &str) -> Result<u64, String> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
    let found = units.iter().find_map(|(unit, bits)| text.strip_suffix(unit).map(|number| (number, *bits)));
    let (number, bits) = found.unwrap_or((text, 0));
    let number: u64 = number.trim().parse().map_err(|e| format!("{e}: give a size such as 64MiB or 1GiB"))?;
    let bytes = number.checked_mul(1 << bits).filter(|bytes| *bytes >= SMALLEST);
    bytes.ok_or_else(|| "choose 64KiB or more".into())
}

fn every(text: &str) -> Result<Duration, String> {
    let length = window::length(text)?;
    if EVERY.contains(&length) { Ok(length) } else { Err("choose 100ms to 1h".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_with_and_without_their_unit() {
        assert_eq!(
            ["64KiB", "64MiB", "2GiB", "70000"].map(size),
            [65_536, 67_108_864, 2_147_483_648, 70_000].map(Ok)
        );
        for bad in ["", "1KiB", "64MB", "-1", "99999999999GiB", "MiB"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_part_of_a_ring_has_the_flags_of_diagnose_and_its_older_ones() {
        use clap::Parser as _;

        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            args: Args,
        }
        let part = |from: &str, to: &str| {
            let line = Line::try_parse_from(["watch", "--replay", "RING", from, "10:00", to, "10:05"]);
            line.map(|line| (line.args.since, line.args.until)).map_err(|why| why.to_string())
        };
        let asked: Result<_, String> = Ok((Some("10:00".to_string()), Some("10:05".to_string())));
        assert_eq!([part("--since", "--until"), part("--from", "--to")], [asked.clone(), asked]);
    }

    #[test]
    fn a_file_of_types_is_distinguished_from_other_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("types");
        let refused = || holds_types(&path).unwrap_err();
        assert!(refused().class == Class::Usage && refused().to_string().contains("No such file"));
        std::fs::write(&path, "x").unwrap();
        assert!(refused().to_string().contains("empty"));
        std::fs::write(&path, "\x7fELF").unwrap();
        assert!(refused().to_string().contains("does not begin like BTF"));
        std::fs::write(&path, [&TYPES.to_ne_bytes()[..], &[1, 0]].concat()).unwrap();
        assert_eq!(holds_types(&path), Ok(()));
    }

    #[test]
    fn an_interval_is_neither_too_short_nor_too_long() {
        assert_eq!(every("1s"), Ok(Duration::from_secs(1)));
        assert!(every("10ms").is_err() && every("2h").is_err());
    }
}
