//! The http load beside wrk: requests for a second of client CPU time against the same nginx.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use benches::blocks::{self, Ratio, middle};
use benches::cpu_time::of_child;
use load::Server;
use report::number;

use crate::recipe;
use crate::section::Section;
use crate::tools::{self, pinned};

/// Where the client runs; nginx has CPU 0.
const CLIENT_CPU: &str = "1";
const BLOCKS: usize = 9;
const CONNECTIONS: u32 = 16;
const WINDOW_S: u32 = 3;

/// What one run gives: requests for a second of client CPU time, and requests a second.
type Figures = [f64; 2];

/// Measures the load.
pub fn measure() -> io::Result<Section> {
    let mut section = Section::new("The http load, beside wrk");
    let folder = tempfile::tempdir()?;
    let (mut hand, server) = match recipe::server("nginx", folder.path()) {
        Ok(server) => server,
        Err(why) => {
            section.say(format!("Not measured: nginx does not start ({why})."));
            return Ok(section);
        }
    };
    let arms =
        ["pinwise drive --driver http, status and body compared", "pinwise drive --driver http", "wrk"];
    let pinwise = tools::pinwise()?;
    let measured = blocks::figures(arms.len(), BLOCKS, |arm| match arm {
        0 => ours(&pinwise, &server, &["--expect-body", "ok"]),
        1 => ours(&pinwise, &server, &[]),
        _ => wrk(&server),
    });
    let stopped = server.stop().map_err(io::Error::other);
    hand.undo_all();
    stopped?;
    write(&mut section, &arms, &measured?);
    Ok(section)
}

/// The whole process counts, its start too.
fn run(mut command: Command, read: impl Fn(&str) -> Option<f64>) -> io::Result<Figures> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let (began, mut child) = (Instant::now(), command.spawn()?);
    let (cpu_ns, requests) = of_child(&mut child, |child| {
        let said = io::read_to_string(child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?)?;
        child.wait()?;
        read(&said).ok_or_else(|| io::Error::other(format!("{command:?}: {said}")))
    })?;
    Ok([requests * 1e9 / cpu_ns as f64, requests / began.elapsed().as_secs_f64()])
}

fn ours(pinwise: &Path, server: &Server, more: &[&str]) -> io::Result<Figures> {
    let mut command = pinned(CLIENT_CPU, pinwise);
    command.args(["drive", "--driver", "http", "--port", &server.address().port().to_string()]);
    command.args(["--connections", &CONNECTIONS.to_string(), "--seconds", &WINDOW_S.to_string()]);
    command.args(more);
    run(command, |said| {
        let document: serde_json::Value = serde_json::from_str(said).ok()?;
        let figure = |name: &str| document["outcome"]["figures"][name].as_f64();
        (document["broken"].is_null() && figure("failed") == Some(0.0)).then(|| figure("completed"))?
    })
}

fn wrk(server: &Server) -> io::Result<Figures> {
    let mut command = pinned(CLIENT_CPU, Path::new("wrk"));
    command.args(["-t1", &format!("-c{CONNECTIONS}"), &format!("-d{WINDOW_S}s")]);
    command.arg(format!("http://{}/", server.address()));
    run(command, |said| {
        let failed = said.contains("Non-2xx") || said.contains("Socket errors");
        let line = said.lines().find_map(|line| line.trim().split_once(" requests in "))?;
        (!failed).then(|| line.0.parse().ok())?
    })
}

fn write(section: &mut Section, arms: &[&str], measured: &[[Vec<f64>; 2]]) {
    section.say(format!(
        "nginx with one worker and a fixed answer (recipes/nginx.toml) on CPU 0, client on CPU 1, {CONNECTIONS} kept connections, closed \
         loop, {WINDOW_S} s a run; the CPU time of the whole client process. wrk looks at the status of an answer; pinwise at status and \
         length too, and in the first line at each byte of the body. {BLOCKS} blocks in random order; others used both CPUs at the same \
         time where the load above says so. Goal: 0.9 x wrk's requests a client CPU second."
    ));
    let mut table = String::from(
        "| | requests a client CPU second | of wrk | requests/s | of wrk |\n|---|---:|---:|---:|---:|\n",
    );
    let Some(reference) = measured.last() else { return };
    for (arm, figures) in arms.iter().zip(measured) {
        let ratio = |figure: usize| match std::ptr::eq(figures, reference) {
            true => "1".to_string(),
            false => {
                Ratio::of(&figures[figure], &reference[figure]).map_or_else(|| "-".into(), |r| r.to_string())
            }
        };
        let [cost, rate] = [0, 1].map(|figure| number::figure(middle(&figures[figure])));
        table.push_str(&format!("| {arm} | {cost} | {} | {rate} | {} |\n", ratio(0), ratio(1)));
    }
    section.say(table.trim_end().to_string());
}
