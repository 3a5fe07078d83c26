//! A guest that was started manually.

use std::process::{Command, Stdio};
use std::time::Duration;

use super::{can_place, is_up, placed, plan};
use crate::pinwise::{Bench, wait_at_most};
use crate::processes::Killed;

fn start(name: &str) -> Killed {
    let mut command = Command::new("qemu-system-x86_64");
    command.args(["-machine", "q35", "-accel", "tcg,thread=multi", "-m", "16", "-smp", "2", "-S"]);
    command.args(["-nodefaults", "-display", "none", "-object", "iothread,id=disk"]);
    command.args(["-name", &format!("{name},debug-threads=on")]);
    Killed(command.stdin(Stdio::null()).spawn().unwrap())
}

#[test]
#[ignore = "ground truth: needs root and QEMU; run by `make test`"]
fn threads_of_qemu_are_placed_and_put_back() {
    if !can_place() {
        return;
    }
    let name = format!("pinwise-{}", std::process::id());
    let qemu = start(&name);
    let pid = qemu.0.id();
    wait_at_most(Duration::from_secs(30), "the guest's threads", || is_up(pid, "IO disk"));
    let before = placed(pid);
    let target = |rest: &str| format!("{name}/{rest}");
    let (vcpus, io, emulator) =
        (["vcpu/0", "vcpu/1"].map(target), target("iothread/disk"), target("emulator"));
    let settings = [
        ("vcpu-affinity", vcpus[0].as_str(), "1"),
        ("vcpu-affinity", &vcpus[1], "0"),
        ("iothread-affinity", &io, "1"),
        ("emulator-affinity", &emulator, "0"),
    ];
    let bench = Bench::new();
    let plan = plan(&bench, &settings).display().to_string();
    let applied = bench.run(&["apply", &plan]);
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    let now = placed(pid);
    for (thread, cpu) in [("CPU 0/TCG", "1"), ("CPU 1/TCG", "0"), ("IO disk", "1")] {
        assert_eq!(now[thread], cpu, "{now:?}");
    }
    assert!(now["qemu-system-x86"].split('|').all(|cpu| cpu == "0"), "{now:?}");
    assert!(bench.run(&["undo"]).status.success());
    assert_eq!(placed(pid), before);
}
