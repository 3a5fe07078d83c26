//! Finding the object of an act from the namespaces in which an undo runs.
//!
//! A path or a number means something else in another namespace, and a name may have been reused since. An object that is not found
//! is not necessarily gone: *gone* takes a proof.

use machine::Act;

use crate::acts::operation;
use crate::kernel::{FoundNetwork as Network, Kernel};
use crate::namespace::Namespace;
use crate::namespace::process_view::ProcessView;
use crate::record::{Entry, OutOfReach};
use crate::subject::{Interface, Scope, Subject};

/// Where the object of an act is.
pub enum Location<'k> {
    /// Where the act says.
    Here,
    /// In another network namespace or under another name: the kernel as seen from there, and the act as it reads there.
    There(Box<dyn Kernel + 'k>, Box<Act>),
    /// It is gone for certain, and the change with it.
    Gone,
    /// It cannot be reached from here.
    OutOfReach(OutOfReach),
}

/// Looks for the object of `entry`. `then` is what its session saw, where that is known.
pub fn locate<'k>(
    kernel: &'k dyn Kernel,
    entry: &Entry,
    then: Option<&ProcessView>,
    same_boot: bool,
) -> Location<'k> {
    let known = Subject::default();
    let subject = entry.subject.as_ref().unwrap_or(&known);
    match operation(&entry.act).scope() {
        Scope::Files => {
            let sees = |now: &ProcessView, then: &ProcessView| now.sees_same_files(then, same_boot);
            if_same_view(kernel, then, sees, |_| OutOfReach::Files)
        }
        // Numbers of another boot mean nothing in this one.
        _ if !same_boot => Location::Here,
        Scope::Machine => Location::Here,
        Scope::Processes => if_same_view(kernel, then, ProcessView::sees_same_processes, |then| {
            let namespace = then.processes;
            OutOfReach::Processes { namespace: namespace.inode, by: kernel.process_in(&namespace) }
        }),
        Scope::Cgroup(_) => cgroup(kernel, &entry.act, subject, then),
        Scope::Line(_) => match (&subject.line, kernel.subject(&entry.act).line) {
            (Some(then), Some(now)) if *then != now => Location::Gone,
            _ => Location::Here,
        },
        Scope::Disk(_) => match (subject.disk, kernel.subject(&entry.act).disk) {
            (Some(then), Some(now)) if then != now => Location::Gone,
            _ => Location::Here,
        },
        Scope::Network(_) => match &subject.network {
            None => Location::Here,
            Some(network) => in_network(kernel, &entry.act, network, subject.interface.as_ref()),
        },
    }
}

/// `Here` where `sees` holds between what this process sees and what the session saw. Older ledgers do not record that.
fn if_same_view<'k>(
    kernel: &dyn Kernel,
    then: Option<&ProcessView>,
    sees: impl FnOnce(&ProcessView, &ProcessView) -> bool,
    otherwise: impl FnOnce(&ProcessView) -> OutOfReach,
) -> Location<'k> {
    let Some(then) = then else { return Location::Here };
    match kernel.process_view() {
        Ok(now) if sees(&now, then) => Location::Here,
        Ok(_) => Location::OutOfReach(otherwise(then)),
        Err(error) => Location::OutOfReach(OutOfReach::Ground { why: error.to_string() }),
    }
}

fn cgroup<'k>(kernel: &dyn Kernel, act: &Act, subject: &Subject, then: Option<&ProcessView>) -> Location<'k> {
    let now = kernel.subject(act).cgroup;
    if now.is_some() && now == subject.cgroup {
        return Location::Here;
    }
    let elsewhere = |then: &ProcessView| OutOfReach::Cgroups { mounts: then.mounts.inode };
    match if_same_view(kernel, then, ProcessView::sees_same_cgroups, elsewhere) {
        // It was removed, and another one made in its place.
        Location::Here if then.is_some() && now.is_some() && subject.cgroup.is_some() => Location::Gone,
        location => location,
    }
}

fn in_network<'k>(
    kernel: &'k dyn Kernel,
    act: &Act,
    network: &Namespace,
    interface: Option<&Interface>,
) -> Location<'k> {
    let is_here = kernel.network_of(act).is_ok_and(|now| now.is(network));
    let as_named = |index: u32| kernel.interface_index(act).is_ok_and(|now| now == index);
    if is_here && interface.is_none_or(|interface| as_named(interface.index)) {
        return Location::Here;
    }
    let there = match kernel.in_network(network) {
        Network::There(there) => there,
        Network::Ended => return Location::Gone,
        Network::Lost => return Location::OutOfReach(OutOfReach::Network { namespace: network.inode }),
    };
    let of_act = operation(act);
    let at = |renamed| of_act.moved(renamed).unwrap_or_else(|| act.clone());
    let Some(interface) = interface else { return Location::There(there, Box::new(at(None))) };
    let all = match there.interfaces() {
        Ok(all) => all,
        Err(error) => return Location::OutOfReach(OutOfReach::Ground { why: error.to_string() }),
    };
    if let Some(found) = all.iter().find(|found| found.index == interface.index) {
        return Location::There(there, Box::new(at(Some((&interface.name, &found.name)))));
    }
    match kernel.interface_elsewhere(interface) {
        Some((namespace, name)) => {
            Location::OutOfReach(OutOfReach::InterfaceMoved { name, namespace: namespace.inode })
        }
        None => Location::Gone,
    }
}
