//! Guests that libvirt runs, on the emulated kernel: what it has set is taken back through it, whatever happens in between.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use machine::persistence::Manner;
use machine::{Act, Class, CpuSet, GuestPart, GuestPin, PinScope, Plan, Planned, ProcessRef, Root, Tree};
use pinwise_change::apply::{Applied, ApplyOptions, apply};
use pinwise_change::emulated_kernel::{Crash, When};
use pinwise_change::{EmulatedKernel, Hand, How, Platform, Threads, UndoOptions, UndoReport, Value, undo};

const UUID: &str = "f37c6602-cd1f-4a54-94c3-e9fbfe9aff94";
const PARTS: [GuestPart; 3] =
    [GuestPart::Vcpu { vcpu: 0 }, GuestPart::Emulator, GuestPart::IoThread { id: 1 }];

/// A guest `web` with a vCPU and an I/O thread.
struct Bench {
    kernel: EmulatedKernel,
    process: ProcessRef,
    dir: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let kernel = EmulatedKernel::new();
        let process = kernel.add_process(80, 1);
        let bench = Self { kernel, process, dir: tempfile::tempdir().unwrap() };
        for (part, tid) in PARTS.into_iter().zip([81, 80, 82]) {
            if tid != 80 {
                bench.kernel.add_thread(80, tid);
            }
            bench.kernel.add_guest_pin(bench.pin(part), &[tid]);
            bench.kernel.add_guest_pin(bench.pin(part).in_definition(), &[]);
        }
        bench
    }

    fn pin(&self, part: GuestPart) -> GuestPin {
        GuestPin {
            name: "web".into(),
            uuid: UUID.into(),
            part,
            scope: PinScope::Running { process: self.process },
        }
    }

    /// All that can be set, to CPU 1.
    fn acts(&self) -> Vec<Act> {
        let pins = PARTS.into_iter().flat_map(|part| [self.pin(part), self.pin(part).in_definition()]);
        pins.map(|pin| Act::PinGuest { pin, cpus: CpuSet::single(1) }).collect()
    }

    fn hand(&self) -> Hand {
        Hand::with(Arc::new(self.kernel.clone()), self.dir.path(), "test").unwrap()
    }

    fn undo(&self) -> UndoReport {
        self.kernel.remove_thread(1000);
        undo(self.dir.path(), &self.kernel, &UndoOptions::default()).unwrap()
    }

    fn hows(&self) -> Vec<How> {
        self.undo().sessions.remove(0).undone.into_iter().map(|undone| undone.how).collect()
    }

    /// The machine as readers see it; the guest's definition lasts or not.
    fn root(&self, defined: bool) -> Root {
        let mut tree = Tree::new()
            .file("/sys/devices/system/cpu/online", "0-3\n")
            .file("/run/libvirt/qemu/web.pid", "80\n")
            .file("/proc/80/cmdline", format!("qemu\0-name\0guest=web,debug-threads=on\0-uuid\0{UUID}\0"));
        for (tid, comm) in [(80, "qemu-kvm"), (81, "CPU 0/KVM"), (82, "IO iothread1")] {
            let start = self.kernel.start_time(80, tid).unwrap();
            let stat = format!("{tid} ({comm}) S 1 80 80 0 -1 0 0 0 0 0 0 0 0 0 20 0 2 0 {start} 0 0 0\n");
            let cpus = self.kernel.affinity(80, tid).unwrap();
            tree = tree
                .file(&format!("/proc/80/task/{tid}/stat"), stat.clone())
                .file(&format!("/proc/80/task/{tid}/status"), format!("Cpus_allowed_list:\t{cpus}\n"));
            if tid == 80 {
                tree = tree.file("/proc/80/stat", stat);
            }
        }
        Root::from_tree(if defined { tree.file("/etc/libvirt/qemu/web.xml", "") } else { tree })
    }

    fn apply(&self, defined: bool) -> Applied {
        let settings = [("vcpu-affinity", "web/vcpu/0"), ("emulator-affinity", "web/emulator")];
        let planned = |(knob, target): (&str, &str)| Planned {
            knob: knob.into(),
            target: target.into(),
            value: "1".into(),
            ..Planned::default()
        };
        let plan = Plan { settings: settings.into_iter().map(planned).collect(), ..Plan::default() };
        let options = ApplyOptions { keep_going: false, persist: Some(Manner::Platform) };
        let mut hand = self.hand();
        let applied = apply(&mut hand, &self.root(defined), &plan, options, &|| None, &mut |_| {});
        hand.finish().unwrap();
        applied
    }
}

