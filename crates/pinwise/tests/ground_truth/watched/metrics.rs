//! Metrics that are handed out while a thread works: over HTTP and in a file.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use super::actor::{Actor, spin};
use super::watching::Stage;
use crate::needs::free_port;
use crate::pinwise::wait_at_most;

const ON_CPU: &str = r#"pinwise_server_time_seconds_total{state="on_cpu"}"#;

/// Long beyond what anything here takes.
const LONG: Duration = Duration::from_secs(20);

/// The page, where there is one.
fn page(at: &str) -> Option<String> {
    let mut stream = TcpStream::connect(at).ok()?;
    stream.set_read_timeout(Some(LONG)).ok()?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").ok()?;
    let mut page = String::new();
    stream.read_to_string(&mut page).ok()?;
    Some(page)
}

/// The value of a sample.
fn value(page: &str, sample: &str) -> Option<f64> {
    page.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' ')?.parse().ok())
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn counters_grow_while_a_thread_works_and_the_file_has_them_too() {
    let Some(stage) = Stage::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pinwise.prom").display().to_string();
    let at = format!("127.0.0.1:{}", free_port());
    let busy = Actor::start("busy", stage.cpu, spin);
    let tid = busy.tid.to_string();
    let flags = ["--thread", &tid, "--openmetrics", &at, "--textfile", &file, "--every", "100ms"];
    let watching = stage.begin_to(&flags);
    let on_cpu_s = || page(&at).and_then(|page| value(&page, ON_CPU)).unwrap_or(0.0);
    wait_at_most(LONG, "a second on a CPU", || on_cpu_s() >= 1.0);
    let first_s = on_cpu_s();
    // The file is written before the page is handed out.
    let in_file_s = value(&std::fs::read_to_string(&file).unwrap(), ON_CPU).unwrap();
    assert!(in_file_s >= first_s && first_s >= 1.0, "{in_file_s} {first_s}");
    wait_at_most(LONG, "more time on a CPU", || on_cpu_s() > first_s);
    busy.stop();
    // The thread has ended, and so does pinwise, which leaves no figures behind that nobody counts any more.
    watching.ends();
    assert!(!Path::new(&file).exists());
}
