use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use super::*;
use crate::server_metrics::{figure, figures};

/// A server that gives each of these expositions once, and the number of requests when it has given all.
fn serving(expositions: Vec<String>) -> (SocketAddr, std::thread::JoinHandle<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        for text in &expositions {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut request, mut byte) = (Vec::new(), [0]);
            while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
                request.push(byte[0]);
            }
            stream.write_all(format!("HTTP/1.1 200 OK\r\n\r\n{text}").as_bytes()).unwrap();
        }
        expositions.len()
    });
    (address, server)
}

fn specs(texts: &[&str]) -> Vec<MetricSpec> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn exposition_of(commands: u32, fast: u32, all: u32) -> String {
    format!(
        "# TYPE commands_total counter\ncommands_total {commands}\n# TYPE rtt_seconds histogram\nrtt_seconds_bucket{{le=\"0.01\"}} {fast}\n\
         rtt_seconds_bucket{{le=\"0.02\"}} {all}\nrtt_seconds_bucket{{le=\"+Inf\"}} {all}\nrtt_seconds_sum 1\nrtt_seconds_count {all}\n"
    )
}

#[test]
fn one_exposition_is_asked_once_for_all_of_its_figures() {
    let (address, server) = serving(vec![exposition_of(100, 10, 10), exposition_of(400, 10, 20)]);
    let specs = specs(&[
        &format!("commands_per_s=prometheus:http://{address}/metrics#commands_total"),
        &format!("rtt_p50_ms=prometheus:http://{address}/metrics#rtt_seconds | p50"),
        &format!("gone=prometheus:http://{address}/metrics#gone_total"),
    ]);
    let mut readers = Readers::new(&specs).unwrap();
    let (before, after) = (readers.read(), readers.read());
    assert_eq!(server.join().unwrap(), 2);
    let raw = |reading: &[(usize, Result<Raw, Missing>)], at: usize| reading[at].1.clone();
    let (from, to) = (raw(&before, 0).unwrap(), raw(&after, 0).unwrap());
    assert!(to.seconds_since(&from) > 0.0);
    assert_eq!(figures(&from, &to, &specs[0], 2.0).unwrap(), 150.0);
    let median = figure(&raw(&before, 1).unwrap(), &raw(&after, 1).unwrap(), &specs[1], 2.0).unwrap();
    assert!((median.value - 15.0).abs() < 1e-9 && (median.at_least - 10.0).abs() < 1e-9, "{median:?}");
    let gone = raw(&after, 2).unwrap_err();
    assert!(gone.fact == "gone" && gone.why.contains("gone_total: is not in the answer"), "{gone:?}");
}

#[test]
fn programs_and_logs_are_read_by_expressions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    std::fs::write(&path, "GET / 200 rt=9.000\n").unwrap();
    let shown = path.display();
    let specs = specs(&[
        r"made=command:echo made:12 | gauge | regex made:(\d+)",
        r"made_per_s=command:echo made:12 | counter | regex made:(\d+)",
        r"gone=command:echo made:12 | gauge | regex gone:(\d+)",
        &format!(r"rt_s=log:{shown} | mean | regex rt=(?P<value>[\d.]+)"),
        &format!("errors=log:{shown} | count | regex  5\\d\\d "),
    ]);
    let mut readers = Readers::new(&specs).unwrap();
    assert_eq!((readers.commands.len(), readers.logs.len()), (1, 1), "each is asked once");
    let before = readers.read();
    std::fs::write(&path, "GET / 200 rt=9.000\nGET / 200 rt=0.010\nGET / 502 rt=0.030\nhalf of rt=5")
        .unwrap();
    let after = readers.read();
    let figure = |at: usize| {
        let (from, to) =
            (before[at].1.as_ref().map_err(Clone::clone)?, after[at].1.as_ref().map_err(Clone::clone)?);
        figures(from, to, &specs[at], 2.0)
    };
    assert_eq!(figure(0).unwrap(), 12.0);
    assert_eq!(figure(1).unwrap(), 0.0);
    assert!(figure(2).unwrap_err().why.contains("matches nothing"));
    assert!((figure(3).unwrap() - 0.02).abs() < 1e-12);
    assert_eq!(figure(4).unwrap(), 1.0);
}

#[test]
fn what_is_not_there_is_refused_before_anything_runs() {
    let why = |texts: &[&str]| Readers::new(&specs(texts)).unwrap_err().to_string();
    assert!(why(&["x=command:pinwise-no-such-tool | gauge | regex (.)"]).contains("pinwise-no-such-tool"));
    assert!(why(&["x=log:/nowhere/log | count | regex a"]).contains("/nowhere/log"));
    let load = "x=prometheus:http://127.0.0.1:1/metrics#a";
    assert!(why(&[load, load]).contains("given twice"));
    assert!(why(&[load; 65]).contains("at most 64"));
    let hand_made = MetricSpec { name: "X".into(), ..load.parse().unwrap() };
    assert!(Readers::new(&[hand_made]).unwrap_err().to_string().contains("its name"));
}

#[test]
fn where_nobody_listens_the_figure_is_missing_with_its_source() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut readers = Readers::new(&specs(&[&format!("x=prometheus:http://{address}/metrics#a")])).unwrap();
    let reading = readers.read();
    let missing = reading[0].1.as_ref().unwrap_err();
    assert!(missing.fact == "x" && missing.why.contains("does not take a connection"), "{missing:?}");
}