#[test]
fn a_guest_comes_back_whatever_the_moment_of_the_crash() {
    let before = Bench::new().kernel.state().guest_pins;
    // Six changes, and as many to undo them.
    for (number, when) in (0..13).flat_map(|n| [(n, When::Before), (n, When::After)]) {
        let bench = Bench::new();
        bench.kernel.crash_at(Some((number, when)));
        let crashed = catch_unwind(AssertUnwindSafe(|| {
            let mut hand = bench.hand();
            bench.acts().iter().for_each(|act| assert!(hand.perform(act).unwrap().took_effect, "{act:?}"));
            assert!(hand.undo_all().iter().all(|undone| undone.how == How::Restored));
            hand.finish().unwrap();
        }));
        if let Err(panic) = crashed {
            assert!(panic.downcast_ref::<Crash>().is_some(), "another panic than the crash");
        }
        bench.kernel.crash_at(None);
        let report = bench.undo();
        assert_eq!(bench.kernel.state().guest_pins, before, "{number} {when:?}: {report:?}");
    }
}

#[test]
fn a_guest_that_was_started_again_keeps_only_its_definition() {
    let bench = Bench::new();
    let mut hand = bench.hand();
    bench.acts().iter().for_each(|act| assert!(hand.perform(act).unwrap().took_effect));
    hand.finish().unwrap();
    // Another process of the same number.
    bench.kernel.alter(80, |thread| thread.start_time_ticks += 1);
    let hows = bench.hows();
    assert_eq!(hows, [How::Restored, How::Gone, How::Restored, How::Gone, How::Restored, How::Gone]);
}

#[test]
fn what_somebody_else_has_had_libvirt_set_since_is_left() {
    let bench = Bench::new();
    let mut hand = bench.hand();
    let pin = bench.pin(GuestPart::Emulator);
    hand.perform(&Act::PinGuest { pin: pin.clone(), cpus: CpuSet::single(1) }).unwrap();
    hand.finish().unwrap();
    bench.kernel.pin_guest(&pin, &CpuSet::single(3)).unwrap();
    assert_eq!(bench.hows(), [How::Conflict { now: Value::Cpus(CpuSet::single(3)).into() }]);
}

#[test]
fn a_definition_keeps_what_is_persisted_and_gives_it_back_after_a_restart() {
    let bench = Bench::new();
    let before = bench.kernel.state().guest_pins;
    let applied = bench.apply(true);
    assert_eq!((applied.fault, applied.acts_in_force, applied.placed.len()), (None, 4, 2));
    let placed: Vec<&str> = applied.placed.iter().map(|receipt| receipt.object.as_str()).collect();
    assert_eq!(placed, ["guest web: vCPU 0 in its definition", "guest web: emulator in its definition"]);
    bench.kernel.reboot();
    let report = bench.undo();
    assert!(report.is_clean() && report.to_string().contains("until it is restarted"), "{report}");
    let hows: Vec<&How> = report.sessions[0].undone.iter().map(|undone| &undone.how).collect();
    assert_eq!(hows, [&How::Restored, &How::Restored, &How::Expired, &How::Expired]);
    let definitions = |pins: &std::collections::BTreeMap<GuestPin, (CpuSet, Vec<u32>)>| -> Vec<_> {
        let kept = pins.iter().filter(|(pin, _)| pin.scope == PinScope::Definition);
        kept.map(|(pin, (cpus, _))| (pin.clone(), cpus.clone())).collect()
    };
    assert_eq!(definitions(&bench.kernel.state().guest_pins), definitions(&before));
}

#[test]
fn what_cannot_last_is_reported_before_anything_is_touched() {
    let bench = Bench::new();
    let before = bench.kernel.state();
    let fault = bench.apply(false).fault.unwrap();
    assert!(fault.cause.contains("transient"), "{fault}");
    assert_eq!(bench.kernel.state(), before);
}

#[test]
fn what_libvirt_refuses_is_reported_with_a_remedy() {
    let bench = Bench::new();
    let refused = |errno: i32| {
        bench.kernel.refuse("pin web", errno);
        bench.hand().perform(&bench.acts()[0]).unwrap_err()
    };
    let fault = refused(libc::EPERM);
    assert!(
        fault.class == Class::NotPermitted && fault.cause.contains("members of the libvirt group"),
        "{fault}"
    );
    assert!(refused(libc::EIO).remedy.contains("virsh"), "{fault}");
}
