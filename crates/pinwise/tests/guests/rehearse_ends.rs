//! However a rehearsal ends - its kernel panics, its command hangs, there is no room, Ctrl-C, kill -9 - no QEMU and no
//! file of it is left, and the error says why.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rehearse::{Guest, Kernel};

/// A cache of its own with the kernels of the real one, so that what lies in it is of this test.
struct Cache {
    folder: tempfile::TempDir,
}

impl Cache {
    /// Makes one; `None`, with a word on stderr, where no guest can be run.
    fn new() -> Option<Self> {
        if let Some(why) = Guest::unavailable() {
            eprintln!("skipped: no guest can be run here: {why}");
            return None;
        }
        Kernel::find("amd64", &mut |_| {}).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let kernels = rehearse::cache::folder().unwrap().join("kernels");
        std::os::unix::fs::symlink(kernels, folder.path().join("kernels")).unwrap();
        Some(Self { folder })
    }

    fn command(&self, arguments: &[&str], script: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pinwise"));
        command.args(["rehearse", "--like", "plain"]).args(arguments).args(["--", script]);
        command.env("PINWISE_CACHE", self.folder.path());
        command
    }

    fn run(&self, arguments: &[&str], script: &str) -> Output {
        self.command(arguments, script).output().unwrap()
    }

    /// What lies where runs have their folders.
    fn runs(&self) -> Vec<String> {
        let entries = self.folder.path().join("runs").read_dir().unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// Starts a guest, and waits until its command says that it runs.
    fn start(&self) -> Rehearsal {
        let mut pinwise = self
            .command(&[], "echo running; sleep 1000")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut first = String::new();
        BufReader::new(pinwise.stdout.take().unwrap()).read_line(&mut first).unwrap();
        assert_eq!(first, "running\n");
        let qemu = children(pinwise.id());
        assert_eq!(qemu.len(), 1, "pinwise has started {qemu:?}");
        Rehearsal { pinwise, qemu: qemu[0] }
    }
}

/// A guest that runs until it is ended.
struct Rehearsal {
    pinwise: Child,
    qemu: u32,
}

impl Rehearsal {
    fn signal(&self, name: &str) {
        let pid = self.pinwise.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }
}

impl Drop for Rehearsal {
    fn drop(&mut self) {
        let _ = self.pinwise.kill();
        let _ = self.pinwise.wait();
    }
}

/// State and parent of a process; `None` when there is none (proc(5), after the name in brackets).
fn stat(pid: u32) -> Option<(char, u32)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = text.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

fn children(parent: u32) -> Vec<u32> {
    let pids = Path::new("/proc").read_dir().unwrap();
    let pids = pids.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|pid| stat(*pid).is_some_and(|(_, of)| of == parent)).collect()
}

