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
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use object::{Object, ObjectSection, SectionKind};

    /// The version that the checked-in objects were made with; another gives other bytes.
    const CLANG: &str = "clang-14";

    const OBJECTS: [&str; 11] = [
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

    fn source() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf")
    }

    #[test]
    fn functions_that_programs_call_are_all_in_one_section() {
        // aya-obj 0.3 links a call by the offset of the function alone: one at the same offset of another section is called in its place.
        for name in OBJECTS {
            let bytes = std::fs::read(source().join(name)).unwrap();
            let object = object::File::parse(&*bytes).unwrap();
            let called = object.sections().filter(|of| {
                of.kind() == SectionKind::Text
                    && of.size() > 0
                    && of.name().is_ok_and(|name| name.starts_with(".text"))
            });
            assert!(called.count() <= 1, "{name}: mark every __noinline function __cold (kernel.h)");
        }
    }

    #[test]
    fn objects_equal_their_source() {
        if Command::new(CLANG).arg("--version").output().is_err() {
            eprintln!("skipped: {CLANG} is not installed (scripts/setup test installs it)");
            return;
        }
        let (source, out) = (source(), tempfile::tempdir().unwrap());
        let made = Command::new("make")
            .arg("-C")
            .arg(&source)
            .arg(format!("OUT={}", out.path().display()))
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        for name in OBJECTS {
            let fresh = std::fs::read(out.path().join(name)).unwrap();
            let kept = std::fs::read(source.join(name)).unwrap();
            assert!(fresh == kept, "{name} is older than its source: make -C crates/probe/bpf");
        }
    }
}
