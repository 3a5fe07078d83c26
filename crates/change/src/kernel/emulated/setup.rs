//! What a test does to the emulated machine: fill it, change it as another program would, and make it fail.

use std::path::{Path, PathBuf};

use machine::ethtool::Topic;
use machine::{EthtoolState, GuestPin, ProcessRef, ThreadRef};

use super::{EmulatedKernel, EmulatedState, EmulatedThread, When};
use crate::subject::{Line, Scope, scope};

impl EmulatedKernel {
    /// Adds a file with its content.
    pub fn add_file(&self, path: impl Into<PathBuf>, content: &str) {
        self.add_file_in(None, path, content);
    }

    /// Adds a file that is seen from a network namespace; `None`: from the first one.
    pub fn add_file_in(&self, netns: Option<&str>, path: impl Into<PathBuf>, content: &str) {
        self.inner().state.files.insert((netns.map(String::from), path.into()), content.to_string());
    }

    /// Adds what the driver of a network interface reports on a topic.
    pub fn add_ethtool(&self, netns: Option<&str>, device: &str, topic: Topic, state: EthtoolState) {
        let key = (netns.map(String::from), device.to_string(), topic);
        self.inner().state.ethtool.insert(key, state);
    }

    /// Adds a process with one thread, which inherits from the parent's first thread.
    pub fn add_process(&self, pid: u32, parent: u32) -> ProcessRef {
        let mut inner = self.inner();
        inner.ticks += 1;
        let start_time_ticks = inner.ticks;
        let by_parent = inner.state.threads.get(&parent).cloned();
        let thread = EmulatedThread {
            pid,
            start_time_ticks,
            parent,
            group: pid,
            marker: None,
            gated: false,
            ..by_parent.unwrap_or_else(|| EmulatedThread::new(pid))
        };
        inner.state.threads.insert(pid, thread);
        ProcessRef { pid, start_time_ticks }
    }

    /// Adds a thread to a process; it inherits from the first thread.
    pub fn add_thread(&self, pid: u32, tid: u32) -> ThreadRef {
        let mut inner = self.inner();
        inner.ticks += 1;
        let start_time_ticks = inner.ticks;
        let first = inner.state.threads.get(&pid).cloned().unwrap_or_else(|| EmulatedThread::new(pid));
        inner.state.threads.insert(tid, EmulatedThread { pid, start_time_ticks, ..first });
        ThreadRef { pid, tid, start_time_ticks }
    }

    /// Sets the memory of a process: nodes with bytes.
    pub fn set_memory(&self, pid: u32, bytes: &[(u32, u64)]) {
        self.inner().state.memory.insert(pid, bytes.iter().copied().collect());
    }

    /// Adds an irqbalance that leaves these interrupts alone.
    pub fn add_irqbalance(&self, pid: u32, irqs: &[u32]) -> ProcessRef {
        let process = self.add_process(pid, 1);
        self.inner().state.irq_bans.insert(pid, irqs.iter().copied().collect());
        process
    }

    /// Adds a part of a guest with its threads. It runs on the CPUs of the first thread, or on 0 to 3 if it has none.
    pub fn add_guest_pin(&self, pin: GuestPin, threads: &[u32]) {
        let mut inner = self.inner();
        let cpus = threads.first().and_then(|tid| inner.state.threads.get(tid)).map(|of| of.affinity.clone());
        let cpus = cpus.unwrap_or_else(|| (0..4).collect());
        inner.state.guest_pins.insert(pin, (cpus, threads.to_vec()));
    }

    /// Advances the clock by a tick.
    pub fn tick(&self) {
        self.inner().ticks += 1;
    }

    /// Adds a thread as it is, in place of one with the same number.
    pub fn insert_thread(&self, tid: u32, thread: EmulatedThread) {
        let mut inner = self.inner();
        inner.ticks = inner.ticks.max(thread.start_time_ticks + 1);
        inner.state.threads.insert(tid, thread);
    }

    /// Changes a thread as another program would.
    pub fn alter(&self, tid: u32, change: impl FnOnce(&mut EmulatedThread)) {
        if let Some(thread) = self.inner().state.threads.get_mut(&tid) {
            change(thread);
        }
    }

    /// Ends a thread.
    pub fn remove_thread(&self, tid: u32) {
        self.inner().state.threads.remove(&tid);
    }

    /// Refuses every change of `object` with `errno`: a path, or `affinity TID`, `scheduling TID`, `io-priority TID`,
    /// `util-clamp TID`, `memory PID`, `swap PATH`, `ethtool DEVICE`, `irq-bans PID`, `pin NAME`, `fork`.
    pub fn refuse(&self, object: &str, errno: i32) {
        self.inner().refusals.insert(object.to_string(), errno);
    }

    /// Refuses every change with `errno`, or no more.
    pub fn refuse_every_change(&self, errno: Option<i32>) {
        self.inner().refuse_all = errno;
    }

    /// Makes `path` read `content` after the next write, whatever is written.
    pub fn lie(&self, path: impl Into<PathBuf>, content: &str) {
        self.inner().lies.insert(path.into(), content.to_string());
    }

