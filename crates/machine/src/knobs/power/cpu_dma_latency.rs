//! How long any idle CPU may take to wake.

use crate::knobs::{About, Knob, MaySet, OwnerId, Target, no_such};
use crate::plan::MACHINE;
use crate::power::NO_LATENCY_LIMIT_US;
use crate::{Act, Class, Fault, Root};

/// The knob.
#[derive(Debug)]
pub struct CpuDmaLatency;

static ABOUT: About = About {
    id: "cpu-dma-latency",
    title: "Longest time that any idle CPU may take to wake",
    docs: "Keeps all CPUs out of idle states that take longer to leave, for as long as somebody asks for it: a request that \
           comes after a pause is then answered without the wait. The knobs cpu-resume-latency and idle-state do it for \
           single CPUs. Reads the shortest limit that anybody asks for.",
    unit: "us, or unlimited; 0 lets no CPU go idle but by polling",
    scope: "the whole machine: target machine",
    owner: "tuned (force_latency in its latency profiles), cyclictest and other real-time programs: each asks for itself, and \
            the shortest limit holds",
    owners: &[OwnerId::Tuned],
    risk: "Power and heat, and with them less turbo for the CPUs that work; at 0 an idle sibling takes from its core's other \
           thread. A process of pinwise holds it, and it ends with that: by undo, kill, at a reboot, and with the service \
           in which it was applied.",
    may_set: MaySet::Root,
    source: "Documentation/power/pm_qos_interface.rst; kernel/power/qos.c",
};

impl Knob for CpuDmaLatency {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn targets(&self, root: &Root) -> Result<Vec<Target>, Fault> {
        match root.fact(FACT) {
            Err(e) if e.is_absent() => Ok(Vec::new()),
            // Root alone may look.
            _ => Ok(vec![Target { id: MACHINE.into(), what: "the whole machine".into() }]),
        }
    }

    fn read(&self, root: &Root, target: &str) -> Result<String, Fault> {
        if target != MACHINE {
            return Err(no_such(&ABOUT, target, "the target is 'machine'"));
        }
        let text = match root.fact(FACT) {
            Err(e) if e.is_absent() => {
                let cause = "this kernel has no /dev/cpu_dma_latency (CONFIG_CPU_IDLE)";
                return Err(no_such(&ABOUT, target, cause));
            }
            text => text?,
        };
        match text.parse::<u32>() {
            Ok(us) if us >= NO_LATENCY_LIMIT_US => Ok(UNLIMITED.into()),
            Ok(us) => Ok(us.to_string()),
            Err(_) => {
                let cause = format!("'{text}' is not a time");
                Err(Fault::new(Class::Storage, "/dev/cpu_dma_latency", cause, "capture the machine again"))
            }
        }
    }

    fn change(&self, root: &Root, target: &str, value: &str) -> Result<Vec<Act>, Fault> {
        let now = self.read(root, target)?;
        let fault = |class, cause: String, remedy: &str| {
            Err(Fault::new(class, format!("{} of {target}", ABOUT.id), cause, remedy))
        };
        match (value.trim(), value.trim().parse::<u32>()) {
            (UNLIMITED, _) if now == UNLIMITED => Ok(Vec::new()),
            (UNLIMITED, _) => fault(
                Class::No,
                format!("somebody holds it at {now} us, and only who holds a limit can let go of it"),
                "see who does with 'fuser -v /dev/cpu_dma_latency'; 'pinwise undo' ends what pinwise holds",
            ),
            (_, Ok(limit_us)) if limit_us < NO_LATENCY_LIMIT_US => Ok(vec![Act::HoldLatency { limit_us }]),
            (text, _) => {
                fault(Class::Usage, format!("'{text}' is no limit"), "write a number of us, or unlimited")
            }
        }
    }
}

const FACT: &str = "pm_qos_cpu_latency_us";
const UNLIMITED: &str = "unlimited";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    fn root(told: &str) -> Root {
        Root::from_tree(Tree::new()).with_fact(FACT, told)
    }

    #[test]
    fn a_limit_is_held_and_no_limit_is_nothing() {
        let read = |told| CpuDmaLatency.read(&root(told), "machine").unwrap();
        assert_eq!((read("2000000000"), read("20")), ("unlimited".into(), "20".into()));
        let change = |told, value| CpuDmaLatency.change(&root(told), "machine", value);
        assert_eq!(change("2000000000", "20").unwrap(), [Act::HoldLatency { limit_us: 20 }]);
        assert_eq!(change("10", "20").unwrap(), [Act::HoldLatency { limit_us: 20 }]);
        assert_eq!(change("2000000000", "unlimited").unwrap(), []);
        let fault = change("10", "unlimited").unwrap_err();
        assert!(fault.class == Class::No && fault.cause.contains("10 us"), "{fault}");
        for value in ["", "-1", "20 us", "2000000000"] {
            assert_eq!(change("20", value).unwrap_err().class, Class::Usage, "{value}");
        }
    }

    #[test]
    fn a_machine_without_the_device_has_no_target_and_a_reason() {
        let bare = Root::from_tree(Tree::new());
        assert_eq!(CpuDmaLatency.targets(&bare).unwrap(), []);
        assert!(CpuDmaLatency.read(&bare, "machine").unwrap_err().cause.contains("CONFIG_CPU_IDLE"));
        assert!(CpuDmaLatency.read(&root("20"), "cpu0").unwrap_err().cause.contains("'machine'"));
        assert_eq!(CpuDmaLatency.read(&root("x"), "machine").unwrap_err().class, Class::Storage);
    }
}
