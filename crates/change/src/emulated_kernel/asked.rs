//! What the emulated operating system does when it is asked.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use machine::boot_loader::COMMAND_LINE;
use machine::ethtool::Topic;
use machine::{
    Act, BootLoader, CpuSet, EthtoolSetting, EthtoolState, Fault, GuestPin, NetnsPair, PlatformFile,
    ProcessFile, ProcessRef, UtilClamp,
};

use super::{EmulatedKernel, EmulatedThread, Inner, OWN_PID};
use crate::acts::form;
use crate::boot_words::{self, line};
use crate::ground::Ground;
use crate::kernel::{Gated, Kernel, Network, ProcessSeen, SchedulingState};
use crate::launch::Launch;
use crate::namespace::Namespace;
use crate::record::Value;
use crate::subject::{Interface, Subject};

/// What a new cgroup has, whichever version it is of.
const FILES_OF_A_CGROUP: [(&str, &str); 6] = [
    ("cpuset.cpus", "\n"),
    ("cpuset.mems", "\n"),
    ("memory.limit_in_bytes", "9223372036854771712\n"),
    ("memory.memsw.limit_in_bytes", "9223372036854771712\n"),
    ("memory.max", "max\n"),
    ("memory.swap.max", "max\n"),
];

fn error(errno: i32) -> io::Error {
    io::Error::from_raw_os_error(errno)
}

fn thread(inner: &mut Inner, tid: u32) -> io::Result<&mut EmulatedThread> {
    inner.state.threads.get_mut(&tid).ok_or_else(|| error(libc::ESRCH))
}

/// Errors: the process is gone, or its number belongs to another one.
fn same_process(inner: &mut Inner, process: &ProcessRef) -> io::Result<()> {
    match thread(inner, process.pid)?.start_time_ticks == process.start_time_ticks {
        true => Ok(()),
        false => Err(error(libc::ESRCH)),
    }
}

fn placed(file: &PlatformFile) -> io::Result<PathBuf> {
    file.path().ok_or_else(|| error(libc::EINVAL))
}

fn process_file(process: &ProcessRef, file: ProcessFile) -> PathBuf {
    format!("/proc/{}/{}", process.pid, file.name()).into()
}

impl Kernel for EmulatedKernel {
    fn boot_id(&self) -> io::Result<String> {
        Ok(format!("boot-{}", self.inner().boot))
    }

    fn now_ticks(&self) -> io::Result<u64> {
        Ok(self.inner().ticks)
    }

    fn ground(&self) -> io::Result<Ground> {
        Ok(self.own_ground())
    }

    fn subject(&self, act: &Act) -> Subject {
        self.subject_of(act)
    }

    fn network_of(&self, act: &Act) -> io::Result<Namespace> {
        self.network_of_act(act)
    }

