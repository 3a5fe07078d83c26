//! Guests that run here, who places their threads, and the threads of one kind.

use std::collections::BTreeMap;

use crate::processes::guests::{self, Guest, GuestThread, Role};
use crate::procfs::guest_command_line::{self, CommandLine};
use crate::procfs::pid_stat;
use crate::{CpuSet, Fault, ProcessRef, Root, ThreadRef};

/// Where the libvirt of the system keeps the process numbers of its guests.
const LIBVIRT_RUNS: &str = "/run/libvirt/qemu";

/// A kind of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Run virtual CPUs.
    Vcpu,
    /// All others of the process.
    Emulator,
    /// Serve virtual disks.
    IoThread,
    /// Move packets between a virtual network card and the host.
    Vhost,
}

impl Kind {
    /// As targets name it.
    pub(in crate::knobs) fn word(self) -> &'static str {
        match self {
            Self::Vcpu => "vcpu",
            Self::Emulator => "emulator",
            Self::IoThread => "iothread",
            Self::Vhost => "vhost",
        }
    }

    fn has(self, role: Role) -> bool {
        match role {
            Role::Vcpu { .. } => self == Self::Vcpu,
            Role::Io => self == Self::IoThread,
            Role::Vhost => self == Self::Vhost,
            Role::Emulator => self == Self::Emulator,
        }
    }
}

/// Who places a guest's threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::knobs) enum Owner {
    /// Nobody but who started it.
    Nobody,
    /// The libvirt of the system, which knows it by this UUID.
    Libvirt(String),
    /// A libvirt that cannot be spoken to from here.
    OtherLibvirt,
}

/// A guest that runs here.
#[derive(Debug)]
pub(in crate::knobs) struct Running {
    pub(in crate::knobs) process: ProcessRef,
    /// As its command line names it.
    pub(in crate::knobs) name: Option<String>,
    pub(in crate::knobs) owner: Owner,
    threads: Vec<GuestThread>,
}

/// One thread of a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::knobs) struct Member {
    pub(in crate::knobs) thread: ThreadRef,
    /// What distinguishes it from the others of its kind.
    pub(in crate::knobs) label: Option<String>,
    pub(in crate::knobs) cpus: CpuSet,
}

/// All guests by the name that targets use: their own, or `pid:NUMBER` where they have none or share it.
pub(in crate::knobs) fn all(root: &Root) -> Result<BTreeMap<String, Running>, Fault> {
    let mut running = Vec::new();
    for guest in guests::find(root)? {
        running.extend(one(root, guest)?);
    }
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    running
        .iter()
        .filter_map(|guest| guest.name.clone())
        .for_each(|name| *times.entry(name).or_default() += 1);
    let id = |guest: &Running| match &guest.name {
        Some(name) if times.get(name) == Some(&1) && !name.starts_with("pid:") => name.clone(),
        _ => by_number(guest.process.pid),
    };
    Ok(running.into_iter().map(|guest| (id(&guest), guest)).collect())
}

/// The name of a guest by its process.
pub(in crate::knobs) fn by_number(pid: u32) -> String {
    format!("pid:{pid}")
}

/// A guest with all that is known of it; `None` when it has just ended.
fn one(root: &Root, guest: Guest) -> Result<Option<Running>, Fault> {
    let pid = guest.pid;
    let Some(start_time_ticks) = start(root, pid, pid, None) else { return Ok(None) };
    let process = ProcessRef { pid, start_time_ticks };
    let said = match root.read_bytes(format!("/proc/{pid}/cmdline")) {
        Ok(bytes) => guest_command_line::parse(&String::from_utf8_lossy(&bytes)),
        // A capture has none.
        Err(e) if e.is_absent() => CommandLine::default(),
        Err(e) => return Err(e.into()),
    };
    let owner = owner(root, pid, &said)?;
    Ok(Some(Running { process, name: said.name, owner, threads: guest.threads }))
}

