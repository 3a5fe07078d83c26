//! What cannot be rehearsed ends with its cause and remedy, at once. No guest is booted.

use std::process::{Command, Output};

/// Runs `pinwise rehearse` with an empty cache of its own.
fn rehearse(arguments: &[&str], set_up: impl FnOnce(&mut Command)) -> Output {
    let cache = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_pinwise"));
    command.arg("rehearse").args(arguments).args(["--", "true"]).env("PINWISE_CACHE", cache.path());
    set_up(&mut command);
    command.output().unwrap()
}

fn refused(out: &Output, code: i32, words: &[&str]) {
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(code), "{stderr}");
    for word in words {
        assert!(stderr.contains(word), "'{word}' is not in: {stderr}");
    }
    assert!(!stderr.contains("panicked"), "{stderr}");
}

/// Refuses a shape file.
fn refused_shape(text: &str, words: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, text).unwrap();
    refused(&rehearse(&["--like", &path.display().to_string()], |_| {}), 2, words);
}

#[test]
fn more_cpus_than_a_guest_can_have() {
    let cores: Vec<String> = (0..256).map(|cpu| format!("[{cpu}]")).collect();
    let text = format!("about = \"many\"\n[[cores]]\ncpus = [{}]\n", cores.join(", "));
    refused_shape(&text, &["mine", "256 CPUs", "at most 255", "a part of the machine"]);
}

#[test]
fn a_first_node_without_memory() {
    let text = "about = \"none\"\ndistances = [[10]]\n[[node]]\nid = 0\nmemory_mb = 0\n[[cores]]\nnode = 0\ncpus = [[0]]\n";
    refused_shape(text, &["mine", "node 0 has no memory", "give it some"]);
}

#[test]
fn a_shape_file_that_is_none() {
    refused_shape("about = [", &["shape mine", "line 1", "docs/rehearse.md"]);
    refused_shape("about = \"x\"\ncpus = 4\n[[cores]]\ncpus = [[0]]\n", &["shape mine", "cpus"]);
}

#[test]
fn a_shape_that_nobody_knows() {
    let out = rehearse(&["--like", "artemisia"], |_| {});
    refused(&out, 2, &["artemisia", "neither the name of a shape nor a file", "artemis, big"]);
}

#[test]
fn a_file_that_is_no_kernel() {
    if rehearse::Guest::lacks_program().is_some() {
        eprintln!("skipped: without QEMU and busybox that is what is reported");
        return;
    }
    for (path, code, words) in [
        ("/bin/sh", 2, "no x86 kernel image"),
        ("/dev/null", 2, "no x86 kernel image"),
        ("/nonexistent/vmlinuz", 6, "No such file"),
    ] {
        let out = rehearse(&["--like", "plain", "--kernel", path], |_| {});
        refused(&out, code, &[path, words, " - name a"]);
    }
}

#[test]
fn no_qemu() {
    let out = rehearse(&["--like", "plain"], |command| _ = command.env("PATH", "/nonexistent"));
    refused(&out, 4, &["qemu-system-x86_64", "install QEMU", "qemu-system-x86"]);
}

#[test]
fn a_cache_that_is_no_folder() {
    if rehearse::Guest::lacks_program().is_some() {
        eprintln!("skipped: without QEMU and busybox that is what is reported");
        return;
    }
    let out = rehearse(&["--like", "plain"], |command| _ = command.env("PINWISE_CACHE", "/dev/null/cache"));
    refused(&out, 6, &["/dev/null/cache", "set PINWISE_CACHE"]);
}
