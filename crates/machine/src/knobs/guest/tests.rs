use super::*;
use crate::{Tree, knobs};

const UUID: &str = "f37c6602-cd1f-4a54-94c3-e9fbfe9aff94";

fn stat(tid: u32, comm: &str, flags: u64) -> String {
    format!("{tid} ({comm}) S 1 7 7 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 2 0 {}00 0 0 0\n", tid)
}

fn task(tree: Tree, pid: u32, tid: u32, comm: &str, cpus: &str) -> Tree {
    let tree = match tid == pid {
        true => tree.file(&format!("/proc/{pid}/stat"), stat(tid, comm, 0)),
        false => tree,
    };
    tree.file(&format!("/proc/{pid}/task/{tid}/stat"), stat(tid, comm, 0))
        .file(&format!("/proc/{pid}/task/{tid}/status"), format!("Cpus_allowed_list:\t{cpus}\n"))
}

/// A guest of two vCPUs with that command line, as Linux 6.18 shows it.
fn guest(tree: Tree, pid: u32, cmdline: &str) -> Tree {
    let threads = [
        (0, "qemu-system-x86", "0-3"),
        (1, "call_rcu", "0-3"),
        (2, "IO iothread1", "0-3"),
        (3, "IO mon_iothread", "0-3"),
        (4, "CPU 0/KVM", "2"),
        (5, "CPU 1/KVM", "3"),
        (6, "worker", "0-3"),
    ];
    let tree = threads.into_iter().fold(tree, |tree, (n, comm, cpus)| task(tree, pid, pid + n, comm, cpus));
    let tree = task(tree, pid, pid + 9, &format!("vhost-{pid}"), "0-1");
    let tree = task(tree, pid, pid + 8, &format!("vhost-{pid}"), "0");
    tree.file(&format!("/proc/{pid}/cmdline"), cmdline).file(&format!("/proc/{pid}/cgroup"), "0::/x.scope\n")
}

fn empty() -> Tree {
    Tree::new().file("/sys/devices/system/cpu/online", "0-3\n").file("/proc/1/stat", stat(1, "systemd", 0))
}

fn plain() -> Tree {
    guest(empty(), 700, "qemu-system-x86_64\0-name\0db,debug-threads=on\0-S\0")
}

fn by_libvirt() -> Tree {
    let line =
        format!("qemu\0-name\0guest=web 1,debug-threads=on\0-uuid\0{UUID}\0-mon\0chardev=charmonitor,id=m\0");
    guest(empty(), 800, &line).file("/run/libvirt/qemu/web 1.pid", "800\n")
}

fn ids(knob: &str, tree: Tree) -> Vec<String> {
    let targets = knobs::named(knob).unwrap().targets(&Root::from_tree(tree)).unwrap();
    targets.into_iter().map(|target| target.id).collect()
}

fn read(knob: &str, target: &str, tree: Tree) -> String {
    knobs::named(knob).unwrap().read(&Root::from_tree(tree), target).unwrap()
}

fn change(knob: &str, target: &str, value: &str, tree: Tree) -> Result<Vec<Act>, Fault> {
    knobs::named(knob).unwrap().change(&Root::from_tree(tree), target, value)
}

/// Process, thread and start of those that are moved to CPU 1.
fn moved(acts: &[Act]) -> Vec<(u32, u32, u64)> {
    let thread = |act: &Act| match act {
        Act::SetAffinity { thread, cpus } if *cpus == CpuSet::single(1) => {
            (thread.pid, thread.tid, thread.start_time_ticks)
        }
        other => panic!("{other:?}"),
    };
    acts.iter().map(thread).collect()
}

/// What libvirt is asked for, without the program's name.
fn told(acts: &[Act]) -> Vec<String> {
    let words = |act: &Act| match act {
        Act::PinGuest { pin, cpus } => pin.order(cpus).unwrap()[2..].join(" "),
        other => panic!("{other:?}"),
    };
    acts.iter().map(words).collect()
}

#[test]
fn threads_of_a_guest_by_name() {
    assert_eq!(ids("vcpu-affinity", plain()), ["db/vcpu/0", "db/vcpu/1"]);
    assert_eq!(ids("iothread-affinity", plain()), ["db/iothread/iothread1", "db/iothread/mon_iothread"]);
    assert_eq!(ids("emulator-affinity", plain()), ["db/emulator"]);
    assert_eq!(ids("vhost-affinity", plain()), ["db/vhost/0", "db/vhost/1"]);
    assert_eq!(read("vcpu-affinity", "db/vcpu/1", plain()), "3");
    assert_eq!(read("vcpu-affinity", "db/vcpu", plain()), "2 | 3");
    assert_eq!(read("vhost-affinity", "db/vhost/0", plain()), "0");
    let acts = |knob, target| moved(&change(knob, target, "1", plain()).unwrap());
    assert_eq!(acts("vcpu-affinity", "db/vcpu/1"), [(700, 705, 70500)]);
    assert_eq!(acts("vcpu-affinity", "pid:700/vcpu/1"), [(700, 705, 70500)]);
    assert_eq!(acts("vcpu-affinity", "db/vcpu").len(), 2);
    assert_eq!(acts("iothread-affinity", "db/iothread/iothread1"), [(700, 702, 70200)]);
    assert_eq!(acts("vhost-affinity", "db/vhost/1"), [(700, 709, 70900)]);
    let emulator: Vec<u32> =
        acts("emulator-affinity", "db/emulator").iter().map(|(_, tid, _)| *tid).collect();
    assert_eq!(emulator, [700, 701, 706]);
}

