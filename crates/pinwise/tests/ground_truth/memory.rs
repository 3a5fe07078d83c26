//! A queue server under a memory limit that is known: it breaks where the limit says, by swapping; what fits does not break; without
//! swap it is killed, and said to be; and nothing of it stays after kill -9.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::pinwise::{Bench, wait_at_most};

const LIMIT_MB: u64 = 200;
const MESSAGE_BYTES: u64 = 3_000_000;

/// The built-in queue server: its limit holds some 69 messages.
fn recipe(bench: &Bench, messages: u64, levels: &str) -> String {
    let text = format!(
        "samples_per_s = 100.0\n\
         [server]\n\
         command = \"{{exe}} queue-server --address {{address}} --port {{port}}\"\n\
         memory_limit_mb = {LIMIT_MB}\nswap_mb = 500\n\
         [load]\ndriver = \"queue-fill\"\nmessages = {messages}\nmessage_bytes = {MESSAGE_BYTES}\n\
         [baseline]\nserver = \"0\"\nload = \"1\"\n\
         [mis_tuning]\nname = \"a third of it\"\nkeys = {{ \"server.memory_limit_mb\" = 70 }}\n\
         [budget]\nblocks = 1\nattempts = 1\n\
         [[factors]]\nkind = \"places\"\nname = \"messages\"\nlevels = [{levels}]\n"
    );
    let file = bench.case().with_file_name("recipe.toml");
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

/// Whether there can be cgroups and swap areas of our own here.
fn may() -> bool {
    let may = rustix::process::geteuid().is_root() && Path::new("/proc/swaps").exists();
    if !may {
        eprintln!("skipped: limits and swap areas need root, and a kernel with swap");
    }
    may
}

/// Swap areas of ours that are on.
fn swaps(bench: &Bench) -> Vec<String> {
    let folder = bench.case().parent().unwrap().canonicalize().unwrap().display().to_string();
    let table = std::fs::read_to_string("/proc/swaps").unwrap();
    table.lines().filter(|line| line.contains(&folder)).map(String::from).collect()
}

/// Swap files of ours, on or off.
fn files(bench: &Bench) -> Vec<PathBuf> {
    let all = std::fs::read_dir(bench.case()).into_iter().flatten().map(|entry| entry.unwrap().path());
    all.filter(|path| path.extension().is_some_and(|end| end == "swap")).collect()
}

/// Cgroups of a process, and of a process number alone.
fn cgroups_of(pid: u32) -> Vec<PathBuf> {
    fn below(folder: &Path, found: &mut Vec<PathBuf>, wanted: &str) {
        for path in std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()) {
            if path.is_dir() && !path.is_symlink() {
                if path.file_name().unwrap().to_string_lossy().contains(wanted) {
                    found.push(path.clone());
                }
                below(&path, found, wanted);
            }
        }
    }
    let mut found = Vec::new();
    // pinwise-SECONDS-PID-ACT
    below(Path::new("/sys/fs/cgroup"), &mut found, &format!("-{pid}-"));
    found.retain(|path| path.file_name().unwrap().to_string_lossy().starts_with("pinwise-"));
    found
}

fn cliff<'a>(result: &'a Value, arm: &str) -> &'a Value {
    let cliffs = result["cliffs"].as_array().unwrap();
    cliffs.iter().find(|cliff| cliff["arm"] == arm).unwrap_or_else(|| panic!("{arm}: {cliffs:#?}"))
}

/// From this much longer on, swapping costs a put what its scatter on an idle machine does not hide.
const LEAST_COST: f64 = 1.5;

/// How many times as long a put of trial `trial` takes (median) from the `nth` on as before it.
fn slower_from(bench: &Bench, trial: u64, nth: usize) -> f64 {
    let text =
        std::fs::read_to_string(bench.case().join(format!("trials/{trial:04}/operations.csv"))).unwrap();
    let puts = text.lines().filter(|line| line.contains("put"));
    let times: Vec<f64> = puts.map(|line| line.rsplit(',').next().unwrap().parse().unwrap()).collect();
    let median = |times: &[f64]| study::statistics::summary::median(times).unwrap();
    median(&times[nth..]) / median(&times[..nth])
}

