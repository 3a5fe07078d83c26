//! A recorder that keeps what came around a condition: a hog on the CPU of the watched thread is kept and named, one on another CPU is not.

use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use super::actor::{Actor, spin};
use super::figures::number;
use super::ring::replay;
use super::watching::{Sheet, Stage, retried_where_switches_are_missed};

/// The hog comes so long after the recorder was started: in its second second.
const BEFORE: Duration = Duration::from_millis(1_500);

/// A ring with all that was kept beside it, and what was printed.
struct Recorded {
    folder: TempDir,
    printed: String,
}

impl Recorded {
    /// Records a thread that spins, with a hog that comes later.
    fn of(stage: &Stage, length: &str, hog: impl FnOnce() -> Actor<()>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ring = folder.path().join("ring").display().to_string();
        let victim = Actor::start_fifo("victim", stage.cpu, 5, spin);
        let tid = victim.tid.to_string();
        let flags = ["watch", "--thread", &tid, "--record", &ring, "--every", "250ms", "--for", length];
        let when = ["--when", "preempted > 50%", "--keep", "2s"];
        let mut command = stage.command(&[&flags[..], &when].concat());
        let recorder = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(BEFORE);
        let hog = hog();
        let Output { status, stdout, stderr } = recorder.wait_with_output().unwrap();
        hog.stop();
        victim.stop();
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
        Self { folder, printed: String::from_utf8(stdout).unwrap() }
    }

    fn whole(&self, stage: &Stage) -> Sheet {
        replay(stage, &self.folder.path().join("ring"), &[])
    }

    /// What lies beside the ring.
    fn kept(&self) -> Vec<PathBuf> {
        let all = std::fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().path());
        all.filter(|path| !path.ends_with("ring")).collect()
    }
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn a_hog_on_the_threads_cpu_is_kept_once_and_named() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let recorded = Recorded::of(&stage, "8s", || Actor::start_fifo("hog", stage.cpu, 20, spin));
        let whole = recorded.whole(&stage);
        let kept = recorded.kept();
        assert_eq!(kept.len(), 1, "{kept:?}\n{}", recorded.printed);
        let hog = format!("hog (process {})", std::process::id());
        let printed = &recorded.printed;
        assert!(printed.starts_with("preempted > 50%: "), "{printed}");
        let place = kept[0].display().to_string();
        assert!(printed.contains(&format!("{hog} runs on CPU")) && printed.contains(&place), "{printed}");

        let part = replay(&stage, &kept[0], &["--full"]);
        assert_eq!(part.json["takers"][0]["name"], hog, "{:#}", part.json["takers"]);
        // What came before is in it, 5 s after the hog was seen, and not all that was recorded.
        let (part_ns, whole_ns) = (part.wall_ns(), whole.wall_ns());
        assert!(part_ns > 5_000_000_000 && part_ns < whole_ns, "{part_ns} of {whole_ns} ns");
        let victim = &part.rows("threads")[0];
        let (on_cpu, preempted) =
            (number(&victim["on_cpu"]["total_ns"]), number(&victim["preempted"]["total_ns"]));
        assert!(on_cpu > 250_000_000, "it ran before the hog came: {victim:#}");
        assert!(preempted > part_ns / 2, "{victim:#}");
    });
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn a_hog_on_another_cpu_keeps_nothing() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let recorded = Recorded::of(&stage, "4s", || Actor::start("hog", stage.aside, spin));
        let whole = recorded.whole(&stage);
        assert!(number(&whole.json["recorded"]["intervals"]) > 4, "{:#}", whole.json["recorded"]);
        assert_eq!(recorded.kept(), Vec::<PathBuf>::new(), "{}", recorded.printed);
        assert_eq!(recorded.printed, "");
    });
}
