//! Two servers that listen on one port, each at an address of its own.

use serde_json::json;

use super::{BEGUN, ONE_CONNECTION, Served, WINDOW, driven, number, possible, string_server};

/// Another address of the loopback interface.
const OTHER: &str = "127.0.0.2";

#[test]
#[ignore = "ground truth: needs root, BPF and two CPUs; run by `make test`"]
fn requests_to_another_server_at_the_same_port_are_not_those_of_the_watched_one() {
    let Some(watched) = Served::start() else { return };
    let _other = string_server(&watched.first, OTHER, watched.port);
    let drive = |address| driven(&watched.first, "string", address, watched.port, &ONE_CONNECTION);
    let seen = watched.diagnose(WINDOW, || {
        std::thread::sleep(BEGUN);
        // The one and the other, so that those of both together are beyond what the watched one can have had.
        (drive("127.0.0.1"), drive(OTHER))
    });
    let Some((diagnosis, (its, others))) = seen else { return };
    let beside = number(&others["outcome"]["figures"]["completed"]);
    assert!(beside > 100.0, "the other server was asked: {others:#}");
    let [port] = &diagnosis["requests"]["ports"].as_array().unwrap()[..] else {
        panic!("it listens on one port: {:#}", diagnosis["requests"])
    };
    assert_eq!(port["port"], json!(watched.port), "{port:#}");
    let possible = possible(&its);
    assert!(possible.contains(&number(&port["answered"])), "{possible:?}, beside {beside}: {port:#}");
    assert_eq!(number(&port["peers"][0]["answered"]), number(&port["answered"]), "{port:#}");
}