    fn in_network(&self, network: &Namespace) -> Network<'_> {
        self.find_network(network)
    }

    fn interface_index(&self, act: &Act) -> io::Result<u32> {
        self.index_of(act)
    }

    fn interfaces(&self) -> io::Result<Vec<Interface>> {
        Ok(self.all_interfaces())
    }

    fn interface_elsewhere(&self, _interface: &Interface) -> Option<(Namespace, String)> {
        None
    }

    fn process_in(&self, _processes: &Namespace) -> Option<u32> {
        None
    }

    fn own(&self) -> io::Result<ProcessRef> {
        Ok(ProcessRef { pid: OWN_PID, start_time_ticks: self.start_time(OWN_PID, OWN_PID)? })
    }

    fn read_file(&self, path: &Path, netns: Option<&str>) -> io::Result<String> {
        let key = (self.seen_in(path, netns), path.to_path_buf());
        let mut inner = self.inner();
        if let Some(errno) = inner.unreadable.get(path) {
            return Err(error(*errno));
        }
        let content = inner.state.files.get(&key).cloned().ok_or_else(|| error(libc::ENOENT))?;
        if let Some(later) = inner.after_reading.remove(path) {
            inner.state.files.insert(key, later);
        }
        Ok(content)
    }

    fn exists(&self, path: &Path, netns: Option<&str>) -> io::Result<bool> {
        let netns = self.seen_in(path, netns);
        let inner = self.inner();
        let is_device = |(of, device, _): &(Option<String>, String, Topic)| {
            *of == netns && path == Path::new("/sys/class/net").join(device)
        };
        Ok(inner.state.ethtool.keys().any(is_device)
            || inner.state.folders.contains(path)
            || inner.state.files.contains_key(&(netns.clone(), path.to_path_buf())))
    }

    fn write_file(&self, path: &Path, value: &str, netns: Option<&str>) -> io::Result<()> {
        let netns = self.seen_in(path, netns);
        self.change(&path.display().to_string(), |inner| {
            let key = |path: &Path| (netns.clone(), path.to_path_buf());
            let value = value.trim_end();
            let lie = inner.lies.get(path).cloned();
            let twin = form::twin(path);
            let file = inner.state.files.get_mut(&key(path)).ok_or_else(|| error(libc::ENOENT))?;
            if twin.is_some() && value == "0" && path.ends_with("dirty_bytes") {
                return Err(error(libc::EINVAL));
            }
            let shown = lie
                .unwrap_or_else(|| format!("{}\n", form::with_choice(file, value).unwrap_or(value.into())));
            let changed = *file != shown;
            *file = shown;
            // As mm/page-writeback.c: only a new value takes the twin out of force.
            if let Some(twin) =
                twin.filter(|_| changed).and_then(|twin| inner.state.files.get_mut(&key(&twin)))
            {
                *twin = "0\n".into();
            }
            Ok(())
        })
    }

    fn read_process_file(&self, process: &ProcessRef, file: ProcessFile) -> io::Result<String> {
        same_process(&mut self.inner(), process)?;
        self.read_file(&process_file(process, file), None)
    }

    fn write_process_file(&self, process: &ProcessRef, file: ProcessFile, value: i32) -> io::Result<()> {
        let path = process_file(process, file);
        self.change(&path.display().to_string(), |inner| {
            same_process(inner, process)?;
            let key = (None, path.clone());
            let now = inner.state.files.get(&key).cloned().ok_or_else(|| error(libc::ENOENT))?;
            let Some((group, _)) = form::autogroup(&now).filter(|_| file == ProcessFile::Autogroup) else {
                inner.state.files.insert(key, format!("{value}\n"));
                return Ok(());
            };
            // All of the session have it.
            let shown = format!("{group} nice {value}\n");
            let of_group = |text: &String| form::autogroup(text).is_some_and(|(name, _)| name == group);
            let files = inner.state.files.iter_mut().filter(|((_, path), _)| path.ends_with("autogroup"));
            files.filter(|(_, text)| of_group(text)).for_each(|(_, text)| *text = shown.clone());
            Ok(())
        })
    }

    fn affinity(&self, _pid: u32, tid: u32) -> io::Result<CpuSet> {
        Ok(thread(&mut self.inner(), tid)?.affinity.clone())
    }

    fn set_affinity(&self, tid: u32, cpus: &CpuSet) -> io::Result<()> {
        self.change(&format!("affinity {tid}"), |inner| {
            thread(inner, tid)?.affinity = cpus.clone();
            Ok(())
        })
    }

    fn scheduling(&self, tid: u32) -> io::Result<SchedulingState> {
        Ok(thread(&mut self.inner(), tid)?.scheduling)
    }

    fn set_scheduling(&self, tid: u32, state: &SchedulingState) -> io::Result<()> {
        self.change(&format!("scheduling {tid}"), |inner| {
            thread(inner, tid)?.scheduling = *state;
            Ok(())
        })
    }

    fn io_priority(&self, tid: u32) -> io::Result<u16> {
        Ok(thread(&mut self.inner(), tid)?.io_priority)
    }

    fn set_io_priority(&self, tid: u32, raw: u16) -> io::Result<()> {
        self.change(&format!("io-priority {tid}"), |inner| {
            thread(inner, tid)?.io_priority = raw;
            Ok(())
        })
    }

    fn util_clamp(&self, tid: u32) -> io::Result<UtilClamp> {
        Ok(thread(&mut self.inner(), tid)?.util_clamp)
    }

    fn set_util_clamp(&self, tid: u32, clamp: UtilClamp) -> io::Result<()> {
        self.change(&format!("util-clamp {tid}"), |inner| {
            thread(inner, tid)?.util_clamp = clamp;
            Ok(())
        })
    }

    fn node_memory(&self, process: &ProcessRef) -> io::Result<BTreeMap<u32, u64>> {
        let mut inner = self.inner();
        same_process(&mut inner, process)?;
        inner.state.memory.get(&process.pid).cloned().ok_or_else(|| error(libc::ESRCH))
    }

    fn migrate_pages(&self, pid: u32, from: &CpuSet, to: &CpuSet) -> io::Result<()> {
        self.change(&format!("memory {pid}"), |inner| {
            let memory = inner.state.memory.get_mut(&pid).ok_or_else(|| error(libc::ESRCH))?;
            let to = to.first().ok_or_else(|| error(libc::EINVAL))?;
            let moved = from.iter().filter_map(|node| memory.remove(&node)).sum::<u64>();
            *memory.entry(to).or_default() += moved;
            Ok(())
        })
    }

    fn spread_pages(&self, process: &ProcessRef, wanted: &BTreeMap<u32, u64>) -> io::Result<()> {
        self.change(&format!("memory {}", process.pid), |inner| {
            same_process(inner, process)?;
            inner.state.memory.insert(process.pid, wanted.clone());
            Ok(())
        })
    }

    fn may_raise_priority(&self) -> bool {
        !self.inner().unprivileged
    }

    fn start_time(&self, pid: u32, tid: u32) -> io::Result<u64> {
        let mut inner = self.inner();
        let thread = thread(&mut inner, tid)?;
        if thread.pid == pid { Ok(thread.start_time_ticks) } else { Err(error(libc::ENOENT)) }
    }

    fn threads(&self, pid: u32) -> io::Result<Vec<u32>> {
        let inner = self.inner();
        let threads = inner.state.threads.iter().filter(|(_, thread)| thread.pid == pid).map(|(tid, _)| *tid);
        let threads: Vec<u32> = threads.collect();
        if threads.is_empty() { Err(error(libc::ENOENT)) } else { Ok(threads) }
    }

    fn processes(&self) -> io::Result<Vec<ProcessSeen>> {
        let inner = self.inner();
        let first = inner.state.threads.iter().filter(|(tid, thread)| thread.pid == **tid);
        Ok(first
            .map(|(pid, thread)| ProcessSeen {
                process: ProcessRef { pid: *pid, start_time_ticks: thread.start_time_ticks },
                parent: thread.parent,
                group: thread.group,
                ended: false,
            })
            .collect())
    }

    fn carries(&self, pid: u32, marker: &str) -> Option<bool> {
        self.inner().state.threads.get(&pid).map(|thread| thread.marker.as_deref() == Some(marker))
    }

    fn signal(&self, process: &ProcessRef, signal: i32) -> io::Result<()> {
        self.change(&format!("signal {}", process.pid), |inner| {
            let found = thread(inner, process.pid)?;
            if found.start_time_ticks != process.start_time_ticks {
                return Err(error(libc::ESRCH));
            }
            if signal == libc::SIGKILL || signal == libc::SIGTERM {
                inner.state.threads.retain(|_, thread| thread.pid != process.pid);
            }
            Ok(())
        })
    }

    fn is_dir(&self, path: &Path) -> bool {
        self.inner().state.folders.contains(path)
    }

    fn make_dir(&self, path: &Path) -> io::Result<()> {
        self.change(&path.display().to_string(), |inner| {
            if !inner.state.folders.insert(path.to_path_buf()) {
                return Err(error(libc::EEXIST));
            }
            for (file, content) in FILES_OF_A_CGROUP {
                inner.state.files.insert((None, path.join(file)), content.into());
            }
            Ok(())
        })
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.change(&path.display().to_string(), |inner| {
            if inner.state.threads.values().any(|thread| thread.cgroup == path) {
                return Err(error(libc::EBUSY));
            }
            if !inner.state.folders.remove(path) {
                return Err(error(libc::ENOENT));
            }
            inner.state.files.retain(|(_, file), _| !file.starts_with(path));
            inner.identities.end_cgroup(path);
            Ok(())
        })
    }

    fn has_netns(&self, name: &str) -> bool {
        self.inner().state.namespaces.contains(name)
    }

    fn make_netns_pair(&self, pair: &NetnsPair) -> io::Result<()> {
        // As ip does it: one after the other.
        pair.names.iter().try_for_each(|name| {
            self.change(&format!("netns {name}"), |inner| match inner.state.namespaces.insert(name.clone()) {
                true => Ok(()),
                false => Err(error(libc::EEXIST)),
            })
        })
    }

    fn remove_netns(&self, name: &str) -> io::Result<()> {
        self.change(&format!("netns {name}"), |inner| match inner.state.namespaces.remove(name) {
            true => {
                inner.identities.end_network(name);
                Ok(())
            }
            false => Err(error(libc::ENOENT)),
        })
    }

    fn process_cgroup(&self, pid: u32, _near: &Path) -> io::Result<PathBuf> {
        Ok(thread(&mut self.inner(), pid)?.cgroup.clone())
    }

    fn join_cgroup(&self, pid: u32, path: &Path) -> io::Result<()> {
        self.change(&path.display().to_string(), |inner| {
            thread(inner, pid)?;
            // As the kernel: there is no cgroup.procs to write to.
            if path != EmulatedThread::new(pid).cgroup && !inner.state.folders.contains(path) {
                return Err(error(libc::ENOENT));
            }
            for thread in inner.state.threads.values_mut().filter(|thread| thread.pid == pid) {
                thread.cgroup = path.to_path_buf();
            }
            Ok(())
        })
    }

    fn make_swap_file(&self, path: &Path, bytes: u64) -> io::Result<()> {
        self.change(&path.display().to_string(), |inner| {
            match inner.state.files.entry((None, path.to_path_buf())) {
                Entry::Occupied(_) => Err(error(libc::EEXIST)),
                Entry::Vacant(free) => {
                    free.insert(format!("{bytes} bytes of swap"));
                    Ok(())
                }
            }
        })
    }

    fn remove_swap_file(&self, path: &Path) -> io::Result<()> {
        self.change(&path.display().to_string(), |inner| {
            // As the kernel, which lets nobody remove what it swaps to.
            if inner.state.swaps.contains(path) {
                return Err(error(libc::EPERM));
            }
            inner.state.files.remove(&(None, path.to_path_buf())).map(drop).ok_or_else(|| error(libc::ENOENT))
        })
    }

    fn swaps_to(&self, path: &Path) -> io::Result<bool> {
        Ok(self.inner().state.swaps.contains(path))
    }

    fn swap_on(&self, path: &Path) -> io::Result<()> {
        self.change(&format!("swap {}", path.display()), |inner| {
            inner.state.swaps.insert(path.to_path_buf());
            Ok(())
        })
    }

    fn swap_off(&self, path: &Path) -> io::Result<()> {
        self.change(&format!("swap {}", path.display()), |inner| {
            inner.state.swaps.remove(path).then_some(()).ok_or_else(|| error(libc::EINVAL))
        })
    }

    fn platform_file(&self, file: &PlatformFile) -> io::Result<Value> {
        let key = (None, placed(file)?);
        let text = self.inner().state.files.get(&key).cloned();
        Ok(text.map_or(Value::Unplaced { folders: Vec::new() }, Value::Text))
    }

    fn place(&self, file: &PlatformFile, content: &str) -> io::Result<()> {
        let path = placed(file)?;
        self.change(&path.display().to_string(), |inner| {
            let key = (None, path.clone());
            if inner.state.files.contains_key(&key) {
                return Err(error(libc::EEXIST));
            }
            inner.state.files.insert(key, content.to_string());
            Ok(())
        })
    }

    fn displace(&self, file: &PlatformFile, _folders: &[PathBuf]) -> io::Result<()> {
        let path = placed(file)?;
        self.change(&path.display().to_string(), |inner| {
            inner.state.files.remove(&(None, path.clone()));
            Ok(())
        })
    }

    fn boot_lines(&self, _loader: BootLoader) -> io::Result<Value> {
        let text = self.inner().state.files.get(&(None, COMMAND_LINE.into())).cloned();
        Ok(text.map_or(Value::Absent, Value::Text))
    }

    fn add_boot_words(&self, _loader: BootLoader, words: &[String], fresh: Option<&str>) -> io::Result<()> {
        self.change(COMMAND_LINE, |inner| {
            let key = (None, COMMAND_LINE.into());
            let there = inner.state.files.get(&key).map(String::as_str);
            let text = there.or(fresh).ok_or_else(boot_words::no_line)?;
            let longer = line::with(text, words);
            inner.state.files.insert(key, longer);
            Ok(())
        })
    }

    fn remove_boot_words(
        &self,
        _loader: BootLoader,
        words: &[String],
        fresh: Option<&str>,
    ) -> io::Result<()> {
        self.change(COMMAND_LINE, |inner| {
            let key = (None, COMMAND_LINE.into());
            let Some(text) = inner.state.files.get_mut(&key) else { return Ok(()) };
            *text = line::without(text, words);
            if fresh.is_some_and(|fresh| fresh == text) {
                inner.state.files.remove(&key);
            }
            Ok(())
        })
    }

    fn fork(&self, launch: &Launch, marker: &str) -> Result<Box<dyn Gated>, Fault> {
        self.fork_as(&launch.argv.join(" "), marker, None)
    }

    fn cpu_latency_us(&self) -> io::Result<u32> {
        Ok(self.inner().state.cpu_latency_us())
    }

    fn fork_holder(&self, limit_us: u32, marker: &str) -> Result<Box<dyn Gated>, Fault> {
        self.fork_as("holder", marker, Some(limit_us))
    }

    fn irq_bans(&self, process: &ProcessRef) -> io::Result<BTreeSet<u32>> {
        let mut inner = self.inner();
        same_process(&mut inner, process)?;
        inner.state.irq_bans.get(&process.pid).cloned().ok_or_else(|| error(libc::ESRCH))
    }

    fn set_irq_bans(&self, process: &ProcessRef, irqs: &BTreeSet<u32>) -> io::Result<()> {
        self.change(&format!("irq-bans {}", process.pid), |inner| {
            same_process(inner, process)?;
            inner.state.irq_bans.insert(process.pid, irqs.clone());
            Ok(())
        })
    }

    fn guest_pin(&self, pin: &GuestPin) -> io::Result<CpuSet> {
        let pinned = self.inner().state.guest_pins.get(pin).map(|(cpus, _)| cpus.clone());
        pinned.ok_or_else(|| error(libc::ENOENT))
    }

    fn pin_guest(&self, pin: &GuestPin, cpus: &CpuSet) -> io::Result<()> {
        self.change(&format!("pin {}", pin.name), |inner| {
            let (now, threads) = inner.state.guest_pins.get_mut(pin).ok_or_else(|| error(libc::ENOENT))?;
            *now = cpus.clone();
            for tid in threads.clone() {
                thread(inner, tid)?.affinity = cpus.clone();
            }
            Ok(())
        })
    }

    fn ended(&self, pid: u32) -> io::Result<Option<ExitStatus>> {
        let runs = self.inner().state.threads.contains_key(&pid);
        Ok((!runs).then(|| ExitStatus::from_raw(libc::SIGKILL)))
    }

    fn reap(&self, _pid: u32) {}

    fn ethtool(&self, device: &str, netns: Option<&str>, topic: Topic) -> io::Result<EthtoolState> {
        let netns = netns.map(String::from).or_else(|| self.stands_in());
        let key = (netns, device.to_string(), topic);
        let inner = self.inner();
        match inner.unreadable.get(Path::new(&format!("ethtool {device}"))) {
            Some(errno) => Err(error(*errno)),
            None => inner.state.ethtool.get(&key).cloned().ok_or_else(|| error(libc::ENODEV)),
        }
    }

    fn set_ethtool(&self, device: &str, netns: Option<&str>, setting: &EthtoolSetting) -> io::Result<()> {
        let netns = netns.map(String::from).or_else(|| self.stands_in());
        self.change(&format!("ethtool {device}"), |inner| {
            let key = (netns.clone(), device.to_string(), setting.topic());
            let state = inner.state.ethtool.get_mut(&key).ok_or_else(|| error(libc::ENODEV))?;
            match (state, setting) {
                (EthtoolState::Channels { counts: now }, EthtoolSetting::Channels { counts }) => {
                    now.extend(counts);
                }
                (EthtoolState::Coalescing { figures: now }, EthtoolSetting::Coalescing { figures }) => {
                    now.extend(figures);
                }
                (EthtoolState::Feature { wanted, active }, EthtoolSetting::Feature { on, .. }) => {
                    (*wanted, *active) = (*on, *on);
                }
                _ => return Err(error(libc::EINVAL)),
            }
            Ok(())
        })
    }
}

