//! Plans on the emulated kernel: all of it or nothing, whatever the kernel answers; and what waits to be confirmed.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use machine::processes::{Owner, OwnerId};
use machine::{Class, Fault, Plan, Planned, ProcessRef, Root, Tree};
use pinwise_change::apply::{Applied, ApplyOptions, apply, foresee, no_other_holds, not_left_alone};
use pinwise_change::confirm;
use pinwise_change::emulated_kernel::EmulatedThread;
use pinwise_change::ledger::sessions;
use pinwise_change::record::Reverter;
use pinwise_change::revert::{Revert, Reverted};
use pinwise_change::{EmulatedKernel, Hand, MachineLock, Point, Processes, UndoOptions, status, undo};

const IRQ: [&str; 3] =
    ["/proc/irq/38/smp_affinity_list", "/proc/irq/39/smp_affinity_list", "/proc/irq/40/smp_affinity_list"];

struct Bench {
    kernel: EmulatedKernel,
    dir: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let kernel = EmulatedKernel::new();
        kernel.add_file("/sys/devices/system/cpu/online", "0-3\n");
        IRQ.iter().for_each(|path| kernel.add_file(*path, "0-3\n"));
        Self { kernel, dir: tempfile::tempdir().unwrap() }
    }

    fn root(&self) -> Root {
        let mut tree = Tree::new();
        for ((_, path), content) in &self.kernel.state().files {
            tree = tree.file(path.to_str().unwrap(), content.clone());
        }
        Root::from_tree(tree)
    }

    fn hand(&self) -> Hand {
        Hand::with(Arc::new(self.kernel.clone()), self.dir.path(), "test").unwrap()
    }

    fn apply(&self, plan: &Plan, keep_going: bool) -> Applied {
        let mut hand = self.hand();
        let options = ApplyOptions { keep_going, persist: None };
        let applied = apply(&mut hand, &self.root(), plan, options, &|| None, &mut |_| {});
        hand.finish().unwrap();
        applied
    }

    fn read(&self, path: &str) -> String {
        self.kernel.state().files[&(None, path.into())].trim().to_string()
    }

    fn revert<'a>(&'a self, session: &str, sleep: &'a dyn Fn(Duration)) -> Revert<'a> {
        Revert::of(self.dir.path(), &self.kernel, session, sleep).unwrap()
    }

    fn undo(&self, options: &UndoOptions) -> pinwise_change::UndoReport {
        self.kernel.remove_thread(1000);
        undo(self.dir.path(), &self.kernel, options).unwrap()
    }
}

fn plan(settings: &[(&str, &str)]) -> Plan {
    let planned = |(irq, cpus): &(&str, &str)| Planned {
        knob: "irq-affinity".into(),
        target: irq.to_string(),
        value: cpus.to_string(),
        ..Planned::default()
    };
    Plan { settings: settings.iter().map(planned).collect(), ..Plan::default() }
}

