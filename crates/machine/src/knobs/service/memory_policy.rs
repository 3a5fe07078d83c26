//! Memory nodes that a service takes its memory from, from its start on.

use super::unit_drop_in::{file, last_of, services, text};
use crate::act::platform_file::{Aspect, HEAD};
use crate::knobs::memory::cpuset_mems::with_memory;
use crate::knobs::{About, Knob, MaySet, Target};
use crate::{Act, Class, Fault, Root};

/// The knob.
#[derive(Debug)]
pub struct MemoryPolicy;

static ABOUT: About = About {
    id: "memory-policy",
    title: "Memory nodes that a systemd service takes its memory from",
    docs: "bind keeps all of a server's memory on the nodes of its CPUs, and preferred does while there is some free; interleave \
           spreads it page by page, for the bandwidth of all nodes, where threads on every node use the same data. It takes \
           effect when the service is restarted, which pinwise leaves to you: systemctl restart UNIT. Memory of one that runs \
           is moved by process-memory-nodes. systemd has no weighted interleave: that is numactl --weighted-interleave in \
           unit-command, with the knob interleave-weight.",
    unit: "bind:NODES, interleave:NODES, preferred:NODE, local or default; NODES is a list such as 0-1",
    scope: "one service of systemd that runs, with or without .service",
    owner: "the unit's own NUMAPolicy= and NUMAMask=, which this stands in the place of; numactl in its start script and the server's \
            own set_mempolicy, which come later and win; AllowedMemoryNodes= (knob cpuset-mems), which bounds it",
    owners: &[],
    risk: "With bind, memory that is gone on these nodes means reclaim, swap or the OOM killer while other nodes are free. A kernel \
           without the nodes keeps the service from starting: exit status 242.",
    may_set: MaySet::Root,
    source: "systemd.exec(5), NUMAPolicy=; set_mempolicy(2)",
};

impl Knob for MemoryPolicy {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn targets(&self, root: &Root) -> Result<Vec<Target>, Fault> {
        services(root)
    }

    /// What pinwise's file says, whether the service has been started with it or not; empty: it has none.
    fn read(&self, root: &Root, target: &str) -> Result<String, Fault> {
        let text = text(root, &file(root, &ABOUT, target, Aspect::Memory)?)?;
        let Some(policy) = last_of(&text, "NUMAPolicy") else { return Ok(String::new()) };
        Ok(match last_of(&text, "NUMAMask").unwrap_or_default() {
            "" => policy.to_string(),
            mask => format!("{policy}:{}", mask.replace(' ', ",")),
        })
    }

    fn change(&self, root: &Root, target: &str, value: &str) -> Result<Vec<Act>, Fault> {
        let file = file(root, &ABOUT, target, Aspect::Memory)?;
        let content = format!("{HEAD}[Service]\n{}", lines(root, target, value.trim())?);
        Ok(vec![Act::PlaceFile { file, content, keeps: Vec::new() }])
    }
}

/// What `NUMAPolicy=` and `NUMAMask=` are to say.
fn lines(root: &Root, target: &str, value: &str) -> Result<String, Fault> {
    if value == "default" {
        return Ok("NUMAPolicy=default\nNUMAMask=\n".into());
    }
    let policy = crate::MemoryPolicy::parse(value).map_err(|cause| {
        let object = format!("{} of {target}", ABOUT.id);
        Fault::new(Class::Usage, object, cause, format!("write {}", ABOUT.unit))
    })?;
    let nodes = with_memory(root, &ABOUT, target, policy.nodes)?;
    // Assignments of masks add up, and an empty one begins anew.
    let mask = match nodes.is_empty() {
        true => String::new(),
        false => format!("NUMAMask={}\n", nodes.to_list().replace(',', " ")),
    };
    Ok(format!("NUMAPolicy={}\nNUMAMask=\n{mask}", policy.mode))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::service::unit_drop_in::tests::{placed, with_service};

    #[test]
    fn policies_are_written_as_systemd_takes_them_and_read_again() {
        for (value, lines) in [
            ("bind:0-1,4", "NUMAPolicy=bind\nNUMAMask=\nNUMAMask=0-1 4\n"),
            ("interleave:0-3", "NUMAPolicy=interleave\nNUMAMask=\nNUMAMask=0-3\n"),
            ("preferred:1", "NUMAPolicy=preferred\nNUMAMask=\nNUMAMask=1\n"),
            ("local", "NUMAPolicy=local\nNUMAMask=\n"),
            ("default", "NUMAPolicy=default\nNUMAMask=\n"),
        ] {
            let (root, content) = placed(&MemoryPolicy, "nginx", value);
            assert!(content.ends_with(&format!("[Service]\n{lines}")), "{content}");
            assert_eq!(MemoryPolicy.read(&root, "nginx.service").unwrap(), value);
        }
        assert_eq!(MemoryPolicy.read(&with_service(), "nginx").unwrap(), "");
    }

    #[test]
    fn what_is_no_policy_is_refused_with_the_form() {
        for bad in [
            "",
            "bind",
            "bind:",
            "bind:x",
            "preferred:0-1",
            "local:0",
            "weighted-interleave:0-1",
            "bind:0\nA=1",
        ] {
            let fault = MemoryPolicy.change(&with_service(), "nginx", bad).unwrap_err();
            assert!(!fault.remedy.is_empty(), "{bad}: {fault}");
        }
        assert!(MemoryPolicy.change(&with_service(), "sshd", "local").is_err(), "it does not run");
    }
}
