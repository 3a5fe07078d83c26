//! The compiled programs.

use aya::include_bytes_aligned;

/// A set of programs, compiled twice, or for newer kernels alone.
pub(super) struct Object {
    /// For kernels whose trace points have types (5.12 and later, with BTF).
    pub(super) typed: &'static [u8],
    /// For those without: needs BTF, of its own or from a file, for the offsets of fields only. `None` where there is no such set.
    pub(super) raw: Option<&'static [u8]>,
}

/// Sums up in tables.
pub(super) static ACCOUNT: Object = Object {
    typed: include_bytes_aligned!("../../bpf/account.tp_btf.o"),
    raw: Some(include_bytes_aligned!("../../bpf/account.raw_tp.o")),
};

/// Reports events one by one.
pub(super) static EVENTS: Object = Object {
    typed: include_bytes_aligned!("../../bpf/events.tp_btf.o"),
    raw: Some(include_bytes_aligned!("../../bpf/events.raw_tp.o")),
};

/// Sums up by stack.
pub(super) static STACKS: Object =
    Object { typed: include_bytes_aligned!("../../bpf/stacks.tp_btf.o"), raw: None };

/// Samples stacks.
pub(super) static PROFILE: Object =
    Object { typed: include_bytes_aligned!("../../bpf/profile.tp_btf.o"), raw: None };

/// Sums up waits at futexes.
pub(super) static LOCKS: Object =
    Object { typed: include_bytes_aligned!("../../bpf/locks.tp_btf.o"), raw: None };

/// Sums up requests by port.
pub(super) static REQUESTS: Object =
    Object { typed: include_bytes_aligned!("../../bpf/requests.tp_btf.o"), raw: None };

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    /// The version that the checked-in objects were made with; another gives other bytes.
    const CLANG: &str = "clang-14";

    #[test]
    fn objects_equal_their_source() {
        if Command::new(CLANG).arg("--version").output().is_err() {
            eprintln!("skipped: {CLANG} is not installed (scripts/setup test installs it)");
            return;
        }
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf");
        let out = tempfile::tempdir().unwrap();
        let made = Command::new("make")
            .arg("-C")
            .arg(&source)
            .arg(format!("OUT={}", out.path().display()))
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let objects = [
            "account.tp_btf.o",
            "account.raw_tp.o",
            "delay.tp_btf.o",
            "events.tp_btf.o",
            "events.raw_tp.o",
            "locks.tp_btf.o",
            "nothing.tp_btf.o",
            "profile.tp_btf.o",
            "requests.tp_btf.o",
            "stacks.tp_btf.o",
            "syscalls.tp_btf.o",
        ];
        for name in objects {
            let fresh = std::fs::read(out.path().join(name)).unwrap();
            let kept = std::fs::read(source.join(name)).unwrap();
            assert!(fresh == kept, "{name} is older than its source: make -C crates/probe/bpf");
        }
    }
}
