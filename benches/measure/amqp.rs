//! The AMQP load beside RabbitMQ's own, PerfTest: messages for a second of client CPU time at the same shape, and what the broker
//! does with either.

use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use benches::blocks::{self, Ratio, middle};
use report::number;
use rustix::process::{Pid, Signal, kill_process};

use crate::section::Section;
use crate::tools::{self, pinned};
use crate::{perf_test, recipe};

/// Where the client runs; the broker has CPU 0.
const CLIENT_CPU: &str = "1";
const BLOCKS: usize = 6;
const MESSAGE_BYTES: u32 = 12;
/// Seconds of PerfTest that do not count, beyond its own start: the JVM compiles.
const WARM_UP_S: usize = 4;
const WINDOW_S: usize = 5;
const SETTLE: Duration = Duration::from_secs(1);

/// Connections, and channels of each; a queue a channel, a message on its way in each.
const SHAPES: [(u32, u32); 2] = [(1, 500), (10, 50)];

/// What one run gives: messages for a second of client CPU time, and messages a second.
type Figures = [f64; 2];

/// Measures the load.
pub fn measure() -> io::Result<Section> {
    let mut section = Section::new("The AMQP load, beside RabbitMQ PerfTest");
    let folder = tempfile::tempdir()?;
    let classes = match perf_test::classes(folder.path()) {
        Ok(classes) => classes,
        Err(why) => {
            section.say(format!("Not measured: PerfTest cannot be had by Maven ({why})."));
            return Ok(section);
        }
    };
    let (mut hand, server) = match recipe::server("rabbitmq-nodes", folder.path()) {
        Ok(broker) => broker,
        Err(why) => {
            section.say(format!("Not measured: RabbitMQ does not start ({why})."));
            return Ok(section);
        }
    };
    let (port, pinwise) = (server.address().port(), tools::pinwise()?);
    let measured = blocks::figures(2 * SHAPES.len(), BLOCKS, |arm| {
        let shape = SHAPES[arm / 2];
        let run = || match arm % 2 {
            0 => ours(&pinwise, port, shape),
            _ => theirs(&classes, port, shape),
        };
        // The broker takes a while to forget the queues of the run before.
        std::thread::sleep(SETTLE);
        run().or_else(|why| {
            eprintln!("bench: once more, for {why}");
            std::thread::sleep(5 * SETTLE);
            run()
        })
    });
    let stopped = server.stop().map_err(io::Error::other);
    hand.undo_all();
    stopped?;
    write(&mut section, &measured?);
    Ok(section)
}

fn ours(pinwise: &Path, port: u16, (connections, channels): (u32, u32)) -> io::Result<Figures> {
    let mut command = pinned(CLIENT_CPU, pinwise);
    command.args(["drive", "--driver", "amqp", "--port", &port.to_string(), "--confirms"]);
    command.args(["--connections", &connections.to_string(), "--channels", &channels.to_string()]);
    command.args(["--message-bytes", &MESSAGE_BYTES.to_string(), "--seconds", &WINDOW_S.to_string()]);
    let ran = command.stdin(Stdio::null()).output()?;
    let failed = || io::Error::other(String::from_utf8_lossy(&ran.stderr).into_owned());
    let document: serde_json::Value = serde_json::from_slice(&ran.stdout).map_err(|_| failed())?;
    let figure = |name: &str| document["outcome"]["figures"][name].as_f64();
    match (document["broken"].is_null(), figure("completed"), figure("client_cpu_s"), figure("failed")) {
        (true, Some(completed), Some(cpu_s), Some(0.0)) => {
            Ok([completed / cpu_s, completed / WINDOW_S as f64])
        }
        _ => Err(io::Error::other(document.to_string())),
    }
}

