//! The operating system itself.

mod presence;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;

use machine::ethtool::{self, Topic};
use machine::limits::mounts;
use machine::procfs::pid_stat;
use machine::{
    Act, BootLoader, CpuSet, EthtoolSetting, EthtoolState, Fault, GuestPin, NetnsPair, PlatformFile,
    ProcessFile, ProcessRef, UtilClamp,
};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, pidfd_open, pidfd_send_signal, waitid,
};

use crate::fork;
use crate::ground::Ground;
use crate::kernel::{Gated, Kernel, Network, ProcessSeen, SchedulingState};
use crate::launch::Launch;
use crate::namespace::Namespace;
use crate::namespace::search::{self, Found};
use crate::record::Value;
use crate::subject::{self, Interface, Subject};
use crate::{
    boot_words, ethtool_order, guest_pins, hold, irq_bans, netns, netns_pair, node_memory, platform_file,
    process_file, sched, swap, util_clamp,
};

/// The running system.
#[derive(Debug, Clone)]
pub struct LiveKernel {
    /// The network namespace in which it stands; `None`: that of this process.
    network: Option<Arc<File>>,
}

impl LiveKernel {
    /// The running system.
    ///
    /// The first call starts the thread that launches processes, which hands its CPUs and its policy down to those
    /// that are launched without any: call it before this process confines its own threads.
    pub fn new() -> Self {
        fork::start_launcher();
        Self { network: None }
    }

    /// Runs `work` where what lies in network namespace `netns`, or in that in which this stands, is seen.
    fn seeing<T: Send>(
        &self,
        netns: Option<&str>,
        work: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        match (netns, &self.network) {
            (Some(name), _) => netns::within(name, work),
            (None, Some(network)) => netns::within_file(network, work),
            (None, None) => work(),
        }
    }

    /// CPUs that a thread may use.
    pub(crate) fn allowed(pid: u32, tid: u32) -> io::Result<CpuSet> {
        // Not sched_getaffinity(2): that leaves out CPUs which are offline, and putting its answer back would keep
        // the thread off them when they return.
        let status = fs::read(format!("/proc/{pid}/task/{tid}/status"))?;
        let status = String::from_utf8_lossy(&status);
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let list = list.ok_or_else(|| malformed("there is no Cpus_allowed_list in its status"))?;
        CpuSet::from_list(list).map_err(malformed)
    }
}

impl Default for LiveKernel {
    fn default() -> Self {
        Self::new()
    }
}

