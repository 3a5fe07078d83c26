//! Files that bring a plan back at each start, on the emulated kernel: placed with the plan, removed by undo, also after a restart and
//! wherever the apply was cut short.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use machine::persistence::Manner;
use machine::{Class, Plan, Planned, Root, Tree};
use pinwise_change::apply::{Applied, ApplyOptions, apply, foresee_kept};
use pinwise_change::emulated_kernel::{Crash, When};
use pinwise_change::status::status_with;
use pinwise_change::{EmulatedKernel, Hand, How, UndoOptions, UndoReport, undo};

const SWAPPINESS: &str = "/proc/sys/vm/swappiness";
const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
const GRUB: &str = "/etc/default/grub.d/zz-pinwise.cfg";

struct Bench {
    kernel: EmulatedKernel,
    dir: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let kernel = EmulatedKernel::new();
        let files = [
            (SWAPPINESS, "60\n"),
            (THP, "always [madvise] never\n"),
            ("/proc/irq/38/smp_affinity_list", "0-3\n"),
            ("/sys/devices/system/cpu/online", "0-3\n"),
            ("/run/systemd/system/x", ""),
            ("/etc/sysctl.d/99-sysctl.conf", "vm.swappiness = 60\n"),
            ("/etc/default/grub.d/kdump.cfg", ""),
            ("/usr/sbin/update-grub", ""),
        ];
        files.iter().for_each(|(path, text)| kernel.add_file(*path, text));
        Self { kernel, dir: tempfile::tempdir().unwrap() }
    }

    fn files(&self) -> BTreeMap<PathBuf, String> {
        let files = self.kernel.state().files.into_iter();
        files.map(|((_, path), text)| (path, text.trim().to_string())).collect()
    }

    fn root(&self) -> Root {
        let tree = self.files().into_iter();
        Root::from_tree(tree.fold(Tree::new(), |tree, (path, text)| tree.file(path.to_str().unwrap(), text)))
    }

    fn apply(&self, plan: &Plan, keep_going: bool) -> Applied {
        let mut hand = Hand::with(Arc::new(self.kernel.clone()), self.dir.path(), "test").unwrap();
        let options = ApplyOptions { keep_going, persist: Some(Manner::Platform) };
        let applied = apply(&mut hand, &self.root(), plan, options, &|| None, &mut |_| {});
        hand.finish().unwrap();
        applied
    }

    fn undo(&self, force: bool) -> UndoReport {
        self.kernel.remove_thread(1000);
        undo(self.dir.path(), &self.kernel, &UndoOptions { force, ..UndoOptions::default() }).unwrap()
    }

    fn placed(&self) -> Vec<PathBuf> {
        self.files().into_keys().filter(|path| path.to_string_lossy().contains("pinwise")).collect()
    }

    /// As the kernel starts: with its own values, or those that a file brings back.
    fn reboot(&self, swappiness: &str) {
        self.kernel.reboot();
        self.kernel.add_file(SWAPPINESS, swappiness);
        self.kernel.add_file(THP, "always [madvise] never\n");
    }
}

fn planned(knob: &str, target: &str, value: &str) -> Planned {
    Planned { knob: knob.into(), target: target.into(), value: value.into(), ..Planned::default() }
}

fn plan() -> Plan {
    let settings = vec![
        planned("swappiness", "machine", "10"),
        planned("transparent-huge-pages", "machine", "never"),
        planned("boot-parameters", "machine", "nohz_full=1-3"),
    ];
    Plan { settings, ..Plan::default() }
}

#[test]
fn what_is_kept_goes_when_it_is_undone() {
    let bench = Bench::new();
    let before = bench.files();
    let (foreseen, not_kept) = foresee_kept(&bench.root(), &bench.kernel, &plan(), Manner::Platform).unwrap();
    assert_eq!((foreseen.len(), not_kept.len()), (2, 0));
    assert_eq!(bench.files(), before, "a dry run touches nothing");
    let applied = bench.apply(&plan(), false);
    assert_eq!((applied.fault, applied.acts_in_force, applied.placed.len()), (None, 5, 2));
    assert_eq!(bench.placed().len(), 3);
    assert!(bench.files()[&PathBuf::from(GRUB)].ends_with("nohz_full=1-3\""));
    assert!(bench.undo(false).is_clean());
    assert_eq!(bench.files(), before);
}

#[test]
fn after_a_restart_files_go_and_what_they_brought_back_is_restored() {
    let bench = Bench::new();
    let before = bench.files();
    bench.apply(&plan(), false);
    bench.reboot("10\n");
    let status = status_with(bench.dir.path(), &bench.kernel).unwrap();
    let now: Vec<_> = status.sessions[0].outstanding.iter().map(|act| act.now.is_some()).collect();
    assert_eq!(now, [true; 5]);
    assert!(status.to_string().contains("rebooted since; 5 of them survived that"), "{status}");
    let report = bench.undo(false);
    assert!(report.is_clean(), "{report}");
    assert_eq!(bench.files(), before);
}

