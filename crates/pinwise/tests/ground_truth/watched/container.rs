//! In a PID namespace of its own, as in a container: the target is found and shown by the process numbers of that namespace.

use super::figures::number;
use super::watching::{Sheet, Stage, retried_where_switches_are_missed};

/// Watches a shell that spins, within a new PID namespace; prints its number there first.
const INSIDE: &str = "timeout 30 sh -c 'while :; do :; done' & spins=$!
    echo $spins >&3
    \"$0\" watch --process $spins --for 1s --format json
    kill $spins";

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn a_process_of_a_namespace_is_watched_from_within() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let folder = tempfile::tempdir().unwrap();
        let pid_file = folder.path().join("number");
        let pinwise = stage.command(&[]).get_program().to_os_string();
        let mut unshare = std::process::Command::new("unshare");
        unshare
            .args(["--pid", "--fork", "--mount-proc", "sh", "-c"])
            .arg(format!("exec 3> {}\n{INSIDE}", pid_file.display()));
        let out = match unshare.arg(pinwise).output() {
            Ok(out) => out,
            Err(why) => return eprintln!("skipped: unshare cannot be run: {why}"),
        };
        let stderr = String::from_utf8_lossy(&out.stderr).into_owned();
        let json = serde_json::from_slice(&out.stdout).unwrap_or_else(|why| panic!("{why}: {stderr}"));
        let sheet = Sheet { json, stderr };
        let inside: u32 = std::fs::read_to_string(&pid_file).unwrap().trim().parse().unwrap();
        assert!(inside < 100, "a new namespace begins at 1, and this is {inside}");
        assert_eq!(sheet.json["how"], "tp_btf");
        // The shell under timeout is its child.
        let shell = sheet.rows("threads").iter().find(|thread| thread["comm"] == "sh").unwrap();
        assert!((1..100).contains(&number(&shell["tid"])), "{shell:#}");
        assert!(
            number(&shell["on_cpu"]["total_ns"]) > 0 && number(&shell["asleep"]["count"]) == 0,
            "{shell:#}"
        );
        assert!(
            sheet
                .rows("missing")
                .iter()
                .any(|row| row["fact"] == "numbers of tasks that are not of the target")
        );
    });
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn the_types_of_the_kernel_can_come_from_a_file() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let types = tempfile::NamedTempFile::new().unwrap();
        std::fs::copy("/sys/kernel/btf/vmlinux", types.path()).unwrap();
        let path = types.path().to_str().unwrap();
        let sheet =
            stage.watch(&["--btf", path, "--process", &std::process::id().to_string(), "--for", "500ms"]);
        assert_eq!(sheet.json["how"], "raw_tp");
        assert_eq!(sheet.losses(), Vec::<String>::new());

        std::fs::write(types.path(), "no types").unwrap();
        let out = stage.command(&["watch", "--btf", path, "--for", "100ms"]).output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(said.contains(path) && said.contains("BTF"), "{said}");
    });
}
