//! Requests to servers of Debian's packages as the kernel counts and times them, beside what their clients count and time: by the reader
//! that `pinwise diagnose` and `pinwise watch` have, here in this process, so that its window is just around the load.

use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use machine::Root;
use probe::requests::{Counted, CountingRequests, Endpoint, Listening, PortRequests};
use serde_json::Value;

use super::super::on;
use super::{driven, first_and_last_cpu, number};
use crate::needs::{are_installed, free_port};
use crate::pinwise::wait_at_most;
use crate::processes::Killed;

/// Some 100 to 200 us of redis for each request.
const SCRIPT: &str = "for i=1,50000 do end return 1";

/// What a client with one connection reports, which asks again as soon as it has its answer.
struct Client {
    /// How many requests the server may have answered.
    answered: (f64, f64),
    /// Mean time from one request to the next, us.
    cycle_us: f64,
    p50_us: f64,
    p99_us: f64,
}

impl Client {
    /// One of ours.
    fn of(document: &Value) -> Self {
        let figure = |name: &str| number(&document["outcome"]["figures"][name]);
        assert!(document["broken"].is_null() && figure("failed") == 0.0, "{document:#}");
        Self {
            // One that it did not wait for may have been answered.
            answered: (figure("completed"), figure("completed") + figure("unfinished")),
            cycle_us: 1e6 / figure("requests_per_s"),
            p50_us: figure("latency_p50_us"),
            p99_us: figure("latency_p99_us"),
        }
    }

    /// That what the kernel saw is of the same requests. At least this part of a cycle must be at the server.
    fn is_that_of(&self, port: &PortRequests, least: f64) {
        assert_eq!(port.counted(), Some(Counted::Requests), "{port:#?}");
        let (fewest, most) = self.answered;
        assert!((fewest..=most).contains(&(port.answered as f64)), "{fewest} to {most}: {port:#?}");
        let at_server_us = port.mean_waited_us().unwrap() + port.mean_served_us().unwrap();
        // The end of a write may be later than the client has what was written.
        let likely_us = least * self.cycle_us..1.1 * self.cycle_us;
        assert!(likely_us.contains(&at_server_us), "{at_server_us} beside {likely_us:?}: {port:#?}");
        // Less the way there and back, which on a busy machine may be all of a tail. Steps of the kernel are a quarter wide, and clients
        // report whole us.
        for (share, client_us, least) in [(0.5, self.p50_us, least), (0.99, self.p99_us, 0.0)] {
            let took_us = port.took.quantile_ns(share).unwrap() as f64 / 1e3;
            let likely_us = least * client_us..=1.3 * client_us + 2.0;
            assert!(likely_us.contains(&took_us), "{share}: {took_us} beside {likely_us:?}: {port:#?}");
        }
    }
}