#[test]
fn before_6_4_vhost_is_a_process_of_the_kernel_and_workers_of_io_uring_stay() {
    let mut tree = empty();
    for (tid, comm, flags) in [(90, "vhost-700", 0x0020_8040), (700, "qemu-kvm", 0)] {
        tree = task(tree, tid, tid, comm, "0-3").file(&format!("/proc/{tid}/stat"), stat(tid, comm, flags));
        tree = tree.file(&format!("/proc/{tid}/status"), "Cpus_allowed_list:\t0-3\n");
    }
    let tree = task(tree, 700, 701, "iou-wrk-700", "0-3");
    let tree = tree.file("/proc/700/task/701/stat", stat(701, "iou-wrk-700", 0x0400_0000));
    assert_eq!(ids("vhost-affinity", tree.clone()), ["pid:700/vhost/0"]);
    let acts = |knob, target| moved(&change(knob, target, "1", tree.clone()).unwrap());
    assert_eq!(acts("vhost-affinity", "pid:700/vhost/0"), [(90, 90, 9000)]);
    assert_eq!(acts("emulator-affinity", "pid:700/emulator"), [(700, 700, 70000)]);
}

#[test]
fn guests_that_share_a_name_go_by_their_process() {
    let tree = guest(plain(), 900, "qemu-kvm\0-name\0db\0");
    assert_eq!(ids("emulator-affinity", tree.clone()), ["pid:700/emulator", "pid:900/emulator"]);
    let fault = change("emulator-affinity", "db/emulator", "1", tree).unwrap_err();
    assert!(fault.cause.contains("or several do"), "{fault}");
}

#[test]
fn libvirt_places_its_own_guests() {
    let words = |knob, target| told(&change(knob, target, "1", by_libvirt()).unwrap());
    let of = |verb: &str| format!("{verb} --domain {UUID} --live");
    assert_eq!(words("vcpu-affinity", "web 1/vcpu/1"), [format!("{} --vcpu 1 --cpulist 1", of("vcpupin"))]);
    assert_eq!(words("vcpu-affinity", "web 1/vcpu").len(), 2);
    assert_eq!(words("emulator-affinity", "web 1/emulator"), [format!("{} --cpulist 1", of("emulatorpin"))]);
    let io = format!("{} --iothread 1 --cpulist 1", of("iothreadpin"));
    assert_eq!(words("iothread-affinity", "web 1/iothread/iothread1"), [io]);
    assert_eq!(
        ids("iothread-affinity", by_libvirt()),
        ["web 1/iothread/iothread1"],
        "that of its monitor is not its"
    );
    assert_eq!(moved(&change("vhost-affinity", "web 1/vhost/0", "1", by_libvirt()).unwrap()).len(), 1);
    let acts = change("vcpu-affinity", "web 1/vcpu/1", "1", by_libvirt()).unwrap();
    let [Act::PinGuest { pin, .. }] = &acts[..] else { panic!("{acts:?}") };
    let process = crate::ProcessRef { pid: 800, start_time_ticks: 80000 };
    assert_eq!((pin.scope, pin.name.as_str()), (PinScope::Running { process }, "web 1"));
}

#[test]
fn another_libvirt_is_not_gone_behind() {
    let elsewhere = [
        // Of a user's session: no file of the system's libvirt names it.
        by_libvirt().file("/run/libvirt/qemu/web 1.pid", "801\n"),
        // Known by its cgroup alone.
        plain()
            .file("/proc/700/cgroup", "0::/machine.slice/machine-qemu\\x2d1\\x2ddb.scope/libvirt/emulator\n"),
    ];
    for (tree, target) in elsewhere.into_iter().zip(["web 1/vcpu/0", "db/vcpu/0"]) {
        let fault = change("vcpu-affinity", target, "1", tree.clone()).unwrap_err();
        assert!(fault.cause.contains("not the system's own") && fault.remedy.contains("vcpupin"), "{fault}");
        assert_eq!(read("vcpu-affinity", target, tree), "2");
    }
    let refused = by_libvirt().denied("/run/libvirt/qemu/web 1.pid");
    assert_eq!(change("vcpu-affinity", "web 1/vcpu/0", "1", refused).unwrap_err().class, Class::NotPermitted);
}

#[test]
fn the_knobs_of_guests_are_known() {
    for knob in knobs::ALL {
        assert_eq!(is_one(*knob), knob.about().scope.contains("GUEST/"), "{}", knob.about().id);
    }
}

#[test]
fn what_is_not_there_is_reported() {
    for (target, value, why) in [
        ("db/vcpu/2", "1", "no such thread"),
        ("web/vcpu/0", "1", "no guest of that name"),
        ("db/emulator", "1", "GUEST/vcpu"),
        ("db/vcpu/0", "", "empty"),
        ("db/vcpu/0", "4", "CPU 4"),
    ] {
        let fault = change("vcpu-affinity", target, value, plain()).unwrap_err();
        assert!(fault.cause.contains(why), "{fault}");
    }
    // One thread runs all vCPUs.
    let tree = task(task(empty(), 700, 700, "qemu-kvm", "0"), 700, 701, "ALL CPUs/TCG", "0-1");
    assert_eq!(ids("vcpu-affinity", tree), ["pid:700/vcpu"]);
}

#[test]
fn threads_of_a_server_are_those_of_its_process_that_is_a_guest() {
    let root = Root::from_tree(plain());
    let of = |target: &str, pids: &[u32]| of_server(&root, target, pids).unwrap();
    assert_eq!(of("server/vcpu/1", &[1, 700]).as_deref(), Some("pid:700/vcpu/1"));
    assert_eq!(of("server/emulator", &[1]), None);
    assert_eq!(of("db/vcpu/1", &[700]), None);
    let target = of("server/vhost", &[700]).unwrap();
    assert_eq!(change("vhost-affinity", &target, "1", plain()).unwrap().len(), 2);
}
