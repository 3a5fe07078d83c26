//! Latencies of open loops against a server that stands still at known times: what each load reports beside what the pauses alone must make
//! of requests that are due at its rate.

use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use benches::blocks::{self, Ratio, middle};
use benches::pauses::{Paused, latencies_us};
use load::{Server, monotonic_ns};
use rustix::process::{Pid, Signal, kill_process};

use crate::section::Section;
use crate::tools::{self, pinned};
use crate::{perf_test, recipe};

/// Where the clients run; the servers have CPU 0.
const CLIENT_CPU: &str = "1";
const BLOCKS: usize = 6;
/// Requests due a second.
const RATE_PER_S: u32 = 1000;
const CONNECTIONS: u32 = 16;
/// How often the servers are stopped, and for how long.
const EVERY: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(100);
/// How long each load is measured, s: five pauses.
const WINDOW_S: u32 = 10;
/// wrk2 throws away what it measured until then, and then begins, s: 10 s, and 5 ms for each connection.
const WRK2_CALIBRATES_S: f64 = 10.0 + 0.005 * CONNECTIONS as f64;
const QUANTILES: [f64; 2] = [0.99, 0.999];

/// A load: its name, and one run of it.
type Arm<'a> = (String, Box<dyn Fn() -> io::Result<Reported> + 'a>);

/// What a load says.
struct Reported {
    /// p99 and p99.9, us; NaN where it does not report it.
    latencies_us: [f64; 2],
    /// What that is about, CLOCK_MONOTONIC ns.
    window: (u64, u64),
}

/// What one run gives: what was reported at each quantile, us, and the truth.
type Figures = [f64; 4];

/// Measures the loads.
pub fn measure() -> io::Result<Section> {
    let mut section = Section::new("Open loops, beside the truth of known pauses");
    section.say(format!(
        "{RATE_PER_S} requests a second are due, equally spaced; each server (on CPU 0) is stopped with SIGSTOP for {} ms in every {} s, \
         each pause by the bench's own clock. A request that is due in a pause waits for what is left of it: that is the truth, for \
         each run from its own pauses. Clients on CPU 1, {WINDOW_S} s a run, {BLOCKS} blocks in random order; medians; others used both \
         CPUs at the same time where the load above says so. Goal: p99.9 within 5 % of the truth.",
        PAUSE.as_millis(),
        EVERY.as_secs()
    ));
    let folder = tempfile::tempdir()?;
    let pinwise = tools::pinwise()?;
    let mut rows = Vec::new();
    for (name, loads) in [("nginx", http_loads as Loads), ("rabbitmq-nodes", amqp_loads)] {
        let (mut hand, server) = match recipe::server(name, folder.path()) {
            Ok(server) => server,
            Err(why) => {
                section.say(format!("Not measured against {name}: it does not start ({why})."));
                continue;
            }
        };
        let arms = loads(&pinwise, &server, folder.path(), &mut section);
        let measured = blocks::figures(arms.len(), BLOCKS, |arm| beside_truth(&server, &arms[arm].1));
        rows.extend(arms.into_iter().map(|(name, _)| name).zip(measured?));
        let stopped = server.stop().map_err(io::Error::other);
        hand.undo_all();
        stopped?;
    }
    write(&mut section, &rows);
    Ok(section)
}

type Loads = for<'a> fn(&'a Path, &'a Server, &Path, &mut Section) -> Vec<Arm<'a>>;

/// One run while the server is stopped again and again.
fn beside_truth(server: &Server, run: &dyn Fn() -> io::Result<Reported>) -> io::Result<Figures> {
    let group = Pid::from_raw(server.process().pid as i32).ok_or(io::ErrorKind::NotFound)?;
    let paused = Paused::start(group, EVERY, PAUSE);
    let reported = run();
    let pauses = paused.end()?;
    let Reported { latencies_us: reported, window } = reported?;
    let truth = latencies_us(&pauses, window, 1e9 / f64::from(RATE_PER_S), QUANTILES);
    Ok([reported[0], reported[1], truth[0], truth[1]])
}

fn http_loads<'a>(pinwise: &'a Path, server: &'a Server, _: &Path, section: &mut Section) -> Vec<Arm<'a>> {
    let more = ["--expect-body".into(), "ok".into(), "--connections".into(), CONNECTIONS.to_string()];
    let mut arms: Vec<Arm<'a>> = vec![(
        "nginx | pinwise drive --driver http".into(),
        Box::new(move || ours(pinwise, server, "http", &more)),
    )];
    match std::env::var_os("WRK2").map(PathBuf::from) {
        Some(wrk2) => {
            arms.push(("nginx | wrk2".into(), Box::new(move || constant_wrk(&wrk2, server))));
        }
        None => section.say("wrk2 is not measured: it is no package; build it and name it by WRK2=PATH."),
    }
    arms
}

fn amqp_loads<'a>(
    pinwise: &'a Path,
    server: &'a Server,
    folder: &Path,
    section: &mut Section,
) -> Vec<Arm<'a>> {
    let channels = ["--channels".into(), CONNECTIONS.to_string()];
    let mut arms: Vec<Arm<'a>> = vec![(
        "RabbitMQ | pinwise drive --driver amqp".into(),
        Box::new(move || ours(pinwise, server, "amqp", &channels)),
    )];
    match perf_test::classes(folder) {
        Ok(classes) => {
            for (words, confirms) in [("", &[][..]), (", -c 1", &["-c", "1"][..])] {
                let classes = classes.clone();
                arms.push((
                    format!("RabbitMQ | PerfTest {} -r {RATE_PER_S}{words}", perf_test::VERSION),
                    Box::new(move || perf_test(&classes, server, confirms)),
                ));
            }
        }
        Err(why) => section.say(format!("PerfTest is not measured: it cannot be had by Maven ({why}).")),
    }
    arms
}