#[test]
#[ignore = "ground truth: needs root, and half a minute; run by `make test`"]
fn a_queue_breaks_where_its_limit_says_by_swapping_and_without_swap_is_killed() {
    if !may() {
        return;
    }
    let bench = Bench::new();
    let levels = "{ name = \"more\", keys = { \"load.messages\" = 110 } }, \
                  { name = \"no swap\", keys = { \"load.messages\" = 110, \"server.swap_mb\" = 0 } }";
    let recipe = recipe(&bench, 50, levels);
    let case = bench.case().display().to_string();
    // The seed by which the arm that fails does not come first.
    let arguments = ["study", &recipe, "--seed", "2", "--format", "json", "-o", &case];
    let result = bench.json(&arguments);

    let holds = (LIMIT_MB << 20) / MESSAGE_BYTES;
    let first = cliff(&result, "more")["first_swap"]["nth"].as_f64().unwrap();
    assert!((first - holds as f64).abs() <= 8.0, "{first}, and the limit holds {holds}");
    let more = &cliff(&result, "more")["breaks"];
    let slower = slower_from(&bench, cliff(&result, "more")["shown"].as_u64().unwrap(), first as usize);
    // Where the disk of the swap file is a cache of the host's, swapping takes no time, and times show nothing.
    let is_costly = slower >= LEAST_COST;
    match more["spot"]["nth"].as_f64() {
        // The first pages swapped cost little: on a busy host they stand out from its noise only some operations later.
        Some(nth) => {
            assert!((nth - holds as f64).abs() <= 16.0, "{nth}, and the limit holds {holds}: {more:#}")
        }
        None if is_costly => panic!("puts take {slower:.2} times as long from the first swap on: {result:#}"),
        None => eprintln!(
            "skipped: puts take {slower:.2} times as long from the first swap on, so that no time breaks"
        ),
    }
    if !more.is_null() {
        let spot = &more["spot"];
        assert_eq!((&spot["kind"], &spot["phase"]), (&"put".into(), &"fill".into()), "{more:#}");
        assert_eq!(more["moved"][0][0], "pages written to swap", "{more:#}");
    }

    let fits = result["arms"].as_array().unwrap().iter().filter(|arm| arm["role"] == "baseline");
    for arm in fits.map(|arm| arm["arm"].as_str().unwrap()) {
        let fits = cliff(&result, arm);
        assert!(fits["first_swap"].is_null(), "{fits:#}");
        // At the stated rate a change is seen where there is none.
        assert!(
            fits["breaks"].is_null() || fits["breaks"]["moved"].as_array().unwrap().is_empty(),
            "{fits:#}"
        );
    }

    let cause = result["given_up"]["no swap"].as_str().unwrap_or_else(|| panic!("{result:#}"));
    assert!(cause.contains("killed for memory") && cause.contains("200 MiB"), "{cause}");
    let killed = std::fs::read_to_string(bench.case().join("trials.jsonl")).unwrap();
    let killed: Vec<Value> = killed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let killed = killed.iter().find(|trial| trial["failed"].is_string()).unwrap();
    let dir = bench.case().join(format!("trials/{:04}", killed["index"].as_u64().unwrap()));
    assert!(dir.join("server.log").exists() && dir.join("load.log").exists(), "its logs are kept");
    let until_then = std::fs::read_to_string(dir.join("operations.csv")).unwrap().lines().count() as u64;
    assert!((holds - 10..=holds + 5).contains(&until_then), "{until_then} operations, and {holds} fit");

    assert!(swaps(&bench).is_empty() && files(&bench).is_empty());
    bench.nothing_is_changed();
    let html = std::fs::read_to_string(bench.case().join("report.html")).unwrap();
    assert!(more.is_null() || html.contains("with pages written to swap"), "the picture names the counter");
}

#[test]
#[ignore = "ground truth: needs root; run by `make test`"]
fn a_server_killed_for_memory_before_it_listens_is_reported_as_such() {
    if !may() {
        return;
    }
    let bench = Bench::new();
    // tail keeps all of what it may have to hand on.
    let eater = "sh -c 'head -c 200M /dev/zero | tail -c 190M > /dev/null'";
    let server = format!("[server]\ncommand = \"{eater}\"\nmemory_limit_mb = 60\nswap_mb = 0\n");
    let recipe = bench.case().with_file_name("recipe.toml");
    std::fs::write(&recipe, server).unwrap();
    let output =
        bench.run(&["study", &recipe.display().to_string(), "-o", &bench.case().display().to_string()]);
    let reported = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{reported}");
    assert!(reported.contains("killed for memory") && reported.contains("60 MiB"), "{reported}");
    bench.nothing_is_changed();
}

#[test]
#[ignore = "ground truth: needs root, and some seconds; run by `make test`"]
fn nothing_of_limit_and_swap_stays_after_a_kill() {
    if !may() {
        return;
    }
    let bench = Bench::new();
    // Long enough to be killed in the middle.
    let recipe = recipe(&bench, 160, "{ name = \"more\", keys = { \"load.messages\" = 161 } }");
    let case = bench.case().display().to_string();
    let mut command = bench.command(&["study", &recipe, "-o", &case]);
    let mut study = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let pid = study.id();
    // In use: something lies in it.
    wait_at_most(Duration::from_secs(30), "a server that swaps", || {
        let used = |line: &String| line.split_whitespace().nth(3).is_some_and(|used| used != "0");
        swaps(&bench).iter().any(used) && !cgroups_of(pid).is_empty()
    });
    study.kill().unwrap();
    study.wait().unwrap();
    assert!(!swaps(&bench).is_empty() && files(&bench).len() == 1 && !cgroups_of(pid).is_empty());
    let undone = bench.run(&["undo"]);
    assert!(undone.status.success(), "{}", String::from_utf8_lossy(&undone.stdout));
    assert!(swaps(&bench).is_empty(), "{:?}", swaps(&bench));
    assert!(files(&bench).is_empty(), "{:?}", files(&bench));
    assert!(cgroups_of(pid).is_empty(), "{:?}", cgroups_of(pid));
    bench.nothing_is_changed();
    assert!(bench.run(&["undo"]).status.success(), "undo must be idempotent");
}