    /// Makes every read of a path that is there, or of `ethtool DEVICE`, fail with `errno`; of `/proc`, every look whether a process runs.
    pub fn refuse_to_read(&self, object: impl Into<PathBuf>, errno: i32) {
        self.inner().unreadable.insert(object.into(), errno);
    }

    /// Takes [`refuse_to_read`](Self::refuse_to_read) back.
    pub fn permit_to_read(&self, object: impl AsRef<Path>) {
        self.inner().unreadable.remove(object.as_ref());
    }

    /// Replaces the content of a file right after its next read, as another program would.
    pub fn alter_after_reading(&self, path: impl Into<PathBuf>, content: &str) {
        self.inner().after_reading.insert(path.into(), content.to_string());
    }

    /// Removes the right to raise priorities, and to change threads of other users (CAP_SYS_NICE).
    pub fn drop_privilege(&self) {
        self.inner().unprivileged = true;
    }

    /// Panics with [`Crash`](super::Crash) before or after the change of this number, counted from 0; `None`: never.
    pub fn crash_at(&self, change: Option<(u64, When)>) {
        self.inner().crash_at = change;
    }

    /// Number of changes so far, including those that were refused.
    pub fn changes(&self) -> u64 {
        self.inner().changes
    }

    /// The state of the machine.
    pub fn state(&self) -> EmulatedState {
        self.inner().state.clone()
    }

    /// Replaces the state of the machine.
    pub fn set_state(&self, state: EmulatedState) {
        self.inner().state = state;
    }

    /// Gives the machine another boot id, as a restart does. Processes and files stay, for the test to look at.
    pub fn reboot(&self) {
        self.inner().boot += 1;
    }
}

/// Which object has a name or number.
impl EmulatedKernel {
    /// Adds an interface to a network namespace, with its index.
    pub fn add_interface(&self, netns: Option<&str>, name: &str, index: u32) {
        let identities = &mut self.inner().identities;
        let network = identities.network(&netns.map(String::from));
        identities.interfaces.insert((network, name.to_string()), index);
    }

    /// Renames an interface and its files.
    pub fn rename_interface(&self, netns: Option<&str>, old: &str, new: &str) {
        let mut inner = self.inner();
        let name = netns.map(String::from);
        let network = inner.identities.network(&name);
        if let Some(index) = inner.identities.interfaces.remove(&(network, old.to_string())) {
            inner.identities.interfaces.insert((network, new.to_string()), index);
        }
        let files = std::mem::take(&mut inner.state.files);
        let renamed = files.into_iter().map(|((of, path), text)| {
            let path = if of == name { scope::with_interface(&path, old, new) } else { path };
            ((of, path), text)
        });
        inner.state.files = renamed.collect();
    }

    /// Removes an interface and its files.
    pub fn remove_interface(&self, netns: Option<&str>, interface: &str) {
        let mut inner = self.inner();
        let name = netns.map(String::from);
        let network = inner.identities.network(&name);
        inner.identities.interfaces.remove(&(network, interface.to_string()));
        let is_its = |path: &Path| scope::of_path(path) == Scope::Network(Some(interface));
        inner.state.files.retain(|(of, path), _| *of != name || !is_its(path));
    }

    /// Moves the process into a network namespace, whose /sys it sees then.
    pub fn stand_in_network(&self, netns: Option<&str>) {
        self.inner().identities.here = netns.map(String::from);
    }

    /// Moves the process to another PID namespace, mount namespace and root directory, which have number 0 at first.
    pub fn stand_on(&self, pid: u64, mounts: u64, root: u64) {
        self.inner().identities.stands = (pid, mounts, root);
    }

    /// Removes the name of a network namespace. If it `lives`, the namespace stays, or else it ends with all its files.
    pub fn forget_network(&self, name: &str, lives: bool) {
        let mut inner = self.inner();
        let of = Some(name.to_string());
        let number = inner.identities.network(&of);
        match lives {
            true => {
                let nameless = Some(format!("({number})"));
                let files = std::mem::take(&mut inner.state.files);
                let moved = files.into_iter().map(|((netns, path), text)| {
                    ((if netns == of { nameless.clone() } else { netns }, path), text)
                });
                inner.state.files = moved.collect();
                inner.identities.networks.insert(number, nameless);
            }
            false => {
                inner.identities.networks.remove(&number);
                inner.state.files.retain(|(netns, _), _| *netns != of);
            }
        }
    }

    /// Gives the number of an interrupt to another line.
    pub fn set_line(&self, number: u32, hardware_number: &str) {
        let line = Line { chip: "emulated".into(), hardware_number: hardware_number.into() };
        self.inner().identities.lines.insert(number, line);
    }

    /// Replaces a cgroup by another one with the same name and files.
    pub fn replace_cgroup(&self, path: &Path) {
        let identities = &mut self.inner().identities;
        identities.end_cgroup(path);
        identities.cgroup(path);
    }
}