impl Kernel for LiveKernel {
    fn boot_id(&self) -> io::Result<String> {
        Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_string())
    }

    fn now_ticks(&self) -> io::Result<u64> {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let (s, ns) = (now.tv_sec as u64, now.tv_nsec as u64);
        let ticks_per_s = rustix::param::clock_ticks_per_second();
        Ok(s * ticks_per_s + ns * ticks_per_s / 1_000_000_000)
    }

    fn ground(&self) -> io::Result<Ground> {
        Ground::of_own()
    }

    fn subject(&self, act: &Act) -> Subject {
        match &self.network {
            None => subject::live::of(act),
            Some(network) => netns::within_file(network, || Ok(subject::live::of(act))).unwrap_or_default(),
        }
    }

    fn network_of(&self, act: &Act) -> io::Result<Namespace> {
        subject::live::network_of(act)
    }

    fn in_network(&self, network: &Namespace) -> Network<'_> {
        match search::find(network) {
            Found::Open(file) => Network::There(Box::new(Self { network: Some(Arc::new(file)) })),
            Found::Ended => Network::Ended,
            Found::Lost => Network::Lost,
        }
    }

    fn interface_index(&self, act: &Act) -> io::Result<u32> {
        subject::live::index(act)
    }

    fn interfaces(&self) -> io::Result<Vec<Interface>> {
        self.seeing(None, subject::live::all_in_sys)
    }

    fn interface_elsewhere(&self, interface: &Interface) -> Option<(Namespace, String)> {
        subject::live::elsewhere(interface)
    }

    fn process_in(&self, processes: &Namespace) -> Option<u32> {
        let is_in = |pid: &u32| {
            let namespace = fs::metadata(format!("/proc/{pid}/ns/pid"));
            namespace.is_ok_and(|namespace| namespace.ino() == processes.inode)
        };
        numbers("/proc").ok()?.into_iter().find(is_in)
    }

    fn own(&self) -> io::Result<ProcessRef> {
        let pid = std::process::id();
        Ok(ProcessRef { pid, start_time_ticks: self.start_time(pid, pid)? })
    }

    fn read_file(&self, path: &Path, namespace: Option<&str>) -> io::Result<String> {
        self.seeing(namespace, || fs::read_to_string(path))
    }

    fn exists(&self, path: &Path, namespace: Option<&str>) -> io::Result<bool> {
        self.seeing(namespace, || presence::exists(path))
    }

    fn write_file(&self, path: &Path, value: &str, namespace: Option<&str>) -> io::Result<()> {
        self.seeing(namespace, || write(path, value))
    }

    fn read_process_file(&self, process: &ProcessRef, file: ProcessFile) -> io::Result<String> {
        process_file::read(process, file)
    }

    fn write_process_file(&self, process: &ProcessRef, file: ProcessFile, value: i32) -> io::Result<()> {
        process_file::write(process, file, value)
    }

    fn affinity(&self, pid: u32, tid: u32) -> io::Result<CpuSet> {
        Self::allowed(pid, tid)
    }

    fn set_affinity(&self, tid: u32, cpus: &CpuSet) -> io::Result<()> {
        sched::set_affinity(tid, cpus)
    }

    fn scheduling(&self, tid: u32) -> io::Result<SchedulingState> {
        sched::scheduling(tid)
    }

    fn set_scheduling(&self, tid: u32, state: &SchedulingState) -> io::Result<()> {
        sched::set_scheduling(tid, state)
    }

    fn io_priority(&self, tid: u32) -> io::Result<u16> {
        sched::io_priority(tid)
    }

    fn set_io_priority(&self, tid: u32, raw: u16) -> io::Result<()> {
        sched::set_io_priority(tid, raw)
    }

    fn util_clamp(&self, tid: u32) -> io::Result<UtilClamp> {
        util_clamp::get(tid)
    }

    fn set_util_clamp(&self, tid: u32, clamp: UtilClamp) -> io::Result<()> {
        util_clamp::set(tid, clamp)
    }

    fn node_memory(&self, process: &ProcessRef) -> io::Result<BTreeMap<u32, u64>> {
        node_memory::by_node(process)
    }

    fn migrate_pages(&self, pid: u32, from: &CpuSet, to: &CpuSet) -> io::Result<()> {
        node_memory::migrate(pid, from, to)
    }

    fn spread_pages(&self, process: &ProcessRef, wanted: &BTreeMap<u32, u64>) -> io::Result<()> {
        // The same capability.
        node_memory::spread(process, wanted, self.may_raise_priority())
    }

    fn may_raise_priority(&self) -> bool {
        const CAP_SYS_NICE: u32 = 23;
        has_capability(CAP_SYS_NICE)
    }

    fn start_time(&self, pid: u32, tid: u32) -> io::Result<u64> {
        let start = stat(&format!("/proc/{pid}/task/{tid}/stat"), |stat| stat.start_time_ticks);
        start.map_err(|error| presence::of_thread(tid, error))
    }

    fn threads(&self, pid: u32) -> io::Result<Vec<u32>> {
        numbers(&format!("/proc/{pid}/task"))
    }

    fn processes(&self) -> io::Result<Vec<ProcessSeen>> {
        // What ends while we look is left out.
        let pids = numbers("/proc")?.into_iter();
        Ok(pids.filter_map(|pid| stat(&format!("/proc/{pid}/stat"), seen).ok()).collect())
    }

    fn carries(&self, pid: u32, marker: &str) -> Option<bool> {
        let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let wanted = format!("{}={marker}", fork::MARKER);
        Some(environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes()))
    }

    fn signal(&self, process: &ProcessRef, signal: i32) -> io::Result<()> {
        let pid = pid_of(process.pid)?;
        let signal = match signal {
            libc::SIGKILL => Signal::KILL,
            libc::SIGTERM => Signal::TERM,
            libc::SIGINT => Signal::INT,
            other => return Err(malformed(format!("signal {other} is never sent"))),
        };
        // The descriptor first: it stays with the process that is there now, whose start time is then compared.
        let handle = match pidfd_open(pid, PidfdFlags::empty()) {
            Err(rustix::io::Errno::NOSYS) => None, // before Linux 5.3
            result => Some(result?),
        };
        if self.start_time(process.pid, process.pid)? != process.start_time_ticks {
            return Err(gone());
        }
        let sent = match handle {
            Some(handle) => pidfd_send_signal(&handle, signal),
            None => rustix::process::kill_process(pid, signal),
        };
        Ok(sent?)
    }

    fn is_dir(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn make_dir(&self, path: &Path) -> io::Result<()> {
        if !path.parent().is_some_and(|parent| is_kernel_file_system(parent).unwrap_or(false)) {
            return Err(malformed("this is no place for a cgroup"));
        }
        fs::create_dir(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn has_netns(&self, name: &str) -> bool {
        netns::open(name).is_ok()
    }

    fn make_netns_pair(&self, pair: &NetnsPair) -> io::Result<()> {
        netns_pair::make(pair)
    }

    fn remove_netns(&self, name: &str) -> io::Result<()> {
        netns_pair::remove(name)
    }

    fn process_cgroup(&self, pid: u32, near: &Path) -> io::Result<PathBuf> {
        // One that ends is shown at the top of version 1 hierarchies (kernel/cgroup/cgroup.c, proc_cgroup_show), where it is for as long
        // as giving back its memory takes; that is no move by somebody else.
        if stat(&format!("/proc/{pid}/stat"), |stat| is_ending(stat.flags))? {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        let mountinfo = fs::read_to_string("/proc/self/mountinfo")?;
        let mounts = mounts::parse(&mountinfo);
        let hierarchy = mounts::above(&mounts, near)
            .ok_or_else(|| malformed(format!("{} lies in no cgroup hierarchy", near.display())))?;
        let place = |text: &str| hierarchy.directory_of(text).map(PathBuf::from);
        let first = place(&fs::read_to_string(format!("/proc/{pid}/cgroup"))?)
            .ok_or_else(|| malformed("its cgroup cannot be seen from here (container)"))?;
        for tid in self.threads(pid)? {
            match fs::read_to_string(format!("/proc/{pid}/task/{tid}/cgroup")) {
                Ok(text) if place(&text).as_ref() != Some(&first) => {
                    let why = "its threads are in several cgroups, which moving the process would forget";
                    return Err(io::Error::new(io::ErrorKind::Unsupported, why));
                }
                _ => {}
            }
        }
        Ok(first)
    }

    fn join_cgroup(&self, pid: u32, path: &Path) -> io::Result<()> {
        write(&path.join("cgroup.procs"), &pid.to_string())
    }

    fn make_swap_file(&self, path: &Path, bytes: u64) -> io::Result<()> {
        const CAP_SYS_ADMIN: u32 = 21;
        match has_capability(CAP_SYS_ADMIN) {
            true => swap::make(path, bytes),
            // Before gigabytes are written that nobody can use.
            false => Err(io::Error::from_raw_os_error(libc::EPERM)),
        }
    }

    fn remove_swap_file(&self, path: &Path) -> io::Result<()> {
        swap::remove(path)
    }

    fn swaps_to(&self, path: &Path) -> io::Result<bool> {
        swap::is_on(path)
    }

    fn swap_on(&self, path: &Path) -> io::Result<()> {
        swap::on(path)
    }

    fn swap_off(&self, path: &Path) -> io::Result<()> {
        swap::off(path)
    }

    fn platform_file(&self, file: &PlatformFile) -> io::Result<Value> {
        platform_file::read(file)
    }

    fn place(&self, file: &PlatformFile, content: &str) -> io::Result<()> {
        platform_file::place(file, content)
    }

    fn displace(&self, file: &PlatformFile, folders: &[PathBuf]) -> io::Result<()> {
        platform_file::displace(file, folders)
    }

    fn boot_lines(&self, loader: BootLoader) -> io::Result<Value> {
        boot_words::read(loader)
    }

    fn add_boot_words(&self, loader: BootLoader, words: &[String], fresh: Option<&str>) -> io::Result<()> {
        boot_words::add(loader, words, fresh)
    }

    fn remove_boot_words(&self, loader: BootLoader, words: &[String], fresh: Option<&str>) -> io::Result<()> {
        boot_words::remove(loader, words, fresh)
    }

    fn fork(&self, launch: &Launch, marker: &str) -> Result<Box<dyn Gated>, Fault> {
        fork::fork(launch, marker, false)
    }

    fn ended(&self, pid: u32) -> io::Result<Option<ExitStatus>> {
        let flags = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(pid_of(pid)?), flags)?.map(|ended| exit_status(&ended)))
    }

    fn reap(&self, pid: u32) {
        let flags = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        // Of one that runs, or is no child of ours, there is nothing to reap.
        let _ = pid_of(pid).map(|pid| waitid(WaitId::Pid(pid), flags));
    }

    fn ethtool(&self, device: &str, namespace: Option<&str>, topic: Topic) -> io::Result<EthtoolState> {
        self.seeing(namespace, || ethtool::ask(device, topic))
    }

    fn set_ethtool(&self, device: &str, namespace: Option<&str>, setting: &EthtoolSetting) -> io::Result<()> {
        self.seeing(namespace, || ethtool_order::send(device, setting))
    }

    fn irq_bans(&self, process: &ProcessRef) -> io::Result<BTreeSet<u32>> {
        irq_bans::get(process)
    }

    fn set_irq_bans(&self, process: &ProcessRef, irqs: &BTreeSet<u32>) -> io::Result<()> {
        irq_bans::set(process, irqs)
    }

    fn guest_pin(&self, pin: &GuestPin) -> io::Result<CpuSet> {
        guest_pins::get(pin)
    }

    fn pin_guest(&self, pin: &GuestPin, cpus: &CpuSet) -> io::Result<()> {
        guest_pins::set(pin, cpus)
    }

    fn cpu_latency_us(&self) -> io::Result<u32> {
        hold::in_force_us()
    }

    fn fork_holder(&self, limit_us: u32, marker: &str) -> Result<Box<dyn Gated>, Fault> {
        hold::fork_holder(limit_us, marker)
    }

    fn alive(&self, process: &ProcessRef) -> bool {
        stat(&format!("/proc/{}/stat", process.pid), seen)
            .is_ok_and(|seen| seen.process == *process && !seen.ended)
    }
}

/// When process 1 of our PID namespace began, clock ticks since boot.
pub(crate) fn first_process_began_ticks() -> io::Result<u64> {
    stat("/proc/1/stat", |stat| stat.start_time_ticks)
}

/// Whether the calling thread has a capability (capabilities(7)) in force.
pub(crate) fn has_capability(number: u32) -> bool {
    let status = fs::read("/proc/thread-self/status").unwrap_or_default();
    let status = String::from_utf8_lossy(&status);
    let mask =
        status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << number) != 0)
}

