//! `pinwise fleet study`, and `pinwise fleet apply --verify`, on hosts of which each has a network of its own: they measure there.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;
use study::Case;

use super::fleet::{states, steerings};
use super::host_namespaces::HostNamespaces;
use super::hosted_study::is_complete;
use super::{ENDED_WITHIN, HOSTS, nothing_is_changed_on};
use crate::pinwise::{Bench, wait_at_most};

/// What makes a study short; neither what others do on this machine nor anything that is observed repeats or prolongs a trial.
const SHORT: &str = "seed = 1\n\
    [[factors]]\nkind = 'all-alike'\ncopies = 1\n\
    [disturbed]\nothers_cpus = 1000.0\nsteal_share = 1.0\n\
    [budget]\nblocks = 2\nobserved_blocks = 0\n";

/// The built-in server and its load, in four arms that are all placed alike.
const STRING: &str = "window_s = 0.4\nwarm_up_cap_s = 0.2\n\
    [load]\ndriver = 'string'\nkeep_alive = true\nconnections = 2\n";

/// Of packets of the host's card: what it sets belongs to one network namespace, and so to one of the hosts.
const PLAN: &str = "[[setting]]\nknob = \"rps-cpus\"\ntarget = \"eth0/rx-0\"\nvalue = \"0\"\nbefore = \"\"\n";

/// A load whose figure is twice as high where the plan is in force, on host b; anywhere else it is always the same.
const TWICE_ON_B: &str = r#"window_s = 0.2
warm_up_cap_s = 0.0
[load]
driver = "command"
command = ["sh", "-c", '''
sleep 0.1
rate=100
case $(uname -n)-$(cat /sys/class/net/eth0/queues/rx-0/rps_cpus) in b-*1) rate=200;; esac
echo rate $rate''']
[load.figures]
requests_per_s = { regex = 'rate (\d+)' }
"#;

/// A file beside the case of a bench.
fn written(bench: &Bench, name: &str, text: &str) -> String {
    let path = bench.case().with_file_name(name);
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// That the hosts are as they were: nothing in force, no folder of a run, no agent.
fn nothing_is_left(bed: &HostNamespaces) {
    for host in HOSTS {
        wait_at_most(ENDED_WITHIN, &format!("the end of the agents on host {host}"), || {
            bed.agents(host).is_empty() && bed.studies(host).is_empty() && bed.loads(host).is_empty()
        });
        nothing_is_changed_on(bed, host);
        let left = bed.within(host, "ls /root/.cache/pinwise");
        assert!(!String::from_utf8_lossy(&left.stdout).contains("run-of-pinwise"), "host {host}: {left:?}");
    }
}

#[test]
#[ignore = "ground truth: needs root, ip netns, sshd and some 40 s; run by `make test`"]
fn two_hosts_of_one_shape_are_studied_and_stand_on_one_sheet() {
    let Some(bed) = HostNamespaces::new(&HOSTS) else { return };
    let bench = Bench::new();
    let recipe = written(&bench, "recipe.toml", &format!("{SHORT}{STRING}"));
    let (hosts, folder) = (bed.hosts_file(1), bench.case().with_file_name("kinds").display().to_string());
    let words = ["fleet", "study", &recipe, "--hosts", &hosts, "--per-shape", "2", "-o", &folder];
    let document = bench.json(&[&words[..], &["--format", "json"]].concat());

    // They are one machine, and so of one shape.
    assert_eq!(document["shapes"].as_array().map(Vec::len), Some(1), "{document:#}");
    assert_eq!(document["shapes"][0]["of_hosts"], 2, "{document:#}");
    for left_out in ["not_studied", "not_read"] {
        assert_eq!(document[left_out].as_array().map(Vec::len), Some(0), "{document:#}");
    }
    let mut studied: Vec<&Value> = document["studied"].as_array().unwrap().iter().collect();
    studied.sort_by_key(|one| one["host"].to_string());
    let of: Vec<&str> = studied.iter().filter_map(|one| one["host"].as_str()).collect();
    assert_eq!(of, HOSTS, "{document:#}");
    let mut cases = Vec::new();
    for one in studied {
        assert_eq!(one["exit_code"], 0, "{one:#}");
        let case = Case::open(Path::new(one["case"].as_str().unwrap())).unwrap();
        is_complete(&case);
        cases.push(case.dir().display().to_string());
    }
    let sheet = &document["comparison"];
    let compared = sheet["cases"].as_array().unwrap();
    let names: Vec<&str> = compared.iter().filter_map(|case| case["name"].as_str()).collect();
    assert_eq!(names.len(), HOSTS.len(), "{sheet:#}");
    for host in HOSTS {
        assert!(names.iter().any(|name| name.ends_with(&format!("-{host}"))), "{host}: {names:?}");
    }
    let arms = sheet["arms"].as_array().unwrap();
    let has_both = |arm: &Value| {
        let figures = arm["figures"].as_array().unwrap();
        figures.len() == 2 && figures.iter().all(|figure| figure["value"].as_f64() > Some(0.0))
    };
    assert!(!arms.is_empty() && arms.iter().all(has_both), "{sheet:#}");
    // The table that people see has a column for each.
    let table = bench.run(&["compare", &cases[0], &cases[1]]);
    let text = String::from_utf8_lossy(&table.stdout);
    assert!(table.status.success() && names.iter().all(|name| text.contains(name)), "{text}");
    bench.nothing_is_changed();
    nothing_is_left(&bed);
}

#[test]
#[ignore = "ground truth: needs root, ip netns, sshd and some 60 s; run by `make test`"]
fn a_plan_that_trials_do_not_confirm_in_the_second_wave_is_undone_in_the_first() {
    let Some(bed) = HostNamespaces::new(&HOSTS) else { return };
    let before = steerings(&bed, &HOSTS);
    let bench = Bench::new();
    let recipe = written(&bench, "recipe.toml", &format!("{SHORT}{TWICE_ON_B}"));
    let plan = written(&bench, "plan.toml", PLAN);
    let (case, hosts) = (bench.case().display().to_string(), bed.hosts_file(1));
    bench.json(&["study", &recipe, "-o", &case, "--format", "json"]);

    let words = ["fleet", "apply", &plan, "--hosts", &hosts, "--verify", &case, "--waves", "1,100%"];
    let times = ["--settle", "50ms", "--confirm-within", "60s", "--format", "json"];
    let Output { status, stdout, stderr } = bench.run(&[&words[..], &times].concat());
    let said = String::from_utf8_lossy(&stderr);
    assert_eq!(status.code(), Some(1), "{said}");
    let document: Value = serde_json::from_slice(&stdout).unwrap();
    // Host b had the gain and got the plan; host c did not.
    assert_eq!(states(&document), [("b", 1, "undone"), ("c", 2, "untouched")], "{document:#}\n{said}");
    assert_eq!(document["stopped"]["harm"]["wave"], 2, "{document:#}");
    assert!(document["hosts"][0]["session"].is_string(), "it was in force: {document:#}");
    assert!(document["hosts"][0]["fault"].is_null(), "{document:#}");
    let fault = &document["hosts"][1]["fault"];
    assert_eq!(fault["object"], "host c: pinwise verify", "{document:#}");
    assert!(fault["cause"].as_str().is_some_and(|cause| cause.contains("1.000 times")), "{document:#}");
    assert_eq!(steerings(&bed, &HOSTS), before);
    bench.nothing_is_changed();
    nothing_is_left(&bed);
}