impl EmulatedKernel {
    fn fork_as(
        &self,
        name: &str,
        marker: &str,
        holds_latency_us: Option<u32>,
    ) -> Result<Box<dyn Gated>, Fault> {
        let forked = self.change("fork", |inner| {
            let (pid, start_time_ticks) = (inner.next_pid, inner.ticks);
            inner.next_pid += 1;
            let thread = EmulatedThread {
                pid,
                start_time_ticks,
                parent: OWN_PID,
                group: pid,
                marker: Some(marker.to_string()),
                gated: true,
                holds_latency_us,
                ..EmulatedThread::new(pid)
            };
            inner.state.threads.insert(pid, thread);
            Ok(ProcessRef { pid, start_time_ticks })
        });
        let process = forked.map_err(|e| Fault::io(name, &e, "emulated"))?;
        Ok(Box::new(EmulatedGated { kernel: self.clone(), process }))
    }
}

struct EmulatedGated {
    kernel: EmulatedKernel,
    process: ProcessRef,
}

impl Gated for EmulatedGated {
    fn process(&self) -> ProcessRef {
        self.process
    }

    fn release(self: Box<Self>) -> Result<Option<std::fs::File>, Fault> {
        let released = self.kernel.change("release", |inner| {
            thread(inner, self.process.pid)?.gated = false;
            Ok(None)
        });
        released.map_err(|e| Fault::io(format!("process {}", self.process.pid), &e, "emulated"))
    }
}

impl Drop for EmulatedGated {
    fn drop(&mut self) {
        let pid = self.process.pid;
        self.kernel.inner().state.threads.retain(|_, thread| !(thread.pid == pid && thread.gated));
    }
}
