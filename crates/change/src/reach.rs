//! Whether what an act was about can be reached from where an undo stands, and how.
//!
//! A path or a number means something else in another namespace, and a name may have been given to something else since. That
//! something is not found does not show that it is gone: *gone* takes a proof.

use machine::Act;

use crate::acts::operation;
use crate::ground::Ground;
use crate::kernel::{FoundNetwork as Network, Kernel};
use crate::namespace::Namespace;
use crate::record::{Entry, OutOfReach};
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

/// Looks for what `entry` is about. `then` is where its session stood, where that is known.
pub fn reach<'k>(kernel: &'k dyn Kernel, entry: &Entry, then: Option<&Ground>, same_boot: bool) -> Reach<'k> {
    let known = Subject::default();
    let subject = entry.subject.as_ref().unwrap_or(&known);
    match operation(&entry.act).scope() {
        Scope::Files => {
            let sees = |now: &Ground, then: &Ground| now.sees_same_files(then, same_boot);
            from_ground(kernel, then, sees, |_| OutOfReach::Files)
        }
        // Numbers of another boot mean nothing in this one.
        _ if !same_boot => Reach::Here,
        Scope::Machine => Reach::Here,
        Scope::Processes => from_ground(kernel, then, Ground::sees_same_processes, |then| {
            let namespace = then.processes;
            OutOfReach::Processes { namespace: namespace.inode, by: kernel.process_in(&namespace) }
        }),
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

/// `Here` where `sees` holds between where this process stands and where the session stood. Older ledgers do not say where that was.
fn from_ground<'k>(
    kernel: &dyn Kernel,
    then: Option<&Ground>,
    sees: impl FnOnce(&Ground, &Ground) -> bool,
    otherwise: impl FnOnce(&Ground) -> OutOfReach,
) -> Reach<'k> {
    let Some(then) = then else { return Reach::Here };
    match kernel.ground() {
        Ok(now) if sees(&now, then) => Reach::Here,
        Ok(_) => Reach::Out(otherwise(then)),
        Err(error) => Reach::Out(OutOfReach::Ground { why: error.to_string() }),
    }
}

fn cgroup<'k>(kernel: &dyn Kernel, act: &Act, subject: &Subject, then: Option<&Ground>) -> Reach<'k> {
    let now = kernel.subject(act).cgroup;
    if now.is_some() && now == subject.cgroup {
        return Reach::Here;
    }
    let elsewhere = |then: &Ground| OutOfReach::Cgroups { mounts: then.mounts.inode };
    match from_ground(kernel, then, Ground::sees_same_cgroups, elsewhere) {
        // It was removed, and another one made in its place.
        Reach::Here if then.is_some() && now.is_some() && subject.cgroup.is_some() => Reach::Gone,
        reach => reach,
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
