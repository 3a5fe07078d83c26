//! pinwise is killed, or asked to end, in the middle of an arm: the server is put back where it was.

/// `make soak`: `killed` and `running` have the same of other studies in `make test`.
mod soak {
    use std::process::Stdio;
    use std::time::Duration;

    use rustix::process::{Pid, Signal, kill_process};

    use super::super::production::Production;
    use super::super::short_study::arguments;
    use crate::pinwise::{Bench, wait_at_most};
    use crate::processes::Killed;

    /// Exit code of what was interrupted, as documented in `pinwise --help`.
    const INTERRUPTED: i32 = 130;

    /// A study in the middle of an arm that has moved the server, and the server's state before.
    fn in_an_arm(bench: &Bench, production: &Production) -> (Killed, String) {
        let before = production.state();
        let long = ["--cpus", "0,1", "--blocks", "4", "--window", "3", "--attempts", "1"];
        let guard = ["--guard", "latency_p99_us <= 1000000"];
        let arguments = arguments(bench, production, &[&long[..], &guard].concat());
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut command = bench.command(&arguments);
        let study = Killed(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        // The first two trials may be the baseline, which moves nothing.
        wait_at_most(Duration::from_secs(30), "an arm that moves the server", || {
            production.state() != before
        });
        // Until its load watches.
        std::thread::sleep(Duration::from_secs(1));
        (study, before)
    }

    #[test]
    #[ignore = "ground truth: needs root, BPF, redis and 20 s; run by `make soak`"]
    fn a_server_in_production_is_put_back_by_itself_when_pinwise_was_killed_in_an_arm() {
        let Some(production) = Production::redis("4") else { return };
        let bench = Bench::new();
        let (mut study, before) = in_an_arm(&bench, &production);
        study.kill().unwrap();
        study.wait().unwrap();
        wait_at_most(Duration::from_secs(30), "the server where it was", || production.state() == before);
        let is_settled = || {
            let status = bench.json(&["status", "--format", "json"]);
            status["sessions"].as_array().is_some_and(Vec::is_empty)
        };
        wait_at_most(Duration::from_secs(30), "the end of what put it back", is_settled);
        let undone = bench.run(&["undo"]);
        assert!(undone.status.success(), "{}", String::from_utf8_lossy(&undone.stdout));
        assert_eq!(production.state(), before);
        bench.nothing_is_changed();
    }

    #[test]
    #[ignore = "ground truth: needs root, BPF, redis and 20 s; run by `make soak`"]
    fn a_server_in_production_is_put_back_by_ctrl_c_in_an_arm() {
        let Some(production) = Production::redis("4") else { return };
        let bench = Bench::new();
        let (mut study, before) = in_an_arm(&bench, &production);
        kill_process(Pid::from_child(&study), Signal::INT).unwrap();
        let status = study.wait().unwrap();
        assert_eq!(status.code(), Some(INTERRUPTED));
        assert_eq!(production.state(), before);
        bench.nothing_is_changed();
    }
}
