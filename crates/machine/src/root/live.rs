//! The running system.

use std::io::{BufRead, BufReader};
use std::path::Path;

use super::{ReadError, Source};

/// The facts that are no files. All are kept in a capture.
///
/// `page_size` (bytes) and `clock_ticks` (a second) from sysconf(3); `release`, `version`, `machine` and `nodename`
/// from uname(2); `euid`, the effective user that read the machine, from geteuid(2); `hypervisor`, the signature of the
/// hypervisor below, from CPUID leaf 0x40000000 (x86; absent without one).
pub const FACTS: [&str; 8] =
    ["page_size", "clock_ticks", "release", "version", "machine", "nodename", "euid", "hypervisor"];

/// The file system of this process.
pub(super) struct Live;

impl Source for Live {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        std::fs::read(path).map_err(|e| ReadError::from_io(path, &e))
    }

    fn each_line(&self, path: &str, take: &mut dyn FnMut(&[u8])) -> Result<(), ReadError> {
        let error = |e: std::io::Error| ReadError::from_io(path, &e);
        // Large reads: the kernel finds its place in a process's mappings anew for each one.
        let mut lines = BufReader::with_capacity(1 << 16, std::fs::File::open(path).map_err(error)?);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).map_err(error)? > 0 {
            take(line.strip_suffix(b"\n").unwrap_or(&line));
            line.clear();
        }
        Ok(())
    }

    fn list(&self, path: &str) -> Result<Vec<String>, ReadError> {
        let error = |e: std::io::Error| ReadError::from_io(path, &e);
        let mut names = Vec::new();
        for entry in std::fs::read_dir(path).map_err(error)? {
            // A name that is no UTF-8 is none of the kernel's: no reader could ask for it.
            names.extend(entry.map_err(error)?.file_name().into_string().ok());
        }
        Ok(names)
    }

    fn link(&self, path: &str) -> Result<String, ReadError> {
        let target = std::fs::read_link(path).map_err(|e| not_a_link(path, &e))?;
        target
            .into_os_string()
            .into_string()
            .map_err(|_| ReadError::malformed(path, "its target is no UTF-8"))
    }

    fn exists(&self, path: &str) -> bool {
        Path::new(path).exists()
    }

    fn fact(&self, name: &str) -> Result<String, ReadError> {
        let uname = rustix::system::uname();
        let text = |c: &std::ffi::CStr| c.to_string_lossy().into_owned();
        match name {
            "page_size" => Ok(rustix::param::page_size().to_string()),
            "clock_ticks" => Ok(rustix::param::clock_ticks_per_second().to_string()),
            "release" => Ok(text(uname.release())),
            "version" => Ok(text(uname.version())),
            "machine" => Ok(text(uname.machine())),
            "nodename" => Ok(text(uname.nodename())),
            "euid" => Ok(rustix::process::geteuid().as_raw().to_string()),
            "hypervisor" => {
                hypervisor().ok_or_else(|| ReadError::absent(name, "the CPU names no hypervisor"))
            }
            _ => Err(ReadError::absent(name, format!("no such fact; known are {}", FACTS.join(", ")))),
        }
    }

    fn is_live(&self) -> bool {
        true
    }
}

/// The signature that a hypervisor shows in CPUID, where the CPU says that there is one.
#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe)] // __cpuid is a safe function from Rust 1.93 or so on, and we build with older ones too
fn hypervisor() -> Option<String> {
    use std::arch::x86_64::__cpuid;
    // SAFETY: every x86-64 CPU has the CPUID instruction, and it changes nothing.
    let (features, signature) = unsafe { (__cpuid(1), __cpuid(0x4000_0000)) };
    let present = features.ecx & (1 << 31) != 0;
    let bytes: Vec<u8> =
        [signature.ebx, signature.ecx, signature.edx].iter().flat_map(|r| r.to_le_bytes()).collect();
    let text = String::from_utf8(bytes).ok()?;
    let text = text.trim_matches(|c: char| c == '\0' || c.is_whitespace());
    (present && !text.is_empty()).then(|| text.to_string())
}

/// Other architectures have no such instruction.
#[cfg(not(target_arch = "x86_64"))]
fn hypervisor() -> Option<String> {
    None
}

/// EINVAL of readlink(2) means that the file is there and is no link: as a link it is absent.
pub(super) fn not_a_link(path: &str, error: &std::io::Error) -> ReadError {
    match error.raw_os_error() {
        Some(libc::EINVAL) => ReadError::absent(path, "it is no symbolic link"),
        _ => ReadError::from_io(path, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fact_of_the_list_is_known_and_no_other() {
        for name in FACTS.into_iter().filter(|name| *name != "hypervisor") {
            assert!(!Live.fact(name).unwrap().is_empty(), "{name}");
        }
        assert!(Live.fact("colour").unwrap_err().is_absent());
    }

    #[test]
    fn lines_one_by_one_are_those_of_the_whole_file() {
        let path = "/proc/filesystems";
        let whole = String::from_utf8(Live.read(path).unwrap()).unwrap();
        let mut lines = Vec::new();
        Live.each_line(path, &mut |line| lines.push(String::from_utf8(line.to_vec()).unwrap())).unwrap();
        assert_eq!(lines, whole.lines().collect::<Vec<_>>());
        let held = crate::Root::from_tree(crate::Tree::new().file("/x", whole.as_str()).file("/empty", ""));
        let mut again = Vec::new();
        held.each_line("/x", |line| again.push(line.to_string())).unwrap();
        held.each_line("/empty", |line| again.push(line.to_string())).unwrap();
        assert_eq!(again, lines);
        assert!(Live.each_line("/proc/nothing", &mut |_| {}).unwrap_err().is_absent());
    }

    #[test]
    fn files_directories_and_links() {
        assert!(Live.read("/proc/self/status").unwrap().starts_with(b"Name:"));
        assert!(Live.list("/proc/self").unwrap().contains(&"status".to_string()));
        assert_eq!(Live.link("/proc/self").unwrap(), std::process::id().to_string());
        assert!(Live.link("/proc/stat").unwrap_err().is_absent());
        assert!(Live.read("/proc/nothing").unwrap_err().is_absent());
    }
}