fn ours(pinwise: &Path, server: &Server, driver: &str, more: &[String]) -> io::Result<Reported> {
    let mut command = pinned(CLIENT_CPU, pinwise);
    command.args(["drive", "--driver", driver, "--port", &server.address().port().to_string()]);
    command.args(["--rate-per-s", &RATE_PER_S.to_string(), "--spacing", "uniform"]);
    command.args(["--seconds", &WINDOW_S.to_string()]).args(more);
    let ran = command.stdin(Stdio::null()).output()?;
    let failed = || io::Error::other(String::from_utf8_lossy(&ran.stderr).into_owned());
    let document: serde_json::Value = serde_json::from_slice(&ran.stdout).map_err(|_| failed())?;
    let outcome = &document["outcome"];
    let figure = |name: &str| outcome["figures"][name].as_f64();
    let at = |name: &str| outcome[name].as_u64();
    match (figure("latency_p99_us"), figure("latency_p999_us"), at("from_ns"), at("to_ns")) {
        (Some(p99), Some(p999), Some(from_ns), Some(to_ns)) if document["broken"].is_null() => {
            Ok(Reported { latencies_us: [p99, p999], window: (from_ns, to_ns) })
        }
        _ => Err(io::Error::other(document.to_string())),
    }
}

fn constant_wrk(wrk2: &Path, server: &Server) -> io::Result<Reported> {
    let mut command = pinned(CLIENT_CPU, wrk2);
    let seconds = WRK2_CALIBRATES_S.ceil() as u32 + WINDOW_S;
    command.args(["-t1", &format!("-c{CONNECTIONS}"), &format!("-d{seconds}s"), &format!("-R{RATE_PER_S}")]);
    command.args(["--latency", &format!("http://{}/", server.address())]);
    let began_ns = monotonic_ns();
    let ran = command.stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&ran.stdout);
    let of = |quantile: &str| {
        let line = said.lines().find_map(|line| line.trim().strip_prefix(quantile))?;
        microseconds(line.trim())
    };
    match (of("99.000%"), of("99.900%")) {
        (Some(p99), Some(p999)) => Ok(Reported {
            latencies_us: [p99, p999],
            window: (
                began_ns + (WRK2_CALIBRATES_S * 1e9) as u64,
                began_ns + u64::from(seconds) * 1_000_000_000,
            ),
        }),
        _ => Err(io::Error::other(format!("{}: {said}", wrk2.display()))),
    }
}

/// `98.11ms`.
fn microseconds(text: &str) -> Option<f64> {
    let units = [("us", 1.0), ("ms", 1e3), ("s", 1e6)];
    let (digits, us) = units.into_iter().find_map(|(unit, us)| Some((text.strip_suffix(unit)?, us)))?;
    Some(digits.parse::<f64>().ok()? * us)
}

/// PerfTest reports each interval separately; the first, which includes the start of the JVM, does not count.
fn perf_test(classes: &str, server: &Server, more: &[&str]) -> io::Result<Reported> {
    let mut command: Command = pinned(CLIENT_CPU, Path::new("java"));
    command.args(["-cp", classes, perf_test::MAIN, "--uri"]);
    command.arg(format!("amqp://127.0.0.1:{}", server.address().port()));
    command.args(["-x", "1", "-y", "1", "-a", "-s", "12", "-r", &RATE_PER_S.to_string()]);
    command.args(["-i", &WINDOW_S.to_string()]).args(more);
    let mut java = command.stdin(Stdio::null()).stderr(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let reported = java.stdout.take().and_then(|stdout| {
        let mut reported = BufReader::new(stdout)
            .lines()
            .map_while(Result::ok)
            .filter_map(|line| Some((monotonic_ns(), p99_us(&line)?)));
        let ((from_ns, _), (to_ns, p99)) = (reported.next()?, reported.next()?);
        Some(Reported { latencies_us: [p99, f64::NAN], window: (from_ns, to_ns) })
    });
    let _ = kill_process(Pid::from_child(&java), Signal::TERM);
    java.wait()?;
    reported.ok_or_else(|| io::Error::other("PerfTest ended early: run it by hand to see why"))
}

/// The last of `... min/median/75th/95th/99th consumer latency: 159/339/449/1290/80123 µs`.
fn p99_us(line: &str) -> Option<f64> {
    let (_, latencies) = line.rsplit_once("consumer latency: ")?;
    let p99 = latencies.trim().rsplit('/').next()?;
    p99.strip_suffix("µs").or_else(|| p99.strip_suffix("us"))?.trim().parse().ok()
}

fn write(section: &mut Section, rows: &[(String, [Vec<f64>; 4])]) {
    let mut table = String::from(
        "| server | load | p99, ms | truth | of the truth | p99.9, ms | truth | of the truth |\n|---|---|---:|---:|---:|---:|---:|---:|\n",
    );
    for (name, figures) in rows {
        let [p99, p999, true_p99, true_p999] = figures;
        let ms = |us: &[f64]| match middle(us) {
            us if us.is_finite() => format!("{:.1}", us / 1e3),
            _ => "unknown".into(),
        };
        let ratio = |reported: &[f64], truth: &[f64]| match reported.iter().all(|us| us.is_finite()) {
            true => Ratio::of(reported, truth).map_or_else(|| "-".into(), |ratio| ratio.to_string()),
            false => "-".into(),
        };
        table.push_str(&format!(
            "| {name} | {} | {} | {} | {} | {} | {} |\n",
            ms(p99),
            ms(true_p99),
            ratio(p99, true_p99),
            ms(p999),
            ms(true_p999),
            ratio(p999, true_p999)
        ));
    }
    section.say(table.trim_end().to_string());
}