/// PerfTest's CPU time is taken between two lines of its output, when its start is long over.
fn theirs(classes: &str, port: u16, (connections, channels): (u32, u32)) -> io::Result<Figures> {
    let (connections, channels) = (connections.to_string(), channels.to_string());
    let mut command = pinned(CLIENT_CPU, Path::new("java"));
    command.args(["-cp", classes, perf_test::MAIN]);
    command.args(["--uri", &format!("amqp://127.0.0.1:{port}"), "-s", &MESSAGE_BYTES.to_string()]);
    command.args(["-x", &connections, "-X", &channels, "-y", &connections, "-Y", &channels, "-c", "1", "-a"]);
    command.args(["--queue-pattern", "queue-%d", "--queue-pattern-from", "1", "--queue-pattern-to", "500"]);
    let mut java = command.stdin(Stdio::null()).stderr(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let pid = java.id();
    let watched = java.stdout.take().map(|stdout| {
        let rates =
            BufReader::new(stdout).lines().map_while(Result::ok).filter_map(|line| received_per_s(&line));
        // Seconds without a message are its start.
        let mut rates = rates.skip_while(|rate| *rate < 100.0).skip(WARM_UP_S);
        let _ = rates.next();
        let before_s = cpu_s(pid)?;
        let window: Vec<f64> = rates.take(WINDOW_S).collect();
        Ok::<_, io::Error>((window, cpu_s(pid)? - before_s))
    });
    // In order, so that the broker need not find out.
    let _ = kill_process(Pid::from_child(&java), Signal::TERM);
    java.wait()?;
    match watched.transpose()? {
        Some((window, cpu_s)) if window.len() == WINDOW_S => {
            let messages: f64 = window.iter().sum();
            Ok([messages / cpu_s, messages / WINDOW_S as f64])
        }
        _ => Err(io::Error::other("PerfTest ended early: run it by hand to see why")),
    }
}

/// The rate of a line such as `time: 7.287s, sent: 3722 msg/s, ..., received: 3256 msg/s, ...`: of the second before it.
fn received_per_s(line: &str) -> Option<f64> {
    let (_, rate) = line.split_once("received: ")?;
    rate.split_once(" msg/s")?.0.parse().ok()
}

/// User and system time of a process so far, s.
fn cpu_s(pid: u32) -> io::Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let behind_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let ticks: f64 =
        behind_name.split(' ').skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    Ok(ticks / rustix::param::clock_ticks_per_second() as f64)
}

fn write(section: &mut Section, measured: &[[Vec<f64>; 2]]) {
    section.say(format!(
        "Broker on CPU 0, client on CPU 1; messages of {MESSAGE_BYTES} bytes through transient classic queues, a queue a channel, no \
         acknowledgements; a channel publishes again when the broker has confirmed its message (PerfTest: `-c 1 -a`, on connections \
         of its own for consumers), pinwise when the message is back too and compared. PerfTest's start and {WARM_UP_S} s more do \
         not count. {BLOCKS} blocks in random order; others used both CPUs at the same time where the load above says so. Goal: 3 x \
         the messages a client CPU second; the same broker throughput."
    ));
    let mut table = String::from(
        "| connections x channels | | messages a client CPU second | of PerfTest | messages/s | of PerfTest |\n|---|---|---:|---:|---:|---:|\n",
    );
    for ((connections, channels), pair) in SHAPES.iter().zip(measured.chunks(2)) {
        let [ours, theirs] = pair else { continue };
        let ratio = |figure: usize| {
            Ratio::of(&ours[figure], &theirs[figure]).map_or_else(|| "-".into(), |ratio| ratio.to_string())
        };
        let figures = |arm: &[Vec<f64>; 2]| [0, 1].map(|figure| number::figure(middle(&arm[figure])));
        let ([our_cost, our_rate], [their_cost, their_rate]) = (figures(ours), figures(theirs));
        table.push_str(&format!(
            "| {connections} x {channels} | pinwise drive --driver amqp | {our_cost} | {} | {our_rate} | {} |\n\
             | | PerfTest {} | {their_cost} | 1 | {their_rate} | 1 |\n",
            ratio(0),
            ratio(1),
            perf_test::VERSION,
        ));
    }
    section.say(table.trim_end().to_string());
}