/// Waits until a server listens.
fn listens(port: u16, within: Duration) {
    wait_at_most(within, "a server that listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    // Until it has done with the connection that looked.
    std::thread::sleep(Duration::from_millis(300));
}

/// What the kernel sees of a server's port while `load` runs, and what that returns; `None` where requests cannot be seen.
fn counted<T>(server: &Killed, port: u16, load: impl FnOnce() -> T) -> Option<(PortRequests, T)> {
    let listening = Listening::on_ports(&[port]);
    let mut counting = match CountingRequests::prepare(&Root::live(), server.id(), &listening) {
        Ok(counting) => counting,
        Err(missing) => {
            eprintln!("skipped: {}: {}", missing.fact, missing.why);
            return None;
        }
    };
    counting.start();
    let loaded = load();
    counting.stop();
    let seen = counting.end();
    let [requests] = &seen.ports[..] else { panic!("one port: {seen:#?}") };
    assert_eq!((&requests.at, seen.missing.len()), (&Endpoint::Port(port), 0), "{seen:#?}");
    Some((requests.clone(), loaded))
}

#[test]
#[ignore = "ground truth: needs root, BPF, nginx and two CPUs; run by `make test`"]
fn requests_of_nginx_are_those_of_our_http_load() {
    let Some((first, last)) = first_and_last_cpu().filter(|_| are_installed(&["nginx"])) else { return };
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let dir = folder.path().display();
    // One process, so that all of it ends when that is killed.
    let config = format!(
        "daemon off; master_process off; pid {dir}/nginx.pid; error_log stderr crit;\n\
         events {{ worker_connections 64; }}\n\
         http {{\n\
         access_log off; keepalive_requests 1000000000;\n\
         client_body_temp_path {dir}; proxy_temp_path {dir}; fastcgi_temp_path {dir};\n\
         uwsgi_temp_path {dir}; scgi_temp_path {dir};\n\
         server {{ listen 127.0.0.1:{port}; return 200 ok; }}\n\
         }}\n"
    );
    let path = folder.path().join("nginx.conf");
    std::fs::write(&path, config).unwrap();
    let server = on(&last, &["nginx", "-e", "stderr", "-c", path.to_str().unwrap()]);
    listens(port, Duration::from_secs(10));
    let options = ["--connections", "1", "--seconds", "2", "--expect-body", "ok"];
    let load = || driven(&first, "http", "127.0.0.1", port, &options);
    let Some((seen, document)) = counted(&server, port, load) else { return };
    // nginx answers in less time than it takes to go there and back.
    Client::of(&document).is_that_of(&seen, 0.1);
}

#[test]
#[ignore = "ground truth: needs root, BPF, redis and two CPUs; run by `make test`"]
fn requests_of_redis_are_those_of_its_own_benchmark() {
    const REQUESTS: u32 = 5_000;
    let programs = ["redis-server", "redis-benchmark"];
    let Some((first, last)) = first_and_last_cpu().filter(|_| are_installed(&programs)) else { return };
    let port = free_port();
    let number = port.to_string();
    let redis =
        ["redis-server", "--port", &number, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
    let server = on(&last, &redis);
    listens(port, Duration::from_secs(10));
    let load = || {
        let mut tool = Command::new("taskset");
        tool.args(["-c", &first, "redis-benchmark", "-h", "127.0.0.1", "-p", &number, "-c", "1", "--csv"]);
        tool.args(["-n", &REQUESTS.to_string(), "EVAL", SCRIPT, "0"]);
        String::from_utf8(tool.output().unwrap().stdout).unwrap()
    };
    let Some((seen, said)) = counted(&server, port, load) else { return };
    of_redis_benchmark(&said, REQUESTS).is_that_of(&seen, 0.3);
}

/// What `redis-benchmark --csv` says of so many requests: "test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms",
/// "p95_latency_ms","p99_latency_ms","max_latency_ms".
fn of_redis_benchmark(said: &str, requests: u32) -> Client {
    let row = said.lines().find(|line| line.starts_with("\"EVAL"));
    let row = row.unwrap_or_else(|| panic!("no row: {said}"));
    let fields: Vec<&str> = row.trim().trim_matches('"').split("\",\"").collect();
    let figure = |place: usize| fields[place].parse::<f64>().unwrap_or_else(|e| panic!("{e}: {row}"));
    Client {
        // It asks for up to three settings of the server first.
        answered: (f64::from(requests), f64::from(requests) + 3.0),
        cycle_us: 1e6 / figure(1),
        p50_us: 1e3 * figure(4),
        p99_us: 1e3 * figure(6),
    }
}

mod soak {
    use std::path::Path;
    use std::process::Stdio;

    use super::*;

    const PROGRAMS: &str = "/usr/lib/rabbitmq/bin";
    const CHANNELS: u32 = 200;

    /// A broker as recipes/rabbitmq-nodes.toml has it, on this CPU: without epmd, and with all of its files in a folder.
    fn broker(cpu: &str, folder: &Path, port: u16) -> Killed {
        let dir = folder.display();
        let path = std::env::var("PATH").unwrap_or_default();
        let alone = format!(
            "-sname pinwise@localhost -erl_epmd_port {port} -kernel inet_dist_use_interface {{127,0,0,2}}"
        );
        let mut command = Command::new("taskset");
        command.args(["-c", cpu, &format!("{PROGRAMS}/rabbitmq-server")]).envs([
            ("PATH", format!("{PROGRAMS}:{path}")),
            ("HOME", dir.to_string()),
            // The script then becomes the broker.
            ("RUNNING_UNDER_SYSTEMD", "true".into()),
            ("RABBITMQ_NODENAME", "pinwise@localhost".into()),
            ("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1".into()),
            ("RABBITMQ_NODE_PORT", port.to_string()),
            ("RABBITMQ_MNESIA_BASE", format!("{dir}/mnesia")),
            ("RABBITMQ_LOG_BASE", format!("{dir}/log")),
            ("RABBITMQ_LOGS", "-".into()),
            ("RABBITMQ_CONFIG_FILE", format!("{dir}/rabbitmq.conf")),
            ("RABBITMQ_CONF_ENV_FILE", format!("{dir}/rabbitmq-env.conf")),
            ("RABBITMQ_ENABLED_PLUGINS_FILE", format!("{dir}/enabled_plugins")),
            ("ERL_EPMD_PORT", "1".into()),
            ("ERL_AFLAGS", "-start_epmd false".into()),
            ("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", alone),
        ]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Killed(command.spawn().unwrap())
    }

    #[test]
    #[ignore = "ground truth: needs root, BPF, rabbitmq-server and two CPUs; run by `make soak`"]
    fn messages_through_rabbitmq_are_not_said_to_be_requests() {
        let server = format!("{PROGRAMS}/rabbitmq-server");
        let programs = [server.as_str(), "erl"];
        let Some((first, last)) = first_and_last_cpu().filter(|_| are_installed(&programs)) else { return };
        let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
        let server = broker(&last, folder.path(), port);
        listens(port, Duration::from_secs(90));
        let channels = CHANNELS.to_string();
        let options = ["--channels", &channels, "--seconds", "3"];
        let load = || driven(&first, "amqp", "127.0.0.1", port, &options);
        let Some((seen, document)) = counted(&server, port, load) else { return };
        let figure = |name: &str| number(&document["outcome"]["figures"][name]);
        assert!(document["broken"].is_null() && figure("failed") == 0.0, "{document:#}");
        // Where channels keep step, all messages come at once, and each is answered by a write.
        let by_reads = seen.counted().map(Counted::is_by_reads);
        assert!(
            [Some(Some(true)), Some(None)].contains(&by_reads),
            "{CHANNELS} channels share a connection: {seen:#?}"
        );
        // Each channel has one message on its way: after an answer there are that many to be written at most before another read. What
        // the broker says beside messages is of the beginning and the end of channels.
        let (completed, answered) = (figure("completed"), seen.answered as f64);
        let fewest = completed / f64::from(CHANNELS) - 1.0;
        let most = completed + figure("unfinished") + 10.0 * f64::from(CHANNELS + 1);
        assert!((fewest..=most).contains(&answered), "{fewest} to {most}, {completed} messages: {seen:#?}");
    }
}