fn gone() -> io::Error {
    io::Error::from_raw_os_error(libc::ESRCH)
}

/// Errors: no process has such a number.
fn pid_of(number: u32) -> io::Result<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw).ok_or_else(gone)
}

/// In the form of wait(2), which waitid(2) takes apart.
fn exit_status(ended: &WaitIdStatus) -> ExitStatus {
    const CORE_DUMPED: i32 = 0x80;
    ExitStatus::from_raw(match (ended.exit_status(), ended.terminating_signal()) {
        (Some(code), _) => (code & 0xff) << 8,
        (None, Some(signal)) if ended.dumped() => signal | CORE_DUMPED,
        (None, signal) => signal.unwrap_or_default(),
    })
}

fn malformed(why: impl ToString) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why.to_string())
}

/// A name may hold bytes that are no UTF-8; what is used here lies behind it.
fn stat<T>(path: &str, of: impl FnOnce(pid_stat::PidStat) -> T) -> io::Result<T> {
    let text = fs::read(path)?;
    pid_stat::parse(&String::from_utf8_lossy(&text)).map(of).map_err(malformed)
}

fn seen(stat: pid_stat::PidStat) -> ProcessSeen {
    ProcessSeen {
        process: ProcessRef { pid: stat.pid, start_time_ticks: stat.start_time_ticks },
        parent: stat.ppid,
        // None only while it is ending.
        group: stat.group.unwrap_or(0),
        ended: stat.ended(),
    }
}