#[test]
fn a_plan_is_in_force_until_it_is_undone() {
    let bench = Bench::new();
    let before = bench.kernel.state();
    let applied = bench.apply(&plan(&[("38", "0"), ("39", "1"), ("40", "0-3")]), false);
    assert_eq!((applied.acts_in_force, applied.fault), (2, None));
    assert!(applied.settings[2].already && applied.settings[2].acts.is_empty());
    assert_eq!((bench.read(IRQ[0]), bench.read(IRQ[1])), ("0".into(), "1".into()));
    assert!(bench.undo(&UndoOptions::default()).is_clean());
    let files = |state: &pinwise_change::emulated_kernel::EmulatedState| {
        state.files.values().map(|text| text.trim().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(files(&bench.kernel.state()), files(&before));
}

#[test]
fn what_the_kernel_refuses_takes_the_whole_plan_back() {
    let bench = Bench::new();
    bench.kernel.refuse(IRQ[1], libc_eio());
    let applied = bench.apply(&plan(&[("38", "0"), ("39", "1"), ("40", "2")]), false);
    let fault = applied.fault.unwrap();
    assert!(fault.cause.contains("manages") && fault.object.contains("/39/"), "{fault}");
    assert_eq!((applied.settings.len(), applied.taken_back.len(), applied.acts_in_force), (2, 1, 0));
    assert_eq!((bench.read(IRQ[0]), bench.read(IRQ[2])), ("0-3".into(), "0-3".into()));
    assert!(status::status_with(bench.dir.path(), &bench.kernel).unwrap().sessions.is_empty());
}

#[test]
fn what_the_kernel_makes_otherwise_is_a_failure_too() {
    let bench = Bench::new();
    bench.kernel.lie(IRQ[1], "0-1");
    let applied = bench.apply(&plan(&[("38", "0"), ("39", "1")]), false);
    assert!(applied.fault.unwrap().cause.contains("reads back 0-1"));
    assert_eq!(bench.read(IRQ[0]), "0-3");
}

#[test]
fn who_wants_to_keep_going_loses_the_failed_setting_alone() {
    let bench = Bench::new();
    bench.kernel.refuse(IRQ[1], libc_eio());
    let applied = bench.apply(&plan(&[("38", "0"), ("39", "1"), ("40", "2"), ("41", "0")]), true);
    assert_eq!((applied.acts_in_force, applied.left_out().count()), (2, 2));
    let values: Vec<String> = IRQ.iter().map(|path| bench.read(path)).collect();
    assert_eq!(values, ["0", "0-3", "2"]);
}

#[test]
fn a_stop_in_the_middle_takes_everything_back() {
    let bench = Bench::new();
    let asked = Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        (asked.get() > 3).then(|| Fault::new(Class::Interrupted, "apply", "stopped by a signal", ""))
    };
    let mut hand = bench.hand();
    let all = plan(&[("38", "0"), ("39", "1"), ("40", "2")]);
    let options = ApplyOptions { keep_going: true, persist: None };
    let applied = apply(&mut hand, &bench.root(), &all, options, &stop, &mut |_| {});
    assert_eq!(applied.fault.unwrap().class, Class::Interrupted);
    assert!(IRQ.iter().all(|path| bench.read(path) == "0-3"));
    hand.finish().unwrap();
}

#[test]
fn a_stop_of_which_something_is_left_is_no_plain_interruption() {
    let bench = Bench::new();
    let stop = || {
        // Somebody else sets it while the plan is put in force.
        let is_set = bench.read(IRQ[0]) == "0";
        is_set.then(|| bench.kernel.add_file(IRQ[0], "3\n"));
        is_set.then(|| Fault::new(Class::Interrupted, "apply", "stopped by a signal", ""))
    };
    let mut hand = bench.hand();
    let options = ApplyOptions { keep_going: false, persist: None };
    let all = plan(&[("38", "0"), ("39", "1")]);
    let applied = apply(&mut hand, &bench.root(), &all, options, &stop, &mut |_| {});
    hand.finish().unwrap();
    assert_eq!((applied.stuck().count(), applied.acts_in_force), (1, 1));
    assert_eq!(applied.fault.unwrap().class, Class::No);
    let left = status::status_with(bench.dir.path(), &bench.kernel).unwrap();
    assert_eq!(left.sessions[0].outstanding.len(), 1, "the ledger has it");
}

#[test]
fn a_dry_run_touches_nothing_and_tells_of_everything() {
    let bench = Bench::new();
    let changes = bench.kernel.changes();
    let mut all = plan(&[("38", "0"), ("39", "9"), ("40", "0-3")]);
    all.settings.push(Planned { knob: "nonsense".into(), ..Planned::default() });
    let foreseen = foresee(&bench.root(), &bench.kernel, &all, &[]);
    assert_eq!(foreseen[0].acts[0].call, format!("write '0' to {}", IRQ[0]));
    assert_eq!((foreseen[0].acts[0].old.as_str(), foreseen[0].now.as_deref()), ("0-3", Some("0-3")));
    assert!(foreseen[1].fault.as_ref().unwrap().cause.contains("CPU 9"));
    assert!(foreseen[2].already && foreseen[2].acts.is_empty());
    assert!(foreseen[3].fault.as_ref().unwrap().cause.contains("no such knob"));
    assert_eq!(bench.kernel.changes(), changes);
    assert!(std::fs::read_dir(bench.dir.path()).unwrap().next().is_none());
}

#[test]
fn who_runs_here_and_may_set_it_anew_is_named() {
    let bench = Bench::new();
    let owner = |id, pid| {
        let name = if id == OwnerId::Tuned { "tuned" } else { "kubelet" };
        Owner { id: Some(id), name: name.into(), pid, ..Owner::default() }
    };
    let mut all = plan(&[("38", "0"), ("39", "9")]);
    all.settings.push(Planned { knob: "nonsense".into(), ..Planned::default() });
    let claimed = |owners: &[Owner]| not_left_alone(&bench.root(), &all, owners);
    assert_eq!(claimed(&[owner(OwnerId::Tuned, None), owner(OwnerId::Kubelet, Some(5))]), []);
    let claimed = claimed(&[owner(OwnerId::Tuned, Some(4)), owner(OwnerId::Kubelet, Some(5))]);
    // What cannot be asked for is reported when it is.
    assert_eq!(claimed.len(), 1);
    assert_eq!(
        (claimed[0].setting.target.as_str(), &claimed[0].by[..]),
        ("38", &["tuned (process 4)".into()][..])
    );
}

#[test]
fn a_second_plan_is_kept_off_what_the_first_holds() {
    let bench = Bench::new();
    let (first, same) = (plan(&[("38", "0")]), plan(&[("39", "0"), ("38", "1")]));
    let held = |all: &Plan| no_other_holds(bench.dir.path(), &bench.root(), &bench.kernel, all);
    held(&first).unwrap();
    let applied = bench.apply(&first, false);
    held(&plan(&[("39", "0")])).unwrap();
    let fault = held(&same).unwrap_err();
    assert!(fault.cause.contains(&applied.session) && fault.class == Class::No, "{fault}");
    bench.kernel.reboot();
    held(&same).unwrap();
}

#[test]
fn undo_goes_back_to_a_point_and_no_further() {
    let bench = Bench::new();
    let first = bench.apply(&plan(&[("38", "0"), ("39", "1")]), false).session;
    let second = bench.apply(&plan(&[("40", "2")]), false).session;
    let to = |session: &str, seq| UndoOptions {
        to: Some(Point { session: session.to_string(), seq }),
        ..UndoOptions::default()
    };
    let values = || IRQ.map(|path| bench.read(path));
    assert_eq!(bench.undo(&to(&second, None)).sessions, []);
    assert!(bench.undo(&to(&first, None)).is_clean());
    assert_eq!(values(), ["0", "1", "0-3"]);
    assert!(bench.undo(&to(&first, Some(0))).is_clean());
    assert_eq!(values(), ["0", "0-3", "0-3"]);
    assert!(undo(bench.dir.path(), &bench.kernel, &to("1-1", None)).is_err());
    assert!(bench.undo(&UndoOptions::default()).is_clean());
    assert_eq!(values(), ["0-3"; 3]);
    assert_eq!("5-7.3".parse(), Ok(Point { session: "5-7".into(), seq: Some(3) }));
    assert!("5-7.x".parse::<Point>().is_err());
}

/// Arms a session, applies, and goes away as `pinwise apply` does.
fn armed(bench: &Bench, within_ticks: u64) -> String {
    let mut hand = bench.hand();
    hand.arm(within_ticks, Reverter::Process { pid: 4242 }).unwrap();
    let all = plan(&[("38", "0")]);
    apply(&mut hand, &bench.root(), &all, ApplyOptions::default(), &|| None, &mut |_| {});
    let session = hand.session().to_string();
    hand.finish().unwrap();
    bench.kernel.remove_thread(1000);
    session
}

#[test]
fn what_is_not_confirmed_is_taken_back() {
    let bench = Bench::new();
    let waits = || confirm::none_waits(&sessions(bench.dir.path()).unwrap(), &bench.kernel);
    waits().unwrap();
    let session = armed(&bench, 5);
    let fault = waits().unwrap_err();
    assert!(fault.object.contains(&session) && fault.remedy.contains("confirm"), "{fault}");
    let seen = status::status_with(bench.dir.path(), &bench.kernel).unwrap();
    assert!(seen.to_string().contains("process 4242, which would undo it, is gone"), "{seen}");
    let ticks = |_| bench.kernel.tick();
    let mut revert = bench.revert(&session, &ticks);
    let seen = status::status_with(bench.dir.path(), &bench.kernel).unwrap();
    assert!(seen.to_string().contains("by process 4242, unless confirmed"), "{seen}");
    revert.wait().unwrap();
    let fault = confirm::confirm(bench.dir.path(), &bench.kernel, None).unwrap_err();
    assert!(fault.cause.contains("run out"), "{fault}");
    assert!(matches!(revert.take_back(), Reverted::TakenBack(report) if report.is_clean()));
    assert_eq!(bench.read(IRQ[0]), "0-3");
    assert!(matches!(revert.take_back(), Reverted::NotNeeded));
    waits().unwrap();
}

#[test]
fn what_is_confirmed_stays_and_can_still_be_undone() {
    let bench = Bench::new();
    let session = armed(&bench, 1_000_000);
    assert_eq!(
        confirm::confirm(bench.dir.path(), &bench.kernel, None).unwrap(),
        std::slice::from_ref(&session)
    );
    let never = |_| panic!("there is nothing to wait for");
    let mut revert = bench.revert(&session, &never);
    revert.wait().unwrap();
    assert!(matches!(revert.take_back(), Reverted::NotNeeded));
    assert_eq!(bench.read(IRQ[0]), "0");
    assert!(confirm::confirm(bench.dir.path(), &bench.kernel, None).is_err());
    assert!(bench.undo(&UndoOptions::default()).is_clean());
    assert_eq!(bench.read(IRQ[0]), "0-3");
}

#[test]
fn a_revert_waits_for_another_undo_instead_of_giving_up() {
    let bench = Bench::new();
    let session = armed(&bench, 0);
    let held = Cell::new(Some(MachineLock::take(bench.dir.path()).unwrap()));
    let waited = Cell::new(0);
    let sleep = |_: Duration| {
        waited.set(waited.get() + 1);
        if waited.get() == 1000 {
            drop(held.take());
        }
    };
    let reverted = bench.revert(&session, &sleep).take_back();
    assert!(matches!(reverted, Reverted::TakenBack(report) if report.is_clean()));
    assert_eq!((bench.read(IRQ[0]).as_str(), waited.get()), ("0-3", 1000));
}

/// An armed session whose apply is still there, and holds the lock.
fn hanging(bench: &Bench) -> (String, ProcessRef, Cell<Option<MachineLock>>) {
    let lock = MachineLock::take(bench.dir.path()).unwrap();
    let session = armed(bench, 0);
    let owner = ProcessRef { pid: 1000, start_time_ticks: 1 };
    let process = EmulatedThread { start_time_ticks: 1, ..EmulatedThread::new(1000) };
    bench.kernel.insert_thread(1000, process);
    assert!(bench.kernel.alive(&owner));
    (session, owner, Cell::new(Some(lock)))
}

#[test]
fn an_apply_that_hangs_with_the_lock_is_killed_and_its_session_taken_back() {
    let bench = Bench::new();
    let (session, owner, lock) = hanging(&bench);
    let sleep = |_: Duration| {
        if !bench.kernel.alive(&owner) {
            drop(lock.take());
        }
    };
    let reverted = bench.revert(&session, &sleep).take_back();
    assert!(matches!(reverted, Reverted::TakenBack(report) if report.is_clean()));
    assert_eq!(bench.read(IRQ[0]), "0-3");
    assert!(lock.take().is_none());
}

#[test]
fn an_apply_that_cannot_be_seen_for_a_while_keeps_its_lock_until_it_is_killed() {
    let bench = Bench::new();
    let (session, _, lock) = hanging(&bench);
    let looks = Cell::new(0);
    let sleep = |_: Duration| {
        looks.set(looks.get() + 1);
        match looks.get() {
            50 => bench.kernel.refuse_to_read("/proc", rustix::io::Errno::MFILE.raw_os_error()),
            200 => bench.kernel.permit_to_read("/proc"),
            _ => {}
        }
        match bench.kernel.state().threads.contains_key(&1000) {
            true => assert_eq!(bench.read(IRQ[0]), "0", "nothing is taken back beside it"),
            false => drop(lock.take()),
        }
    };
    let reverted = bench.revert(&session, &sleep).take_back();
    assert!(matches!(reverted, Reverted::TakenBack(report) if report.is_clean()));
    assert_eq!(bench.read(IRQ[0]), "0-3");
    assert!(looks.get() > 200, "{}", looks.get());
}

#[test]
fn an_apply_that_cannot_even_be_killed_does_not_keep_the_revert() {
    let bench = Bench::new();
    let (session, owner, lock) = hanging(&bench);
    bench.kernel.refuse("signal 1000", libc_eio());
    let looks = Cell::new(0);
    let sleep = |_: Duration| {
        looks.set(looks.get() + 1);
        // It comes out of the kernel at last, and dies.
        if bench.read(IRQ[0]) == "0-3" {
            bench.kernel.remove_thread(1000);
            drop(lock.take());
        }
    };
    let reverted = bench.revert(&session, &sleep).take_back();
    assert!(matches!(reverted, Reverted::TakenBack(report) if report.is_clean()), "{owner:?}");
    assert_eq!(bench.read(IRQ[0]), "0-3");
    assert!(looks.get() > 10, "it had its time");
}

#[test]
fn nothing_else_begins_while_a_session_waits_to_be_confirmed() {
    let bench = Bench::new();
    let session = armed(&bench, 1_000);
    let fault = confirm::none_waits(&sessions(bench.dir.path()).unwrap(), &bench.kernel).unwrap_err();
    assert!(fault.object.contains(&session) && fault.remedy.contains("confirm"), "{fault}");
}

/// The disk of the ledgers fails after the changes were made: the file is emptied, and its folder is gone.
#[test]
fn a_revert_remembers_what_the_ledger_said_before_the_disk_failed() {
    let bench = Bench::new();
    let session = armed(&bench, 0);
    let mut revert = bench.revert(&session, &|_| {});
    std::fs::rename(bench.dir.path(), bench.dir.path().with_extension("away")).unwrap();
    assert!(
        matches!(revert.take_back(), Reverted::TakenBack(report) if report.sessions[0].undone.len() == 1)
    );
    assert_eq!(bench.read(IRQ[0]), "0-3");
    std::fs::rename(bench.dir.path().with_extension("away"), bench.dir.path()).unwrap();
}

fn libc_eio() -> i32 {
    rustix::io::Errno::IO.raw_os_error()
}

#[test]
fn an_older_session_waits_for_the_later_one_that_set_the_same() {
    let bench = Bench::new();
    let first = bench.apply(&plan(&[("38", "0")]), false).session;
    // The later one happens to set what the older one found.
    let second = bench.apply(&plan(&[("38", "0-3")]), false).session;
    let only = |session: &str| UndoOptions { session: Some(session.to_string()), ..UndoOptions::default() };
    let report = bench.undo(&only(&first));
    let fault = report.fault().unwrap();
    assert!(fault.cause.contains(&second) && fault.remedy.contains(&second), "{fault}");
    assert!(bench.undo(&UndoOptions::default()).is_clean());
    assert_eq!(bench.read(IRQ[0]), "0-3");
    assert!(status::status_with(bench.dir.path(), &bench.kernel).unwrap().sessions.is_empty());
}

#[test]
fn an_apply_that_still_works_cannot_be_confirmed_and_loses_no_line() {
    let bench = Bench::new();
    let mut hand = bench.hand();
    hand.arm(1_000, Reverter::Starting).unwrap();
    let set = |hand: &mut Hand, irq| {
        apply(hand, &bench.root(), &plan(&[(irq, "0")]), ApplyOptions::default(), &|| None, &mut |_| {})
    };
    set(&mut hand, "38");
    let fault = confirm::confirm(bench.dir.path(), &bench.kernel, None).unwrap_err();
    assert!(fault.cause.contains("still works"), "{fault}");
    // A revert under it takes back what there is, and the rest when it has gone.
    let looked = Cell::new(0);
    let sleep = |_: Duration| {
        looked.set(looked.get() + 1);
        if looked.get() == 1 {
            assert_eq!(bench.read(IRQ[0]), "0-3");
        }
        bench.kernel.remove_thread(1000);
    };
    let session = hand.session().to_string();
    set(&mut hand, "39");
    std::mem::forget(hand);
    let reverted = bench.revert(&session, &sleep).take_back();
    assert!(matches!(reverted, Reverted::TakenBack(report) if report.is_clean()));
    assert_eq!((bench.read(IRQ[0]), bench.read(IRQ[1]), looked.get()), ("0-3".into(), "0-3".into(), 1));
    assert!(status::status_with(bench.dir.path(), &bench.kernel).unwrap().sessions.is_empty());
}

#[test]
fn what_a_revert_had_to_leave_does_not_keep_others_from_being_confirmed() {
    let bench = Bench::new();
    let stuck = armed(&bench, 0);
    bench.kernel.add_file(IRQ[0], "2\n");
    let reverted = bench.revert(&stuck, &|_| {}).take_back();
    assert!(matches!(reverted, Reverted::TakenBack(report) if !report.is_clean()));
    bench.kernel.add_process(1000, 1);
    let mut hand = bench.hand();
    hand.arm(1_000, Reverter::Starting).unwrap();
    let session = hand.session().to_string();
    hand.finish().unwrap();
    bench.kernel.remove_thread(1000);
    // It changed nothing, so that nothing waits; the stuck one does not either.
    assert!(confirm::confirm(bench.dir.path(), &bench.kernel, Some(&session)).is_err());
    let seen = status::status_with(bench.dir.path(), &bench.kernel).unwrap();
    assert_eq!((seen.sessions.len(), seen.sessions[0].to_confirm_within_s), (1, None));
}

#[test]
fn a_thread_that_ended_meanwhile_is_no_failure() {
    let bench = Bench::new();
    let stat = |tid: u32, start: u64| {
        format!("{tid} (server) S 1 50 50 0 -1 0 0 0 0 0 0 0 0 0 20 0 2 0 {start} 0 0")
    };
    let process = bench.kernel.add_process(50, 1);
    let status = "Cpus_allowed_list:\t0-3\n";
    let tree = Tree::new()
        .file("/sys/devices/system/cpu/online", "0-3\n")
        .file("/proc/50/stat", stat(50, process.start_time_ticks))
        .file("/proc/50/task/50/stat", stat(50, process.start_time_ticks))
        .file("/proc/50/task/50/status", status)
        .file("/proc/50/task/51/stat", stat(51, 999))
        .file("/proc/50/task/51/status", status);
    let pin = Planned {
        knob: "process-affinity".into(),
        target: "50".into(),
        value: "1".into(),
        ..Planned::default()
    };
    let plan = Plan { settings: vec![pin], ..Plan::default() };
    let mut hand = bench.hand();
    let root = Root::from_tree(tree);
    let applied = apply(&mut hand, &root, &plan, ApplyOptions::default(), &|| None, &mut |_| {});
    assert_eq!((applied.fault, applied.acts_in_force), (None, 1));
    hand.undo_all();
    hand.finish().unwrap();
}
