//! The running system.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::accept_queues::{self, ACCEPT_QUEUES};
use super::container_name::{self, CONTAINER_NAME};
use super::folder_cache::FolderCache;
use super::guest_name::{self, GUEST_NAME};
use super::io_priority::{self, IO_PRIORITY};
use super::irqbalance_socket::{self, IRQBALANCE};
use super::route::{self, ROUTE};
use super::{ReadError, Source, boot_evidence, descriptor, ethtool_netlink, paths};

/// The facts that are no files. All are kept in a capture.
///
/// `page_size` (bytes) and `clock_ticks` (a second) from sysconf(3); `release`, `version`, `machine` and `nodename`
/// from uname(2); `euid`, the effective user that read the machine, from geteuid(2); `hypervisor`, the signature of the
/// hypervisor below, from CPUID leaf 0x40000000 (x86; absent without one); `pm_qos_cpu_latency_us`, the exit latency
/// that somebody asks idle CPUs to keep below, from /dev/cpu_dma_latency (root; 2000000000 when nobody does);
/// `tick_mode` (`nohz 1 highres 1`, from /proc/timer_list; root); `handed_to_init`, the names of boot parameters that
/// the kernel did not know (/proc/1/environ; root); and `module_parameters`, which of those with a dot a module takes
/// (/sys/module, /lib/modules).
pub const FACTS: [&str; 12] = [
    "page_size",
    "clock_ticks",
    "release",
    "version",
    "machine",
    "nodename",
    "euid",
    "hypervisor",
    "pm_qos_cpu_latency_us",
    "tick_mode",
    "handed_to_init",
    "module_parameters",
];

/// `ethtool NAME` is what the driver of network interface NAME reports of its channels, interrupt coalescing and rings,
/// as JSON. It is kept in a capture when a reader has asked for it.
pub(crate) const ETHTOOL: &str = "ethtool ";

/// Where the kernel reports the limit, as four bytes in its own byte order (kernel/power/qos.c).
const CPU_LATENCY: &str = "/dev/cpu_dma_latency";

/// Opening the file asks for the default, which is no limit: it changes nothing.
fn cpu_latency_limit_us() -> Result<String, ReadError> {
    use std::io::Read;
    let error = |e: std::io::Error| ReadError::from_io(CPU_LATENCY, &e);
    let mut bytes = [0; 4];
    std::fs::File::open(CPU_LATENCY).and_then(|mut file| file.read_exact(&mut bytes)).map_err(error)?;
    Ok(i32::from_ne_bytes(bytes).to_string())
}

/// The file system of this process.
#[derive(Default)]
pub(super) struct Live {
    folders: RwLock<FolderCache>,
}

impl Live {
    fn folders(&self) -> RwLockReadGuard<'_, FolderCache> {
        self.folders.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn folders_to_change(&self) -> RwLockWriteGuard<'_, FolderCache> {
        self.folders.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn open_for(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let folders = self.folders();
        let (from, rest) = folders.nearest(path);
        rustix::fs::openat(from, rest, flags | OFlags::CLOEXEC, Mode::empty())
    }
}

impl Source for Live {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        let answer = self.open_for(path, OFlags::RDONLY).and_then(|file| descriptor::content(file, path));
        answer.map_err(|e| ReadError::from_io(path, &e.into()))
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
        let error = |e: Errno| ReadError::from_io(path, &e.into());
        let folder = self.open_for(path, OFlags::RDONLY | OFlags::DIRECTORY).map_err(error)?;
        // The kernel's own lists are as long as the machine is large.
        let names = descriptor::names(&folder, usize::MAX).map_err(error)?;
        self.folders_to_change().listed(path, folder);
        Ok(names)
    }

    fn resolve(&self, path: &str) -> Result<String, ReadError> {
        let error = |e: Errno| ReadError::from_io(path, &e.into());
        let place = self.open_for(path, OFlags::PATH).map_err(error)?;
        // The kernel has followed the links already, and knows where they led.
        match descriptor::place(&place) {
            Some(place) => Ok(place),
            None => paths::resolve(path, |prefix| self.link(prefix).ok(), |whole| self.exists(whole)),
        }
    }

    fn link(&self, path: &str) -> Result<String, ReadError> {
        let folders = self.folders();
        let (from, rest) = folders.nearest(path);
        let target =
            rustix::fs::readlinkat(from, rest, Vec::new()).map_err(|e| not_a_link(path, &e.into()))?;
        target.into_string().map_err(|_| ReadError::malformed(path, "its target is not UTF-8"))
    }

    fn exists(&self, path: &str) -> bool {
        let folders = self.folders();
        let (from, rest) = folders.nearest(path);
        rustix::fs::statat(from, rest, AtFlags::empty()).is_ok()
    }

    fn fact(&self, name: &str) -> Result<String, ReadError> {
        let uname = rustix::system::uname;
        let text = |c: &std::ffi::CStr| c.to_string_lossy().into_owned();
        match name {
            "page_size" => Ok(rustix::param::page_size().to_string()),
            "clock_ticks" => Ok(rustix::param::clock_ticks_per_second().to_string()),
            "release" => Ok(text(uname().release())),
            "version" => Ok(text(uname().version())),
            "machine" => Ok(text(uname().machine())),
            "nodename" => Ok(text(uname().nodename())),
            "euid" => Ok(rustix::process::geteuid().as_raw().to_string()),
            "hypervisor" => {
                hypervisor().ok_or_else(|| ReadError::absent(name, "the CPU names no hypervisor"))
            }
            "pm_qos_cpu_latency_us" => cpu_latency_limit_us(),
            "tick_mode" => boot_evidence::tick_mode(),
            "handed_to_init" => boot_evidence::handed_to_init(),
            "module_parameters" => boot_evidence::module_parameters(),
            _ => asked_for(name),
        }
    }

    fn open(&self, path: &str) -> Result<Option<File>, ReadError> {
        File::open(path).map(Some).map_err(|e| ReadError::from_io(path, &e))
    }

    fn keep_folders(&self) {
        self.folders_to_change().keep();
    }

    fn let_folders_go(&self) {
        self.folders_to_change().let_go();
    }

    fn is_live(&self) -> bool {
        true
    }
}

