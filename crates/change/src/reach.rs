//! Whether what an act was about can be reached from where an undo stands, and how.
//!
//! A path or a number means something else in another namespace, and a name may have been given to something else since. That
//! something is not found does not show that it is gone: *gone* takes a proof.

use std::fmt;

use machine::Act;
use serde::{Deserialize, Serialize};

use crate::acts::operation;
use crate::ground::Ground;
use crate::kernel::{Kernel, Network};
use crate::namespace::Namespace;
use crate::record::Entry;
use crate::subject::{Interface, Scope, Subject};

/// Where the object of an act is.
pub enum Reach<'k> {
    /// Where the act's words say.
    Here,
    /// In another network namespace or under another name: what to ask, and for what.
    There(Box<dyn Kernel + 'k>, Box<Act>),
    /// It is gone for certain, and the change with it.
    Gone,
    /// It cannot be reached from here.
    Out(OutOfReach),
}

/// Why something cannot be reached from here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum OutOfReach {
    /// It is a process of another PID (or time) namespace.
    Processes {
        /// The namespace's inode number.
        namespace: u64,
        /// A process in it that can be seen from here.
        by: Option<u32>,
    },
    /// It is a file under another root directory.
    Files,
    /// It is a cgroup as seen from another cgroup or mount namespace.
    Cgroups {
        /// The mount namespace's inode number.
        mounts: u64,
    },
    /// It is in a network namespace that nothing leads to, and whether that has ended the kernel does not tell.
    Network {
        /// The namespace's inode number.
        namespace: u64,
    },
    /// It is an interface that has been moved to another network namespace.
    InterfaceMoved {
        /// Its name there.
        name: String,
        /// Inode number of the namespace.
        namespace: u64,
    },
    /// Where this undo stands cannot be determined.
    Ground {
        /// Why.
        why: String,
    },
}

impl fmt::Display for OutOfReach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Processes { namespace, by } => {
                write!(f, "the process belongs to another PID namespace, pid:[{namespace}]")?;
                by.map_or(Ok(()), |pid| write!(f, " (that of process {pid})"))
            }
            Self::Files => f.write_str("the file is one of another root directory (a chroot or a container)"),
            Self::Cgroups { mounts } => {
                write!(f, "the cgroup is one of another mount namespace, mnt:[{mounts}]")
            }
            Self::Network { namespace } => {
                write!(
                    f,
                    "no process and no name leads to its network namespace, net:[{namespace}], and whether it has ended is not known"
                )
            }
            Self::InterfaceMoved { name, namespace } => {
                write!(f, "the interface is now {name} in another network namespace, net:[{namespace}]")
            }
            Self::Ground { why } => write!(f, "where this process stands cannot be determined: {why}"),
        }
    }
}

impl OutOfReach {
    /// What to do about it.
    pub fn remedy(&self) -> String {
        let or_leave = "or give it up: pinwise undo --force --session ID";
        match self {
            Self::Processes { by: Some(pid), .. } => {
                format!("run it there: nsenter --target {pid} --all pinwise undo; {or_leave}")
            }
            Self::Processes { by: None, .. } | Self::Files | Self::Cgroups { .. } => {
                format!(
                    "run 'pinwise undo' where the change was made: on the host, or in that container; {or_leave}"
                )
            }
            Self::Network { .. } => format!("run 'pinwise undo' where the change was made; {or_leave}"),
            Self::InterfaceMoved { .. } => {
                format!("move it back (ip link set NAME netns ...) and run 'pinwise undo' again; {or_leave}")
            }
            Self::Ground { .. } => {
                format!("mount /proc (mount -t proc proc /proc) and run 'pinwise undo' again; {or_leave}")
            }
        }
    }
}