/// Waits until a process is gone or waits only for its new parent to see that it ended.
fn wait_until_gone(pid: u32) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while stat(pid).is_some_and(|(state, _)| state != 'Z') {
        assert!(Instant::now() < deadline, "process {pid} is still there");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn failed_with(out: &Output, code: i32, words: &[&str]) {
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(code), "{stderr}");
    for word in words {
        assert!(stderr.contains(word), "'{word}' is not in: {stderr}");
    }
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn a_kernel_that_does_not_boot_is_reported_with_its_last_output() {
    let Some(cache) = Cache::new() else { return };
    let out = cache.run(&["--cmdline", "root=/dev/none rdinit=/none"], "true");
    let words = ["guest plain", "ended before its first process", "console", "Kernel panic", "--kernel"];
    failed_with(&out, 5, &words);
    assert_eq!(cache.runs(), ["lock"]);
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn a_command_that_hangs_is_ended_at_its_limit() {
    let Some(cache) = Cache::new() else { return };
    let out = cache.run(&["--limit", "3"], "echo before it hung; sleep 1000");
    failed_with(
        &out,
        5,
        &["had not ended after 3 s", "it last printed: before it hung", "console", "--limit"],
    );
    assert_eq!(cache.runs(), ["lock"]);
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn a_guest_that_goes_away_is_reported() {
    let Some(cache) = Cache::new() else { return };
    let out = cache.run(&[], "echo here; poweroff -f; sleep 1000");
    failed_with(&out, 5, &["ended before its command did", "console"]);
    assert_eq!(cache.runs(), ["lock"]);
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn ctrl_c_ends_the_guest() {
    let Some(cache) = Cache::new() else { return };
    let mut rehearsal = cache.start();
    assert_eq!(cache.runs().len(), 2);
    rehearsal.signal("-INT");
    assert_eq!(rehearsal.pinwise.wait().unwrap().code(), Some(130));
    wait_until_gone(rehearsal.qemu);
    assert_eq!(cache.runs(), ["lock"]);
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn kill_9_ends_the_guest_and_the_next_start_removes_its_files() {
    let Some(cache) = Cache::new() else { return };
    let mut rehearsal = cache.start();
    rehearsal.signal("-KILL");
    rehearsal.pinwise.wait().unwrap();
    wait_until_gone(rehearsal.qemu);
    assert_eq!(cache.runs().len(), 2, "what was killed cannot have removed its folder");
    // Ends before it boots, and after it has looked for what was left.
    let out = cache.run(&["--file", "/nonexistent/file"], "true");
    failed_with(&out, 6, &["/nonexistent/file", "name a file or folder that can be read"]);
    assert_eq!(cache.runs(), ["lock"]);
}

/// Runs with a cache that has room for so much, in a mount namespace that goes when it ends.
fn with_room(cache: &Cache, size: &str, script: &str) -> Option<Output> {
    let folder = cache.folder.path().join("small");
    std::fs::create_dir_all(&folder).unwrap();
    let kernels: PathBuf = cache.folder.path().join("kernels");
    let mount = "mount -t tmpfs -o mode=700,size=\"$1\" tmpfs \"$2\" && ln -s \"$3\" \"$2/kernels\" || exit 99; shift 3; exec \"$@\"";
    let pinwise = env!("CARGO_BIN_EXE_pinwise");
    let out = Command::new("unshare")
        .args(["--mount", "sh", "-c", mount, "sh", size])
        .args([&folder, &kernels])
        .args([pinwise, "rehearse", "--like", "plain", "--limit", "60", "--", script])
        .env("PINWISE_CACHE", &folder)
        .output()
        .unwrap();
    if out.status.code() == Some(99) || String::from_utf8_lossy(&out.stderr).starts_with("unshare:") {
        eprintln!("skipped: a small file system needs root: {}", String::from_utf8_lossy(&out.stderr));
        return None;
    }
    Some(out)
}

#[test]
#[ignore = "needs a kernel for guests; .ci/run runs it"]
fn no_room_for_what_is_booted() {
    let Some(cache) = Cache::new() else { return };
    let Some(out) = with_room(&cache, "2m", "true") else { return };
    failed_with(&out, 6, &["initrd", "No space left on device", "set PINWISE_CACHE to a folder with room"]);
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn no_room_for_what_a_guest_writes_is_an_error_and_no_hang() {
    let Some(cache) = Cache::new() else { return };
    // For what is booted, which holds pinwise itself, and some more.
    let pinwise_mib = std::fs::metadata(env!("CARGO_BIN_EXE_pinwise")).unwrap().len() >> 20;
    let room = format!("{}m", 2 * pinwise_mib + 130);
    // What the guest writes to its files, it can remove again, even after a while, and then report its exit code.
    let script = "dd if=/dev/zero of=here bs=1M count=2000 && exit 1; sleep 3; rm here; exit 7";
    let Some(out) = with_room(&cache, &room, script) else { return };
    assert_eq!(out.status.code(), Some(7), "{}", String::from_utf8_lossy(&out.stderr));
    // What it wrote to its disk stays, and there is no room for an exit code. The disk alone is smaller than the room where pinwise is
    // large, which is then taken by a file as well.
    let script = format!(
        "dd if=/dev/zero of=here bs=1M count={pinwise_mib}; dd if=/dev/zero of=/dev/vda bs=1M count=400 conv=fsync"
    );
    let Some(out) = with_room(&cache, &room, &script) else { return };
    failed_with(&out, 6, &["No space left on device", "set PINWISE_CACHE to a folder with room"]);
}
