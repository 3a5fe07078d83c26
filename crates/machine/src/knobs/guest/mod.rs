//! Knobs that place the threads of guests (virtual machines) that run on this host: one kind of threads each.
//!
//! Where libvirt runs the guest, it is libvirt that places them (see [`GuestPin`]): it would not know otherwise, and
//! keeps each in a cgroup of its own.

pub mod emulator_affinity;
pub mod iothread_affinity;
mod running;
pub mod vcpu_affinity;
pub mod vhost_affinity;

use crate::knobs::process::process_affinity::joined;
use crate::knobs::{About, Knob, Target, cpus, no_such};
use crate::{Act, Class, CpuSet, Fault, GuestPart, GuestPin, PinScope, Root};
pub use running::Kind;
use running::{Member, Owner, Running, by_number, number_of_libvirt};

/// The knobs of guests.
const IDS: [&str; 4] = ["vcpu-affinity", "emulator-affinity", "iothread-affinity", "vhost-affinity"];

/// Whether a knob is one of guests: its targets are named after them, and are no processes.
pub fn is_one(knob: &dyn Knob) -> bool {
    IDS.contains(&knob.about().id)
}

/// The target that `server/KIND/...` means where the processes of the server are these: the threads of the one that is a guest; none where
/// none is.
///
/// Errors: /proc cannot be listed.
pub fn of_server(root: &Root, target: &str, pids: &[u32]) -> Result<Option<String>, Fault> {
    let Some(threads) = target.strip_prefix(OF_SERVER) else { return Ok(None) };
    let all = running::all(root)?;
    let guest = all.values().map(|guest| guest.process.pid).find(|pid| pids.contains(pid));
    Ok(guest.map(|pid| format!("{}/{threads}", by_number(pid))))
}

/// How targets begin that are threads of a server that is a guest.
pub const OF_SERVER: &str = "server/";

/// Whether a target is the server of a study, or threads of it.
pub fn is_of_server(target: &str) -> bool {
    target == crate::plan::SERVER || target.starts_with(OF_SERVER)
}

/// A knob that is one kind of threads.
#[derive(Debug)]
pub struct GuestKnob {
    /// What it is.
    pub about: About,
    /// Which threads.
    pub kind: Kind,
}

impl Knob for GuestKnob {
    fn about(&self) -> &About {
        &self.about
    }

    fn targets(&self, root: &Root) -> Result<Vec<Target>, Fault> {
        let all = running::all(root)?;
        Ok(all.iter().flat_map(|(id, guest)| self.targets_of(root, id, guest)).collect())
    }

    /// The list; the lists of its threads joined by ` | ` where they differ, which no change takes.
    fn read(&self, root: &Root, target: &str) -> Result<String, Fault> {
        let (_, members) = self.find(root, target)?;
        Ok(joined(members.iter().map(|member| member.cpus.to_list()).collect()))
    }

    fn change(&self, root: &Root, target: &str, value: &str) -> Result<Vec<Act>, Fault> {
        let (guest, members) = self.find(root, target)?;
        let cpus = cpus(root, &self.about, target, value)?;
        if cpus.is_empty() {
            let object = format!("{} of {target}", self.about.id);
            return Err(Fault::new(Class::Usage, object, "the set is empty", "name at least one CPU"));
        }
        let by_thread = |member: &Member| Act::SetAffinity { thread: member.thread, cpus: cpus.clone() };
        match &guest.owner {
            Owner::OtherLibvirt => Err(self.other_libvirt(target)),
            Owner::Libvirt(uuid) if self.kind != Kind::Vhost => {
                members.iter().map(|member| self.by_libvirt(target, &guest, uuid, member, &cpus)).collect()
            }
            // libvirt has no word for threads of vhost.
            Owner::Libvirt(_) | Owner::Nobody => Ok(members.iter().map(by_thread).collect()),
        }
    }
}

impl GuestKnob {
    /// One target for each thread that has a name of its own; one for all where they have none.
    fn targets_of(&self, root: &Root, id: &str, guest: &Running) -> Vec<Target> {
        let members = guest.members(root, self.kind);
        let (word, pid) = (self.kind.word(), guest.process.pid);
        let one = |label: Option<&String>| Target {
            id: label.map_or(format!("{id}/{word}"), |label| format!("{id}/{word}/{label}")),
            what: format!(
                "{} of guest {id} (process {pid})",
                label.map_or(word.to_string(), |l| format!("{word} {l}"))
            ),
        };
        let labels: Option<Vec<&String>> = members.iter().map(|member| member.label.as_ref()).collect();
        match labels {
            Some(labels) => labels.into_iter().map(|label| one(Some(label))).collect(),
            None => vec![one(None)],
        }
    }

    /// The guest and the threads that a target names: `GUEST/KIND/WHICH`, or `GUEST/KIND` for all of its kind.
    fn find(&self, root: &Root, target: &str) -> Result<(Running, Vec<Member>), Fault> {
        let none = |cause: &str| no_such(&self.about, target, cause);
        let word = self.kind.word();
        let (id, label) = match target.strip_suffix(&format!("/{word}")) {
            Some(id) => (id, None),
            None => {
                let parts = target.rsplit_once(&format!("/{word}/"));
                let (id, label) =
                    parts.ok_or_else(|| none(&format!("it has not the form GUEST/{word}/...")))?;
                (id, Some(label))
            }
        };
        let mut all = running::all(root)?;
        // Also where it has a name.
        let id = match all.iter().find(|(_, guest)| by_number(guest.process.pid) == id) {
            Some((found, _)) => found.clone(),
            None => id.to_string(),
        };
        let guest = all.remove(&id).ok_or_else(|| none("no guest of that name runs here, or several do"))?;
        let mut members = guest.members(root, self.kind);
        members.retain(|member| label.is_none() || member.label.as_deref() == label);
        match members.is_empty() {
            true => Err(none(
                "the guest has no such thread, or its threads have no names (-name ...,debug-threads=on)",
            )),
            false => Ok((guest, members)),
        }
    }

    /// Has libvirt place it.
    fn by_libvirt(
        &self,
        target: &str,
        guest: &Running,
        uuid: &str,
        member: &Member,
        cpus: &CpuSet,
    ) -> Result<Act, Fault> {
        let number = member.label.as_deref();
        let part = match self.kind {
            Kind::Vcpu => number.and_then(|number| number.parse().ok()).map(|vcpu| GuestPart::Vcpu { vcpu }),
            Kind::IoThread => number.and_then(number_of_libvirt).map(|id| GuestPart::IoThread { id }),
            Kind::Emulator => Some(GuestPart::Emulator),
            Kind::Vhost => None,
        };
        let none = || no_such(&self.about, target, "libvirt does not place its threads one by one");
        let name = guest.name.clone().unwrap_or_default();
        let scope = PinScope::Running { process: guest.process };
        let pin = GuestPin { name, uuid: uuid.into(), part: part.ok_or_else(none)?, scope };
        Ok(Act::PinGuest { pin, cpus: cpus.clone() })
    }

    fn other_libvirt(&self, target: &str) -> Fault {
        let cause = "a libvirt runs this guest that is not the system's own: that of a user's session, or in a container";
        let remedy = "have that one place it: virsh vcpupin, emulatorpin or iothreadpin, as that user or in that container";
        Fault::new(Class::MachineLacks, format!("{} of {target}", self.about.id), cause, remedy)
    }
}

#[cfg(test)]
mod tests;