/// Facts of one thing each, which stands behind a blank, and the accept queues.
fn asked_for(name: &str) -> Result<String, ReadError> {
    if name == ACCEPT_QUEUES {
        return accept_queues::query(name);
    }
    if let Some(interface) = name.strip_prefix(ETHTOOL) {
        return ethtool_netlink::query(interface).map_err(|e| ReadError::from_io(name, &e));
    }
    if let Some(address) = name.strip_prefix(ROUTE) {
        return route::query(name, address);
    }
    if let Some(pid) = name.strip_prefix(IRQBALANCE) {
        return irqbalance_socket::query(name, pid);
    }
    if let Some(pid) = name.strip_prefix(GUEST_NAME) {
        return guest_name::query(name, pid);
    }
    if let Some(container) = name.strip_prefix(CONTAINER_NAME) {
        return container_name::query(name, container);
    }
    match name.strip_prefix(IO_PRIORITY) {
        Some(tid) => io_priority::query(name, tid),
        None => Err(ReadError::absent(name, format!("no such fact; known are {}", FACTS.join(", ")))),
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
        Some(libc::EINVAL) => ReadError::absent(path, "it is not a symbolic link"),
        _ => ReadError::from_io(path, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fact_of_the_list_is_known_and_no_other() {
        // Not on metal; not without root; none is the usual case.
        let may_lack =
            ["hypervisor", "pm_qos_cpu_latency_us", "tick_mode", "handed_to_init", "module_parameters"];
        for name in FACTS.into_iter().filter(|name| !may_lack.contains(name)) {
            assert!(!Live::default().fact(name).unwrap().is_empty(), "{name}");
        }
        assert!(Live::default().fact("colour").unwrap_err().is_absent());
    }

    #[test]
    fn lines_one_by_one_are_those_of_the_whole_file() {
        let path = "/proc/filesystems";
        let whole = String::from_utf8(Live::default().read(path).unwrap()).unwrap();
        let mut lines = Vec::new();
        Live::default()
            .each_line(path, &mut |line| lines.push(String::from_utf8(line.to_vec()).unwrap()))
            .unwrap();
        assert_eq!(lines, whole.lines().collect::<Vec<_>>());
        let held = crate::Root::from_tree(crate::Tree::new().file("/x", whole.as_str()).file("/empty", ""));
        let mut again = Vec::new();
        held.each_line("/x", |line| again.push(line.to_string())).unwrap();
        held.each_line("/empty", |line| again.push(line.to_string())).unwrap();
        assert_eq!(again, lines);
        assert!(Live::default().each_line("/proc/nothing", &mut |_| {}).unwrap_err().is_absent());
    }

    #[test]
    fn files_directories_and_links() {
        assert!(Live::default().read("/proc/self/status").unwrap().starts_with(b"Name:"));
        assert!(Live::default().list("/proc/self").unwrap().contains(&"status".to_string()));
        assert_eq!(Live::default().link("/proc/self").unwrap(), std::process::id().to_string());
        assert!(Live::default().link("/proc/stat").unwrap_err().is_absent());
        assert!(Live::default().read("/proc/nothing").unwrap_err().is_absent());
        assert!(Live::default().read("/proc").is_err(), "a directory is not a file");
        assert!(Live::default().list("/proc/stat").unwrap_err().is_absent());
    }

    #[test]
    fn links_are_followed_as_step_by_step() {
        for path in ["/proc/self/fd", "/proc/self", "/", "/sys/class/net/lo"] {
            let slowly = paths::resolve(
                path,
                |prefix| Live::default().link(prefix).ok(),
                |whole| Live::default().exists(whole),
            );
            assert_eq!(Live::default().resolve(path), slowly, "{path}");
        }
        assert!(Live::default().resolve("/sys/none").unwrap_err().is_absent());
    }

    #[test]
    fn from_open_folders_everything_is_as_by_its_whole_path() {
        let (whole, kept) = (Live::default(), Live::default());
        kept.keep_folders();
        for folder in ["/sys/class/net", "/sys/class/net/lo", "/proc", "/proc/self", "/sys/none"] {
            assert_eq!(kept.list(folder).is_ok(), whole.list(folder).is_ok(), "{folder}");
            for path in ["ifindex", "device", "ns/pid", "cwd", "self", "none", "statm/none", "lo/type"] {
                let path = format!("{folder}/{path}");
                assert_eq!(kept.read(&path), whole.read(&path), "{path}");
                assert_eq!(kept.link(&path), whole.link(&path), "{path}");
                assert_eq!(kept.exists(&path), whole.exists(&path), "{path}");
                assert_eq!(kept.resolve(&path), whole.resolve(&path), "{path}");
            }
        }
    }
}