/// Whether a task with these flags is on its way out: PF_EXITING of include/linux/sched.h.
fn is_ending(flags: Option<u64>) -> bool {
    const PF_EXITING: u64 = 0x4;
    flags.is_some_and(|flags| flags & PF_EXITING != 0)
}

/// The entries of a directory whose names are numbers.
fn numbers(directory: &str) -> io::Result<Vec<u32>> {
    let names = fs::read_dir(directory)?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(names.collect())
}

/// Writes in one call, newline included: an empty value is not written at all otherwise.
fn write(path: &Path, value: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    if !is_kernel_file_system(&file)? {
        return Err(malformed("this is no file of /proc, /sys or a cgroup, and pinwise alters no others"));
    }
    let line = format!("{}\n", value.trim_end_matches('\n'));
    match file.write(line.as_bytes())? {
        written if written == line.len() => Ok(()),
        written => {
            Err(io::Error::new(io::ErrorKind::WriteZero, format!("the kernel took {written} bytes only")))
        }
    }
}

/// Something that can be asked for its file system.
pub(crate) trait OnFileSystem {
    fn magic(&self) -> io::Result<u64>;
}

impl OnFileSystem for File {
    fn magic(&self) -> io::Result<u64> {
        Ok(rustix::fs::fstatfs(self)?.f_type as u64)
    }
}