#[test]
fn what_somebody_else_has_set_since_the_restart_is_left() {
    let bench = Bench::new();
    bench.apply(&plan(), false);
    bench.reboot("30\n");
    let report = bench.undo(false);
    assert!(report.is_clean(), "{report}");
    let hows: Vec<&How> = report.sessions[0].undone.iter().map(|undone| &undone.how).collect();
    assert!(hows.contains(&&How::Expired), "{report}");
    assert_eq!((bench.files()[&PathBuf::from(SWAPPINESS)].as_str(), bench.placed().len()), ("30", 0));
}

#[test]
fn a_file_that_somebody_has_changed_stays_unless_it_is_forced() {
    let bench = Bench::new();
    bench.apply(&plan(), false);
    bench.kernel.add_file(GRUB, "# mine now\n");
    let report = bench.undo(false);
    assert!(!report.is_clean() && report.to_string().contains("another one"), "{report}");
    assert_eq!(bench.placed(), [PathBuf::from(GRUB)]);
    assert!(bench.undo(true).is_clean());
    assert!(bench.placed().is_empty());
}

#[test]
fn what_cannot_be_placed_or_reloaded_leaves_nothing_to_undo() {
    let bench = Bench::new();
    let before = bench.files();
    // The reader is not known, neither that it came nor that it went.
    bench.kernel.refuse(GRUB, libc::EPERM);
    let applied = bench.apply(&plan(), false);
    assert!(applied.fault.is_some());
    assert_eq!((applied.acts_in_force, applied.stuck().count()), (0, 0));
    assert_eq!(bench.files(), before);
    assert!(status_with(bench.dir.path(), &bench.kernel).unwrap().sessions.is_empty());
}

#[test]
fn what_a_later_session_has_set_over_it_is_undone_first_also_after_a_restart() {
    let bench = Bench::new();
    let before = bench.files();
    let first = bench.apply(&plan(), false).session;
    bench.reboot("10\n");
    let mut hand = Hand::with(Arc::new(bench.kernel.clone()), bench.dir.path(), "later").unwrap();
    hand.perform(&machine::Act::WriteFile { path: SWAPPINESS.into(), value: "30".into(), netns: None })
        .unwrap();
    hand.finish().unwrap();
    bench.kernel.remove_thread(1000);
    let options = UndoOptions { session: Some(first), ..UndoOptions::default() };
    let report = undo(bench.dir.path(), &bench.kernel, &options).unwrap();
    let held = |how: &How| matches!(how, How::Held { .. });
    assert!(report.sessions[0].undone.iter().any(|undone| held(&undone.how)), "{report}");
    let report = bench.undo(false);
    assert!(report.is_clean(), "{report}");
    assert_eq!(bench.files(), before);
}

#[test]
fn all_is_kept_or_nothing_is_begun() {
    let bench = Bench::new();
    let before = bench.files();
    let mut plan = plan();
    plan.settings.push(planned("irq-affinity", "38", "0"));
    let applied = bench.apply(&plan, false);
    let fault = applied.fault.unwrap();
    assert_eq!((fault.class, applied.acts_in_force), (Class::No, 0));
    assert!(fault.cause.contains("new numbers") && fault.remedy.contains("--keep-going"), "{fault}");
    assert_eq!(bench.files(), before);
    let applied = bench.apply(&plan, true);
    assert_eq!((applied.fault, applied.acts_in_force, applied.not_kept.len()), (None, 6, 1));
}

#[test]
fn a_file_that_cannot_be_placed_takes_everything_back() {
    let bench = Bench::new();
    let before = bench.files();
    bench.kernel.add_file(GRUB, "# of an earlier session\n");
    let applied = bench.apply(&plan(), false);
    assert!(applied.fault.unwrap().cause.contains("already exists"));
    let mut after = bench.files();
    assert!(after.remove(&PathBuf::from(GRUB)).is_some());
    assert_eq!(after, before);
}

#[test]
fn wherever_it_was_cut_short_and_the_machine_restarted_nothing_is_left() {
    std::panic::set_hook(Box::new(|_| {}));
    let all = {
        let bench = Bench::new();
        bench.apply(&plan(), false);
        bench.kernel.changes()
    };
    for (change, when, restarted) in (0..all)
        .flat_map(|at| [(at, When::Before), (at, When::After)])
        .flat_map(|(at, when)| [(at, when, false), (at, when, true)])
    {
        let bench = Bench::new();
        let before = bench.files();
        bench.kernel.crash_at(Some((change, when)));
        let cut = catch_unwind(AssertUnwindSafe(|| bench.apply(&plan(), false))).unwrap_err();
        assert!(cut.downcast_ref::<Crash>().is_some());
        if restarted {
            let kept = bench.placed().iter().any(|path| path.starts_with("/etc/sysctl.d"));
            bench.reboot(if kept { "10\n" } else { "60\n" });
        }
        let report = bench.undo(false);
        assert!(report.is_clean(), "change {change}, {when:?}, restarted {restarted}: {report}");
        assert_eq!(bench.files(), before, "change {change}, {when:?}, restarted {restarted}");
    }
    let _ = std::panic::take_hook();
}
