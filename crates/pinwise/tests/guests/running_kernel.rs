//! `pinwise rehearse --kernel running`: the kernel of this machine in a guest, where its image lies in /boot.

use std::process::{Command, Output};

use rehearse::{Guest, Kernel};

/// Runs a command in a guest with this machine's kernel.
fn rehearse(command: &str) -> Output {
    let mut pinwise = Command::new(env!("CARGO_BIN_EXE_pinwise"));
    pinwise.args(["rehearse", "--like", "plain", "--kernel", "running", "--", command]);
    pinwise.output().unwrap()
}

fn release() -> String {
    std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap().trim().to_string()
}

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn a_guest_runs_the_kernel_of_this_machine() {
    let missing = Guest::lacks_program()
        .or_else(|| Kernel::find("running", &mut |_| {}).err().map(|why| why.to_string()));
    if let Some(why) = missing {
        return eprintln!("skipped: {why}");
    }
    let out = rehearse("uname -r");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert_eq!(String::from_utf8_lossy(&out.stdout).trim(), release());
}

#[test]
fn without_its_image_the_cause_and_the_remedy_are_reported() {
    let image = format!("/boot/vmlinuz-{}", release());
    if Guest::lacks_program().is_some() || std::path::Path::new(&image).exists() {
        return eprintln!("skipped: {image} is there, or QEMU or busybox is not, which is reported first");
    }
    let out = rehearse("true");
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(4), "{stderr}");
    for word in ["the running kernel", &image, "--kernel amd64"] {
        assert!(stderr.contains(word), "'{word}' is not in: {stderr}");
    }
}