impl OnFileSystem for Path {
    fn magic(&self) -> io::Result<u64> {
        Ok(rustix::fs::statfs(self)?.f_type as u64)
    }
}

/// Whether it lies on procfs, sysfs, a cgroup hierarchy or debugfs (numbers of include/uapi/linux/magic.h).
pub(crate) fn is_kernel_file_system(of: &(impl OnFileSystem + ?Sized)) -> io::Result<bool> {
    const KERNEL_FILE_SYSTEMS: [u64; 5] = [0x9fa0, 0x6265_6572, 0x0027_e0eb, 0x6367_7270, 0x6462_6720];
    Ok(KERNEL_FILE_SYSTEMS.contains(&of.magic()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_another_of_its_number_is_not() {
        let kernel = LiveKernel::new();
        let own = kernel.own().unwrap();
        assert!(kernel.alive(&own));
        assert!(own.start_time_ticks <= kernel.now_ticks().unwrap());
        let other = ProcessRef { start_time_ticks: own.start_time_ticks + 1, ..own };
        assert!(!kernel.alive(&other));
        assert_eq!(kernel.signal(&other, libc::SIGTERM).unwrap_err().raw_os_error(), Some(libc::ESRCH));
        assert!(kernel.processes().unwrap().iter().any(|seen| seen.process == own && !seen.ended));
    }

    #[test]
    fn a_process_that_ends_is_in_no_cgroup() {
        assert!(is_ending(Some(0x40_0004)) && !is_ending(Some(0x40_0000)) && !is_ending(None));
        let kernel = LiveKernel::new();
        let near = Path::new("/sys/fs/cgroup");
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let ended = || stat(&format!("/proc/{}/stat", child.id()), |stat| stat.ended()).unwrap();
        while !ended() {
            std::thread::yield_now();
        }
        let error = kernel.process_cgroup(child.id(), near).unwrap_err();
        child.wait().unwrap();
        assert_eq!(error.raw_os_error(), Some(libc::ESRCH));
    }

    #[test]
    fn ordinary_files_are_never_written() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = LiveKernel::new().write_file(file.path(), "x", None).unwrap_err();
        assert!(error.to_string().contains("alters no others"), "{error}");
        assert_eq!(fs::read_to_string(file.path()).unwrap(), "");
        let folder = tempfile::tempdir().unwrap();
        assert!(LiveKernel::new().make_dir(&folder.path().join("x")).is_err());
    }

    #[test]
    fn affinity_reads_what_was_set() {
        std::thread::spawn(|| {
            let (kernel, pid) = (LiveKernel::new(), std::process::id());
            let tid = rustix::thread::gettid().as_raw_pid() as u32;
            let before = kernel.affinity(pid, tid).unwrap();
            let one = CpuSet::single(before.first().unwrap());
            kernel.set_affinity(tid, &one).unwrap();
            assert_eq!(kernel.affinity(pid, tid).unwrap(), one);
        })
        .join()
        .unwrap();
    }
}