/// Who places the threads of guest `pid`.
///
/// Errors: it may be libvirt, whose folder is refused.
fn owner(root: &Root, pid: u32, said: &CommandLine) -> Result<Owner, Fault> {
    let by_libvirt = said.by_libvirt || guests::is_of_libvirt(root, pid);
    let name = said.name.as_deref().filter(|name| !name.contains('/')).unwrap_or_default();
    let of_system = match root.line(format!("{LIBVIRT_RUNS}/{name}.pid")) {
        Ok(number) => number.trim() == pid.to_string(),
        Err(e) if e.is_absent() || !by_libvirt => false,
        Err(e) => return Err(e.into()),
    };
    Ok(match (&said.uuid, by_libvirt) {
        (Some(uuid), _) if of_system => Owner::Libvirt(uuid.clone()),
        (_, false) if !of_system => Owner::Nobody,
        _ => Owner::OtherLibvirt,
    })
}

/// When thread `tid` of process `pid` started, in ticks since boot; `None` when it has ended, or is not called `comm`
/// any more: its number may have been given away.
fn start(root: &Root, pid: u32, tid: u32, comm: Option<&str>) -> Option<u64> {
    let bytes = root.read_bytes(format!("/proc/{pid}/task/{tid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let stat = pid_stat::parse(&text).ok().filter(|stat| !stat.ended())?;
    // Workers of io_uring, which the kernel places itself.
    let is_same = comm.is_none_or(|comm| comm == stat.comm && stat.no_setaffinity() != Some(true));
    is_same.then_some(stat.start_time_ticks)
}

impl Running {
    /// Its threads of one kind: by number of vCPU, by name of I/O thread, in the order in which vhost threads were started.
    pub(in crate::knobs) fn members(&self, root: &Root, kind: Kind) -> Vec<Member> {
        let of_kind = self.threads.iter().filter(|thread| kind.has(thread.role) && self.is_one(kind, thread));
        let mut members: Vec<Member> = of_kind.filter_map(|thread| self.member(root, thread)).collect();
        if kind == Kind::Vhost {
            members.sort_by_key(|member| (member.thread.start_time_ticks, member.thread.tid));
            members.iter_mut().enumerate().for_each(|(at, member)| member.label = Some(at.to_string()));
        }
        members
    }

    /// Whether a thread of that kind is one that can be placed: of libvirt's guests those that libvirt places.
    fn is_one(&self, kind: Kind, thread: &GuestThread) -> bool {
        match (&self.owner, kind) {
            (Owner::Nobody, _) | (_, Kind::Vcpu | Kind::Vhost) => true,
            (_, Kind::Emulator) => thread.tid == self.process.pid,
            (_, Kind::IoThread) => io_thread(&thread.comm).and_then(number_of_libvirt).is_some(),
        }
    }

    fn member(&self, root: &Root, thread: &GuestThread) -> Option<Member> {
        let label = match thread.role {
            Role::Vcpu { vcpu } => vcpu.map(|vcpu| vcpu.to_string()),
            Role::Io => io_thread(&thread.comm).map(String::from),
            Role::Vhost | Role::Emulator => None,
        };
        let (tid, cpus) = (thread.tid, thread.cpus.clone()?);
        let pid = if thread.in_kernel { tid } else { self.process.pid };
        let start_time_ticks = start(root, pid, tid, Some(&thread.comm))?;
        Some(Member { thread: ThreadRef { pid, tid, start_time_ticks }, label, cpus })
    }
}

/// The id of an I/O thread by its name. QEMU cannot name one whose id has more than 12 characters.
fn io_thread(comm: &str) -> Option<&str> {
    comm.strip_prefix("IO ")
}

/// The number that libvirt gives an I/O thread: it calls them `iothread1`, `iothread2`.
pub(in crate::knobs) fn number_of_libvirt(id: &str) -> Option<u32> {
    id.strip_prefix("iothread")?.parse().ok()
}
