//! A process that reads more than its cgroup may hold frees memory itself before it gets any; ftrace says how often.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::figures::{Reading, assert_counted, number};
use super::limited::Limited;
use super::watching::{Stage, retried_where_switches_are_missed};

const LIMIT_BYTES: u64 = 16 << 20;
const FILE_BYTES: usize = 96 << 20;

/// A cgroup that may hold so much.
fn with_limit() -> Option<Limited> {
    let limit = LIMIT_BYTES.to_string();
    Limited::new("memory", &[("memory.limit_in_bytes", &limit)], &[("memory.max", &limit)])
}

/// A shell in the cgroup that reads the file on request, and then waits for the end of its input.
fn reader(limited: &Limited, file: &Path) -> Child {
    let script = "echo $$ > \"$0/cgroup.procs\"; read go; dd if=\"$1\" of=/dev/null bs=64k 2> /dev/null; echo done; read end";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(limited.folder()).arg(file);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

/// The kernel's other tracer, in an instance of our own: what a process and its children do.
struct Ftrace {
    mounted: tempfile::TempDir,
    instance: PathBuf,
}

impl Ftrace {
    fn of(pid: u32, event: &str) -> Option<Self> {
        let mounted = tempfile::tempdir().unwrap();
        let mount = Command::new("mount").args(["-t", "tracefs", "none"]).arg(mounted.path()).status();
        if !mount.is_ok_and(|status| status.success()) {
            return None;
        }
        let instance = mounted.path().join(format!("instances/pinwise-truth-{}", std::process::id()));
        let made = std::fs::create_dir(&instance);
        let ftrace = Self { mounted, instance };
        made.ok()?;
        let set = |file: &str, text: &str| std::fs::write(ftrace.instance.join(file), text).is_ok();
        let on = set("options/event-fork", "1")
            && set("set_event_pid", &pid.to_string())
            && set(&format!("events/{event}/enable"), "1");
        on.then_some(ftrace)
    }

    /// How often the event came by now.
    fn count(&self, event: &str) -> u64 {
        let trace = std::fs::read_to_string(self.instance.join("trace")).unwrap();
        trace.lines().filter(|line| line.contains(&format!(" {event}: "))).count() as u64
    }
}

impl Drop for Ftrace {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.instance);
        let _ = Command::new("umount").arg(self.mounted.path()).status();
    }
}

#[test]
#[ignore = "ground truth: needs root, BPF, tracefs and a cgroup; run by `make test`"]
fn who_meets_the_limit_of_its_cgroup_reclaims_as_often() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let Some(limited) = with_limit() else {
            return eprintln!("skipped: no cgroup with a limit of memory can be made");
        };
        let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        file.write_all(&vec![7; FILE_BYTES]).unwrap();
        file.as_file().sync_all().unwrap();
        rustix::fs::fadvise(file.as_file(), 0, None, rustix::fs::Advice::DontNeed).unwrap();
        let mut shell = reader(&limited, file.path());
        let event = "mm_vmscan_memcg_reclaim_begin";
        let Some(ftrace) = Ftrace::of(shell.id(), &format!("vmscan/{event}")) else {
            drop(shell.stdin.take());
            shell.wait().unwrap();
            return eprintln!("skipped: ftrace cannot be had");
        };
        let reclaimed = || Reading::now(|| ftrace.count(event));
        let before = reclaimed();
        let watching = stage.begin(&["--process", &shell.id().to_string(), "--for", "4s"]);
        let first = reclaimed();
        let mut stdin = shell.stdin.take().unwrap();
        stdin.write_all(b"go\n").unwrap();
        let mut stdout = BufReader::new(shell.stdout.take().unwrap());
        stdout.read_line(&mut String::new()).unwrap();
        let last = reclaimed();
        let sheet = watching.end();
        let after = reclaimed();
        drop(stdin);
        shell.wait().unwrap();
        let reclaim = &sheet.json["together"]["reclaim"];
        assert!(last.count - first.count > 10, "the limit was met {} times", last.count - first.count);
        assert_counted("reclaims", number(&reclaim["count"]), &sheet, [before, first, last, after]);
        assert!(number(&reclaim["total_ns"]) > 0);
    });
}