/// Looks for what `entry` is about. `then` is where its session stood, where that is known.
pub fn reach<'k>(kernel: &'k dyn Kernel, entry: &Entry, then: Option<&Ground>, same_boot: bool) -> Reach<'k> {
    let known = Subject::default();
    let subject = entry.subject.as_ref().unwrap_or(&known);
    match operation(&entry.act).scope() {
        Scope::Files => files(kernel, then, same_boot),
        // Numbers of another boot mean nothing in this one.
        _ if !same_boot => Reach::Here,
        Scope::Machine => Reach::Here,
        Scope::Processes => processes(kernel, then),
        Scope::Cgroup(_) => cgroup(kernel, &entry.act, subject, then),
        Scope::Line(_) => match (&subject.line, kernel.subject(&entry.act).line) {
            (Some(then), Some(now)) if *then != now => Reach::Gone,
            _ => Reach::Here,
        },
        Scope::Disk(_) => match (subject.disk, kernel.subject(&entry.act).disk) {
            (Some(then), Some(now)) if then != now => Reach::Gone,
            _ => Reach::Here,
        },
        Scope::Network(_) => match &subject.network {
            None => Reach::Here,
            Some(network) => in_network(kernel, &entry.act, network, subject.interface.as_ref()),
        },
    }
}

fn ground(kernel: &dyn Kernel) -> Result<Ground, OutOfReach> {
    kernel.ground().map_err(|error| OutOfReach::Ground { why: error.to_string() })
}

fn files<'k>(kernel: &dyn Kernel, then: Option<&Ground>, same_boot: bool) -> Reach<'k> {
    match (then, ground(kernel)) {
        (None, _) => Reach::Here,
        (Some(_), Err(why)) => Reach::Out(why),
        (Some(then), Ok(now)) if now.sees_same_files(then, same_boot) => Reach::Here,
        (Some(_), Ok(_)) => Reach::Out(OutOfReach::Files),
    }
}

fn processes<'k>(kernel: &dyn Kernel, then: Option<&Ground>) -> Reach<'k> {
    match (then, ground(kernel)) {
        (None, _) => Reach::Here,
        (Some(_), Err(why)) => Reach::Out(why),
        (Some(then), Ok(now)) if now.sees_same_processes(then) => Reach::Here,
        (Some(then), Ok(_)) => Reach::Out(OutOfReach::Processes {
            namespace: then.processes.inode,
            by: kernel.process_in(&then.processes),
        }),
    }
}

fn cgroup<'k>(kernel: &dyn Kernel, act: &Act, subject: &Subject, then: Option<&Ground>) -> Reach<'k> {
    let now = kernel.subject(act).cgroup;
    if now.is_some() && now == subject.cgroup {
        return Reach::Here;
    }
    match (then, ground(kernel)) {
        (None, _) => Reach::Here,
        (Some(_), Err(why)) => Reach::Out(why),
        (Some(then), Ok(here)) if !here.sees_same_cgroups(then) => {
            Reach::Out(OutOfReach::Cgroups { mounts: then.mounts.inode })
        }
        // It was removed, and another one made in its place.
        _ if now.is_some() && subject.cgroup.is_some() => Reach::Gone,
        _ => Reach::Here,
    }
}

fn in_network<'k>(
    kernel: &'k dyn Kernel,
    act: &Act,
    network: &Namespace,
    interface: Option<&Interface>,
) -> Reach<'k> {
    let is_here = kernel.network_of(act).is_ok_and(|now| now.is(network));
    let as_named = |index: u32| kernel.interface_index(act).is_ok_and(|now| now == index);
    if is_here && interface.is_none_or(|interface| as_named(interface.index)) {
        return Reach::Here;
    }
    let there = match kernel.in_network(network) {
        Network::There(there) => there,
        Network::Ended => return Reach::Gone,
        Network::Lost => return Reach::Out(OutOfReach::Network { namespace: network.inode }),
    };
    let of_act = operation(act);
    let at = |renamed| of_act.moved(renamed).unwrap_or_else(|| act.clone());
    let Some(interface) = interface else { return Reach::There(there, Box::new(at(None))) };
    let all = match there.interfaces() {
        Ok(all) => all,
        Err(error) => return Reach::Out(OutOfReach::Ground { why: error.to_string() }),
    };
    if let Some(found) = all.iter().find(|found| found.index == interface.index) {
        return Reach::There(there, Box::new(at(Some((&interface.name, &found.name)))));
    }
    match kernel.interface_elsewhere(interface) {
        Some((namespace, name)) => {
            Reach::Out(OutOfReach::InterfaceMoved { name, namespace: namespace.inode })
        }
        None => Reach::Gone,
    }
}
